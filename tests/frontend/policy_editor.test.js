import assert from "node:assert/strict";
import { test } from "node:test";

import { clicked } from "../../frontend/js/policy/reduce.js";
import { below, written } from "../../frontend/js/policy/reduce_editor.js";
import { pageView } from "../../frontend/js/policy/views/page_view.js";
import { AUDIT, CONFIRM, Desk, OFFLINE, SCAN, elements, textOf, withId } from "./policy_support.js";

const PRE = "pre_tool_use";
const isDirty = (state) => written(state).isDirty;
const canSave = (state) => written(state).canSave;
const problemsOf = (state) => written(state).all;
const both = () => new Desk({ document: { [PRE]: { enabled: true, handlers: [AUDIT, SCAN] } } });

test("what is changed is sent with the version it was read at, and is what is stored then", () => {
  const desk = both();
  const [first] = desk.handlers(PRE);
  desk.edit("move", PRE, { key: first.key, by: 1 });
  assert.ok(isDirty(desk.state) && canSave(desk.state));
  desk.dispatch({ type: "save" });

  const sent = desk.effects.find(({ type }) => type === "save_policy");
  assert.equal(sent.etag, '"u1"');
  assert.deepEqual(desk.stored.document[PRE].handlers, [SCAN, AUDIT]);
  assert.equal(desk.editor.saved, "Saved: version 2.");
  assert.ok(!isDirty(desk.state));
});

test("without a change there is nothing to save", () => {
  const desk = both().dispatch({ type: "save" });

  assert.equal(desk.effects.filter(({ type }) => type === "save_policy").length, 0);
});

test("the focus goes along with a handler that moves, and to its neighbour when it goes", () => {
  const desk = both();
  const [first, second] = desk.handlers(PRE);
  desk.edit("move", PRE, { key: first.key, by: 1 });
  assert.deepEqual(desk.focus, [`down-${first.key}`, `up-${first.key}`]);
  assert.equal(desk.state.announcements.at(-1).text, "audit_log is number 2 of 2");
  desk.edit("move", PRE, { key: first.key, by: 1 });
  assert.deepEqual(desk.types(PRE), ["security_scan", "audit_log"], "it cannot go beyond the end");

  desk.edit("remove", PRE, { key: second.key });
  assert.deepEqual(desk.focus, [`remove-${first.key}`, `add-${PRE}`]);
  desk.edit("remove", PRE, { key: first.key });
  assert.deepEqual(desk.focus, [`add-${PRE}`]);
});

test("each change can be undone, and undoing all leaves nothing to save", () => {
  const desk = both();
  const [first] = desk.handlers(PRE);
  desk.edit("add", PRE, { name: "audit_log" }).edit("set", PRE, { key: first.key, name: "tools", value: "a*" });
  desk.edit("permission", PRE, { key: first.key, name: "READ", value: true }).edit("mode", PRE, { value: "below" });
  assert.deepEqual(desk.document, {});

  for (let count = 0; count < 4; count++) desk.dispatch({ type: "undo" });
  assert.ok(!isDirty(desk.state));
  assert.equal(desk.editor.past.length, 0);
});

test("what is typed into a field is undone as a whole, field by field, and up to what was saved", () => {
  const desk = both();
  const [one, two] = desk.handlers(PRE);
  const type = (key, tools) => {
    for (let end = 1; end <= tools.length; end++)
      desk.edit("set", PRE, { key, name: "tools", value: tools.slice(0, end) });
  };
  const tools = () => desk.handlers(PRE).map((handler) => handler.tools);
  type(one.key, "read_*");
  desk.dispatch({ type: "save" });
  type(one.key, "shell");
  type(two.key, "web_*");

  desk.dispatch({ type: "undo" });
  assert.deepEqual(tools(), ["shell", ""]);
  desk.dispatch({ type: "undo" });
  assert.deepEqual(tools(), ["read_*", ""]);
  assert.ok(!isDirty(desk.state));
  desk.dispatch({ type: "undo" });
  assert.deepEqual(tools(), ["", ""]);
});

test("arguments are added, changed and removed by themselves", () => {
  const desk = both();
  const [{ key }] = desk.handlers(PRE);
  desk.edit("add_argument", PRE, { key }).edit("add_argument", PRE, { key });
  assert.deepEqual(desk.focus, [`argument-${key}-1`]);
  desk.edit("set", PRE, { key, row: "0", name: "name", value: "path" });
  desk.edit("set", PRE, { key, row: "0", name: "glob", value: "*.env" });
  assert.ok(!canSave(desk.state), "an argument without a name would fit nothing");
  desk.edit("remove_argument", PRE, { key, row: "1" });

  assert.deepEqual(desk.document[PRE].handlers[0].filter, { arguments: { path: "*.env" } });
});

