import assert from "node:assert/strict";
import { test } from "node:test";

import { lastQuestionOf } from "../../frontend/js/studio/conversation.js";
import { lineOf } from "../../frontend/js/editor/problem_lines.js";
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

test("the first skill is opened, with its page", () => {
  const state = after(initialState(), { type: "skills_loaded", isOn: true, skills: [{ name: "calm" }], schema: {} });
  assert.deepEqual(effect(state, "load_skill"), { type: "load_skill", skill: "calm" });
  const shown = after(state, { type: "skill_loaded", skill: "calm", listing: listing() });
  assert.deepEqual(effect(shown, "load_file"), { type: "load_file", skill: "calm", path: "SKILL.md", focuses: false });
});

test("each edit is previewed, and a save sends the version it began with", () => {
  const state = after(opened(), { type: "typed", value: "Be loud.", cursor: 8 });
  assert.deepEqual(effect(state, "preview").files, { [HINT]: "Be loud." });
  const saving = after(state, { type: "save" });
  assert.deepEqual(effect(saving, "save"), { type: "save", skill: "calm", path: HINT, text: "Be loud.", etag: "h1" });
  assert.equal(effect(after(saving, { type: "save" }), "save"), undefined, "one at a time");
  const saved = after(saving, {
    type: "saved",
    skill: "calm",
    path: HINT,
    text: "Be loud.",
    etag: "h2",
    listing: listing({ files: [{ path: HINT, bytes: 8, etag: "h2" }] }),
  });
  assert.deepEqual(editsOf(saved), {});
  assert.equal(saved.buffers[HINT].text, "Be loud.");
});

test("a save says that the last working version stays in use, but not for mistakes in tests", () => {
  const said = (...files) => {
    const diagnostics = files.map((file) => ({ severity: "error", file, path: "", message: "wrong" }));
    const saved = {
      type: "saved",
      skill: "calm",
      path: HINT,
      text: "x",
      etag: "h2",
      listing: listing({ diagnostics }),
    };
    return after(opened(), saved).announcements.at(-1).text;
  };
  assert.equal(said("tests/a.yaml"), `${HINT} is saved.`);
  assert.equal(said("tests/a.yaml", HOOKS), `${HINT} is saved, with 1 error: the last working version stays in use.`);
});

test("what is typed while a save is under way stays unsaved", () => {
  const state = after(
    opened(),
    { type: "typed", value: "One.", cursor: 0 },
    { type: "save" },
    { type: "typed", value: "Two.", cursor: 0 },
  );
  const files = [{ path: HINT, bytes: 4, etag: "h2" }];
  const saved = after(state, {
    type: "saved",
    skill: "calm",
    path: HINT,
    text: "One.",
    etag: "h2",
    listing: listing({ files }),
  });
  assert.deepEqual(editsOf(saved), { [HINT]: "Two." });
  assert.equal(saved.buffers[HINT].etag, "h2");
});

test("another author's version is shown, and either one can be kept", () => {
  const failure = { kind: "refused", code: "version_stale", message: "m", current: "Theirs.", etag: "h9" };
  const state = after(
    opened(),
    { type: "typed", value: "Mine.", cursor: 0 },
    { type: "save" },
    { type: "save_failed", path: HINT, failure },
  );
  assert.deepEqual(state.conflict, { path: HINT, current: "Theirs.", etag: "h9" });
  assert.equal(state.buffers[HINT].text, "Mine.");
  const mine = after(state, { type: "keep_mine" });
  assert.deepEqual(effect(mine, "save"), { type: "save", skill: "calm", path: HINT, text: "Mine.", etag: "h9" });
  const theirs = after(state, { type: "take_theirs" });
  assert.deepEqual([theirs.buffers[HINT].text, editsOf(theirs)], ["Theirs.", {}]);
});

test("a file that was deleted elsewhere is created again when mine is kept", () => {
  const failure = { kind: "refused", code: "version_stale", message: "m", current: null, etag: "" };
  const state = after(
    opened(),
    { type: "typed", value: "Mine.", cursor: 0 },
    { type: "save" },
    { type: "save_failed", path: HINT, failure },
    { type: "keep_mine" },
  );
  assert.equal(effect(state, "save").etag, null);
});

test("edits are not lost to another skill, an undo or a change on disk", () => {
  const edited = after(opened(), { type: "typed", value: "Mine.", cursor: 0 });
  assert.equal(effect(after(edited, { type: "open_skill", skill: "other" }), "confirm").event.skill, "other");
  for (const form of ["skill", "rename_skill"]) {
    const named = after(edited, { type: "form", form }, { type: "name", value: "new" }, { type: "submit" });
    assert.deepEqual(pluck(named.effects, "type"), ["confirm"]);
    assert.deepEqual(pluck(after(named, effect(named, "confirm").event).effects, "type"), [
      form === "skill" ? "create_skill" : form,
    ]);
  }
  assert.deepEqual(after(edited, { type: "show", skill: "" }).effects, [], "an address without a skill");
  const changed = listing({ files: [{ path: HINT, bytes: 1, etag: "h7" }] });
  assert.equal(after(edited, { type: "skill_loaded", skill: "calm", listing: changed }).buffers[HINT].text, "Mine.");
  const clean = after(opened(), { type: "stepped", skill: "calm", way: "undo", listing: changed });
  assert.deepEqual(effect(clean, "load_file"), { type: "load_file", skill: "calm", path: HINT, focuses: false });
  const read = after(clean, { type: "file_loaded", skill: "calm", path: HINT, text: "Theirs.", etag: "h7" });
  assert.equal(read.buffers[HINT].text, "Theirs.");
  assert.equal(
    effect(after(read, { type: "skill_loaded", skill: "calm", listing: changed }), "load_file"),
    undefined,
    "once",
  );
});

