/**
 * What the model would read for a question, marked with where it comes from, and the hooks that stay out.
 *
 * @import { State } from "../state.js"
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { notFiredView } from "../../render/not_fired_view.js";
import { shortened } from "../../text.js";
import { s } from "../../strings/studio.js";
import { box, fine } from "./parts.js";

const MAX_EXCERPT_CHARS = 80;

/** @param {State} state */
export function previewView({ question, history, preview, skill }) {
  return h("section", { class: "studio-reading", "aria-labelledby": "reading-title", key: "reading" }, [
    h("h3", { id: "reading-title" }, s.reading),
    fine(s.readingHelp),
    entry("text", s.question, question.text, s.defaultQuestion),
    entry("tools", s.tools, question.tools, "read_file, current_time", s.toolsHelp),
    h("div", { class: "studio-boxes" }, [
      box("hasTools", s.hasTools, question.hasTools),
      history.length > 0 && box("hasHistory", s.hasHistory(history.length), question.hasHistory),
    ]),
    h("details", { class: "studio-facts", key: "facts" }, [
      h("summary", {}, icon("chevron"), h("span", { class: "fine" }, s.facts)),
      h("div", { class: "studio-entry" }, [
        h(
          "label",
          {},
          h("span", {}, s.channel),
          h("select", { "data-field": "ask", "data-name": "channel" }, channelOptions(question.channel)),
        ),
      ]),
      entry("language", s.language, question.language, "de"),
      entry("model", s.model, question.model, s.modelNow, s.modelHelp),
      entry("user", s.user, question.user, s.noUser),
      entry("time", s.time, question.time, "2026-11-22T14:05", s.timeHelp),
    ]),
    preview?.is_last_working && h("p", { class: "problem", role: "status", key: "working" }, s.lastWorking),
    preview ? preview.calls.map((call, index) => callView(call, index, skill)) : fine(s.noReading),
    preview && notFiredHooks(preview.not_fired, skill),
  ]);
}

/** @param {string} chosen */
function channelOptions(chosen) {
  return /** @type {const} */ (["text", "voice"]).map((value) =>
    h("option", { value, selected: value === chosen, key: value }, s.channels[value]),
  );
}

/** @param {string} name @param {string} label @param {string} value @param {string} placeholder @param {string} [help] */
function entry(name, label, value, placeholder, help) {
  const described = help ? { "aria-describedby": `help-${name}` } : {};
  const field = {
    type: "text",
    value,
    placeholder,
    autocomplete: "off",
    "data-field": "ask",
    "data-name": name,
    ...described,
  };
  return h("div", { class: "studio-entry", key: name }, [
    h("label", {}, h("span", {}, label), h("input", field)),
    help && h("p", { class: "fine", id: `help-${name}` }, help),
  ]);
}

/** @param {NonNullable<State["preview"]>["calls"][number]} call @param {number} index @param {string} skill */
function callView({ title, lines }, index, skill) {
  const own = lines.filter(({ hook }) => hook?.skill === skill).length;
  const tag = h("span", { class: own ? "tag tag-accent" : "tag" }, s.calls(lines.length));
  return h("details", { class: "call", open: true, key: `${index} ${title}` }, [
    h("summary", {}, icon("chevron"), h("span", { class: "call-name" }, `${index + 1}. ${title}`), tag),
    h("ol", { class: "read" }, lines.map(lineView)),
  ]);
}

/** @param {import("../state.js").Line} line */
function lineView({ role, text, hook }) {
  const marks = hook && [
    h("span", { class: "tag tag-accent" }, `${hook.skill} / ${hook.hook}`),
    h("span", { class: "tag" }, hook.timing),
    hook.persistent && h("span", { class: "tag" }, s.persistent),
  ];
  const excerpt = h("span", { class: "excerpt" }, shortened(text, MAX_EXCERPT_CHARS));
  return h("li", { class: `read-message role-${role} ${hook ? "is-hook" : ""}` }, [
    h(
      "details",
      { open: hook !== null },
      h("summary", {}, h("span", { class: "role" }, role), marks, excerpt),
      h("pre", { tabindex: "0" }, text),
    ),
  ]);
}

/** Those of this skill first. @param {readonly import("../state.js").NotFiredHook[]} silent @param {string} skill */
function notFiredHooks(silent, skill) {
  return notFiredView([...silent].sort((a, b) => Number(b.skill === skill) - Number(a.skill === skill)));
}