test("who takes over a stage begins with what is in force, without the locks", () => {
  const locked = { ...AUDIT, locked: true };
  const desk = new Desk({ effective: { [PRE]: { handlers: [locked, CONFIRM] } } });
  assert.deepEqual(below(desk.state, PRE), { locked: [locked], open: [CONFIRM] });
  desk.edit("mode", PRE, { value: "own" });

  assert.deepEqual(desk.document, { [PRE]: { enabled: true, handlers: [CONFIRM] } });
  desk.edit("mode", PRE, { value: "off" });
  assert.equal(desk.document[PRE].enabled, false);
  desk.edit("mode", PRE, { value: "own" });
  assert.deepEqual(desk.types(PRE), ["dangerous_confirmation"], "switching off keeps the handlers");
});

test("the operator's own locks are not those of parley.yaml", () => {
  const own = { ...AUDIT, locked: true };
  const desk = new Desk({
    document: { [PRE]: { handlers: [own] } },
    effective: { [PRE]: { handlers: [{ ...SCAN, locked: true }, own] } },
  });
  assert.ok(!canSave(desk.state));
  desk.dispatch({ type: "choose_scope", value: "operator" });

  assert.deepEqual(
    below(desk.state, PRE).locked.map(({ type }) => type),
    ["security_scan"],
  );
  assert.deepEqual(problemsOf(desk.state), [], "an operator may lock");
});

test("what somebody else stored is shown beside the changes, and neither is lost", () => {
  const desk = both();
  desk.edit("add", PRE, { name: "audit_log" }).change({ [PRE]: { handlers: [SCAN] }, tool_error: [AUDIT] });
  desk.dispatch({ type: "save" });

  assert.deepEqual(desk.editor.conflict?.document.tool_error.handlers, [AUDIT]);
  assert.deepEqual(desk.types(PRE), ["audit_log", "security_scan", "audit_log"], "the changes are kept");
  assert.ok(!canSave(desk.state), "nothing is overwritten without a look at it");

  desk.effects.length = 0;
  desk.dispatch({ type: "take_stage", stage: "tool_error" });
  assert.deepEqual(desk.focus, ["conflict-title"], "the button that was pressed is gone");
  desk.dispatch({ type: "keep_mine" });
  assert.ok(canSave(desk.state));
  desk.dispatch({ type: "save" });
  assert.deepEqual(Object.keys(desk.stored.document), [PRE, "tool_error"]);
  assert.equal(desk.stored.document[PRE].handlers.length, 3);
});

test("taking what is stored stage by stage ends the conflict, and can be undone", () => {
  const desk = both();
  desk
    .edit("mode", PRE, { value: "off" })
    .change({ [PRE]: { handlers: [SCAN] } })
    .dispatch({ type: "save" });
  desk.dispatch({ type: "take_stage", stage: PRE });

  assert.equal(desk.editor.conflict, null);
  assert.ok(!isDirty(desk.state));
  desk.dispatch({ type: "undo" });
  assert.equal(desk.document[PRE].enabled, false);
});

test("taking all that is stored drops the changes", () => {
  const desk = both();
  desk
    .edit("mode", PRE, { value: "off" })
    .change({ tool_skip: [AUDIT] })
    .dispatch({ type: "looked" });
  desk.dispatch({ type: "take_theirs" });

  assert.deepEqual(Object.keys(desk.document), ["tool_skip"]);
  assert.ok(!isDirty(desk.state));
});

test("who comes back without changes sees what was stored meanwhile; an equal change is no conflict", () => {
  const desk = both();
  desk.change({ tool_skip: [AUDIT] }).dispatch({ type: "looked" });
  assert.deepEqual(desk.types("tool_skip"), ["audit_log"]);

  desk.edit("add", "tool_skip", { name: "security_scan" });
  desk.change({ tool_skip: [AUDIT, SCAN] }).dispatch({ type: "looked" });
  assert.equal(desk.editor.conflict, null);
  assert.ok(!isDirty(desk.state));
});

test("what the server finds stands at its field until the next change", () => {
  const desk = both();
  const [{ key }] = desk.handlers(PRE);
  desk.edit("set", PRE, { key, name: "config", value: '{"colour": 1}' });
  const path = "$.pre_tool_use.handlers[0].config.colour";
  desk.answers = false;
  desk.dispatch({ type: "save" });
  assert.ok(!canSave(desk.state), "it is sent once");
  desk.dispatch({ type: "save_policy_failed", failure: { kind: "refused", code: "policy_invalid", message: "No.", path } });

  assert.deepEqual(problemsOf(desk.state), [{ path, message: "No." }]);
  assert.ok(canSave(desk.state), "it may be tried again");
  desk.edit("set", PRE, { key, name: "config", value: "{}" });
  assert.deepEqual(problemsOf(desk.state), []);
});

