import assert from "node:assert/strict";
import { test } from "node:test";

import { lastQuestionOf } from "../../frontend/js/studio/conversation.js";
import { lineOf } from "../../frontend/js/editor/problem_lines.js";
import { hookOf, withHooks } from "../../frontend/js/studio/hook_form.js";
import { inFile, reduce } from "../../frontend/js/studio/reduce.js";
import { editsOf, initialState } from "../../frontend/js/studio/state.js";
import { pluck } from "./support.js";

const HOOKS = "hooks/hooks.json";
const HINT = "hooks/hint.md";

/** @param {Record<string, unknown>} [more] */
const listing = (more) => ({
  name: "calm",
  etag: "s1",
  is_writable: true,
  files: [
    { path: "SKILL.md", bytes: 1, etag: "p1" },
    { path: HINT, bytes: 1, etag: "h1" },
    { path: HOOKS, bytes: 1, etag: "j1" },
    { path: "scripts/x.py", bytes: 1, etag: null },
  ],
  diagnostics: [],
  undo: [],
  redo: [],
  ...more,
});

/** The studio with a skill and an open file. */
function opened(path = HINT, text = "Be calm.", more = {}) {
  const skills = [
    { name: "calm", is_writable: true },
    { name: "other", is_writable: true },
  ];
  return [
    { type: "skills_loaded", isOn: true, skills, schema: { type: "object", properties: { hooks: { type: "array" } } } },
    { type: "skill_loaded", skill: "calm", listing: listing(more) },
    { type: "open_file", path },
    { type: "file_loaded", skill: "calm", path, text, etag: path === HINT ? "h1" : "j1" },
  ].reduce(reduce, initialState());
}
const after = (state, ...events) => events.reduce(reduce, state);
const effect = (state, type) => state.effects.find((one) => one.type === type);
const typed = (value) => ({ type: "typed", value });
const save = { type: "save" };
const saved = (text, more = {}) => ({
  type: "saved",
  skill: "calm",
  path: HINT,
  text,
  etag: "h2",
  listing: listing(more),
});
const named = (form, value) => [{ type: "form", form }, { type: "name", value }, { type: "submit" }];
const refused = (code, more = {}) => ({ kind: "refused", code, message: "m", current: null, etag: "", ...more });
const stale = (current, etag) => ({
  type: "save_failed",
  path: HINT,
  failure: refused("version_stale", { current, etag }),
});

test("the first skill is opened, with its page", () => {
  const state = after(initialState(), { type: "skills_loaded", isOn: true, skills: [{ name: "calm" }], schema: {} });
  assert.deepEqual(effect(state, "load_skill"), { type: "load_skill", skill: "calm" });
  const shown = after(state, { type: "skill_loaded", skill: "calm", listing: listing() });
  assert.deepEqual(effect(shown, "load_file"), { type: "load_file", skill: "calm", path: "SKILL.md", focuses: false });
});

test("each edit is previewed, and a save sends the version it began with", () => {
  const state = after(opened(), typed("Be loud."));
  assert.deepEqual(effect(state, "preview").files, { [HINT]: "Be loud." });
  const saving = after(state, save);
  assert.deepEqual(effect(saving, "save"), { type: "save", skill: "calm", path: HINT, text: "Be loud.", etag: "h1" });
  assert.equal(effect(after(saving, save), "save"), undefined, "one at a time");
  const done = after(saving, saved("Be loud.", { files: [{ path: HINT, bytes: 8, etag: "h2" }] }));
  assert.deepEqual(editsOf(done), {});
  assert.equal(done.buffers[HINT].text, "Be loud.");
});

test("a save says that the last working version stays in use, but not for mistakes in tests", () => {
  const said = (...files) => {
    const diagnostics = files.map((file) => ({ severity: "error", file, path: "", message: "wrong" }));
    return after(opened(), saved("x", { diagnostics })).announcements.at(-1).text;
  };
  assert.equal(said("tests/a.yaml"), `${HINT} is saved.`);
  assert.equal(said("tests/a.yaml", HOOKS), `${HINT} is saved, with 1 error: the last working version stays in use.`);
});

test("what is typed while a save is under way stays unsaved", () => {
  const state = after(opened(), typed("One."), save, typed("Two."));
  const done = after(state, saved("One.", { files: [{ path: HINT, bytes: 4, etag: "h2" }] }));
  assert.deepEqual(editsOf(done), { [HINT]: "Two." });
  assert.equal(done.buffers[HINT].etag, "h2");
});

