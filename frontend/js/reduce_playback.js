/**
 * Announces to screen readers what playback reaches.
 *
 * @typedef {import("./state.js").State} State
 */

import { plainText } from "./markdown.js";
import { withAnnouncements } from "./state.js";
import { t } from "./strings.js";

/**
 * Announce sentences, unless they were just spoken, files, and what tools say to the user.
 *
 * @param {State} state
 * @param {import("../sdk/playback.js").Playback} before
 * @param {import("../sdk/playback.js").Playback} after
 * @returns {State}
 */
export function reachedAnnounced(state, before, after) {
  const wasSpoken = before.playing !== null && before.playing.heardMs > 0; // two voices at once are none
  const fresh = after.historySegments.slice(before.historySegments.length);
  const heard = wasSpoken ? fresh.find(({ kind }) => kind === "sentence") : undefined;
  const texts = fresh.filter((segment) => segment !== heard).map(textOf);
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
