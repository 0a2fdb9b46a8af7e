/**
 * The only place where the state changes: `reduce(state, event)` is the next
 * state, with the effects that `main` is to carry out.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Conversation} Conversation
 * @typedef {import("./state.js").ConversationRecord} ConversationRecord
 * @typedef {import("../sdk/frames.js").ServerFrame} ServerFrame
 *
 * @typedef {{type: "frame", frame: ServerFrame, at?: number}
 *   | {type: "nudge", frame: import("../sdk/frames.js").Nudge, turnId: string, isAway: boolean, at: number}
 *   | {type: "connecting", attempt: number}
 *   | {type: "disconnected", attempt: number, code: number, silently: boolean}
 *   | {type: "loading", stages: import("./state.js").Stage[] | null}
 *   | {type: "submit", text: string, turnId: string, at: number}
 *   | {type: "retry", turnId: string, at: number}
 *   | {type: "retry_without_unverified", turnId: string, at: number}
 *   | {type: "edit_message", turnId: string | null}
 *   | {type: "ask_again", asked: string, text?: string, turnId: string, at: number}
 *   | {type: "switch_branch", turnId: string}
 *   | {type: "read_aloud", turnId: string, id: string}
 *   | {type: "hear_voice", id: string}
 *   | {type: "inspect", turnId: string | null, isInTab?: boolean}
 *   | {type: "edit_approval", id: string}
 *   | {type: "leave_approval_editor", id: string}
 *   | {type: "answer_approval", id: string, approved: boolean, fields: import("./reduce_approvals.js").Fields}
 *   | {type: "dismiss_approval", id: string}
 *   | {type: "tick", at: number}
 *   | {type: "reading_images", count: number}
 *   | {type: "attach", image: import("../sdk/frames.js").AttachedImage | null}
 *   | {type: "detach", id: string}
 *   | {type: "restore_images", images: readonly import("../sdk/frames.js").AttachedImage[]}
 *   | {type: "stop"}
 *   | {type: "escape"}
 *   | {type: "saved", id: string, revision: number}
 *   | {type: "save_failed", id: string, revision: number, message: string}
 *   | {type: "listed", conversations: import("./state.js").Summary[]}
 *   | {type: "opened", id: string, record: ConversationRecord | null, access: "write" | "read", at: number}
 *   | {type: "new_conversation", id: string, at: number}
 *   | {type: "open_conversation", id: string, at: number}
 *   | import("./reduce_conversations.js").Change
 *   | {type: "list_actions", id: string | null}
 *   | {type: "import", text: string, name: string, id: string, at: number}
 *   | {type: "search", text: string}
 *   | {type: "found", text: string, ids: readonly string[]}
 *   | {type: "clear"}
 *   | {type: "undo", at: number}
 *   | {type: "export", format: "json" | "markdown"}
 *   | {type: "export_turn", id: string}
 *   | {type: "deleted_elsewhere", id: string}
 *   | {type: "toggle_skill", name: string}
 *   | {type: "set", change: Partial<import("./state.js").Settings>}
 *   | {type: "settings_elsewhere", settings: Partial<import("./state.js").Settings>}
 *   | {type: "panel", panel: import("./state.js").Panel | null}
 *   | {type: "widen_panel"}
 *   | {type: "models", isOpen: boolean}
 *   | {type: "models_loaded", status: number, body: unknown}
 *   | {type: "pick_model", key: string}
 *   | {type: "pick_endpoint", choice: import("./models.js").ModelChoice}
 *   | {type: "list_endpoint", address: import("./models.js").EndpointAddress}
 *   | {type: "endpoint_listed", status: number, body: unknown}
 *   | {type: "model_picked", status: number, body: unknown}
 *   | {type: "download_model", name: string}
 *   | {type: "stop_download"}
 *   | {type: "downloads_loaded", status: number, body: unknown}
 *   | {type: "hook_health", status: number, body: unknown}
 *   | {type: "show_hooks", skill: string}
 *   | {type: "hooks_loaded", skill: string, hooks: import("../sdk/frames.js").HookItem[]}
 *   | {type: "sidebar", isOpen: boolean}
 *   | {type: "narrow", isNarrow: boolean, isTouch?: boolean}
 *   | {type: "suggest", text: string}
 *   | {type: "warn", code: string, message: string}
 *   | {type: "dismiss_notice", code: string}
 *   | {type: "dismiss_undo"}
 *   | {type: "microphone"}
 *   | {type: "mute"}
 *   | {type: "fold_talk"}
 *   | {type: "microphone_on", rate: number}
 *   | {type: "microphone_muted", isMuted: boolean}
 *   | {type: "microphone_off", problem: import("../sdk/voice/microphone.js").MicrophoneProblem | null, detail?: string}
 *   | {type: "devices", devices: {id: string, label: string}[]}
 *   | {type: "talk", isHeld: boolean}
 *   | {type: "heard", turnId: string, index: number, ms: number, isOver: boolean}
 *   | {type: "no_sound", reason: string, isNotLoaded: boolean}
 *   | {type: "sound_back"}
 *   | {type: "codecs", codecs: import("../sdk/voice/opus.js").Codecs}
 *   | {type: "speech_lost"}
 *   | {type: "sound_blocked", isBlocked: boolean}} Event
 */

