/**
 * The only place where the studio's state changes: `reduce(state, event)` is the next state, with the effects that
 * `main` is to carry out.
 *
 * @import { Buffer, Event, Failure, Listing, State } from "./state.js"
 * @typedef {(state: State, event: any) => State} Reducer
 */

import { hookOf, withHooks } from "./hook_form.js";
import { lineOf } from "../editor/problem_lines.js";
import {
  FIRST_TURN,
  HOOKS,
  NEW_HOOK,
  PAGE,
  announced,
  editsOf,
  hasEdits,
  initialState,
  isDirty,
  withEffects,
} from "./state.js";
import { s } from "../strings/studio.js";

/** @param {State} state @param {Event} event @param {string} words asks whether to lose what is not saved */
const confirming = (state, event, words) =>
  withEffects(state, { type: "confirm", words, event: { ...event, isConfirmed: true } });

/** @param {State} state @param {string} path @param {Partial<Buffer>} change @returns {State} */
function withBuffer(state, path, change) {
  const buffer = state.buffers[path] ?? { etag: null, saved: "", text: "" };
  return { ...state, buffers: { ...state.buffers, [path]: { ...buffer, ...change } } };
}

/** @param {State} state @param {string} path @returns {State} */
function withoutBuffer(state, path) {
  const { [path]: _gone, ...buffers } = state.buffers;
  return { ...state, buffers };
}

/** Ask the server for the preview of what the model would read. @param {State} state @returns {State} */
function previewing(state) {
  if (!state.skill || !state.listing) return state;
  const { before, variables, hasTools, seed, spoken, channel, language, model, user, time } = state.question;
  const asked = state.asked + 1;
  const known = { channel, language: language || null, model: model || null, user: user || null, time: time || null };
  const { reply: _reply, ...turn } = turnOf(state.question);
  const played = { ...turn, before: before.map(turnOf), variables, seed, spoken, tools: hasTools, ...known };
  return withEffects(
    { ...state, asked },
    { type: "preview", skill: state.skill, asked, files: editsOf(state), ...conversationOf(state), ...played },
  );
}

/** A turn as a request sends it. @param {import("./state.js").Turn} turn */
function turnOf({ text, tools, reply, interrupted, image, document }) {
  const attachments = [...(image ? ["image"] : []), ...(document ? ["document"] : [])];
  const said = { text: text || s.defaultQuestion, reply: reply || s.defaultReply };
  return { ...said, rounds: roundsOf(tools), interrupted, attachments };
}

/** The conversation that the first turn goes on with, as a request sends it. @param {State} state */
function conversationOf({ question, history, hookState, skill, skills, skillsOff, skillsOn }) {
  const before = question.hasHistory ? { history, state: hookState } : { history: [], state: null };
  const others = (skills ?? []).map(({ name }) => name).filter((name) => name !== skill);
  const chosen = question.isAlone
    ? { skills_off: others, skills_on: [] }
    : { skills_off: skillsOff, skills_on: skillsOn };
  return { ...before, ...chosen, context: contextOf(question.context) };
}

/** Facts as they are written: `plan=pro; level=3`. @param {string} text */
function contextOf(text) {
  const pairs = text.split(/[;\n]/).map((pair) => /^\s*([A-Za-z_]\w{0,63})\s*=\s*(.*?)\s*$/.exec(pair));
  return Object.fromEntries(pairs.flatMap((found) => (found ? [[found[1], valueOf(found[2] ?? "")]] : [])));
}

/** @param {string} text a number, a boolean, a list of texts; else a text */
function valueOf(text) {
  try {
    const value = JSON.parse(text);
    const isTexts = Array.isArray(value) && value.every((item) => typeof item === "string");
    return isTexts || typeof value === "number" || typeof value === "boolean" ? value : text;
  } catch {
    return text;
  }
}

/** Tool calls as they are written: `a, b: error; c` are two rounds. @param {string} text */
function roundsOf(text) {
  const rounds = text
    .split(";")
    .map((round) => round.split(",").map((call) => call.split(":").map((part) => part.trim())));
  const calls = rounds.map((round) =>
    round
      .filter(([tool]) => tool)
      .map(([tool, status]) => ({ tool, status: STATUSES.includes(status ?? "") ? status : "ok" })),
  );
  return calls.filter((round) => round.length > 0);
}

