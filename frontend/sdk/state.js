/**
 * What a client knows of one connection and its conversations. Nothing is changed in place: `turn.js`, `speech.js` and
 * `frames_in.js` make the next state, whose `effects` are carried out by a `Channel`. They take any state that has at
 * least these fields; that of the page has more.
 *
 * @typedef {import("./types/client.js").ClientState} ClientState
 * @typedef {import("./types/client.js").Conversation} Conversation
 * @typedef {import("./types/client.js").TurnView} TurnView
 * @typedef {import("./types/client.js").Speaking} Speaking
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
export const EMPTY_VIEW = {
  segments: [],
  reasoning: "",
  unheard: "",
  end: null,
  error: null,
  notices: [],
  refused: [],
  isSpoken: false,
};

const MAX_VIEWS = 300;

/** @param {ClientState} state @returns {Conversation | null} */
export function openConversation(state) {
  return (state.openId && state.loaded[state.openId]) || null;
}

/** @param {ClientState} state */
export function canSend(state) {
  return state.connection.phase === "online" && openConversation(state)?.access === "write";
}

/** @template {ClientState} S @param {S} state @param {...import("./types/client.js").Effect} effects @returns {S} */
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