test("a server that is away costs no change", () => {
  const desk = both();
  desk.edit("mode", PRE, { value: "off" });
  desk.answers = false;
  desk.dispatch({ type: "save" }).dispatch({ type: "save_policy_failed", failure: OFFLINE });

  assert.equal(desk.editor.failure, OFFLINE);
  assert.equal(desk.document[PRE].enabled, false);
  desk.answers = true;
  desk.dispatch({ type: "save" });
  assert.equal(desk.stored.document[PRE].enabled, false);
});

test("trying again after a saving that failed saves, and one that had arrived after all is told of", () => {
  const desk = both();
  desk.edit("mode", PRE, { value: "off" });
  desk.answers = false;
  desk.dispatch({ type: "save" }).change(desk.document).dispatch({ type: "save_policy_failed", failure: OFFLINE });
  const again = elements(pageView(desk.state)).find((one) => textOf(one) === "Try again" && one.tag === "button");
  desk.answers = true;
  desk.dispatch(clicked({ action: again.attributes["data-action"] }));

  assert.ok(!isDirty(desk.state));
  assert.match(textOf(elements(pageView(desk.state)).find(({ tag }) => tag === "footer")), /Already saved/);
});

test("what is typed while it is being saved stays, and is not taken for saved", () => {
  const desk = both();
  const [{ key }] = desk.handlers(PRE);
  desk.edit("set", PRE, { key, name: "tools", value: "read" });
  desk.answers = false;
  desk.dispatch({ type: "save" }).edit("set", PRE, { key, name: "tools", value: "read_*" });
  desk.answers = true;
  const [saving] = desk.effects.filter(({ type }) => type === "save_policy");
  desk.answer(saving);

  assert.deepEqual(desk.document[PRE].handlers[0].filter, { tools: ["read_*"] });
  assert.ok(canSave(desk.state));
  desk.dispatch({ type: "save" });
  assert.deepEqual(desk.stored.document[PRE].handlers[0].filter, { tools: ["read_*"] });
});

test("nothing is disabled that has the focus while it saves", () => {
  const desk = both().edit("mode", PRE, { value: "off" });
  desk.answers = false;
  desk.dispatch({ type: "save" });

  const disabled = elements(pageView(desk.state)).filter(({ attributes }) => attributes.disabled);
  assert.deepEqual(disabled, []);
  assert.equal(withId(pageView(desk.state), "save").attributes["aria-disabled"], "true");
});

test("a stage offers the handlers that work there, and to add the first that it has not", () => {
  const desk = both().edit("mode", "tool_skip", { value: "own" });
  const offered = (stage) => {
    const add = withId(pageView(desk.state), `add-${stage}`);
    desk.dispatch(clicked({ action: "add", stage, name: add.attributes["data-name"] }));
    const types = desk.handlers(stage).map(({ key }) => withId(pageView(desk.state), `type-${key}`));
    return types.at(-1).children.map(({ attributes }) => attributes.value);
  };

  assert.deepEqual(offered("tool_skip"), ["audit_log", "security_scan"]);
  assert.deepEqual(offered(PRE), ["audit_log", "dangerous_confirmation", "security_scan"]);
  assert.deepEqual(desk.types(PRE), ["audit_log", "security_scan", "dangerous_confirmation"]);
});

test("what keeps it from being saved is said, and has the focus", () => {
  const desk = both().dispatch({ type: "save" });
  assert.equal(desk.state.announcements.at(-1).text, "No changes to save.");
  const [, second] = desk.handlers(PRE);
  desk.edit("set", PRE, { key: second.key, name: "config", value: "{" }).dispatch({ type: "save" });
  assert.deepEqual(desk.focus, [`config-${second.key}`]);

  desk.edit("set", PRE, { key: second.key, name: "config", value: '{"a": 1}' });
  const failure = { kind: "refused", code: "policy_invalid", message: "No.", path: "$.pre_tool_use.handlers[0].filter" };
  desk.answers = false;
  desk.dispatch({ type: "save" }).dispatch({ type: "save_policy_failed", failure });
  assert.deepEqual(desk.focus, [`type-${desk.handlers(PRE)[0].key}`]);

  desk.answers = true;
  desk.change({}).dispatch({ type: "save" });
  assert.deepEqual(desk.focus, ["conflict-title"]);
  desk.dispatch({ type: "save" });
  assert.equal(desk.state.announcements.at(-1).text, "The policy was changed elsewhere. Compare and decide.");
});