test("answers that come too late change nothing", () => {
  const state = after(opened(), { type: "open_skill", skill: "other", isConfirmed: true });
  assert.equal(after(state, { type: "skill_loaded", skill: "calm", listing: listing() }).listing, null);
  assert.deepEqual(after(state, { type: "file_loaded", skill: "calm", path: HINT, text: "x", etag: "e" }).buffers, {});
  assert.equal(after(opened(), { type: "previewed", asked: 1, preview: {} }).preview, null);
});

test("a new file is only here until it is saved", () => {
  const state = after(
    opened(),
    { type: "form", form: "file" },
    { type: "name", value: "tests/calm.yaml" },
    { type: "submit" },
  );
  assert.deepEqual([state.path, editsOf(state)], ["tests/calm.yaml", { "tests/calm.yaml": "" }]);
  assert.equal(effect(after(state, { type: "save" }), "save").etag, null);
  assert.deepEqual(editsOf(after(state, { type: "discard" })), {});
});

test("a file that could not be saved is not begun", () => {
  const named = (value) => after(opened(), { type: "form", form: "file" }, { type: "name", value }, { type: "submit" });
  for (const path of ["care.md", "hooks/", "scripts/x.py", "SKILL.md.txt"]) {
    assert.deepEqual([named(path).form, named(path).path, editsOf(named(path))], ["file", HINT, {}], path);
    assert.match(named(path).failure.message, /hooks\//);
  }
  for (const path of ["hooks/care.md", "tests/a.yaml", "references/a/b.txt", "SKILL.md"])
    assert.equal(named(path).path, path);
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
  const created = after(opened(), { type: "skill_created", listing: listing({ name: "loud" }) });
  const shown = after(created, {
    ...effect(created, "load_skill"),
    type: "skill_loaded",
    listing: listing({ name: "loud" }),
  });
  assert.equal(effect(shown, "load_file").focuses, true);
  const to = "hooks/tone.md";
  const files = [{ path: to, bytes: 1, etag: "h1" }];
  const renamed = after(opened(), {
    type: "file_renamed",
    skill: "calm",
    path: HINT,
    to,
    etag: "h1",
    listing: listing({ files }),
  });
  assert.deepEqual([renamed.path, effect(renamed, "begin")], [to, { type: "begin" }]);
});

test("a failure is shown until what failed has worked, and a skill that is gone is left", () => {
  const failure = { kind: "refused", code: "file_system", message: "m", current: null, etag: "" };
  const failed = after(opened(), { type: "delete_file_failed", failure }, { type: "typed", value: "x", cursor: 0 });
  assert.equal(after(failed, { type: "previewed", asked: failed.asked, preview: {} }).failure.message, "m");
  const offline = after(opened(), { type: "preview_failed", failure });
  assert.equal(after(offline, { type: "previewed", asked: offline.asked, preview: {} }).failure, null);
  const gone = after(opened(), { type: "load_skill_failed", failure: { ...failure, code: "skill_unknown" } });
  assert.deepEqual([gone.skill, effect(gone, "load_skills")], ["", { type: "load_skills" }]);
});

test("what cannot be written cannot be saved", () => {
  const state = after(
    opened(HINT, "x", { is_writable: false }),
    { type: "typed", value: "y", cursor: 0 },
    { type: "save" },
  );
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
  assert.deepEqual(
    [trial.saved.text, trial.saved.end.code, trial.edited.tools],
    ["One two.", "completed", ["read_file"]],
  );
  assert.equal(effect(after(opened(), { type: "try_it" }), "try_it"), undefined, "a question is needed");
});

test("a problem is found in its line", () => {
  const at = (file, path, message, text) => lineOf({ severity: "error", file, path, message }, text);
  assert.equal(at(HOOKS, "$.hooks[0].role", "wrong", '{"hooks": [\n{"name": "a",\n"role": "x"}]}'), 3);
  assert.equal(at(HOOKS, "", "is not JSON: line 2, column 1: x", "{\n\n}"), 2);
  assert.equal(at("SKILL.md", "$.description", "missing", "---\nname: a\ndescription: \n---\n"), 3);
  assert.equal(
    at(
      "tests/a.yaml",
      "$.tests[1].expect",
      "wrong",
      "tests:\n  - name: a\n    expect: {}\n  - name: b\n    expect: {}\n",
    ),
    5,
  );
  const state = opened(HOOKS, "{\n}");
  assert.deepEqual(inFile(state, [{ severity: "error", file: HINT, path: "", message: "" }]), []);
});

test("the last question and what was said before it are taken from a conversation", () => {
  const said = (role, content, more) => ({ role, content, ...more });
  const history = [
    said("user", "Hi"),
    said("assistant", "Hello"),
    said("system", "h", { _hook: "x" }),
    said("user", "Why?"),
    said("assistant", "So."),
  ];
  assert.deepEqual(lastQuestionOf(history), {
    text: "Why?",
    history: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello" },
    ],
  });
  assert.equal(lastQuestionOf([]), null);
  assert.equal(lastQuestionOf(undefined), null);
});
