/**
 * The running turn's playback goes on: what is reached is read out, and the end
 * of the turn flushes it.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Turn} Turn
 * @typedef {import("./frames.js").TurnEnd} TurnEnd
 */

import { plainText } from "./markdown.js";
import { ended, rolledBack } from "./reduce_turn.js";
import { withView } from "./state.js";

const MAX_ANNOUNCEMENTS = 4;

/** @param {State} state @param {Turn} turn @param {import("./playback.js").Playback} playback @returns {State} */
export function playedOn(state, turn, playback) {
  const next = announced({ ...state, turn: { ...turn, playback } }, turn.playback, playback);
  return playback.reachedEnd ? endReached(next, { ...turn, playback }, playback.reachedEnd) : next;
}

/** @param {State} state @param {Turn} turn @param {TurnEnd} end @returns {State} */
function endReached(state, turn, end) {
  const next = withView(ended(state, turn, end.reason === "completed" ? null : "failed"), turn.id, { end });
  return end.rollback ? rolledBack(next, turn) : next;
}

/**
 * Sentences are read out by the screen reader as they are reached, unless they were just spoken.
 *
 * @param {State} state
 * @param {import("./playback.js").Playback} before
 * @param {import("./playback.js").Playback} after
 * @returns {State}
 */
function announced(state, before, after) {
  const wasSpoken = before.playing !== null && before.playing.heardMs > 0; // two voices at once are none
  const fresh = after.historySegments
    .slice(before.historySegments.length)
    .filter((segment) => segment.kind === "sentence")
    .slice(wasSpoken ? 1 : 0);
  if (!fresh.length) return state;
  const n = (state.announcements.at(-1)?.n ?? 0) + 1;
  const lines = fresh.map((segment, index) => ({ n: n + index, text: plainText(segment.text) }));
  return { ...state, announcements: [...state.announcements, ...lines].slice(-MAX_ANNOUNCEMENTS) };
}
