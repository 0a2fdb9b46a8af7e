import assert from "node:assert/strict";
import { test } from "node:test";

import { clicked, entered, routeOf, reduce } from "../../frontend/js/policy/reduce.js";
import { MAX_ROWS, canContinue, parametersOf } from "../../frontend/js/policy/reduce_audit.js";
import { failureOf } from "../../frontend/js/policy/rest.js";
import { NO_FILTER } from "../../frontend/js/policy/state.js";
import { pageView } from "../../frontend/js/policy/views/page_view.js";
import { CONFIRM, PolicyPage, OFFLINE, withId } from "./policy_support.js";
import { elements, ofType, pluck, textOf, withAttribute } from "./support.js";

const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'&amp;`;
const entry = (id, more = {}) => ({
  id,
  ts: "2026-11-22T10:00:00.000000Z",
  replica: "one",
  day: "2026-11-22",
  number: id,
  hash: "ff",
  entry: { phase: "pre_tool_use", tool: "send", outcome: "denied", ...more },
});
const filtering = (page, fields) => {
  for (const [name, value] of Object.entries(fields)) page.dispatch({ type: "edit_filter", name, value });
  return page.dispatch({ type: "search_audit" });
};
const loaded = (page, ids, next = null) =>
  page.dispatch({
    type: "audit_loaded",
    requestId: page.state.audit.requestId,
    rows: ids.map((id) => entry(id)),
    next,
  });

test("pages of the audit log follow one another, and the focus goes to the first that is new", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  loaded(page, [3, 2], "c1").dispatch({ type: "more_audit" });
  const asked = page.effects.at(-1);
  loaded(page, [1]);

  assert.deepEqual([asked.cursor, asked.filter], ["c1", NO_FILTER]);
  assert.deepEqual(pluck(page.state.audit.rows, "id"), [3, 2, 1]);
  assert.deepEqual(page.focus, ["entry-1"]);
  assert.ok(!canContinue(page.state));
  assert.equal(page.state.announcements.at(-1).text, "3 entries, newest first.");
});

test("an answer to an earlier filter is not shown", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  const before = page.state.audit.requestId;
  filtering(page, { tool: "send" });
  page.dispatch({ type: "audit_loaded", requestId: before, rows: [entry(9)], next: null });
  page.dispatch({ type: "load_audit_failed", requestId: before, failure: OFFLINE });

  assert.deepEqual([page.state.audit.rows, page.state.audit.failure], [[], null]);
  loaded(page, [1]);
  assert.equal(page.state.audit.rows.length, 1);
});

test("a page that fails leaves what is there, and can be asked for again", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  loaded(page, [2], "c1").dispatch({ type: "more_audit" });
  page.dispatch({ type: "load_audit_failed", requestId: page.state.audit.requestId, failure: OFFLINE });

  assert.equal(page.state.audit.rows.length, 1);
  assert.ok(canContinue(page.state));
});

test("the table does not grow without end", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  loaded(
    page,
    Array.from({ length: MAX_ROWS }, (_, id) => id),
    "c1",
  );

  assert.ok(!canContinue(page.state));
  assert.match(textOf(pageView(page.state)), /Narrow the filter/);
});

test("a row says what was called or said of it, and how a human answered", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  const rows = [
    entry(3, { arguments: { command: "x".repeat(500) } }),
    entry(2, { message: "Not today.", arguments: { to: "ann" }, approval: "timeout" }),
    entry(1, { phase: "gap", tool: undefined, outcome: "lost", message: "7 entries are lost" }),
  ];
  page.dispatch({ type: "audit_loaded", requestId: page.state.audit.requestId, rows, next: null });

  const cells = (label) =>
    elements(pageView(page.state))
      .filter(({ attributes }) => attributes["data-label"] === label)
      .map(textOf);
  const [long, ...others] = cells("About");
  assert.ok(long.startsWith('{"command":"xxx') && long.length < 130);
  assert.deepEqual(others, ["Not today.", "7 entries are lost"]);
  assert.deepEqual(cells("Outcome"), ["denied", "denied, timeout", "lost"]);
});

