/** Settings of this browser. @typedef {import("../state.js").State} State */

import { VOICE_SAMPLE } from "../reduce_speak.js";
import { canSpeak, hasTriggers } from "../state.js";
import { LANGUAGES as PAGE_LANGUAGES, t } from "../strings.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { languageProblem } from "./voice_view.js";

/** Languages that may be spoken, each in its own words. */
const LANGUAGES = [
  ["en", "English"],
  ["zh", "中文"],
  ["de", "Deutsch"],
  ["es", "Español"],
  ["fr", "Français"],
  ["it", "Italiano"],
  ["ja", "日本語"],
  ["ko", "한국어"],
  ["pt", "Português"],
];

const SPEEDS = ["0.5", "0.75", "1", "1.25", "1.5", "2"];

/** @param {State} state */
export function settingsView(state) {
  const { settings, server, voice, speech } = state;
  const voices = speech?.voices ?? [];
  const unheard = languageProblem(state);
  const microphones = voice.devices.map(({ id, label }) => [id, label || t.settings.aMicrophone]);
  return [
    selectView(t.settings.appearance, "theme", Object.entries(t.settings.theme), settings.theme),
    selectView(
      t.settings.pageLanguage,
      "pageLanguage",
      [["", t.settings.asBrowser], ...PAGE_LANGUAGES.map(({ code, name }) => [code, name])],
      settings.pageLanguage,
    ),
    selectView(t.settings.language, "language", [["", t.settings.notSaid], ...LANGUAGES], settings.language),
    unheard && h("p", { class: "line line-warning", role: "status", key: "language-problem" }, unheard),
    selectView(t.settings.readAloud, "readAloud", Object.entries(t.settings.readAloudWhen), settings.readAloud),
    voices.length > 1 &&
      selectView(
        t.settings.speaker,
        "speaker",
        voices.map((name, n) => [n ? name : "", name]),
        settings.speaker,
      ),
    voices.length > 0 &&
      selectView(
        t.settings.speed,
        "speed",
        SPEEDS.map((speed) => [speed, `${speed}×`]),
        settings.speed,
      ),
    voices.length > 0 && sampleView(state),
    selectView(
      t.settings.howToTalk,
      "turnDetection",
      [
        ["server_vad", t.settings.handsFree],
        ["push_to_talk", state.isTouch ? t.settings.holdButton : t.settings.pushToTalk],
      ],
      settings.turnDetection,
    ),
    microphones.length > 0 &&
      selectView(t.settings.microphone, "microphone", [["", t.settings.asSystem], ...microphones], settings.microphone),
    instructionsView(settings.instructions),
    switchView(t.settings.tools, t.settings.toolsHelp, "tools", settings.tools),
    hasTriggers(state) && switchView(t.settings.nudges, t.settings.nudgesHelp, "nudges", settings.nudges),
    switchView(t.settings.inspector, t.settings.inspectorHelp, "trace", settings.trace),
    // In a tab of its own: the conversation and its sound go on in this one.
    h(
      "section",
      { class: "about" },
      h("h3", {}, t.settings.policy),
      h(
        "p",
        { class: "fine" },
        h("a", { href: "/policy.html#/policy", target: "_blank", rel: "noopener" }, t.settings.policyLink),
        t.settings.anotherTab,
      ),
    ),
    server?.user?.is_logged_in &&
      h(
        "section",
        { class: "about", key: "logins" },
        h("h3", {}, t.settings.logins),
        h(
          "p",
          { class: "fine" },
          h("a", { href: "/sessions.html", target: "_blank", rel: "noopener" }, t.settings.loginsLink),
          t.settings.anotherTab,
        ),
      ),
    server &&
      h(
        "section",
        { class: "about", key: "about" },
        h("h3", {}, t.settings.about),
        h("p", { class: "fine" }, t.settings.aboutServer(server.server, server.protocol)),
      ),
  ];
}

/** Return the button by which the chosen voice can be heard. @param {State} state */
function sampleView(state) {
  const isHeard = state.speakTurn?.turnId === VOICE_SAMPLE;
  return h(
    "button",
    {
      type: "button",
      class: "button small",
      key: "sample",
      "data-action": "hear-voice",
      disabled: !isHeard && !canSpeak(state),
    },
    icon(isHeard ? "stop" : "sound"),
    isHeard ? t.settings.stopSample : t.settings.hearVoice,
  );
}

const MAX_INSTRUCTIONS_CHARS = 4000; // the server takes four times as many

/** @param {string} text */
function instructionsView(text) {
  return h(
    "label",
    { class: "field", key: "instructions" },
    h("span", {}, t.settings.instructions),
    h(
      "textarea",
      {
        rows: "3",
        dir: "auto",
        maxlength: MAX_INSTRUCTIONS_CHARS,
        placeholder: t.settings.instructionsExample,
        "aria-describedby": "instructions-help",
        "data-change": "setting",
        "data-name": "instructions",
      },
      text, // its start only: from then on it is the user's
    ),
    h("span", { class: "fine", id: "instructions-help" }, t.settings.instructionsHelp),
  );
}

/** @param {string} label @param {string} name @param {string[][]} options @param {string} value */
function selectView(label, name, options, value) {
  return h(
    "label",
    { class: "field" },
    h("span", {}, label),
    h(
      "select",
      { "data-change": "setting", "data-name": name },
      options.map(([key = "", text = ""]) => h("option", { value: key, selected: key === value, key }, text)),
    ),
  );
}

/** @param {string} label @param {string} help @param {string} name @param {boolean} value */
function switchView(label, help, name, value) {
  return h(
    "label",
    { class: "switch" },
    h("span", {}, h("strong", {}, label), h("span", { class: "fine" }, help)),
    h("input", { type: "checkbox", role: "switch", checked: value, "data-change": "setting", "data-name": name }),
  );
}