test("another author's version is shown, and either one can be kept", () => {
  const state = after(opened(), typed("Mine."), save, stale("Theirs.", "h9"));
  assert.deepEqual(state.conflict, { path: HINT, current: "Theirs.", etag: "h9" });
  assert.equal(state.buffers[HINT].text, "Mine.");
  const mine = after(state, { type: "keep_mine" });
  assert.deepEqual(effect(mine, "save"), { type: "save", skill: "calm", path: HINT, text: "Mine.", etag: "h9" });
  const theirs = after(state, { type: "take_theirs" });
  assert.deepEqual([theirs.buffers[HINT].text, editsOf(theirs)], ["Theirs.", {}]);
});

test("a file that was deleted elsewhere is created again when mine is kept", () => {
  const state = after(opened(), typed("Mine."), save, stale(null, ""), { type: "keep_mine" });
  assert.equal(effect(state, "save").etag, null);
});

test("edits are not lost to another skill, an undo or a change on disk", () => {
  const edited = after(opened(), typed("Mine."));
  assert.equal(effect(after(edited, { type: "open_skill", skill: "other" }), "confirm").event.skill, "other");
  for (const form of ["skill", "rename_skill"]) {
    const state = after(edited, ...named(form, "new"));
    assert.deepEqual(pluck(state.effects, "type"), ["confirm"]);
    const [{ type }] = after(state, effect(state, "confirm").event).effects;
    assert.equal(type, form === "skill" ? "create_skill" : form);
  }
  assert.deepEqual(after(edited, { type: "show", skill: "" }).effects, [], "an address without a skill");
  const changed = listing({ files: [{ path: HINT, bytes: 1, etag: "h7" }] });
  assert.equal(after(edited, { type: "skill_loaded", skill: "calm", listing: changed }).buffers[HINT].text, "Mine.");
  const clean = after(opened(), { type: "stepped", skill: "calm", way: "undo", listing: changed });
  assert.deepEqual(effect(clean, "load_file"), { type: "load_file", skill: "calm", path: HINT, focuses: false });
  const read = after(clean, { type: "file_loaded", skill: "calm", path: HINT, text: "Theirs.", etag: "h7" });
  assert.equal(read.buffers[HINT].text, "Theirs.");
  const again = after(read, { type: "skill_loaded", skill: "calm", listing: changed });
  assert.equal(effect(again, "load_file"), undefined, "once");
});

test("answers that come too late change nothing", () => {
  const state = after(opened(), { type: "open_skill", skill: "other", isConfirmed: true });
  assert.equal(after(state, { type: "skill_loaded", skill: "calm", listing: listing() }).listing, null);
  assert.deepEqual(after(state, { type: "file_loaded", skill: "calm", path: HINT, text: "x", etag: "e" }).buffers, {});
  assert.equal(after(opened(), { type: "previewed", asked: 1, preview: {} }).preview, null);
});

test("a new file is only here until it is saved", () => {
  const state = after(opened(), ...named("file", "tests/calm.yaml"));
  assert.deepEqual([state.path, editsOf(state)], ["tests/calm.yaml", { "tests/calm.yaml": "" }]);
  assert.equal(effect(after(state, save), "save").etag, null);
  assert.deepEqual(editsOf(after(state, { type: "discard" })), {});
});