test("a row that is drawn already costs nothing, however many follow it", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  const rowOf = (id) => elements(pageView(page.state)).find(({ key }) => key === `row-${id}`);
  loaded(page, [3, 2], "c1");
  const before = rowOf(3);
  loaded(page.dispatch({ type: "more_audit" }), [1]);

  assert.equal(rowOf(3), before);
  assert.notEqual(rowOf(1), undefined);
  page.dispatch({ type: "toggle_entry", id: 3 });
  assert.notEqual(rowOf(3), before, "what is open is drawn so");
});

test("a filter is asked for without what is empty, and local times as moments", () => {
  const filter = { ...NO_FILTER, tool: " read_* ", since: "2026-11-22T10:00", until: "nonsense" };
  const parameters = parametersOf(filter);

  assert.deepEqual([...parameters.keys()], ["tool", "since"]);
  assert.equal(parameters.get("tool"), "read_*");
  assert.equal(new Date(parameters.get("since")).getTime(), new Date(2026, 10, 22, 10).getTime());
});

test("the export takes what the table shows", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  filtering(page, { tool: "a&b=c" }).dispatch({ type: "edit_filter", name: "tool", value: "not asked for yet" });
  const exporters = () => withAttribute(pageView(page.state), "data-action", "export");
  assert.deepEqual(pluck(pluck(exporters(), "attributes"), "data-format"), ["jsonl", "csv"]);

  page.dispatch({ type: "export", format: "csv" }).dispatch({ type: "export", format: "jsonl" }); // one at a time

  const asked = ofType(page.effects, "export_audit");
  assert.deepEqual(asked, [{ type: "export_audit", filter: { ...NO_FILTER, tool: "a&b=c" }, format: "csv" }]);
  assert.ok(exporters().every(({ attributes }) => attributes["aria-disabled"] === "true"));
  page.dispatch({ type: "export_audit_failed", failure: OFFLINE });
  assert.match(textOf(pageView(page.state)), /No server\./);
  page.dispatch({ type: "export", format: "jsonl" }).dispatch({ type: "exported" });
  assert.equal(page.state.announcements.at(-1).text, "Exported.");
  assert.ok(exporters().every(({ attributes }) => attributes["aria-disabled"] === "false"));
});

const APPROVAL = { id: "a1", tool: "send", shown: '{"to":"x"}', origin: "ask_human", created: "2026-11-22T10:00:00Z" };
const remembering = (...ids) =>
  new PolicyPage()
    .dispatch({ type: "show", view: "approvals" })
    .dispatch({ type: "approvals_loaded", approvals: ids.map((id) => ({ ...APPROVAL, id })) });

test("what a remembered approval covers stands beside it", () => {
  const approvals = [
    { ...APPROVAL, id: "a1", remember_for: "command", command_name: "git push", shown: "git push" },
    { ...APPROVAL, id: "a2", remember_for: "tool", command_name: null, shown: "" },
  ];
  const page = remembering().dispatch({ type: "approvals_loaded", approvals });

  assert.match(textOf(pageView(page.state)), /sendgit pushWith any arguments · .*sendEvery call · /);
});

test("an approval is revoked after one more question, once", () => {
  const page = remembering("a1", "a2").dispatch({ type: "revoke", id: "a1" });
  assert.ok(!page.effects.some(({ type }) => type === "revoke"), "the user has not agreed yet");
  page.agree().agree();
  assert.equal(ofType(page.effects, "revoke").length, 1);

  page.dispatch({ type: "revoked", id: "a1" });
  assert.deepEqual(pluck(page.state.remembered.approvals, "id"), ["a2"]);
  assert.deepEqual(page.focus, ["revoke-a2", "approvals-title"]);
});

