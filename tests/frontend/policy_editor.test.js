import assert from "node:assert/strict";
import { test } from "node:test";

import { clicked } from "../../frontend/js/policy/reduce.js";
import { inherited, draftOf } from "../../frontend/js/policy/reduce_editor.js";
import { pageView } from "../../frontend/js/policy/views/page_view.js";
import { AUDIT, CONFIRM, PolicyPage, OFFLINE, SCAN, withId } from "./policy_support.js";
import { elements, ofType, pluck, textOf, withAttribute } from "./support.js";

const PRE = "pre_tool_use";
const OFF = { [PRE]: { enabled: false, handlers: [] } };
const isDirty = (state) => draftOf(state).isDirty;
const canSave = (state) => draftOf(state).canSave;
const problemsOf = (state) => draftOf(state).all;
const both = () => new PolicyPage({ document: { [PRE]: { enabled: true, handlers: [AUDIT, SCAN] } } });
const sent = (page, type) => page.effects.findLast((effect) => effect.type === type);

test("what is written is sent with the version it was read at, and is what is stored then", () => {
  const page = both().write({ [PRE]: [SCAN, AUDIT] });
  assert.ok(isDirty(page.state) && canSave(page.state));
  page.dispatch({ type: "save" });

  assert.equal(sent(page, "save_policy").etag, '"u1"');
  assert.deepEqual(page.stored.document, { [PRE]: [SCAN, AUDIT] });
  assert.equal(page.editor.saved, "Saved: version 2.");
  assert.ok(!isDirty(page.state));
});

test("without a change there is nothing to save", () => {
  const page = both()
    .write({ [PRE]: [AUDIT, SCAN] })
    .dispatch({ type: "save" });

  assert.equal(sent(page, "save_policy"), undefined);
  assert.equal(page.state.announcements.at(-1).text, "No changes to save.");
});

test("a preset writes the document, and the switches show what will be in force", () => {
  const page = both();
  const shown = () => withAttribute(pageView(page.state), "role", "switch").map(({ attributes }) => attributes.checked);
  assert.deepEqual(shown(), [false, false, false]);
  page.preset("ask").preset("redact");

  assert.deepEqual(JSON.parse(page.editor.text), {
    [PRE]: [AUDIT, SCAN, { type: "dangerous_confirmation" }],
    post_tool_use: [SCAN],
  });
  assert.deepEqual(shown(), [false, true, true]);
  const text = page.write("{").editor.text;
  assert.equal(page.preset("ask", false).editor.text, text, "a text that cannot be read is not written over");
});

test("what is in force without the document is known, and what is locked of it", () => {
  const locked = { ...AUDIT, locked: true };
  const page = new PolicyPage({ effective: { [PRE]: { handlers: [locked, CONFIRM] } } });

  assert.deepEqual(inherited(page.state)[PRE], { locked: [locked], open: [CONFIRM] });
  page.preset("ask", false);
  assert.deepEqual(page.document, { [PRE]: [] });
});

test("the operator's own locks are not those of parley.yaml", () => {
  const own = { ...AUDIT, locked: true };
  const page = new PolicyPage({
    document: { [PRE]: { handlers: [own] } },
    effective: { [PRE]: { handlers: [{ ...SCAN, locked: true }, own] } },
  });
  page.dispatch({ type: "choose_scope", value: "operator" });

  assert.deepEqual(inherited(page.state)[PRE], { locked: [{ ...SCAN, locked: true }], open: null });
});

test("each change is checked by the server, whose answer to an earlier text is not shown", () => {
  const page = both().write({ [PRE]: [{ type: "nonsense" }] });
  const { of } = sent(page, "check");
  const failure = { kind: "refused", code: "policy_invalid", message: "No.", path: "$.pre_tool_use[0].type" };
  page.dispatch({ type: "check_failed", of, failure });
  assert.deepEqual(problemsOf(page.state), [{ path: failure.path, message: "not accepted by the server: No." }]);
  const marked = JSON.parse(withId(pageView(page.state), "editor").attributes.problems);
  assert.deepEqual(marked, [{ line: 1, severity: "error", message: "not accepted by the server: No." }]);
  assert.ok(canSave(page.state), "the server decides when it is saved");

  page.write({ [PRE]: [AUDIT] }).dispatch({ type: "check_failed", of, failure: { ...failure, message: "Late." } });
  assert.deepEqual(
    problemsOf(page.state).map(({ message }) => message),
    ["not accepted by the server: No."],
    "until the next answer",
  );
  page.dispatch({ type: "checked", of: page.editor.text });
  assert.deepEqual(problemsOf(page.state), []);
});