test("changes are not lost to the other document without a word", () => {
  const desk = both();
  desk.edit("mode", PRE, { value: "off" }).dispatch({ type: "choose_scope", value: "operator" });
  assert.equal(desk.editor.scope, "user");
  assert.equal(desk.document[PRE].enabled, false);

  desk.dispatch({ type: "choose_scope", value: "reload" }).agree();
  assert.deepEqual(desk.types(PRE), ["audit_log", "security_scan"]);
  desk.dispatch({ type: "choose_scope", value: "operator" });
  assert.equal(desk.editor.scope, "operator");
  assert.deepEqual(
    desk.effects.filter(({ type }) => type === "load_policy").map(({ scope }) => scope),
    ["user", "user", "operator"],
  );
});

test("nothing of one user is left to the next who logs in", () => {
  const desk = both().dispatch({ type: "who", who: { user: "anna", isOperator: true } });
  desk.edit("mode", PRE, { value: "off" }).dispatch({ type: "who", who: { user: "anna", isOperator: true } });
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
  const desk = both().edit("mode", PRE, { value: "off" });
  desk.answers = false;
  desk.dispatch({ type: "save" });
  const saving = desk.effects.find(({ type }) => type === "save_policy");
  desk.dispatch({ type: "choose_scope", value: "operator" }).agree();
  desk.answer(saving);

  assert.deepEqual([desk.editor.scope, desk.editor.base, desk.editor.saved], ["operator", null, null]);
});

test("as JSON it is checked with every letter, and what is right is in the form", () => {
  const desk = both().dispatch({ type: "show_text" });
  assert.deepEqual(JSON.parse(desk.editor.text), desk.document);
  desk.dispatch({ type: "edit_text", value: '{"tool_skip": [' });
  assert.ok(!canSave(desk.state) && isDirty(desk.state));
  desk.dispatch({ type: "show_form" });
  assert.notEqual(desk.editor.text, null, "a text that is not right yet is not left");

  const text = '{"tool_skip": {"enabled": true, "handlers": [{"type": "audit_log"}]}}';
  desk.dispatch({ type: "edit_text", value: text });
  assert.deepEqual(problemsOf(desk.state), []);
  desk.dispatch({ type: "show_form" });
  assert.deepEqual(desk.types("tool_skip"), ["audit_log"]);
  assert.ok(canSave(desk.state));
});

test("JSON that the form cannot show is not left, and is sent as it is for the server to say what is wrong", () => {
  const desk = both().dispatch({ type: "show_text" });
  const document = { tool_skip: [{ typ: "audit_log" }] };
  desk.dispatch({ type: "edit_text", value: JSON.stringify(document) }).dispatch({ type: "show_form" });
  assert.match(problemsOf(desk.state)[0].message, /the form cannot show the document as it is written/);
  assert.notEqual(desk.editor.text, null);

  desk.answers = false;
  desk.dispatch({ type: "save" });
  assert.deepEqual(desk.effects.findLast(({ type }) => type === "save_policy").document, document);
  const failure = { kind: "refused", code: "policy_invalid", message: "Unknown key.", path: "$.tool_skip[0].typ" };
  desk.dispatch({ type: "save_policy_failed", failure });
  assert.deepEqual(desk.focus, ["policy-text"]);
  assert.equal(withId(pageView(desk.state), "policy-text").attributes["aria-invalid"], "true");
  assert.match(textOf(withId(pageView(desk.state), "problems")), /\$\.tool_skip\[0\]\.typ/);
});

test("YAML that was read takes the place of the draft, in the form, and can be undone", () => {
  const desk = new Desk({ document: { tool_skip: { enabled: true, handlers: [AUDIT] } } });
  desk.dispatch({ type: "show_text" }).dispatch({ type: "edit_text", value: "tool_error: [{type: audit_log}]" });
  desk.dispatch({ type: "read_yaml" });
  assert.deepEqual(desk.effects.at(-1), { type: "read_yaml", text: "tool_error: [{type: audit_log}]" });

  desk.dispatch({ type: "yaml_read", document: { tool_error: { enabled: true, handlers: [AUDIT] } } });
  assert.equal(desk.state.editor.text, null);
  assert.deepEqual(Object.keys(written(desk.state).document), ["tool_error"]);
  assert.deepEqual(desk.effects.at(-1), { type: "focus", ids: ["save"] });
  desk.dispatch({ type: "undo" });
  assert.deepEqual(Object.keys(written(desk.state).document), ["tool_skip"]);

  desk.dispatch({ type: "yaml_read", document: {} });
  assert.deepEqual(Object.keys(written(desk.state).document), ["tool_skip"], "what was to be read was left");
});
