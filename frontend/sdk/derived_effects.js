/**
 * Effects that follow from a change of state whichever event made it: the record is stored, the server is sent the
 * settings that changed, the player is flushed. Pure.
 *
 * @typedef {import("./types/client.js").ClientState} ClientState
 * @typedef {import("./types/client.js").Conversation} Conversation
 * @typedef {import("./types/client.js").Turn} Turn
 * @typedef {import("./frames.js").ClientSettings} ClientSettings
 */

import { storedSegments, cutAtReached, heardText } from "./playback.js";
import { withConversation, withEffects } from "./state.js";

/**
 * Store every conversation that this client writes and that changed. The effect comes before it is drawn, so that what
 * was shown was stored.
 *
 * @template {ClientState} S
 * @param {S} before @param {S} after @param {(state: S, conversation: Conversation) => S} [store]
 * @returns {S}
 */
export function saveIfChanged(before, after, store = stored) {
  let state = after;
  for (const conversation of Object.values(after.loaded)) {
    const old = before.loaded[conversation.id];
    if (old?.access === "write" && isChanged(before, after, old, conversation)) state = store(state, conversation);
  }
  return state;
}

/** @param {ClientState} before @param {ClientState} after @param {Conversation} old @param {Conversation} conversation */
function isChanged(before, after, old, conversation) {
  return (
    old.conversationHistory !== conversation.conversationHistory ||
    old.branches !== conversation.branches ||
    old.title !== conversation.title ||
    old.pinnedAt !== conversation.pinnedAt ||
    isKeptChanged(turnOf(before, old.id), turnOf(after, old.id))
  );
}

/**
 * Return whether a reload would find something else. The player reports far more often than words end.
 *
 * @param {Turn | null} before @param {Turn | null} after
 */
function isKeptChanged(before, after) {
  if (before === after) return false;
  const turn = before ?? after;
  if (!before || !after) return !!turn && hasKept(turn);
  const [was, is] = [before.playback, after.playback];
  const isSame = was.historySegments === is.historySegments && was.audioQueue === is.audioQueue;
  if (!isSame || partlyHeard(was) !== partlyHeard(is)) return true;
  return !is.isSpoken && before.streamed !== after.streamed;
}

/** Return whether a reload would find anything of the turn. @param {Turn} turn */
function hasKept({ playback, streamed }) {
  return !!streamed || playback.historySegments.length + playback.audioQueue.length > 0 || !!partlyHeard(playback);
}

/** @param {import("./playback.js").Playback} playback */
function partlyHeard({ playing }) {
  return playing ? heardText(playing) : "";
}

/** @param {ClientState} state @param {string} id of the conversation */
function turnOf({ turn }, id) {
  return turn?.conversationId === id ? turn : null;
}

/** Hand the conversation to the store. @template {ClientState} S @param {S} state @param {Conversation} changed @returns {S} */
export function stored(state, changed) {
  const conversation = { ...changed, revision: changed.revision + 1 };
  const record = recordOf(state, conversation);
  return withEffects(withConversation(state, conversation), { type: "save", record, revision: conversation.revision });
}

/** @param {ClientState} state @param {Conversation} conversation @returns {import("./types/client.js").ConversationRecord} */
export function recordOf(state, conversation) {
  const { access: _access, revision: _revision, ...stored } = conversation;
  const turn = turnOf(state, conversation.id);
  const kept = turn ? cutAtReached(turn.playback, turn.streamed).historySegments : [];
  return { ...stored, historySegments: storedSegments(kept) };
}

/**
 * Send the server those settings that changed, or all of them on a new connection.
 *
 * @template {ClientState} S
 * @param {S} before @param {S} after @param {(state: S) => Partial<ClientSettings>} clientSettingsOf
 * @returns {S}
 */
export function configureIfChanged(before, after, clientSettingsOf) {
  if (after.connection.phase !== "online") return after;
  const clientSettings = clientSettingsOf(after);
  const known = before.connection.phase === "online" ? clientSettingsOf(before) : null;
  const changed = Object.entries(clientSettings).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(known?.[/** @type {keyof ClientSettings} */ (key)]),
  );
  if (!changed.length) return after;
  // Only what changed: naming the input discards what the user is just saying.
  const configure = { type: /** @type {const} */ ("configure"), ...Object.fromEntries(changed) };
  return { ...after, effects: [{ type: "send", frame: configure }, ...after.effects] }; // a turn sent at once goes by it
}

/**
 * Flush the player when the turn has ended or another has begun, and report how much of it was heard.
 *
 * @template {ClientState} S @param {S} before @param {S} after @returns {S}
 */
export function silenceIfCut(before, after) {
  const { turn } = before;
  if (!turn || turn.id === after.turn?.id) return after;
  const isReported = after.effects.some(isStopped); // it was heard to its end
  return withEffects(after, { type: "sound", act: "flush" }, ...(isReported ? [] : stoppedFrame(turn)));
}

/** @param {object} effect */
function isStopped(effect) {
  const { frame } = /** @type {{frame?: import("./frames.js").ClientFrame}} */ (effect);
  return frame?.type === "playback" && frame.state === "stopped";
}

/** @param {Turn} turn @returns {import("./types/client.js").Effect[]} */
function stoppedFrame(turn) {
  const { playing } = turn.playback;
  if (!playing) return [];
  const { sentence, heardMs } = playing;
  const heard = { turn_id: turn.id, index: sentence.index, ms: Math.round(heardMs) };
  return [{ type: "send", frame: { type: "playback", ...heard, state: "stopped" } }];
}
