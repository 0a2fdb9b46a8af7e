/**
 * What follows from a change of state, whichever event made it: the record is
 * stored, the server is told, a conversation nobody needs is let go.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Conversation} Conversation
 * @typedef {import("./state.js").Turn} Turn
 */

import { summaryOf } from "./titles.js";
import { condensed, cutWhereLost, heardText } from "../sdk/playback.js";
import { hasTriggers, openConversation, withConversation, withEffects, without } from "./state.js";

/**
 * Store every conversation of ours that changed. The effect stands before the
 * drawing of it: what was shown was stored.
 *
 * @param {State} before @param {State} after
 * @returns {State}
 */
export function saveIfChanged(before, after) {
  let state = after;
  for (const conversation of Object.values(after.loaded)) {
    const old = before.loaded[conversation.id];
    if (old?.access === "write" && isChanged(before, after, old, conversation)) state = stored(state, conversation);
  }
  return state;
}

/** @param {State} before @param {State} after @param {Conversation} old @param {Conversation} conversation */
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
 * Whether a reload would find something else: the player reports far more often than words pass.
 *
 * @param {Turn | null} before @param {Turn | null} after
 */
function isKeptChanged(before, after) {
  if (before === after) return false;
  if (!before || !after) return true;
  const [was, is] = [before.playback, after.playback];
  const isSame = was.historySegments === is.historySegments && was.audioQueue === is.audioQueue;
  if (!isSame || partlyHeard(was) !== partlyHeard(is)) return true;
  return !is.isSpoken && before.streamed !== after.streamed;
}

/** @param {import("../sdk/playback.js").Playback} playback */
function partlyHeard({ playing }) {
  return playing ? heardText(playing) : "";
}

/** @param {State} state @param {string} id of the conversation */
function turnOf({ turn }, id) {
  return turn?.conversationId === id ? turn : null;
}

/** Pictures that wait to be sent survive a reload. @param {State} before @param {State} after @returns {State} */
export function keepIfAttached(before, after) {
  if (before.attachments === after.attachments) return after;
  return withEffects(after, { type: "keep_images", images: after.attachments });
}

/** Hand the conversation to the store. @param {State} state @param {Conversation} changed @returns {State} */
export function stored(state, changed) {
  const conversation = { ...changed, revision: changed.revision + 1 };
  const record = recordOf(state, conversation);
  const others = state.conversations.filter(({ id }) => id !== record.id);
  return withEffects(
    {
      ...withConversation(state, conversation),
      conversations: [summaryOf(record), ...others].sort((a, b) => b.updatedAt - a.updatedAt),
    },
    { type: "save", record, revision: conversation.revision },
  );
}

/**
 * @param {State} state @param {Conversation} conversation
 * @returns {import("./state.js").ConversationRecord}
 */
export function recordOf(state, conversation) {
  const { access: _access, revision: _revision, ...stored } = conversation;
  const turn = turnOf(state, conversation.id);
  const kept = turn ? cutWhereLost(turn.playback, turn.streamed).historySegments : [];
  return { ...stored, historySegments: condensed(kept) };
}

/** @param {State} before @param {State} after @returns {State} */
export function configureIfChanged(before, after) {
  if (after.connection.phase !== "online") return after;
  const choices = choicesOf(after);
  const known = before.connection.phase === "online" ? choicesOf(before) : null;
  const changed = Object.entries(choices).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(known?.[/** @type {keyof typeof choices} */ (key)]),
  );
  if (!changed.length) return after;
  // Only what changed: naming the input discards what the user is just saying.
  const configure = { type: /** @type {const} */ ("configure"), ...Object.fromEntries(changed) };
  return { ...after, effects: [{ type: "send", frame: configure }, ...after.effects] }; // a turn sent at once goes by it
}

/**
 * A turn that is over, or another one, leaves nothing to be heard.
 *
 * @param {State} before @param {State} after
 * @returns {State}
 */
export function silenceIfCut(before, after) {
  if (!before.turn || before.turn.id === after.turn?.id) return after;
  const isTold = after.effects.some((effect) => effect.type === "send" && isStopped(effect.frame)); // it was heard to its end
  return withEffects(after, FLUSH, ...(isTold ? [] : stoppedFrame(before.turn)));
}

/** @param {import("../sdk/frames.js").ClientFrame} frame */
function isStopped(frame) {
  return frame.type === "playback" && frame.state === "stopped";
}

const FLUSH = /** @type {const} */ ({ type: "sound", act: "flush" });

/** @param {import("./state.js").Turn} turn @returns {import("./state.js").Effect[]} */
function stoppedFrame(turn) {
  const { playing } = turn.playback;
  if (!playing) return [];
  const { sentence, heardMs } = playing;
  const heard = { turn_id: turn.id, index: sentence.index, ms: Math.round(heardMs) };
  return [{ type: "send", frame: { type: "playback", ...heard, state: "stopped" } }];
}

/** @param {State} state @returns {import("../sdk/frames.js").Choices} */
function choicesOf(state) {
  const { settings, skills, openId, voice, canPlay, speech } = state;
  const { skillsOff, tools, language, trace, readAloud, turnDetection, speaker, speed } = settings;
  const isNarrowed = skills.some(({ name }) => skillsOff.includes(name));
  return {
    voice: readAloud !== "never" && canPlay,
    turn_detection: turnDetection,
    input: { format: "pcm16", sample_rate: voice.rate },
    skills: isNarrowed ? skills.map(({ name }) => name).filter((name) => !skillsOff.includes(name)) : null,
    enable_tools: tools,
    language: language || null,
    speaker: speech?.voices?.includes(speaker) ? speaker : null,
    speed: Number(speed),
    conversation: openId,
    trace,
    nudges: settings.nudges && hasTriggers(state) && openConversation(state)?.access === "write",
  };
}

/**
 * Let go of conversations that are neither open nor waiting: for the end of a turn, for words, for a change.
 *
 * @param {State} state
 * @returns {State}
 */
export function unloadIdle(state) {
  const changing = state.awaited.map(({ id }) => id);
  const waiting = [...Object.values(state.cutTurns), ...Object.values(state.voice.spokenIn), ...changing];
  const isNeeded = new Set([state.openId, state.turn?.conversationId, ...waiting]);
  let next = state;
  for (const id of Object.keys(state.loaded)) {
    if (isNeeded.has(id)) continue;
    next = withEffects({ ...next, loaded: without(next.loaded, id) }, { type: "release", id });
  }
  return next;
}
