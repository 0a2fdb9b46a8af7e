/**
 * What follows on the page from a change of state, beside what follows in every client: lists, settings of the server,
 * conversations that nobody needs.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Conversation} Conversation
 */

import { recordOf, stored as storedRecord } from "../sdk/consequences.js";
import { formatsOf } from "../sdk/speech.js";
import { openConversation, without } from "../sdk/state.js";
import { hasTriggers, withEffects } from "./state.js";
import { summaryOf } from "./titles.js";

/** Pictures that wait to be sent survive a reload. @param {State} before @param {State} after @returns {State} */
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

/** What the server is told to do. @param {State} state @returns {import("../sdk/frames.js").Choices} */
export function choicesOf(state) {
  const { settings, skills, openId, canPlay, speech } = state;
  const { skillsOff, tools, language, trace, readAloud, turnDetection, speaker, speed } = settings;
  const isNarrowed = skills.some(({ name }) => skillsOff.includes(name));
  return {
    voice: readAloud !== "never" && canPlay,
    turn_detection: turnDetection,
    ...formatsOf(state),
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
