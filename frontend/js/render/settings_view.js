/** Settings of this browser. @typedef {import("../state.js").State} State */

import { h } from "./dom.js";

const THEMES = [
  ["auto", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

const LANGUAGES = [
  ["", "Not said"],
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

const TURN_DETECTION = [
  ["server_vad", "Hands-free: just speak"],
  ["push_to_talk", "Push to talk: hold a key or a button"],
];

/** @param {State} state */
export function settingsView({ settings, server, voice }) {
  const microphones = voice.devices.map(({ id, label }) => [id, label || "A microphone"]);
  return [
    selectView("Appearance", "theme", THEMES, settings.theme),
    selectView("Language of the conversation", "language", LANGUAGES, settings.language),
    switchView("Read aloud", "Read replies aloud as they arrive.", "readAloud", settings.readAloud),
    selectView("How to talk", "turnDetection", TURN_DETECTION, settings.turnDetection),
    microphones.length > 0 &&
      selectView("Microphone", "microphone", [["", "As the system"], ...microphones], settings.microphone),
    switchView("Tools", "The model may read files, look at the clock and use what this server adds.", "tools", settings.tools),
    switchView("Inspector", "Ask the server to show what the model reads.", "trace", settings.trace),
    // In a tab of its own: the conversation and its sound go on in this one.
    h(
      "section",
      { class: "about" },
      h("h3", {}, "What tools may do"),
      h(
        "p",
        { class: "fine" },
        h(
          "a",
          { href: "/policy.html#/policy", target: "_blank", rel: "noopener" },
          "Tool policy, audit log, approvals",
        ),
        " (another tab)",
      ),
    ),
    server &&
      h(
        "section",
        { class: "about" },
        h("h3", {}, "About"),
        h(
          "p",
          { class: "fine" },
          `Server ${server.server}, protocol ${server.protocol}. Conversations are stored only in this browser; the server stores none.`,
        ),
      ),
  ];
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