test("what cannot be read is marked at once, and is neither checked nor saved", () => {
  const page = both().write('{"tool_skip": [');
  assert.match(problemsOf(page.state)[0].message, /not valid JSON/);
  assert.ok(!canSave(page.state) && isDirty(page.state));
  page.dispatch({ type: "save" });

  assert.equal(sent(page, "check"), undefined);
  assert.equal(sent(page, "save_policy"), undefined);
  assert.deepEqual(page.focus, ["editor"]);
});

test("what another user stored is shown beside the changes, and neither is lost", () => {
  const mine = { [PRE]: [AUDIT, SCAN, AUDIT] };
  const page = both()
    .write(mine)
    .change({ [PRE]: { handlers: [SCAN] }, tool_error: [AUDIT] });
  page.dispatch({ type: "save" });

  assert.deepEqual(page.editor.conflict?.document.tool_error, [AUDIT]);
  assert.deepEqual(page.document, mine);
  assert.ok(!canSave(page.state), "nothing is overwritten without a look at it");
  page.dispatch({ type: "save" });
  assert.deepEqual(page.focus, ["conflict-title"]);
  const lines = withAttribute(pageView(page.state), "class", "diff diff-removed");
  assert.ok(lines.some((line) => textOf(line).includes("tool_error")));

  page.dispatch({ type: "keep_mine" }).dispatch({ type: "save" });
  assert.deepEqual(page.stored.document, mine);
});

test("taking all that is stored drops the changes", () => {
  const page = both()
    .write(OFF)
    .change({ tool_skip: [AUDIT] })
    .dispatch({ type: "refresh" })
    .dispatch({ type: "take_theirs" });

  assert.deepEqual(page.document, { tool_skip: [AUDIT] });
  assert.ok(!isDirty(page.state) && !page.editor.conflict);
});

test("a user who comes back without changes sees what was stored meanwhile; an equal change is no conflict", () => {
  const page = both()
    .change({ tool_skip: [AUDIT] })
    .dispatch({ type: "refresh" });
  assert.deepEqual(page.document, { tool_skip: [AUDIT] });

  page
    .write({ tool_skip: [AUDIT, SCAN] })
    .change({ tool_skip: [AUDIT, SCAN] })
    .dispatch({ type: "refresh" });
  assert.equal(page.editor.conflict, null);
  assert.ok(!isDirty(page.state));
});

test("a text that means what is stored stays as the user writes it", () => {
  const text = '{ "tool_skip": [{"type": "audit_log"}] }';
  const page = both().write(text).dispatch({ type: "save" }).dispatch({ type: "refresh" });

  assert.equal(page.editor.text, text);
});

test("a server that is away costs no change", () => {
  const page = both().write(OFF);
  page.answers = false;
  page.dispatch({ type: "save" }).dispatch({ type: "save_policy_failed", failure: OFFLINE });

  assert.equal(page.editor.failure, OFFLINE);
  assert.deepEqual(page.document, OFF);
  page.answers = true;
  page.dispatch({ type: "save" });
  assert.deepEqual(page.stored.document, OFF);
});

test("trying again after a saving that failed saves, and one that had arrived after all is told of", () => {
  const page = both().write(OFF);
  page.answers = false;
  page.dispatch({ type: "save" }).change(page.document).dispatch({ type: "save_policy_failed", failure: OFFLINE });
  const again = elements(pageView(page.state)).find((one) => textOf(one) === "Try again" && one.tag === "button");
  page.answers = true;
  page.dispatch(clicked({ action: again.attributes["data-action"] }));

  assert.ok(!isDirty(page.state));
  assert.match(textOf(elements(pageView(page.state)).find(({ tag }) => tag === "footer")), /Already saved/);
});

