/**
 * State of the page. Nothing in it is changed in place: `reduce` makes the next state, `render` draws it, `main` carries
 * out its `effects`.
 *
 * @typedef {import("../sdk/frames.js").Message} Message
 * @typedef {import("../sdk/frames.js").ErrorFrame} ErrorFrame
 * @typedef {import("../sdk/frames.js").Notice} Notice
 * @typedef {import("../sdk/frames.js").TurnEnd} TurnEnd
 * @typedef {import("../sdk/playback.js").Playback} Playback
 * @typedef {import("../sdk/playback.js").Segment} Segment
 *
 * @typedef {import("../sdk/types/client.js").ConversationRecord} ConversationRecord
 * @typedef {import("../sdk/types/client.js").Conversation} Conversation
 * @typedef {import("../sdk/types/client.js").Access} Access
 * @typedef {import("../sdk/types/client.js").Turn} Turn
 * @typedef {import("../sdk/types/client.js").TurnView} TurnView
 * @typedef {import("../sdk/types/client.js").Connection} Connection
 * @typedef {{id: string, title: string, updatedAt: number, pinnedAt: number}} Summary
 *
 * @typedef {{name: string, state: string, detail: string | null}} Stage
 * @typedef {"skills" | "inspector" | "hooks" | "settings"} Panel
 * @typedef {"auto" | "light" | "dark"} Theme
 *
 * @typedef {object} Settings Kept for this browser.
 * @property {Theme} theme
 * @property {string} pageLanguage code of one of LANGUAGES (strings.js); empty for the browser's
 * @property {string} language of the conversation; empty if it is not set
 * @property {string} instructions what the user asks of every reply; empty if nothing
 * @property {boolean} tools
 * @property {boolean} trace
 * @property {boolean} nudges skills may speak first
 * @property {readonly string[]} skillsOff switched off by the user; all others are on
 * @property {readonly string[]} skillsOn of those that are off by default, the ones that the user switched on
 * @property {"spoken" | "always" | "never"} readAloud "spoken": the replies to what was spoken
 * @property {string} speaker of the replies; empty for the server's default
 * @property {string} speed of the replies, a number
 * @property {import("../sdk/frames.js").TurnDetection} turnDetection
 * @property {string} microphone device id; empty for the system's
 *
 * @typedef {import("../sdk/types/client.js").Speaking & PageVoice} Voice
 * @typedef {object} PageVoice
 * @property {boolean} isFolded on a narrow screen: the conversation stands beside the talk, which else fills the screen
 * @property {boolean} isVoiceNew the voice for the replies was loaded while the user talked; until they speak again
 * @property {readonly {id: string, label: string}[]} devices microphones; named once the browser allows it
 *
 * @typedef {object} Approval A request that waits for the user.
 * @property {import("../sdk/frames.js").ApprovalRequest} frame
 * @property {number} deadline when the request is denied without an answer, as `Date.now()` counts
 * @property {boolean} isEditing the user changes the arguments
 * @property {boolean} isAnswered sent; the server has not said yet what became of it
 * @property {string} problem with the edited arguments
 *
 * @typedef {object} State
 * @property {Connection} connection
 * @property {import("../sdk/frames.js").Ready | null} server the last `ready`
 * @property {readonly import("../sdk/frames.js").SkillItem[]} skills
 * @property {readonly import("../sdk/frames.js").Diagnostic[]} diagnostics
 * @property {readonly Stage[] | null} loading stages of a server that is not ready yet
 * @property {Settings} settings
 * @property {string} timezone of this browser, such as Europe/Berlin; empty if it does not say
 * @property {import("../sdk/frames.js").SpeechStatus | null} speech the server's engines
 * @property {Voice} voice
 * @property {boolean} canPlay whether sound can be played here
 * @property {import("../sdk/voice/opus.js").Codecs | null} codecs what this browser can do of Opus; null if sound is PCM, or
 *   before that is known
 * @property {readonly Summary[]} conversations newest first
 * @property {string | null} actionsId the conversation whose actions are open in the list: rename, pin, delete
 * @property {readonly import("./reduce_conversations.js").Change[]} awaited by conversations that are being loaded
 * @property {{text: string, found: readonly string[]}} search the text, empty if there is no search, and the conversations that hold it
 * @property {string | null} openId
 * @property {Readonly<Record<string, Conversation>>} loaded the open one, and those whose cut turn may still bring hooks
 * @property {Turn | null} turn
 * @property {import("./reduce_speak.js").SpeakTurn | null} speakTurn
 * @property {Readonly<Record<string, string>>} cutTurns turn → conversation, until its `turn_end` arrives
 * @property {Readonly<Record<string, TurnView>>} views by turn
 * @property {Readonly<Record<string, import("./inspect.js").TurnTrace>>} traces by turn
 * @property {string | null} editedTurn whose user message is being edited
 * @property {string | null} inspectedTurn the only turn in the inspector; null if it shows all
 * @property {import("./hook_health.js").Health} hookHealth while its panel is open
 * @property {boolean} isTraceRefused this server traces for its operators alone
 * @property {readonly Approval[]} approvals oldest first; one is shown at a time
 * @property {number} now to the second while an approval counts down, else to the day
 * @property {readonly import("../sdk/frames.js").AttachedImage[]} attachments for the next message
 * @property {number} pendingImages being read
 * @property {readonly Notice[]} notices of the page, not of a turn
 * @property {readonly {n: number, text: string}[]} announcements for screen readers, the last few
 * @property {import("./models.js").Models} models
 * @property {import("./downloads.js").Downloads} downloads
 * @property {Panel | null} panel
 * @property {boolean} isPanelWide
 * @property {boolean} isSidebarOpen on a narrow screen
 * @property {boolean} isTouch a device without a keyboard of its own
 * @property {boolean} isNarrow the screen has room for one thing at a time
 * @property {{label: string, record: ConversationRecord, wasOpen: boolean} | null} undo
 * @property {readonly Effect[]} effects of the last event, to be carried out once
 *
 * @typedef {import("../sdk/types/client.js").Effect
 *   | {type: "remove", id: string}
 *   | {type: "open", id: string}
 *   | {type: "search"}
 *   | {type: "release", id: string}
 *   | {type: "compose", text: string}
 *   | {type: "keep_images", images: readonly import("../sdk/frames.js").AttachedImage[]}
 *   | {type: "focus"}
 *   | {type: "leave_approval"}
 *   | {type: "download", name: string, mediaType: string, text: string}
 *   | {type: "settings", change: Partial<Settings>}
 *   | {type: "readiness"}
 *   | {type: "watch_hooks"}
 *   | {type: "load_hooks", skill: string}
 *   | {type: "load_models"}
 *   | {type: "ask_downloads", method: "GET" | "POST" | "DELETE", name: string, afterMs: number}
 *   | {type: "list_models", address: import("./models.js").EndpointAddress}
 *   | {type: "pick_model", choice: import("./models.js").ModelChoice}} Effect
 */

