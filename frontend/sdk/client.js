/**
 * The state of a `Parley`, with one conversation: `reduce(state, event)` is the next state with its effects. Pure.
 *
 * @typedef {import("./types/client.js").ParleyState} State
 * @typedef {import("./types/client.js").ParleyEvent} Event
 */

import { configureIfChanged, saveIfChanged, silenceIfCut, stored } from "./derived_effects.js";
import { fromRecord, newConversation } from "./conversation.js";
import * as frames from "./frames_in.js";
import * as speech from "./speech.js";
import { openConversation, QUIET, withConversation, withEffects, withVoice, withView } from "./state.js";
import * as turns from "./turn.js";

/**
 * @param {string} id of the conversation
 * @param {{speak: "spoken" | "always" | "never", turnDetection: import("./frames.js").TurnDetection}} settings
 * @param {Partial<import("./frames.js").ClientSettings>} clientSettings
 * @returns {State}
 */
export function initialState(id, { speak, turnDetection }, clientSettings) {
  return {
    connection: { phase: "connecting", attempt: 0, code: null },
    server: null,
    settings: { readAloud: speak, turnDetection },
    speech: null,
    voice: QUIET,
    canPlay: true,
    codecs: null,
    openId: id,
    loaded: { [id]: newConversation(id, 0) },
    turn: null,
    cutTurns: {},
    views: {},
    clientSettings,
    isBlocked: false,
    effects: [],
  };
}

/** @param {State} before @param {Event} event @returns {State} */
export function reduce(before, event) {
  const after = step({ ...before, effects: [] }, event);
  return silenceIfCut(before, configureIfChanged(before, saveIfChanged(before, after), clientSettingsOf));
}

/** @param {State} state @returns {Partial<import("./frames.js").ClientSettings>} */
function clientSettingsOf(state) {
  const { settings, clientSettings, canPlay, openId } = state;
  return {
    ...clientSettings,
    voice: settings.readAloud !== "never" && canPlay,
    turn_detection: settings.turnDetection,
    ...speech.formatsOf(state),
    conversation: openId,
  };
}

/** @param {State} state @param {Event} event @returns {State} */
function step(state, event) {
  switch (event.type) {
    case "frame":
      return received(state, event.frame, event.at);
    case "connecting":
      return { ...state, connection: { ...state.connection, attempt: event.attempt, phase: "connecting" } };
    case "disconnected":
      return turns.disconnected(state, event);
    case "opened":
      return opened(state, event);
    case "ask":
      return turns.asked(state, event);
    case "retry":
      return turns.retried(state, event);
    case "stop":
      return turns.stopped(state);
    case "close":
      return { ...turns.stopped(state), voice: QUIET, connection: { phase: "closed", attempt: 0, code: null } };
    case "clear":
      return cleared(turns.stopped(state));
    case "configure":
      return { ...state, clientSettings: { ...state.clientSettings, ...event.clientSettings } };
    case "saved":
      return turns.saved(state, event);
    case "save_failed":
      return turns.saveFailed(state, event);
    case "switch_on":
      return speech.switchingOn(state, event.deviceId);
    case "switch_off":
      return speech.switchedOff(state, null);
    case "mute":
      return speech.muteToggled(state);
    case "talk":
      return speech.pushToTalk(state, event.isHeld);
    case "microphone_on":
      return speech.switchedOn(state, event.rate);
    case "microphone_off":
      return speech.switchedOff(state, event.problem);
    case "microphone_muted":
      return withVoice(state, { isMuted: event.isMuted });
    case "heard":
      return speech.playbackHeard(state, event);
    case "no_sound":
      return speech.soundFailed(state);
    case "sound_back":
      return { ...state, canPlay: true };
    case "sound_blocked":
      return { ...state, isBlocked: event.isBlocked };
    case "codecs":
      return { ...state, codecs: event.codecs };
    case "speech_lost":
      return withEffects(state, { type: "problem", code: "speech_lost" });
    case "devices":
      return state;
  }
}

/** @param {State} state @param {import("./frames.js").ServerFrame} frame @param {number} at @returns {State} */
function received(state, frame, at) {
  switch (frame.type) {
    case "ready":
      return frames.connected(state, frame);
    case "turn_start":
      return frames.turnStarted(state, frame);
    case "text":
      return frames.streamed(state, frame);
    case "sentence":
    case "sentence_end":
    case "hook":
    case "tool_call":
    case "tool_result":
    case "media":
    case "turn_end":
      return frames.queued(state, frame);
    case "speech":
    case "speech_detected":
    case "speech_rejected":
    case "speech_started":
    case "speech_stopped":
    case "transcript":
      return speech.spoken(state, frame, at);
    case "approval_resolved":
      return speech.withoutSpokenQuestion(state, frame.id);
    case "error":
      return turns.refused(state, frame) ?? (frame.turn_id ? withView(state, frame.turn_id, { error: frame }) : state);
    default:
      return state;
  }
}

/** @param {State} state @param {{record: import("./types/client.js").ConversationRecord | null, at: number}} event @returns {State} */
function opened(state, { record, at }) {
  const id = state.openId ?? "";
  if (!record) return withConversation(state, { ...newConversation(id, at), access: "write" });
  return stored(state, fromRecord({ ...record, id }, "write"));
}

/** @param {State} state @returns {State} */
function cleared(state) {
  const conversation = openConversation(state);
  return conversation ? withConversation(state, { ...conversation, conversationHistory: [], branches: [] }) : state;
}

/** Return the phase of the conversation, in one word. @param {State} state @returns {import("./types/parley.js").State["phase"]} */
export function phaseOf({ connection, voice, turn }) {
  if (connection.phase !== "online") return "offline";
  if (voice.phase === "maybe" || voice.phase === "speaking" || voice.isHeld) return "hearing";
  if (turn?.playback.playing) return "speaking";
  if (turn) return turn.streamed ? "writing" : "thinking";
  if (voice.phase === "recognizing") return "thinking";
  return voice.mic === "on" && !voice.isSilenced ? "listening" : "idle";
}
