import assert from "node:assert/strict";
import { test } from "node:test";

import { clicked } from "../../frontend/js/policy/reduce.js";
import { below, written } from "../../frontend/js/policy/reduce_editor.js";
import { pageView } from "../../frontend/js/policy/views/page_view.js";
import { AUDIT, CONFIRM, Desk, OFFLINE, SCAN, elements, textOf, withId } from "./policy_support.js";

const PRE = "pre_tool_use";
const OFF = { [PRE]: { enabled: false, handlers: [] } };
const isDirty = (state) => written(state).isDirty;
const canSave = (state) => written(state).canSave;
const problemsOf = (state) => written(state).all;
const both = () => new Desk({ document: { [PRE]: { enabled: true, handlers: [AUDIT, SCAN] } } });
const sent = (desk, type) => desk.effects.findLast((effect) => effect.type === type);

test("what is written is sent with the version it was read at, and is what is stored then", () => {
  const desk = both().write({ [PRE]: [SCAN, AUDIT] });
  assert.ok(isDirty(desk.state) && canSave(desk.state));
  desk.dispatch({ type: "save" });

  assert.equal(sent(desk, "save_policy").etag, '"u1"');
  assert.deepEqual(desk.stored.document, { [PRE]: [SCAN, AUDIT] });
  assert.equal(desk.editor.saved, "Saved: version 2.");
  assert.ok(!isDirty(desk.state));
});

test("without a change there is nothing to save", () => {
  const desk = both()
    .write({ [PRE]: [AUDIT, SCAN] })
    .dispatch({ type: "save" });

  assert.equal(sent(desk, "save_policy"), undefined);
  assert.equal(desk.state.announcements.at(-1).text, "No changes to save.");
});

test("a preset writes the document, and the switches show what will be in force", () => {
  const desk = both();
  const shown = () =>
    elements(pageView(desk.state))
      .filter(({ attributes }) => attributes.role === "switch")
      .map(({ attributes }) => attributes.checked);
  assert.deepEqual(shown(), [false, false, false]);
  desk.preset("ask").preset("redact");

  assert.deepEqual(JSON.parse(desk.editor.text), {
    [PRE]: [AUDIT, SCAN, { type: "dangerous_confirmation" }],
    post_tool_use: [SCAN],
  });
  assert.deepEqual(shown(), [false, true, true]);
  const text = desk.write("{").editor.text;
  assert.equal(desk.preset("ask", false).editor.text, text, "a text that cannot be read is not written over");
});

test("what is in force without the document is known, and what is locked of it", () => {
  const locked = { ...AUDIT, locked: true };
  const desk = new Desk({ effective: { [PRE]: { handlers: [locked, CONFIRM] } } });

  assert.deepEqual(below(desk.state)[PRE], { locked: [locked], open: [CONFIRM] });
  desk.preset("ask", false);
  assert.deepEqual(desk.document, { [PRE]: [] });
});

test("the operator's own locks are not those of parley.yaml", () => {
  const own = { ...AUDIT, locked: true };
  const desk = new Desk({
    document: { [PRE]: { handlers: [own] } },
    effective: { [PRE]: { handlers: [{ ...SCAN, locked: true }, own] } },
  });
  desk.dispatch({ type: "choose_scope", value: "operator" });

  assert.deepEqual(below(desk.state)[PRE], { locked: [{ ...SCAN, locked: true }], open: null });
});

test("each change is checked by the server, whose answer to an earlier text is not shown", () => {
  const desk = both().write({ [PRE]: [{ type: "nonsense" }] });
  const { of } = sent(desk, "check");
  const failure = { kind: "refused", code: "policy_invalid", message: "No.", path: "$.pre_tool_use[0].type" };
  desk.dispatch({ type: "check_failed", of, failure });
  assert.deepEqual(problemsOf(desk.state), [{ path: failure.path, message: "No." }]);
  const marked = JSON.parse(withId(pageView(desk.state), "editor").attributes.problems);
  assert.deepEqual(marked, [{ line: 1, severity: "error", message: "No." }]);
  assert.ok(canSave(desk.state), "the server decides when it is saved");

  desk.write({ [PRE]: [AUDIT] }).dispatch({ type: "check_failed", of, failure: { ...failure, message: "Late." } });
  assert.deepEqual(
    problemsOf(desk.state).map(({ message }) => message),
    ["No."],
    "until the next answer",
  );
  desk.dispatch({ type: "checked", of: desk.editor.text });
  assert.deepEqual(problemsOf(desk.state), []);
});

