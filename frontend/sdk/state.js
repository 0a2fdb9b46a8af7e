/**
 * What a client knows of one connection and its conversations. Nothing is changed in place: `turn.js`, `speech.js` and
 * `frames_in.js` make the next state, whose `effects` are carried out by a `Channel`. They take any state that has at
 * least these fields; that of the page has more.
 *
 * @typedef {import("./frames.js").Message} Message
 * @typedef {import("./playback.js").Playback} Playback
 * @typedef {import("./playback.js").Segment} Segment
 *
 * @typedef {object} ConversationRecord One conversation as it is stored.
 * @property {string} id
 * @property {string} title "" = made from the first user message
 * @property {number} createdAt
 * @property {number} updatedAt
 * @property {number} pinnedAt 0 = it is not pinned
 * @property {readonly Message[]} conversationHistory
 * @property {readonly (readonly Message[])[]} branches the other versions, the one shown last at the end
 * @property {readonly Segment[]} historySegments what a cut at this moment would keep of the running turn
 *
 * @typedef {"opening" | "write" | "read"} Access "read": somebody else writes the conversation
 * @typedef {Omit<ConversationRecord, "historySegments"> & {access: Access, revision: number}} Conversation
 *
 * @typedef {object} Turn The turn that is running.
 * @property {string} id
 * @property {string} conversationId
 * @property {"storing" | "sent" | "waiting" | "running"} phase stored before it is sent; waiting: it never began there and is sent
 *   again with the next connection; running once `turn_start` has come
 * @property {number} revision of the conversation that holds the user message
 * @property {string} streamed every `text` delta so far: for display alone
 * @property {Playback} playback
 * @property {string} reported what the server was last told of the playback: sentence and half second
 * @property {boolean} leavesOut the user agreed to send without messages that do not verify
 * @property {boolean} canResend it was typed, and sent once at most
 * @property {string} nudge id of the one that it answers; "" = the user asked
 * @property {string} hookState `turn_end.state` of a turn that has no message to keep it on before its end
 *
 * @typedef {object} TurnView What is shown of a turn besides its messages; it is not stored.
 * @property {readonly Segment[]} segments
 * @property {string} reasoning
 * @property {string} unheard what was written and cut off before it was heard
 * @property {import("./frames.js").TurnEnd | null} end
 * @property {import("./frames.js").ErrorFrame | null} error
 * @property {readonly import("./frames.js").Notice[]} notices
 * @property {readonly string[]} refused ids of the tool calls that the user has said no to
 *
 * @typedef {{phase: "connecting" | "online" | "waiting", attempt: number, code: number | null}} Connection
 *
 * @typedef {object} Speaking The user's side of the spoken conversation.
 * @property {"off" | "starting" | "on"} mic
 * @property {string | null} problem why the microphone is off
 * @property {number} rate of the microphone
 * @property {boolean} isMuted the system lets no sound through
 * @property {boolean} isSilenced the user has muted the microphone
 * @property {"quiet" | "maybe" | "speaking" | "recognizing"} phase of the utterance
 * @property {string} transcript the words so far
 * @property {string | null} utterance the last one that was noticed
 * @property {Readonly<Record<string, string>>} spokenIn utterance → conversation, until its words have come
 * @property {boolean} isHeld the key of push-to-talk is down
 *
 * @typedef {object} ClientState
 * @property {Connection} connection
 * @property {import("./frames.js").Ready | null} server the last `ready`
 * @property {{readAloud: "spoken" | "always" | "never", turnDetection: import("./frames.js").TurnDetection}} settings
 * @property {import("./frames.js").SpeechStatus | null} speech the server's engines
 * @property {Speaking} voice
 * @property {boolean} canPlay false = no sound can be played here
 * @property {string | null} openId the conversation that the user is in
 * @property {Readonly<Record<string, Conversation>>} loaded
 * @property {Turn | null} turn
 * @property {Readonly<Record<string, string>>} cutTurns turn → conversation, until its `turn_end` arrives
 * @property {Readonly<Record<string, TurnView>>} views by turn
 * @property {readonly {type: string}[]} effects of the last event, to be carried out once
 *
 * @typedef {"history_shortened" | "storage_failed" | "speech_lost" | "turn_aborted" | "message_too_large"} ProblemCode
 * @typedef {{type: "send", frame: import("./frames.js").ClientFrame}
 *   | {type: "save", record: ConversationRecord, revision: number}
 *   | {type: "problem", code: ProblemCode, turnId?: string, detail?: string | number}
 *   | {type: "reached", before: Playback, after: Playback}
 *   | {type: "give_back", text: string, images: readonly import("./frames.js").AttachedImage[]}
 *   | {type: "log_in"}
 *   | {type: "microphone", isOn: boolean, deviceId: string}
 *   | {type: "silence", isSilenced: boolean}
 *   | {type: "skip", turnId: string, index: number}
 *   | {type: "sound", act: "flush" | "pause" | "resume"}} Effect `problem`: something that the user should know;
 *   `reached`: playback has come so far; `give_back`: what the user wrote goes back to where it was written
 */

/** @type {Speaking} */
export const QUIET = {
  mic: "off",
  problem: null,
  rate: 16_000,
  isMuted: false,
  isSilenced: false,
  phase: "quiet",
  transcript: "",
  utterance: null,
  spokenIn: {},
  isHeld: false,
};

/** @type {TurnView} */
export const EMPTY_VIEW = { segments: [], reasoning: "", unheard: "", end: null, error: null, notices: [], refused: [] };

const MAX_VIEWS = 300;

/** @param {ClientState} state @returns {Conversation | null} */
export function openConversation(state) {
  return (state.openId && state.loaded[state.openId]) || null;
}

/** @param {ClientState} state */
export function canSend(state) {
  return state.connection.phase === "online" && openConversation(state)?.access === "write";
}

/** @template {ClientState} S @param {S} state @param {...Effect} effects @returns {S} */
export function withEffects(state, ...effects) {
  return { ...state, effects: [...state.effects, ...effects] };
}

/** @template {ClientState} S @param {S} state @param {Conversation} conversation @returns {S} */
export function withConversation(state, conversation) {
  return { ...state, loaded: { ...state.loaded, [conversation.id]: conversation } };
}

/** @template {ClientState} S @param {S} state @param {string} turnId @param {Partial<TurnView>} change @returns {S} */
export function withView(state, turnId, change) {
  const views = { ...state.views, [turnId]: { ...(state.views[turnId] ?? EMPTY_VIEW), ...change } };
  return { ...state, views: lastEntries(views, MAX_VIEWS) };
}

/** @template {ClientState} S @param {S} state @param {Partial<Speaking>} change @returns {S} */
export function withVoice(state, change) {
  return { ...state, voice: { ...state.voice, ...change } };
}

/**
 * @template T
 * @param {Readonly<Record<string, T>>} record
 * @param {number} count
 * @returns {Record<string, T>}
 */
export function lastEntries(record, count) {
  const entries = Object.entries(record);
  return entries.length > count ? Object.fromEntries(entries.slice(-count)) : { ...record };
}

/**
 * @template T
 * @param {Readonly<Record<string, T>>} record
 * @param {string} key
 * @returns {Record<string, T>}
 */
export function without(record, key) {
  const { [key]: _gone, ...rest } = record;
  return rest;
}