const STATUSES = ["ok", "error", "refused"];
const EDITABLE = /^(SKILL\.md|(hooks|tests|references)\/[^/].*)$/;

/** A skill is shown, or shown anew: what is not edited here follows the disk. @param {State} state @param {Listing} listing @param {{focuses?: boolean}} [options] as of `opened` @returns {State} */
function listed(state, listing, options) {
  const tags = new Map(listing.files.map(({ path, etag }) => [path, etag]));
  const isKept = (/** @type {string} */ path, /** @type {Buffer} */ buffer) =>
    isDirty(buffer) || tags.get(path) === buffer.etag || (path === state.path && tags.has(path)); // that one until it is read anew
  const kept = Object.entries(state.buffers).filter(([path, buffer]) => isKept(path, buffer));
  /** @type {State} */
  const shown = { ...state, skill: listing.name, listing, buffers: Object.fromEntries(kept), failure: null };
  const next = kept.reduce(
    (one, [path, buffer]) => (isDirty(buffer) && (tags.get(path) ?? null) !== buffer.etag ? overtaken(one, path) : one),
    shown,
  );
  const isThere = tags.has(state.path) || next.buffers[state.path];
  return opened(next, isThere ? state.path : (listing.files.find(({ etag }) => etag !== null)?.path ?? PAGE), options);
}

/** A file with edits was changed on disk: ask which version counts. @param {State} state @param {string} path @returns {State} */
function overtaken(state, path) {
  const isThere = state.listing?.files.some((file) => file.path === path);
  if (isThere) return withEffects(state, { type: "load_file", skill: state.skill, path, focuses: false });
  return announced({ ...state, conflict: { path, current: null, etag: "" } }, s.conflict(path));
}

/** @param {State} state @param {string} path @param {{focuses?: boolean, line?: number}} [options] focuses: the editor, once the file is there; line: there @returns {State} */
function opened(state, path, { focuses = false, line = 0 } = {}) {
  const shown = { ...state, path, form: state.form === "add" ? state.form : null }; // of no file: it stays when a skill has come
  const buffer = state.buffers[path];
  const file = state.listing?.files.find((one) => one.path === path);
  const isKnown = !file || (buffer && (isDirty(buffer) || buffer.etag === file.etag));
  const next = previewing(shown);
  if (isKnown) return focuses ? withEffects(next, line ? { type: "line", line } : { type: "begin" }) : next;
  return withEffects(next, { type: "load_file", skill: state.skill, path, focuses, ...(line && { line }) });
}

/** Open another skill, without anything of this one. @param {State} state @param {string} skill @param {{focuses?: boolean}} [options] as of `opened` @returns {State} */
function skillOpened(state, skill, options) {
  const fresh = { ...initialState(), ...keptAcrossSkills(state), skill };
  const next = withEffects(
    fresh,
    { type: "load_skill", skill, ...options },
    { type: "address", fragment: `#/${encodeURIComponent(skill)}` },
  );
  const effects = [...(state.isTrying ? ["stop_trying"] : []), ...(state.draft?.isRunning ? ["stop_describing"] : [])];
  return effects.reduce((one, type) => withEffects(one, /** @type {any} */ ({ type })), next);
}

/** @type {Reducer} @param {State} state @param {{type?: string, failure: Failure}} event */
const failed = (state, { type = "", failure }) =>
  announced(
    { ...state, failure: { ...failure, of: type }, isSaving: false, isTrying: false, isReceiving: false },
    failure.message,
  );