import { openConversation, QUIET, withEffects as withSomeEffects, withView } from "../sdk/state.js";

/** @type {Settings} */
export const DEFAULT_SETTINGS = {
  theme: "auto",
  pageLanguage: "",
  language: "",
  instructions: "",
  tools: true,
  trace: true,
  nudges: true,
  skillsOff: [],
  skillsOn: [],
  readAloud: "spoken",
  speaker: "",
  speed: "1",
  turnDetection: "server_vad",
  microphone: "",
};

/** @type {Voice} */
export const NO_VOICE = { ...QUIET, isFolded: false, isVoiceNew: false, devices: [] };

/** @type {import("./models.js").Models} */
export const NO_MODELS = {
  isOpen: false,
  options: null,
  decidedBy: null,
  silence: "",
  testing: "",
  listed: null,
  isOfForm: false,
  problem: "",
  picks: 0,
};

/** @type {import("./downloads.js").Downloads} */
export const NO_DOWNLOADS = { all: [], suggested: "", freeBytes: 0, problem: "", asked: 0 };

const MAX_NOTICES = 5;
const MAX_ANNOUNCEMENTS = 200; // more than come between two drawings

/** @param {Partial<Settings>} [settings] @param {string} [timezone] @returns {State} */
export function initialState(settings = {}, timezone = "") {
  return {
    connection: { phase: "connecting", attempt: 0, code: null },
    server: null,
    skills: [],
    diagnostics: [],
    loading: null,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    timezone,
    speech: null,
    voice: NO_VOICE,
    canPlay: true,
    codecs: null,
    conversations: [],
    actionsId: null,
    awaited: [],
    search: { text: "", found: [] },
    openId: null,
    loaded: {},
    turn: null,
    speakTurn: null,
    cutTurns: {},
    views: {},
    traces: {},
    editedTurn: null,
    inspectedTurn: null,
    hookHealth: { processes: null, problem: "" },
    isTraceRefused: false,
    approvals: [],
    now: 0,
    attachments: [],
    pendingImages: 0,
    notices: [],
    announcements: [],
    models: NO_MODELS,
    downloads: NO_DOWNLOADS,
    panel: null,
    isPanelWide: false,
    isSidebarOpen: false,
    isTouch: false,
    isNarrow: false,
    undo: null,
    effects: [],
  };
}

