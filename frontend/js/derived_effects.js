/**
 * Effects that follow from a change of state whichever event made it, on the page alone: the list of conversations, the
 * client's settings, conversations that can be released. Those of every client are in `sdk/derived_effects.js`.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Conversation} Conversation
 */

import { recordOf, stored as storedRecord } from "../sdk/derived_effects.js";
import { formatsOf } from "../sdk/speech.js";
import { openConversation, without } from "../sdk/state.js";
import { hasTriggers, isSkillOn, withEffects } from "./state.js";
import { summaryOf } from "./titles.js";

/** Keep the pictures that wait to be sent over a reload. @param {State} before @param {State} after @returns {State} */
export function keepIfAttached(before, after) {
  if (before.attachments === after.attachments) return after;
  return withEffects(after, { type: "keep_images", images: after.attachments });
}

/** Hand the conversation to the store. @param {State} state @param {Conversation} conversation @returns {State} */
export function stored(state, conversation) {
  const others = state.conversations.filter(({ id }) => id !== conversation.id);
  const conversations = [summaryOf(recordOf(state, conversation)), ...others].sort((a, b) => b.updatedAt - a.updatedAt);
  return storedRecord({ ...state, conversations }, conversation);
}

/** Return the settings that `configure` sends. @param {State} state @returns {import("../sdk/frames.js").ClientSettings} */
export function clientSettingsOf(state) {
  const { settings, timezone, skills, openId, canPlay, speech } = state;
  const { tools, language, trace, readAloud, turnDetection, speaker, speed } = settings;
  const on = skills.filter((skill) => isSkillOn(settings, skill));
  const isDefault = skills.every((skill) => on.includes(skill) === (skill.default !== "off"));
  return {
    voice: readAloud !== "never" && canPlay,
    turn_detection: turnDetection,
    ...formatsOf(state),
    skills: isDefault ? null : on.map(({ name }) => name),
    enable_tools: tools,
    language: language || null,
    instructions: settings.instructions.trim() || null,
    speaker: speech?.voices?.includes(speaker) ? speaker : null,
    speed: Number(speed),
    conversation: openId,
    trace,
    context: timezone ? { timezone } : {},
    nudges: settings.nudges && hasTriggers(state) && openConversation(state)?.access === "write",
  };
}

/**
 * Release conversations that are neither open nor waiting for the end of a turn, for a transcript or for a change.
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