/** @type {Record<string, Reducer>} */
const REDUCERS = {
  load_skills: (state) => withEffects({ ...state, failure: null }, { type: "load_skills" }),
  skills_loaded(state, { isOn, skills, schema }) {
    const next = { ...state, isOn, skills, schema, failure: null };
    const first = skills.find((/** @type {{name: string}} */ { name }) => name === state.skill) ?? skills[0];
    const isOpening = state.skills && first?.name === state.skill;
    return state.listing || !first || isOpening ? next : skillOpened(next, first.name);
  },
  /** Open the skill that the page's address names. */
  show: (state, { skill }) =>
    skill === state.skill || !skill ? state : (REDUCERS.open_skill?.(state, { type: "open_skill", skill }) ?? state),
  open_skill(state, { skill, isConfirmed = false }) {
    if (!isConfirmed && hasEdits(state)) return confirming(state, { type: "open_skill", skill }, s.leaveEdits);
    return state.skills ? skillOpened(state, skill) : { ...state, skill };
  },
  load_skill_failed(state, event) {
    const shown = failed(state, event);
    if (event.failure.code !== "skill_unknown" || hasEdits(state)) return shown;
    return withEffects({ ...shown, skill: "", listing: null }, { type: "load_skills" }); // it was deleted
  },
  skill_loaded: (state, { skill, listing, focuses }) =>
    skill === state.skill ? listed(state, listing, { focuses }) : state,
  open_file: (state, { path }) => opened(state, path, { focuses: true }),
  file_loaded(state, { skill, path, text, etag, focuses = false, line = 0 }) {
    const buffer = state.buffers[path];
    if (skill !== state.skill) return state;
    if (buffer && isDirty(buffer) && buffer.text !== text) {
      if (buffer.etag === etag) return state;
      return announced({ ...state, conflict: { path, current: text, etag } }, s.conflict(path));
    }
    const next = withBuffer(state, path, { text, etag, saved: text });
    return focuses ? withEffects(next, line ? { type: "line", line } : { type: "begin" }) : next;
  },
  /** Read the skill again when the user comes back to the window, as others may have changed it. */
  refresh(state) {
    const next = state.isOn && state.skills ? withEffects(state, { type: "load_skills" }) : state;
    return state.skill ? withEffects(next, { type: "load_skill", skill: state.skill }) : next;
  },
  /** See whether the skill's files have changed on disk. */
  look(state) {
    const { skill, listing, isSaving } = state;
    return listing && !isSaving ? withEffects(state, { type: "look", skill, etag: listing.etag }) : state;
  },
  look_failed: (state, event) =>
    event.failure.code === "skill_unknown" ? (REDUCERS.load_skill_failed?.(state, event) ?? state) : state,

  typed: (state, { value }) => previewing(withBuffer(state, state.path, { text: value })),

  /** Save all edits, hooks.json last: it names the others. */
  save_all(state) {
    const [first, ...queue] = Object.keys(editsOf(state)).sort((a, b) => Number(a === HOOKS) - Number(b === HOOKS));
    return first ? (REDUCERS.save?.({ ...state, queue }, { path: first }) ?? state) : state;
  },
  save(state, { path = state.path }) {
    const { skill, listing, isSaving } = state;
    const buffer = state.buffers[path];
    if (isSaving || !buffer || !isDirty(buffer) || !listing?.is_writable) return state;
    const { text, etag } = buffer;
    return withEffects({ ...state, isSaving: true, failure: null }, { type: "save", skill, path, text, etag });
  },
  saved(state, { skill, path, text, etag, listing }) {
    if (skill !== state.skill) return { ...state, isSaving: false };
    const conflict = state.conflict?.path === path ? null : state.conflict;
    const next = listed({ ...withBuffer(state, path, { etag, saved: text }), isSaving: false, conflict }, listing);
    const isStopped = (/** @type {import("./state.js").Diagnostic} */ { severity, file }) =>
      severity === "error" && !file.startsWith("tests/");
    const errors = listing.diagnostics.filter(isStopped).length;
    const done = announced(next, errors ? s.savedWithErrors(path, errors) : s.saved(path));
    const [following, ...queue] = state.queue;
    return following ? (REDUCERS.save?.({ ...done, queue }, { path: following }) ?? done) : done;
  },
  save_failed(before, { path, failure }) {
    const state = { ...before, queue: [] };
    if (failure.code !== "version_stale") return failed(state, { failure });
    const conflict = { path, current: failure.current, etag: failure.etag };
    return withEffects(announced({ ...state, isSaving: false, conflict }, s.conflict(path)), {
      type: "focus",
      ids: ["conflict"],
    });
  },
  /** Take the version on disk instead of what was typed here. */
  take_theirs(state) {
    const { conflict } = state;
    if (!conflict) return state;
    const { path, current, etag } = conflict;
    const taken =
      current === null ? withoutBuffer(state, path) : withBuffer(state, path, { text: current, saved: current, etag });
    return (
      REDUCERS.refresh?.(withEffects({ ...taken, conflict: null }, { type: "focus", ids: ["editor"] }), {}) ?? taken
    );
  },
  /** Replace the version on disk by what was typed here. */
  keep_mine(state) {
    const { conflict } = state;
    if (!conflict) return state;
    const next = withBuffer({ ...state, conflict: null }, conflict.path, {
      etag: conflict.current === null ? null : conflict.etag,
    });
    return REDUCERS.save?.({ ...next, path: conflict.path }, { path: conflict.path }) ?? next;
  },
  discard(state) {
    const { path } = state;
    const buffer = state.buffers[path];
    if (!buffer || !isDirty(buffer)) return state;
    if (buffer.etag === null) return opened(withoutBuffer(state, path), PAGE);
    return previewing(withBuffer(state, path, { text: buffer.saved }));
  },

  undo: (state) => stepping(state, "undo"),
  redo: (state) => stepping(state, "redo"),
  stepped(state, { skill, way, listing }) {
    if (skill !== state.skill) return state;
    return announced(listed(state, listing), way === "undo" ? s.undone : s.redone);
  },

  /** A form is opened or closed: of a new skill, a new file, a new name. */
  form(state, { form }) {
    const name =
      { skill: "", file: "hooks/", rename: state.path, rename_skill: state.skill }[/** @type {string} */ (form)] ?? "";
    if (state.form === form) return { ...state, form: null };
    if (form === "add") return withEffects({ ...state, form, arrivals: null }, { type: "load_bin" });
    if (form === "hook") return withEffects(withHooksRead({ ...state, form }), { type: "focus", ids: ["hook-name"] });
    return withEffects({ ...state, form, name }, { type: "focus", ids: ["name"] });
  },
  name: (state, { value }) => ({ ...state, name: value }),
  submit(state, { isConfirmed = false }) {
    const { form, skill, path, listing, buffers } = state;
    const name = state.name.trim();
    if (form === "hook") return withHookOfForm(state);
    if (form === "add") return receiving(state, "");
    if (!form || !name) return state;
    if (form.endsWith("skill") && !isConfirmed && hasEdits(state))
      return confirming(state, { type: "submit" }, s.leaveEdits);
    if (form === "skill") return withEffects(state, { type: "create_skill", name });
    if (form === "rename_skill")
      return listing ? withEffects(state, { type: "rename_skill", skill, name, etag: listing.etag }) : state;
    if (form === "rename")
      return withEffects(state, { type: "rename_file", skill, path, to: name, etag: buffers[path]?.etag });
    if (!EDITABLE.test(name)) return refused(state, s.notEditable(name));
    const isThere = listing?.files.some((file) => file.path === name) || buffers[name];
    const made = isThere ? state : withBuffer(state, name, { etag: null });
    return opened(made, name, { focuses: true });
  },
  skill_created(state, { listing }) {
    const skills = [...(state.skills ?? []), { name: listing.name, is_writable: true }].sort((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    return announced(skillOpened({ ...state, skills }, listing.name, { focuses: true }), s.created(listing.name));
  },
  skill_renamed(state, { skill, listing }) {
    const skills = (state.skills ?? []).map((one) => (one.name === skill ? { ...one, name: listing.name } : one));
    return announced(skillOpened({ ...state, skills }, listing.name), s.renamed(listing.name));
  },
  delete_skill(state, { isConfirmed = false }) {
    const { skill, listing } = state;
    if (!listing) return state;
    if (!isConfirmed) return confirming(state, { type: "delete_skill" }, s.deleteSkill(skill));
    return withEffects(state, { type: "delete_skill", skill, etag: listing.etag });
  },
  skill_deleted(state, { skill }) {
    const skills = (state.skills ?? []).filter(({ name }) => name !== skill);
    const next = announced({ ...initialState(), ...keptAcrossSkills(state), skills, skill: "" }, s.deleted(skill));
    return skills[0] ? skillOpened(next, skills[0].name) : next;
  },
  file_renamed(state, { skill, path, to, etag, listing }) {
    if (skill !== state.skill) return state;
    const text = state.buffers[path]?.text ?? "";
    const moved = withBuffer(withoutBuffer(state, path), to, { text, saved: text, etag });
    return announced(
      withEffects(listed({ ...moved, path: to, form: null }, listing), { type: "begin" }),
      s.renamed(to),
    );
  },
  delete_file(state, { isConfirmed = false }) {
    const { skill, path, buffers } = state;
    if (buffers[path]?.etag == null) return REDUCERS.discard?.(state, {}) ?? state;
    if (!isConfirmed) return confirming(state, { type: "delete_file" }, s.deleteFile(path));
    return withEffects(state, { type: "delete_file", skill, path, etag: buffers[path].etag });
  },
  file_deleted(state, { skill, path, listing }) {
    if (skill !== state.skill) return state;
    return announced(listed(withoutBuffer(state, path), listing), s.deleted(path));
  },
  download: (state) => withEffects(state, { type: "download", skill: state.skill }),

  /** Change a field of the question that is previewed and tried. */
  ask(state, { name, value, turn }) {
    const { question } = state;
    if (turn === undefined) return previewing({ ...state, question: { ...question, [name]: value } });
    const before = question.before.map((one, at) => (at === Number(turn) ? { ...one, [name]: value } : one));
    return previewing({ ...state, question: { ...question, before } });
  },
  /** Go on with another turn of the conversation that is played. */
  next_turn(state) {
    const { text, tools, reply, interrupted, image, document } = state.question;
    const before = [...state.question.before, { text, tools, reply, interrupted, image, document }];
    const next = previewing({ ...state, question: { ...state.question, ...FIRST_TURN, before } });
    return withEffects(next, { type: "focus", ids: ["ask-text"] });
  },
  drop_turn(state, { turn }) {
    const before = state.question.before.filter((_, at) => at !== Number(turn));
    const next = previewing({ ...state, question: { ...state.question, before } });
    return withEffects(next, { type: "focus", ids: ["ask-text"] });
  },
  /** Begin with another value of a variable. */
  variable(state, { name, value }) {
    const is = typeof state.preview?.variables[name];
    const read = is === "number" ? Math.trunc(Number(value)) : value;
    const variables = { ...state.question.variables, [name]: read };
    return previewing({ ...state, question: { ...state.question, variables } });
  },
  start_values: (state) => previewing({ ...state, question: { ...state.question, variables: {} } }),
  /** Take over which skills are switched off and on on the page. */
  skills_chosen: (state, { off, on }) => previewing({ ...state, skillsOff: off, skillsOn: on }),
  conversation(state, { text, history, hookState }) {
    const question = { ...state.question, text: state.question.text || text };
    return previewing({ ...state, history, hookState, question });
  },
  previewed: (state, { asked, preview }) => {
    if (asked !== state.asked) return state;
    return { ...state, preview, failure: state.failure?.of === "preview_failed" ? null : state.failure };
  },
  go_to(state, { path, line }) {
    return opened(state, path, { focuses: true, line: Number(line) });
  },

  /** Change a field of the hook's form, or of one of its conditions. */
  hook_field(state, { name, value, row }) {
    const { hook } = state;
    if (row === undefined) return { ...state, hook: { ...hook, [name]: value } };
    const rows = hook.rows.map((one, at) => (at === Number(row) ? { ...one, [name]: value } : one));
    return { ...state, hook: { ...hook, rows } };
  },
  add_row(state) {
    const rows = [...state.hook.rows, { key: "user_text", value: "", isNot: false }];
    const next = { ...state, hook: { ...state.hook, rows } };
    return withEffects(next, { type: "focus", ids: [`hook-row-${rows.length - 1}`] });
  },
  drop_row(state, { row }) {
    const rows = state.hook.rows.filter((_, at) => at !== Number(row));
    return withEffects({ ...state, hook: { ...state.hook, rows } }, { type: "focus", ids: ["add-row"] });
  },
  source: (state, { value }) => ({ ...state, source: { source: value, data: "" }, arrivals: null }),
  /** Look at a file that was chosen. */
  file_chosen: (state, { file }) => withEffects({ ...state, arrivals: null }, { type: "read_file", file }),
  file_read: (state, { source, data }) => receiving({ ...state, source: { source, data } }, ""),
  arrived(state, { names, text, digest, is_added: isAdded }) {
    const next = { ...state, isReceiving: false };
    if (!isAdded)
      return withEffects(announced({ ...next, arrivals: { names, text, digest } }, s.arrived), {
        type: "focus",
        ids: ["arrivals"],
      });
    const told = announced(
      { ...next, form: null, arrivals: null, source: { source: "", data: "" } },
      s.added(names.join(", ")),
    );
    return withEffects(opensAnother(told, names[0]), { type: "load_skills" });
  },
  /** Add what was looked at. */
  add_skill: (state) => (state.arrivals ? receiving(state, state.arrivals.digest) : state),
  bin_loaded: (state, { skills }) => ({ ...state, bin: skills }),
  restore: (state, { entry }) => withEffects({ ...state, failure: null }, { type: "restore", entry }),
  restored(state, { listing }) {
    const told = announced({ ...state, form: null }, s.restored(listing.name));
    return withEffects(opensAnother(told, listing.name), { type: "load_skills" });
  },

  wish: (state, { value }) => ({ ...state, wish: value }),
  /** Let the model write a hook for the wish, or stop it. */
  describe(state) {
    const { skill, draft } = state;
    const wish = state.wish.trim();
    if (draft?.isRunning)
      return withEffects({ ...state, draft: { ...draft, isRunning: false } }, { type: "stop_describing" });
    if (!wish) return state;
    const { history: _history, state: _state, ...skills } = conversationOf(state);
    const next = { ...state, draft: { steps: [], isRunning: true }, failure: null };
    return withEffects(withHooksRead(next), { type: "describe", skill, wish, files: editsOf(state), ...skills });
  },
  draft_step(state, { end, type: _type, ...step }) {
    const { draft } = state;
    if (!draft) return state;
    if (!end) return announced({ ...state, draft: { ...draft, steps: [...draft.steps, step] } }, s.drafted(step));
    const ended = { ...state, draft: { ...draft, isRunning: false } };
    if (end.code === "completed") return withEffects(announced(ended, s.draftReady), { type: "focus", ids: ["draft"] });
    return failed(ended, {
      failure: { kind: "refused", code: end.code, message: end.message, current: null, etag: "" },
    });
  },
  describe_failed: (state, event) => failed({ ...state, draft: null }, event),
  /** Take the draft into the editor, unsaved. */
  take_draft(state) {
    const step = state.draft?.steps.at(-1);
    return step ? withNewHooks({ ...state, draft: null }, step.files, step.hooks, step.variables, s.draftTaken) : state;
  },
  drop_draft: (state) => withEffects({ ...state, draft: null }, { type: "focus", ids: ["wish"] }),

  try_it(state) {
    const { skill, question } = state;
    if (state.isTrying) return withEffects({ ...state, isTrying: false }, { type: "stop_trying" });
    if (!question.text.trim()) return state;
    const none = { text: "", tools: [], end: null };
    const { history, state: kept } = state.preview ?? conversationOf(state);
    const said = { text: question.text, ...conversationOf(state), history, state: kept };
    const body = { files: editsOf(state), tools: question.tryTools, ...said };
    return withEffects(
      { ...state, isTrying: true, trial: { saved: none, edited: none }, failure: null },
      { type: "try_it", skill, ...body },
    );
  },
  trial_piece(state, { version, text = "", tool, end = null }) {
    const trial = state.trial;
    const answer = trial?.[/** @type {"saved" | "edited"} */ (version)];
    if (!trial || !answer) return state;
    const next = { text: answer.text + text, tools: tool ? [...answer.tools, tool] : answer.tools, end };
    return { ...state, trial: { ...trial, [version]: next } };
  },
  tried: (state) => announced({ ...state, isTrying: false }, s.tried),
};

/** Look at the source of a skill, or add what was shown of it. @param {State} state @param {string} digest @returns {State} */
function receiving(state, digest) {
  if (state.isReceiving || !state.source.source.trim()) return state;
  return withEffects({ ...state, isReceiving: true, failure: null }, { type: "receive", ...state.source, digest });
}

/** Open a skill that has come in, unless edits of another one are not saved. @param {State} state @param {string} skill */
const opensAnother = (state, skill) => (hasEdits(state) ? state : skillOpened(state, skill, { focuses: true }));

/** Read hooks.json, which is about to be added to. @param {State} state @returns {State} */
function withHooksRead(state) {
  const isThere = state.listing?.files.some((file) => file.path === HOOKS);
  if (state.buffers[HOOKS] || !isThere) return state;
  return withEffects(state, { type: "load_file", skill: state.skill, path: HOOKS, focuses: false });
}

/** Take the hook of the form in, unsaved. @param {State} state @returns {State} */
function withHookOfForm(state) {
  const { hook, listing, buffers } = state;
  const entry = hookOf(hook);
  const path = `hooks/${entry.file}`;
  const isThere = listing?.files.some((file) => file.path === path) || buffers[path];
  if (isThere) return refused(state, s.hookExists(hook.name));
  const next = { ...state, form: null, hook: NEW_HOOK };
  return withNewHooks(next, { [path]: `${hook.text.trim()}\n` }, [entry], {}, s.hookAdded(hook.name));
}

/**
 * Take texts and entries of hooks.json in as edits that are not saved, and show hooks.json.
 *
 * @param {State} state @param {Readonly<Record<string, string>>} files @param {readonly object[]} hooks
 * @param {Readonly<Record<string, unknown>>} variables @param {string} done what is announced then @returns {State}
 */
function withNewHooks(state, files, hooks, variables, done) {
  const document = withHooks(state.buffers[HOOKS]?.text ?? "", hooks, variables);
  if (document === null) return refused(state, s.noPlace);
  const next = Object.entries({ ...files, [HOOKS]: document }).reduce(
    (one, [path, text]) => withBuffer(one, path, { text }),
    state,
  );
  return announced(opened(next, HOOKS, { focuses: true }), done);
}

/** @param {State} state @param {string} message @returns {State} */
const refused = (state, message) =>
  failed(state, { failure: { kind: "refused", code: "", message, current: null, etag: "" } });

/** @param {State} state @param {"undo" | "redo"} way */
function stepping(state, way) {
  const { skill, listing } = state;
  return listing?.[way].length ? withEffects(state, { type: "step", skill, way, etag: listing.etag }) : state;
}

/** Return the fields that stay when another skill is opened. @param {State} state */
function keptAcrossSkills({ isOn, skills, schema, history, hookState, skillsOff, skillsOn, asked, ...rest }) {
  const { announcements, effects } = rest;
  const question = { ...rest.question, variables: {} };
  const conversation = { question, history, hookState, skillsOff, skillsOn };
  return { isOn, skills, schema, ...conversation, asked, announcements, effects };
}

/** @param {State} state @param {Event} event @returns {State} */
export function reduce(state, event) {
  /** @type {Reducer | null} */
  const reducer = REDUCERS[event.type] ?? (event.type.endsWith("_failed") ? failed : null);
  if (!reducer) throw new TypeError(`no reducer for \`${event.type}\``);
  return reducer({ ...state, effects: [] }, event);
}

/** The problems of the open file with their lines. @param {State} state @param {readonly import("./state.js").Diagnostic[]} diagnostics */
export function inFile({ path, buffers }, diagnostics) {
  const text = buffers[path]?.text ?? "";
  return diagnostics.filter(({ file }) => file === path).map((found) => ({ ...found, line: lineOf(found, text) }));
}