test("one that is gone already is as good as revoked; one that could not be stays", () => {
  const page = remembering("a1", "a2");
  const revoke = (id, failure) =>
    page.dispatch({ type: "revoke", id }).agree().dispatch({ type: "revoke_failed", failure });
  revoke("a1", failureOf(404, { code: "approval_unknown", message: "gone" }));
  assert.deepEqual([page.state.remembered.approvals.length, page.state.remembered.failure], [1, null]);

  revoke("a2", OFFLINE);
  assert.deepEqual([page.state.remembered.approvals.length, page.state.remembered.failure], [1, OFFLINE]);
});

test("a failure says what helps", () => {
  const page = remembering().dispatch({ type: "revoke_failed", failure: failureOf(401, null) });
  const view = pageView(page.state);

  assert.match(textOf(view), /no longer logged in/);
  assert.ok(elements(view).some(({ attributes }) => attributes.href === "/login"));
  assert.deepEqual(failureOf(503, { code: "storage_unavailable", message: "the database is away" }), {
    kind: "refused",
    code: "storage_unavailable",
    message: "The database is away.",
    path: null,
  });
  assert.match(failureOf(502, undefined).message, /answered 502/);
});

test("empty lists say what to do", () => {
  const page = new PolicyPage().dispatch({ type: "show", view: "audit" });
  loaded(page, []);
  assert.match(textOf(pageView(page.state)), /Add the rule audit_log/);
  filtering(page, { text: "x" });
  loaded(page, []);
  assert.match(textOf(pageView(page.state)), /No entries match/);
  assert.match(textOf(pageView(remembering().state)), /None\./);
});