test("a file that could not be saved is not begun", () => {
  const made = (path) => after(opened(), ...named("file", path));
  for (const path of ["care.md", "hooks/", "scripts/x.py", "SKILL.md.txt"]) {
    assert.deepEqual([made(path).form, made(path).path, editsOf(made(path))], ["file", HINT, {}], path);
    assert.match(made(path).failure.message, /hooks\//);
  }
  for (const path of ["hooks/care.md", "tests/a.yaml", "references/a/b.txt", "SKILL.md"])
    assert.equal(made(path).path, path);
});

test("a failed test is shown at its line, in a file that was never opened too", () => {
  const path = "tests/a.yaml";
  const state = opened(HINT, "x", {
    files: [
      { path: HINT, bytes: 1, etag: "h1" },
      { path, bytes: 1, etag: "t1" },
    ],
  });
  const there = after(state, { type: "go_to", path: HINT, line: "1" });
  assert.deepEqual(effect(there, "line"), { type: "line", line: 1 });
  const asked = after(state, { type: "go_to", path, line: "5" });
  assert.equal(effect(asked, "line"), undefined, "there is nothing yet to go to");
  const read = after(asked, { ...effect(asked, "load_file"), type: "file_loaded", text: "tests:", etag: "t1" });
  assert.deepEqual(effect(read, "line"), { type: "line", line: 5 });
});

test("the editor has the focus after something was made or renamed", () => {
  const loud = listing({ name: "loud" });
  const created = after(opened(), { type: "skill_created", listing: loud });
  const shown = after(created, { ...effect(created, "load_skill"), type: "skill_loaded", listing: loud });
  assert.equal(effect(shown, "load_file").focuses, true);
  const to = "hooks/tone.md";
  const event = { ...saved("", { files: [{ path: to, bytes: 1, etag: "h1" }] }), type: "file_renamed", to, etag: "h1" };
  const renamed = after(opened(), event);
  assert.deepEqual([renamed.path, effect(renamed, "begin")], [to, { type: "begin" }]);
});

test("a failure is shown until what failed has worked, and a skill that is gone is left", () => {
  const failure = refused("file_system");
  const failed = after(opened(), { type: "delete_file_failed", failure }, typed("x"));
  assert.equal(after(failed, { type: "previewed", asked: failed.asked, preview: {} }).failure.message, "m");
  const offline = after(opened(), { type: "preview_failed", failure });
  assert.equal(after(offline, { type: "previewed", asked: offline.asked, preview: {} }).failure, null);
  const gone = after(opened(), { type: "load_skill_failed", failure: { ...failure, code: "skill_unknown" } });
  assert.deepEqual([gone.skill, effect(gone, "load_skills")], ["", { type: "load_skills" }]);
});

test("what cannot be written cannot be saved", () => {
  const state = after(opened(HINT, "x", { is_writable: false }), typed("y"), save);
  assert.equal(effect(state, "save"), undefined);
});

test("the tools of a question are rounds of calls with their ends", () => {
  const state = after(opened(), { type: "ask", name: "tools", value: " a, b: error ; c:refused;; d: nonsense" });
  const end = (tool, status = "ok") => ({ tool, status });
  assert.deepEqual(effect(state, "preview").rounds, [[end("a"), end("b", "error")], [end("c", "refused")], [end("d")]]);
});

test("a trial gathers both answers as they come", () => {
  const state = after(opened(), { type: "ask", name: "text", value: "Hi" }, { type: "try_it" });
  assert.equal(effect(state, "try_it").tools, false, "tools run for real only if asked for");
  const pieces = [
    { type: "trial_piece", version: "saved", text: "One " },
    { type: "trial_piece", version: "edited", tool: "read_file" },
    { type: "trial_piece", version: "saved", text: "two." },
    { type: "trial_piece", version: "saved", end: { code: "completed" } },
  ];
  const { trial } = after(state, ...pieces);
  assert.deepEqual([trial.saved.text, trial.saved.end.code], ["One two.", "completed"]);
  assert.deepEqual(trial.edited.tools, ["read_file"]);
  assert.equal(effect(after(opened(), { type: "try_it" }), "try_it"), undefined, "a question is needed");
});

test("a problem is found in its line", () => {
  const at = (file, path, message, text) => lineOf({ severity: "error", file, path, message }, text);
  assert.equal(at(HOOKS, "$.hooks[0].role", "wrong", '{"hooks": [\n{"name": "a",\n"role": "x"}]}'), 3);
  assert.equal(at(HOOKS, "", "is not JSON: line 2, column 1: x", "{\n\n}"), 2);
  assert.equal(at("SKILL.md", "$.description", "missing", "---\nname: a\ndescription: \n---\n"), 3);
  const tests = "tests:\n  - name: a\n    expect: {}\n  - name: b\n    expect: {}\n";
  assert.equal(at("tests/a.yaml", "$.tests[1].expect", "wrong", tests), 5);
  const state = opened(HOOKS, "{\n}");
  assert.deepEqual(inFile(state, [{ severity: "error", file: HINT, path: "", message: "" }]), []);
});

test("the last question and what was said before it are taken from a conversation", () => {
  const user = (content) => ({ role: "user", content });
  const reply = (content) => ({ role: "assistant", content });
  const hook = { role: "system", content: "h", _hook: "x" };
  const before = [user("Hi"), reply("Hello")];
  const found = lastQuestionOf([...before, hook, user("Why?"), reply("So.")]);
  assert.deepEqual(found, { text: "Why?", history: before, hookState: null });
  assert.equal(lastQuestionOf([]), null);
  assert.equal(lastQuestionOf(undefined), null);
});

test("what hooks remembered before the last question goes along, also behind a cut, and never what they learnt later", () => {
  const turn = (n) => [
    { role: "user", content: `q${n}`, _state: `after q${n}` },
    { role: "assistant", content: `a${n}` },
  ];
  const turns = Array.from({ length: 40 }, (_, n) => turn(n)).flat();
  const found = lastQuestionOf([...turns, { role: "user", content: "Why?", _state: "after Why?" }]);
  assert.deepEqual([found.history.length, found.history.at(-1).content, found.hookState], [50, "a39", "after q39"]);
  const long = [...turn(0), ...turns.slice(2).map(({ _state, ...message }) => message)];
  assert.equal(lastQuestionOf(long).hookState, "after q0");
});

test("preview and trial go on from the last conversation, with the skills that are switched on and off there", () => {
  const history = [{ role: "user", content: "Hi" }];
  const conversation = { type: "conversation", text: "Why?", history, hookState: "signed" };
  const state = after(opened(), { type: "skills_chosen", off: ["loud"], on: ["asleep"] }, conversation);
  const sent = { text: "Why?", history, state: "signed", skills_off: ["loud"], skills_on: ["asleep"] };
  const alone = after(state, { type: "ask", name: "hasHistory", value: false });
  const other = after(
    state,
    { type: "open_skill", skill: "other" },
    { type: "skill_loaded", skill: "other", listing: listing({ name: "other" }) },
  );

  for (const one of [state, other]) {
    assert.deepEqual({ ...effect(one, "preview"), ...sent }, effect(one, "preview"));
    const trying = effect(after(one, { type: "try_it" }), "try_it");
    assert.deepEqual({ ...trying, ...sent }, trying);
  }
  const { history: none, state: nothing } = effect(alone, "preview");
  assert.deepEqual([none, nothing], [[], null]);
});

const NEW = { name: "new", when: { user_text: ["a, [ b ]"], not: { turn: { min: 2 } } } };
const WRITTEN = '{"name": "new", "when": {"user_text": ["a, [ b ]"], "not": {"turn": {"min": 2}}}}';

test("a hook is written behind the others, and every other character stays", () => {
  for (const [text, expected] of [
    ["", `{\n  "hooks": [\n    ${WRITTEN}\n  ]\n}\n`],
    ["{}", `{\n  "hooks": [\n    ${WRITTEN}\n  ]\n}`],
    ['{"hooks": []}', `{"hooks": [\n  ${WRITTEN}\n]}`],
    ['{"hooks": [ {"name": "a"} ]}\n', `{"hooks": [ {"name": "a"}, ${WRITTEN} ]}\n`],
    [
      '{\n\t"$schema": "x",  "hooks": [\n\t\t{"name": "a [ ] }",\n\t\t\t"file": "\\"a.md"}\n\t],\n\t"_more": 1\n}\n',
      `{\n\t"$schema": "x",  "hooks": [\n\t\t{"name": "a [ ] }",\n\t\t\t"file": "\\"a.md"},\n\t\t${WRITTEN}\n\t],\n\t"_more": 1\n}\n`,
    ],
    ['{\n  "triggers": []\n}\n', `{\n  "triggers": [],\n  "hooks": [\n    ${WRITTEN}\n  ]\n}\n`],
  ])
    assert.equal(withHooks(text, [NEW]), expected);
  assert.match(
    withHooks('{"variables": {"a": 1}, "hooks": []}', [NEW], { b: "ü" }),
    /^\{"variables": \{"a": 1, "b": "ü"\}/,
  );
  for (const text of ["[]", '{"hooks": {}}', "{", '{"variables": 1}']) assert.equal(withHooks(text, [NEW]), null);
});

test("conditions of the form become those of the entry", () => {
  const when = (...rows) => {
    const all = rows.map(([key, value, isNot = false]) => ({ key, value, isNot }));
    return hookOf({ name: "a", text: "", timing: "after_user_input", role: "system", once: false, rows: all }).when;
  };
  assert.deepEqual(when(["user_text", "refund, money back"], ["spoken", ""]), {
    user_text: ["refund", "money back"],
    spoken: true,
  });
  assert.deepEqual(when(["turn", "3"], ["channel", " voice ", true]), { turn: 3, not: { channel: "voice" } });
  assert.deepEqual(when(["turn", "5-20"]), { turn: { min: 5, max: 20 } });
  assert.deepEqual(when(["time", "22:00-06:00 sat, sun"]), {
    time: { from: "22:00", to: "06:00", days: ["sat", "sun"] },
  });
  assert.deepEqual(when(["time", "sat"]), { time: { days: ["sat"] } });
  assert.deepEqual(when(["context", "plan=pro; level=3"]), { context: { plan: "pro", level: 3 } });
  assert.deepEqual(when(["tool", "a", true], ["user", "b", true]), {
    all: [{ not: { tool: ["a"] } }, { not: { user: ["b"] } }],
  });
  assert.equal(when(), undefined);
});

test("a turn goes on from those before it, with variables, context and this skill alone", () => {
  const played = { calls: [], not_fired: [], changes: [] };
  const preview = {
    ...played,
    before: [],
    history: [],
    state: null,
    variables: { score: 0, name: "" },
    diagnostics: [],
  };
  const asked = (name, value, more = {}) => ({ type: "ask", name, value, ...more });
  const first = after(opened(), asked("text", "Paris"), { type: "previewed", asked: 3, preview });
  const state = after(first, { type: "next_turn" }, asked("text", "Rome"), asked("reply", "Right!", { turn: "0" }));
  const { before, text } = effect(state, "preview");
  assert.deepEqual([before.map((turn) => [turn.text, turn.reply]), text], [[["Paris", "Right!"]], "Rome"]);
  const known = after(
    state,
    { type: "previewed", asked: state.asked, preview },
    asked("context", "plan=pro; n=3; x; a b=1"),
  );
  assert.deepEqual(effect(known, "preview").context, { plan: "pro", n: 3 });
  const other = after(known, { type: "variable", name: "score", value: "7" }, asked("isAlone", true));
  assert.deepEqual(effect(other, "preview").variables, { score: 7 });
  assert.deepEqual(effect(other, "preview").skills_off, ["other"]);
  assert.deepEqual(
    effect(after(other, { type: "start_values" }, { type: "drop_turn", turn: "0" }), "preview").before,
    [],
  );
});

test("an edit of a file that changed on disk is asked about, and kept until then", () => {
  const edited = after(opened(), typed("Mine."));
  const changed = {
    type: "skill_loaded",
    skill: "calm",
    listing: listing({ etag: "s2", files: [{ path: HINT, bytes: 1, etag: "h9" }] }),
  };
  const told = after(edited, changed);
  assert.equal(effect(told, "load_file").path, HINT);
  const read = (text) => ({ type: "file_loaded", skill: "calm", path: HINT, text, etag: "h9" });
  assert.deepEqual(after(told, read("Theirs.")).conflict, { path: HINT, current: "Theirs.", etag: "h9" });
  assert.equal(after(told, read("Theirs.")).buffers[HINT].text, "Mine.");
  assert.deepEqual(editsOf(after(told, read("Mine."))), {}, "the same text is no conflict");
  const gone = after(edited, { ...changed, listing: listing({ etag: "s3", files: [] }) });
  assert.deepEqual([gone.conflict.current, gone.buffers[HINT].text], [null, "Mine."]);
});

test("a draft is taken into the editor, not saved, and all edits are saved in order", () => {
  const files = { "hooks/night.md": "Softly.\n", "tests/night.yaml": "tests: []\n" };
  const step = {
    type: "draft_step",
    draft: 1,
    problems: [],
    broken: [],
    tests: 3,
    passed: 3,
    hooks: [NEW],
    variables: {},
    files,
  };
  const ready = after(opened(HOOKS, "{}"), { type: "wish", value: "Softly." }, { type: "describe" }, step, {
    type: "draft_step",
    end: { code: "completed" },
  });
  assert.deepEqual([ready.draft.isRunning, editsOf(ready)], [false, {}]);
  const taken = after(ready, { type: "take_draft" });
  assert.deepEqual(Object.keys(editsOf(taken)).sort(), [HOOKS, "hooks/night.md", "tests/night.yaml"]);
  const order = [];
  let state = after(taken, { type: "save_all" });
  for (let one = effect(state, "save"); one; one = effect(state, "save")) {
    order.push(one.path);
    const there = listing({ files: order.map((path) => ({ path, bytes: 1, etag: "n" })) });
    state = after(state, { type: "saved", skill: "calm", path: one.path, text: one.text, etag: "n", listing: there });
  }
  assert.deepEqual(order, ["hooks/night.md", "tests/night.yaml", HOOKS]);
  assert.deepEqual(editsOf(state), {});
});