import { configureIfChanged, saveIfChanged, silenceIfCut } from "../sdk/derived_effects.js";
import { playbackHeard, muteToggled, switchedOn, pushToTalk } from "../sdk/speech.js";
import * as turns from "../sdk/turn.js";
import { clientSettingsOf, keepIfAttached, stored, unloadIdle } from "./derived_effects.js";
import * as downloads from "./downloads.js";
import { healthOf } from "./hook_health.js";
import * as models from "./models.js";
import * as approvals from "./reduce_approvals.js";
import * as attachments from "./reduce_attachments.js";
import * as branches from "./reduce_branches.js";
import * as conversations from "./reduce_conversations.js";
import { withClientEffects } from "./reduce_client.js";
import { received } from "./reduce_frames.js";
import { nudged } from "./reduce_nudges.js";
import { endSpeakTurn, speakTurnHeard, readAloud, failureSpoken, voiceTried } from "./reduce_speak.js";
import { retriedWithoutUnverified, submitted } from "./reduce_turn.js";
import * as voice from "./reduce_voice.js";
import { lasts, warning, withEffects, withNotice } from "./state.js";

/** Events by which the user goes on: what was said about the thing before is read by then. */
const GOING_ON = new Set(["submit", "retry", "ask_again", "reading_images", "open_conversation", "new_conversation"]);

/** @param {State} before @param {Event} event @returns {State} */
export function reduce(before, event) {
  const hasGoneOn = GOING_ON.has(event.type) || (event.type === "frame" && event.frame.type === "speech_started");
  const notices = hasGoneOn ? before.notices.filter(lasts) : before.notices;
  const after = withClientEffects(step({ ...before, notices, effects: [] }, event));
  const saved = keepIfAttached(before, saveIfChanged(before, voice.switchedOffIfReadOnly(after), stored));
  const quiet = endSpeakTurn(before, silenceIfCut(before, configureIfChanged(before, saved, clientSettingsOf)));
  return unloadIdle(failureSpoken(before, quiet));
}