/** Return the running turn, if it belongs to the conversation on screen. @param {State} state */
export function visibleTurn(state) {
  return state.turn?.conversationId === state.openId ? state.turn : null;
}

/** Return whether the conversation on screen is empty. @param {State} state */
export function isEmpty(state) {
  return !openConversation(state)?.conversationHistory.length && !visibleTurn(state);
}

/** Return whether replies are to be heard but the voice is still loading. @param {State} state */
export function isVoiceLoading({ speech, settings, canPlay }) {
  return speech?.tts.state === "loading" && settings.readAloud !== "never" && canPlay;
}

/** Return whether a reply can be read aloud now. @param {State} state */
export function canSpeak({ connection, speech, canPlay, turn }) {
  return connection.phase === "online" && speech?.tts.state === "ready" && canPlay && !turn;
}

/** Return whether the skill is on in the user's turns. @param {Settings} settings @param {import("../sdk/frames.js").SkillItem} skill */
export function isSkillOn({ skillsOff, skillsOn }, skill) {
  return skill.default === "off" ? skillsOn.includes(skill.name) : !skillsOff.includes(skill.name);
}

/** Return whether any skill that is on may speak first. @param {State} state */
export function hasTriggers({ skills, settings }) {
  return skills.some((skill) => skill.triggers?.length && isSkillOn(settings, skill));
}

/** @type {(state: State, ...effects: Effect[]) => State} */
export const withEffects = /** @type {any} */ (withSomeEffects);

/** Return whether a notice tells of a state that goes on, which only its end or the user takes away. @param {Notice} notice */
export function lasts({ code }) {
  return code.startsWith("storage_") || code === "no_sound" || code === "sound_blocked";
}

/** Show a notice on the page, until the user goes on. @param {State} state @param {Notice} notice @returns {State} */
export function withNotice(state, notice) {
  const others = state.notices.filter(({ code, message }) => code !== notice.code || message !== notice.message);
  return { ...state, notices: [...others, notice].slice(-MAX_NOTICES) };
}

/**
 * Show a notice in the turn that it is about.
 *
 * @param {State} state
 * @param {string} turnId
 * @param {Notice} notice
 * @returns {State}
 */
export function withTurnNotice(state, turnId, notice) {
  const notices = [...(state.views[turnId]?.notices ?? []), notice].slice(-MAX_NOTICES);
  return withView(state, turnId, { notices });
}

/** Announce texts to screen readers. @param {State} state @param {readonly string[]} texts @returns {State} */
export function withAnnouncements(state, texts) {
  const said = texts.filter((text) => text.trim());
  if (!said.length) return state;
  const n = (state.announcements.at(-1)?.n ?? 0) + 1;
  const lines = said.map((text, index) => ({ n: n + index, text }));
  return { ...state, announcements: [...state.announcements, ...lines].slice(-MAX_ANNOUNCEMENTS) };
}

/** @param {string} code @param {string} message @returns {Notice} */
export function warning(code, message) {
  return { type: "notice", code, level: "warning", message };
}
