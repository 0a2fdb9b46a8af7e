/**
 * The running turn's playback goes on: what is reached is read out, and the end
 * of the turn flushes it.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Turn} Turn
 */

import { plainText } from "./markdown.js";
import { endReached } from "./reduce_turn.js";
import { withAnnouncements } from "./state.js";
import { t } from "./strings.js";

/** @param {State} state @param {Turn} turn @param {import("../sdk/playback.js").Playback} playback @returns {State} */
export function playedOn(state, turn, playback) {
  const next = announced({ ...state, turn: { ...turn, playback } }, turn.playback, playback);
  return playback.reachedEnd ? endReached(next, { ...turn, playback }, playback.reachedEnd) : next;
}

/**
 * Read out by the screen reader as it is reached: sentences, unless they were just spoken; files; words for the user.
 *
 * @param {State} state
 * @param {import("../sdk/playback.js").Playback} before
 * @param {import("../sdk/playback.js").Playback} after
 * @returns {State}
 */
function announced(state, before, after) {
  const wasSpoken = before.playing !== null && before.playing.heardMs > 0; // two voices at once are none
  const fresh = after.historySegments.slice(before.historySegments.length);
  const heardOf = wasSpoken ? fresh.find(({ kind }) => kind === "sentence") : undefined;
  const texts = fresh.filter((segment) => segment !== heardOf).map(textOf);
  return withAnnouncements(state, [...wordsForUser(before, after), ...texts]);
}

/** @param {import("../sdk/playback.js").Segment} segment */
function textOf(segment) {
  if (segment.kind === "sentence") return plainText(segment.text);
  return segment.kind === "media" ? t.turns.shown(segment.frame.name) : "";
}

/** @param {import("../sdk/playback.js").Playback} before @param {import("../sdk/playback.js").Playback} after */
function wordsForUser(before, after) {
  return after.historySegments
    .filter((segment, index) => segment.kind === "tool" && segment !== before.historySegments[index])
    .map((segment) => (segment.kind === "tool" ? plainText(segment.result?.for_user ?? "") : ""));
}