test("what cannot be read is marked at once, and is neither checked nor saved", () => {
  const desk = both().write('{"tool_skip": [');
  assert.match(problemsOf(desk.state)[0].message, /not valid JSON/);
  assert.ok(!canSave(desk.state) && isDirty(desk.state));
  desk.dispatch({ type: "save" });

  assert.equal(sent(desk, "check"), undefined);
  assert.equal(sent(desk, "save_policy"), undefined);
  assert.deepEqual(desk.focus, ["editor"]);
});

test("what somebody else stored is shown beside the changes, and neither is lost", () => {
  const mine = { [PRE]: [AUDIT, SCAN, AUDIT] };
  const desk = both()
    .write(mine)
    .change({ [PRE]: { handlers: [SCAN] }, tool_error: [AUDIT] });
  desk.dispatch({ type: "save" });

  assert.deepEqual(desk.editor.conflict?.document.tool_error, [AUDIT]);
  assert.deepEqual(desk.document, mine);
  assert.ok(!canSave(desk.state), "nothing is overwritten without a look at it");
  desk.dispatch({ type: "save" });
  assert.deepEqual(desk.focus, ["conflict-title"]);
  const lines = elements(pageView(desk.state)).filter(({ attributes }) => attributes.class === "diff diff-removed");
  assert.ok(lines.some((line) => textOf(line).includes("tool_error")));

  desk.dispatch({ type: "keep_mine" }).dispatch({ type: "save" });
  assert.deepEqual(desk.stored.document, mine);
});

test("taking all that is stored drops the changes", () => {
  const desk = both()
    .write(OFF)
    .change({ tool_skip: [AUDIT] })
    .dispatch({ type: "looked" })
    .dispatch({ type: "take_theirs" });

  assert.deepEqual(desk.document, { tool_skip: [AUDIT] });
  assert.ok(!isDirty(desk.state) && !desk.editor.conflict);
});

test("who comes back without changes sees what was stored meanwhile; an equal change is no conflict", () => {
  const desk = both()
    .change({ tool_skip: [AUDIT] })
    .dispatch({ type: "looked" });
  assert.deepEqual(desk.document, { tool_skip: [AUDIT] });

  desk
    .write({ tool_skip: [AUDIT, SCAN] })
    .change({ tool_skip: [AUDIT, SCAN] })
    .dispatch({ type: "looked" });
  assert.equal(desk.editor.conflict, null);
  assert.ok(!isDirty(desk.state));
});

test("a text that means what is stored stays as the user writes it", () => {
  const text = '{ "tool_skip": [{"type": "audit_log"}] }';
  const desk = both().write(text).dispatch({ type: "save" }).dispatch({ type: "looked" });

  assert.equal(desk.editor.text, text);
});

test("a server that is away costs no change", () => {
  const desk = both().write(OFF);
  desk.answers = false;
  desk.dispatch({ type: "save" }).dispatch({ type: "save_policy_failed", failure: OFFLINE });

  assert.equal(desk.editor.failure, OFFLINE);
  assert.deepEqual(desk.document, OFF);
  desk.answers = true;
  desk.dispatch({ type: "save" });
  assert.deepEqual(desk.stored.document, OFF);
});

test("trying again after a saving that failed saves, and one that had arrived after all is told of", () => {
  const desk = both().write(OFF);
  desk.answers = false;
  desk.dispatch({ type: "save" }).change(desk.document).dispatch({ type: "save_policy_failed", failure: OFFLINE });
  const again = elements(pageView(desk.state)).find((one) => textOf(one) === "Try again" && one.tag === "button");
  desk.answers = true;
  desk.dispatch(clicked({ action: again.attributes["data-action"] }));

  assert.ok(!isDirty(desk.state));
  assert.match(textOf(elements(pageView(desk.state)).find(({ tag }) => tag === "footer")), /Already saved/);
});