test("hostile text stays text in every place it can stand", () => {
  const handler = {
    type: HOSTILE,
    filter: { tools: [HOSTILE], arguments: { [HOSTILE]: HOSTILE } },
    config: { [HOSTILE]: HOSTILE },
  };
  const locked = { ...handler, locked: true };
  const page = new PolicyPage({
    document: { pre_tool_use: { handlers: [handler] } },
    effective: { pre_tool_use: { handlers: [locked] } },
  });
  page.dispatch({ type: "principal", principal: { user: HOSTILE, isOperator: true } });
  page.write({ post_tool_use: [handler] });
  page
    .change({ tool_skip: { handlers: [handler] } })
    .dispatch({ type: "save" })
    .dispatch({ type: "refresh" });
  const views = [pageView(page.state)];
  page.dispatch({ type: "show", view: "audit" });
  const row = entry(1, { tool: HOSTILE, message: HOSTILE, arguments: { [HOSTILE]: HOSTILE }, [HOSTILE]: HOSTILE });
  page.dispatch({ type: "audit_loaded", requestId: page.state.audit.requestId, rows: [row], next: null });
  views.push(pageView(page.dispatch({ type: "toggle_entry", id: 1 }).state));
  page.dispatch({ type: "show", view: "approvals" });
  const approval = { ...APPROVAL, tool: HOSTILE, shown: HOSTILE, origin: HOSTILE, created: HOSTILE };
  views.push(pageView(page.dispatch({ type: "approvals_loaded", approvals: [approval] }).state));

  for (const view of views) {
    assert.ok(textOf(view).includes(HOSTILE));
    const tags = new Set(elements(view).map(({ tag }) => tag));
    assert.ok(!tags.has("img") && !tags.has("script"));
    const links = elements(view).map(({ attributes }) => String(attributes.href ?? "/"));
    assert.ok(links.every((link) => /^[/#]/.test(link)));
    assert.ok(elements(view).every(({ attributes }) => !Object.keys(attributes).some((name) => name.startsWith("on"))));
  }
});

test("every button of every view means something", () => {
  const page = new PolicyPage({ document: { pre_tool_use: { handlers: [CONFIRM] } } });
  const views = [pageView(page.state)];
  page.dispatch({ type: "choose_scope", value: "operator" });
  page.change({}).dispatch({ type: "refresh" });
  views.push(pageView(page.dispatch({ type: "save_policy_failed", failure: OFFLINE }).state));
  page
    .dispatch({ type: "principal", principal: { user: "ann", isOperator: true } })
    .dispatch({ type: "show", view: "audit" });
  page.dispatch({ type: "verify_failed", failure: OFFLINE });
  views.push(pageView(loaded(page, [1], "c").state));
  views.push(pageView(remembering("a1").state));

  const data = ({ attributes }) =>
    Object.fromEntries(
      Object.entries(attributes)
        .filter(([name]) => name.startsWith("data-"))
        .map(([name, value]) => [name.slice(5), value]),
    );
  for (const element of views.flatMap(elements)) {
    const { action, field } = data(element);
    if (action) assert.ok(clicked(data(element)), action);
    if (field) assert.ok(entered(data(element), { value: "x", checked: true }), field);
  }
});

test("the audit log that could not be read is asked for with the same filter", () => {
  const page = filtering(new PolicyPage().dispatch({ type: "show", view: "audit" }), { tool: "send" });

  assert.equal(reduce(page.state, { type: "show", view: "audit" }).audit.filter.tool, "send");
});

test("what is asked of the audit log stands in the address, and is asked and shown again from it", () => {
  const wanted = { tool: "a&b=c *", phase: "approval", since: "2026-11-22T10:00", text: "é%" };
  const page = filtering(new PolicyPage().dispatch({ type: "show", view: "audit" }), wanted);
  const { fragment } = page.effects.find(({ type }) => type === "address");
  const again = new PolicyPage().dispatch({ type: "show", ...routeOf(fragment) });

  assert.deepEqual(again.state.audit.filter, { ...NO_FILTER, ...wanted });
  assert.deepEqual(again.effects.at(-1).filter, again.state.audit.filter);
  const fields = withAttribute(pageView(again.state), "data-field", "edit_filter");
  const shown = fields.map(({ attributes, children }) => [
    attributes.name,
    attributes.value ?? children.find((option) => option.attributes.selected).attributes.value,
  ]);
  const { user, ...others } = again.state.audit.filter;
  assert.deepEqual(Object.fromEntries(shown), others);
  assert.equal(user, "", "whose field only operators see");
});

test("a link to the audit log means the same moment everywhere", () => {
  const { filter } = routeOf("#/audit?since=2026-11-22T09:00:00Z&until=2026-11-22T10:30:00%2B01:00");

  assert.equal(parametersOf(filter).get("since"), "2026-11-22T09:00:00.000Z");
  assert.equal(parametersOf(filter).get("until"), "2026-11-22T09:30:00.000Z");
});

test("an address without a filter clears it, and one that means nothing leads to the policy", () => {
  const page = filtering(new PolicyPage().dispatch({ type: "show", view: "audit" }), { tool: "send" });
  page.dispatch({ type: "show", ...routeOf("#/audit") });
  assert.deepEqual([page.state.audit.filter, page.state.audit.fields], [NO_FILTER, NO_FILTER]);

  page.dispatch({ type: "edit_filter", name: "tool", value: "x" }).dispatch({ type: "clear_filter" });
  assert.deepEqual([page.state.audit.fields, page.effects.at(-1).fragment], [NO_FILTER, "#/audit"]);
  const nonsense = ["", "#", "#/", "#/x?tool=y", "#/__proto__"].map((fragment) => routeOf(fragment).view);
  assert.deepEqual(new Set(nonsense), new Set(["policy"]));
  const odd = routeOf(`#/audit?since=tomorrow&until=%2B275760-09-13T00:00:00Z&tool=${"x".repeat(300)}&other=1`);
  assert.equal(odd.filter.since, "");
  assert.deepEqual(Object.keys(odd.filter), Object.keys(NO_FILTER));
  assert.equal(odd.filter.tool.length, 256, "as long as a field takes");
});

test("a user who follows another's link sees whose entries it asks for", () => {
  const page = new PolicyPage().dispatch({ type: "principal", principal: { user: "ann", isOperator: false } });
  page.dispatch({ type: "show", ...routeOf("#/audit?user=bob&phase=odd") });

  assert.ok(elements(pageView(page.state)).some(({ attributes }) => attributes.value === "bob"));
  const chosen = withAttribute(pageView(page.state), "selected", true)[0];
  assert.equal(chosen.attributes.value, "odd");
});