test("what is typed while it is being saved stays, and is not taken for saved", () => {
  const page = both().write({ tool_skip: [AUDIT] });
  page.answers = false;
  page.dispatch({ type: "save" }).write({ tool_skip: [AUDIT, SCAN] });
  page.answers = true;
  page.answer(sent(page, "save_policy"));

  assert.deepEqual(page.document, { tool_skip: [AUDIT, SCAN] });
  assert.ok(canSave(page.state));
});

test("nothing is disabled that has the focus while it saves", () => {
  const page = both().write(OFF);
  page.answers = false;
  page.dispatch({ type: "save" });

  assert.deepEqual(
    elements(pageView(page.state)).filter(({ attributes }) => attributes.disabled),
    [],
  );
  assert.equal(withId(pageView(page.state), "save").attributes["aria-disabled"], "true");
});

test("what the server refuses is said at its line, and may be tried again", () => {
  const page = both().write({ tool_skip: [{ typ: "audit_log" }] });
  page.answers = false;
  page.dispatch({ type: "save" });
  assert.ok(!canSave(page.state), "it is sent once");
  const failure = { kind: "refused", code: "policy_invalid", message: "Unknown key.", path: "$.tool_skip[0].typ" };
  page.dispatch({ type: "save_policy_failed", failure });

  assert.deepEqual(page.focus, ["editor"]);
  assert.match(
    textOf(withId(pageView(page.state), "problems")),
    /Line 1 \$\.tool_skip\[0\]\.typ not accepted by the server: Unknown key\./,
  );
  assert.ok(canSave(page.state));
});

test("changes are not lost to the other document without a word", () => {
  const page = both().write(OFF).dispatch({ type: "choose_scope", value: "operator" });
  assert.equal(page.editor.scope, "user");
  assert.deepEqual(page.document, OFF);

  page.dispatch({ type: "choose_scope", value: "reload" }).agree();
  assert.deepEqual(page.document, { [PRE]: [AUDIT, SCAN] });
  page.dispatch({ type: "choose_scope", value: "operator" });
  assert.deepEqual(pluck(ofType(page.effects, "load_policy"), "scope"), ["user", "user", "operator"]);
});

test("nothing of one user is left to the next one who logs in", () => {
  const page = both()
    .dispatch({ type: "principal", principal: { user: "anna", isOperator: true } })
    .write(OFF);
  page.dispatch({ type: "principal", principal: { user: "anna", isOperator: true } });
  assert.ok(isDirty(page.state));
  page.change({}).dispatch({ type: "principal", principal: { user: "bert", isOperator: false } });

  assert.ok(!isDirty(page.state));
  assert.deepEqual(page.document, {});
});

test("an answer about the document that was left comes too late", () => {
  const page = both();
  page.answers = false;
  page.dispatch({ type: "choose_scope", value: "operator" });
  page.load("user");

  assert.equal(page.editor.base, null);
});

test("a saving that ends when its document was left changes nothing of the other", () => {
  const page = both().write(OFF);
  page.answers = false;
  page.dispatch({ type: "save" });
  const saving = sent(page, "save_policy");
  page.dispatch({ type: "choose_scope", value: "operator" }).agree();
  page.answer(saving);

  assert.deepEqual([page.editor.scope, page.editor.base, page.editor.saved], ["operator", null, null]);
});

test("YAML that was read takes the place of the text, as JSON", () => {
  const page = both().write("tool_error: [{type: audit_log}]").dispatch({ type: "read_yaml" });
  assert.deepEqual(sent(page, "read_yaml"), { type: "read_yaml", text: "tool_error: [{type: audit_log}]" });

  page.dispatch({ type: "yaml_read", document: { tool_error: { enabled: true, handlers: [AUDIT] } } });
  assert.deepEqual(page.document, { tool_error: [AUDIT] });
  assert.ok(page.effects.some(({ type, ids }) => type === "focus" && ids[0] === "save"));
});