/** @param {State} state @param {Event} event @returns {State} */
function step(state, event) {
  switch (event.type) {
    case "frame":
      return received(state, event.frame, event.at ?? 0);
    case "nudge":
      return nudged(state, event);
    case "connecting":
      return { ...state, connection: { ...state.connection, attempt: event.attempt, phase: "connecting" } };
    case "disconnected":
      return approvals.unanswered(turns.disconnected({ ...state, loading: null }, event));
    case "loading":
      return { ...state, loading: event.stages };
    case "submit":
      return submitted(state, event);
    case "retry":
      return turns.retried(state, event);
    case "retry_without_unverified":
      return retriedWithoutUnverified(state, event);
    case "edit_message":
      return branches.editing(state, event.turnId);
    case "ask_again":
      return branches.askedAgain(state, event);
    case "switch_branch":
      return branches.switched(state, event.turnId);
    case "read_aloud":
      return readAloud(state, event);
    case "hear_voice":
      return voiceTried(state, event.id);
    case "inspect":
      return { ...state, panel: event.isInTab ? state.panel : "inspector", inspectedTurn: event.turnId };
    case "edit_approval":
      return approvals.editing(state, event.id);
    case "leave_approval_editor":
      return approvals.leftEditor(state, event.id);
    case "answer_approval":
      return approvals.answered(state, event);
    case "dismiss_approval":
      return approvals.dismissed(state, event.id);
    case "tick":
      return { ...state, now: event.at };
    case "reading_images":
      return attachments.reading(state, event.count);
    case "attach":
      return attachments.attached(state, event.image);
    case "detach":
      return attachments.detached(state, event.id);
    case "restore_images":
      return attachments.givenBack(state, event.images);
    case "stop":
      return turns.stopped(state);
    case "escape":
      return escaped(state);
    case "saved":
      return turns.saved(state, event);
    case "save_failed":
      return turns.saveFailed(state, event);
    case "listed":
      return { ...state, conversations: event.conversations };
    case "opened":
      return conversations.opened(state, event);
    case "new_conversation":
      return conversations.created(state, event);
    case "open_conversation":
      return conversations.opening(state, event);
    case "rename":
    case "pin":
    case "delete":
      return conversations.changed(state, event);
    case "list_actions":
      return { ...state, actionsId: event.id };
    case "import":
      return conversations.imported(state, event);
    case "search":
      return conversations.searched(state, event.text);
    case "found":
      return event.text === state.search.text ? { ...state, search: { text: event.text, found: event.ids } } : state;
    case "clear":
      return conversations.cleared(state);
    case "undo":
      return conversations.undone(state, event);
    case "export":
      return conversations.exported(state, event.format);
    case "export_turn":
      return conversations.turnExported(state, event.id);
    case "deleted_elsewhere":
      return conversations.deletedElsewhere(state, event.id);
    case "toggle_skill":
      return set(state, skillToggled(state, event.name));
    case "set":
      return set(state, event.change);
    case "settings_elsewhere":
      return withSettings(state, changedSettings(state.settings, event.settings));
    case "panel":
      return panelChosen(state, event.panel === state.panel ? null : event.panel);
    case "widen_panel":
      return { ...state, isPanelWide: !state.isPanelWide };
    case "hook_health":
      return { ...state, hookHealth: healthOf(state.hookHealth, event.status, event.body) };
    case "show_hooks":
      return withEffects(state, { type: "load_hooks", skill: event.skill });
    case "hooks_loaded":
      return {
        ...state,
        skills: state.skills.map((skill) =>
          skill.name === event.skill ? { ...skill, hooks: event.hooks, hooks_omitted: 0 } : skill,
        ),
      };
    case "models":
      return models.opened(event.isOpen ? downloads.asking(state, "GET") : state, event.isOpen);
    case "models_loaded":
      return models.loaded(state, event.status, event.body);
    case "pick_model":
      return models.pickingOption(state, event.key);
    case "pick_endpoint":
      return models.picking(state, event.choice, true);
    case "list_endpoint":
      return models.listing(state, event.address);
    case "endpoint_listed":
      return models.listed(state, event.status, event.body);
    case "model_picked":
      return models.picked(state, event.status, event.body);
    case "download_model":
      return downloads.isBusy(state.downloads) ? state : downloads.asking(state, "POST", event.name);
    case "stop_download":
      return downloads.asking(state, "DELETE");
    case "downloads_loaded":
      return downloads.loaded(state, event.status, event.body);
    case "sidebar":
      return { ...state, isSidebarOpen: event.isOpen };
    case "narrow":
      return { ...state, isNarrow: event.isNarrow, isTouch: event.isTouch ?? state.isTouch };
    case "suggest":
      return withEffects(state, { type: "compose", text: event.text }, { type: "focus" });
    case "warn":
      return withNotice(state, warning(event.code, event.message));
    case "dismiss_notice":
      return { ...state, notices: state.notices.filter((notice) => notice.code !== event.code) };
    case "dismiss_undo":
      return { ...state, undo: null };
    case "microphone":
      return voice.microphoneToggled(state);
    case "mute":
      return muteToggled(state);
    case "fold_talk":
      return { ...state, voice: { ...state.voice, isFolded: !state.voice.isFolded } };
    case "microphone_on":
      return switchedOn(state, event.rate);
    case "microphone_off":
      return voice.microphoneGone(state, event);
    case "microphone_muted":
      return { ...state, voice: { ...state.voice, isMuted: event.isMuted } };
    case "devices":
      return { ...state, voice: { ...state.voice, devices: event.devices } };
    case "talk":
      return pushToTalk(state, event.isHeld);
    case "heard":
      if (event.turnId === state.speakTurn?.id) return event.isOver ? speakTurnHeard(state, event.index) : state;
      return playbackHeard(state, event);
    case "no_sound":
      return voice.soundFailed(state, event);
    case "sound_back":
      return voice.soundRestored(state);
    case "codecs":
      return { ...state, codecs: event.codecs };
    case "speech_lost":
      return withEffects(state, { type: "problem", code: "speech_lost" });
    case "sound_blocked":
      return voice.blocked(state, event.isBlocked);
  }
}