test("what is typed while it is being saved stays, and is not taken for saved", () => {
  const desk = both().write({ tool_skip: [AUDIT] });
  desk.answers = false;
  desk.dispatch({ type: "save" }).write({ tool_skip: [AUDIT, SCAN] });
  desk.answers = true;
  desk.answer(sent(desk, "save_policy"));

  assert.deepEqual(desk.document, { tool_skip: [AUDIT, SCAN] });
  assert.ok(canSave(desk.state));
});

test("nothing is disabled that has the focus while it saves", () => {
  const desk = both().write(OFF);
  desk.answers = false;
  desk.dispatch({ type: "save" });

  assert.deepEqual(
    elements(pageView(desk.state)).filter(({ attributes }) => attributes.disabled),
    [],
  );
  assert.equal(withId(pageView(desk.state), "save").attributes["aria-disabled"], "true");
});

test("what the server refuses is said at its line, and may be tried again", () => {
  const desk = both().write({ tool_skip: [{ typ: "audit_log" }] });
  desk.answers = false;
  desk.dispatch({ type: "save" });
  assert.ok(!canSave(desk.state), "it is sent once");
  const failure = { kind: "refused", code: "policy_invalid", message: "Unknown key.", path: "$.tool_skip[0].typ" };
  desk.dispatch({ type: "save_policy_failed", failure });

  assert.deepEqual(desk.focus, ["editor"]);
  assert.match(textOf(withId(pageView(desk.state), "problems")), /Line 1 \$\.tool_skip\[0\]\.typ Unknown key\./);
  assert.ok(canSave(desk.state));
});

test("changes are not lost to the other document without a word", () => {
  const desk = both().write(OFF).dispatch({ type: "choose_scope", value: "operator" });
  assert.equal(desk.editor.scope, "user");
  assert.deepEqual(desk.document, OFF);

  desk.dispatch({ type: "choose_scope", value: "reload" }).agree();
  assert.deepEqual(desk.document, { [PRE]: [AUDIT, SCAN] });
  desk.dispatch({ type: "choose_scope", value: "operator" });
  assert.deepEqual(
    desk.effects.filter(({ type }) => type === "load_policy").map(({ scope }) => scope),
    ["user", "user", "operator"],
  );
});

test("nothing of one user is left to the next who logs in", () => {
  const desk = both()
    .dispatch({ type: "who", who: { user: "anna", isOperator: true } })
    .write(OFF);
  desk.dispatch({ type: "who", who: { user: "anna", isOperator: true } });
  assert.ok(isDirty(desk.state));
  desk.change({}).dispatch({ type: "who", who: { user: "bert", isOperator: false } });

  assert.ok(!isDirty(desk.state));
  assert.deepEqual(desk.document, {});
});

test("an answer about the document that was left comes too late", () => {
  const desk = both();
  desk.answers = false;
  desk.dispatch({ type: "choose_scope", value: "operator" });
  desk.load("user");

  assert.equal(desk.editor.base, null);
});

test("a saving that ends when its document was left changes nothing of the other", () => {
  const desk = both().write(OFF);
  desk.answers = false;
  desk.dispatch({ type: "save" });
  const saving = sent(desk, "save_policy");
  desk.dispatch({ type: "choose_scope", value: "operator" }).agree();
  desk.answer(saving);

  assert.deepEqual([desk.editor.scope, desk.editor.base, desk.editor.saved], ["operator", null, null]);
});

test("YAML that was read takes the place of the text, as JSON", () => {
  const desk = both().write("tool_error: [{type: audit_log}]").dispatch({ type: "read_yaml" });
  assert.deepEqual(sent(desk, "read_yaml"), { type: "read_yaml", text: "tool_error: [{type: audit_log}]" });

  desk.dispatch({ type: "yaml_read", document: { tool_error: { enabled: true, handlers: [AUDIT] } } });
  assert.deepEqual(desk.document, { tool_error: [AUDIT] });
  assert.ok(desk.effects.some(({ type, ids }) => type === "focus" && ids[0] === "save"));
});
