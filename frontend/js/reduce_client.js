/**
 * Shows what the client library (sdk/) reports with its effects.
 *
 * @typedef {import("./state.js").State} State
 */

import { givenBack } from "./reduce_attachments.js";
import { reachedAnnounced } from "./reduce_playback.js";
import { warning, withNotice, withTurnNotice } from "./state.js";
import { t } from "./strings.js";

/** Apply the effects that the page itself shows, and remove them. @param {State} state @returns {State} */
export function withClientEffects(state) {
  const isShown = (/** @type {import("./state.js").Effect} */ { type }) => type === "reached" || type === "problem";
  const next = { ...state, effects: state.effects.filter((effect) => !isShown(effect)) };
  return state.effects.reduce(withEffectShown, next);
}

/** @param {State} state @param {import("./state.js").Effect} effect @returns {State} */
function withEffectShown(state, effect) {
  switch (effect.type) {
    case "reached":
      return reachedAnnounced(state, effect.before, effect.after);
    case "problem": {
      const { code, turnId, detail = "" } = effect;
      const notice = warning(code, textOf(code, detail));
      return turnId ? withTurnNotice(state, turnId, notice) : withNotice(state, notice);
    }
    case "give_back":
      return givenBack(state, effect.images);
    default:
      return state;
  }
}

/** @param {import("../sdk/types/client.js").ProblemCode} code @param {string | number} detail */
function textOf(code, detail) {
  switch (code) {
    case "history_shortened":
      return t.turns.shortened(Number(detail));
    case "storage_failed":
      return t.storage.failed(String(detail));
    case "speech_lost":
      return t.voice.lost;
    case "message_too_large":
      return t.turns.tooLong;
    case "turn_aborted":
      return String(detail) || t.turns.ended;
  }
}