/** @param {State} state @param {import("./state.js").Panel | null} panel @returns {State} */
function panelChosen(state, panel) {
  const next = { ...state, panel, inspectedTurn: null };
  return panel === "hooks" ? withEffects(next, { type: "watch_hooks" }) : next;
}

/** @param {State} state @param {Partial<import("./state.js").Settings>} change @returns {State} */
function set(state, change) {
  return withEffects(withSettings(state, change), { type: "settings", change });
}

/** @param {State} state @param {Partial<import("./state.js").Settings>} change @returns {State} */
function withSettings(state, change) {
  return voice.settingsChanged({ ...state, settings: { ...state.settings, ...change } }, change);
}

/**
 * Return the settings that differ from those before; the page's language waits for a reload.
 *
 * @param {import("./state.js").Settings} before @param {Partial<import("./state.js").Settings>} stored
 * @returns {Partial<import("./state.js").Settings>}
 */
function changedSettings(before, { pageLanguage, ...stored }) {
  const isOther = (/** @type {[string, unknown]} */ [name, value]) =>
    JSON.stringify(value) !== JSON.stringify(before[/** @type {keyof typeof before} */ (name)]);
  return Object.fromEntries(Object.entries(stored).filter(isOther));
}

/** End by Esc the nearest thing that can end. @param {State} state @returns {State} */
function escaped(state) {
  if (state.actionsId) return { ...state, actionsId: null };
  if (state.editedTurn) return branches.editing(state, null);
  if (state.isSidebarOpen) return { ...state, isSidebarOpen: false };
  if (state.speakTurn) return { ...state, speakTurn: null };
  return state.turn ? turns.stopped(state) : { ...state, panel: null };
}

/** @param {State} state @param {string} name @returns {Partial<import("./state.js").Settings>} */
function skillToggled({ skills, settings }, name) {
  const isOffByDefault = skills.some((skill) => skill.name === name && skill.default === "off");
  if (isOffByDefault) return { skillsOn: toggled(settings.skillsOn, name) };
  return { skillsOff: toggled(settings.skillsOff, name) };
}

/** @param {readonly string[]} names @param {string} name */
function toggled(names, name) {
  return names.includes(name) ? names.filter((other) => other !== name) : [...names, name];
}
