/**
 * The conversation that is played: what the model would read in each turn, marked with where it comes from, the hooks
 * that stay out, and what is set.
 *
 * @import { State } from "../state.js"
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { notFiredView } from "../../render/not_fired_view.js";
import { t } from "../../strings.js";
import { shortened } from "../../text.js";
import { s } from "../../strings/studio.js";
import { box, button, fine } from "./parts.js";

const MAX_EXCERPT_CHARS = 80;

/** @param {State} state */
export function previewView({ question, history, preview, skill }) {
  return h("section", { class: "studio-reading", "aria-labelledby": "reading-title", key: "reading" }, [
    h("h3", { id: "reading-title" }, s.reading),
    fine(s.readingHelp),
    preview?.is_last_working && h("p", { class: "problem", role: "status", key: "working" }, s.lastWorking),
    question.before.map((turn, at) => turnView(turn, at, preview?.before[at], skill)),
    question.before.length > 0 && h("h4", { key: "now" }, s.turn(question.before.length + 1)),
    entry("text", s.question, question.text, s.defaultQuestion),
    entry("tools", s.tools, question.tools, "read_file, current_time", s.toolsHelp),
    h("div", { class: "studio-boxes", key: "boxes" }, [
      box("hasTools", s.hasTools, question.hasTools),
      history.length > 0 && box("hasHistory", s.hasHistory(history.length), question.hasHistory),
      box("isAlone", s.isAlone, question.isAlone),
    ]),
    variablesView(question.variables, preview?.variables ?? {}),
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
      h("div", { class: "studio-boxes", key: "how" }, box("spoken", s.spoken, question.spoken), sentBoxes(question)),
      entry("context", s.context, question.context, "plan=pro; timezone=Asia/Tokyo", s.contextHelp),
      entry("seed", s.seed, question.seed, "1", s.seedHelp),
      entry("language", s.language, question.language, "de"),
      entry("model", s.model, question.model, s.modelNow, s.modelHelp),
      entry("user", s.user, question.user, s.noUser),
      entry("time", s.time, question.time, "sun 23:30", s.timeHelp),
    ]),
    preview ? readingView(preview, skill) : fine(s.noReading),
    h("div", { class: "studio-bar", key: "next" }, button("next_turn", s.nextTurn)),
  ]);
}

/** A turn before the last one. @param {import("../state.js").Turn} turn @param {number} at @param {import("../state.js").TurnPreview | undefined} read @param {string} skill */
function turnView(turn, at, read, skill) {
  const n = at + 1;
  const fields = { "data-turn": at };
  const title = h("span", { class: "call-name" }, s.turn(n));
  return h("details", { class: "studio-turn", key: `turn ${at}` }, [
    h(
      "summary",
      {},
      icon("chevron"),
      title,
      h("span", { class: "excerpt" }, shortened(turn.text || s.defaultQuestion, 40)),
    ),
    entry("text", s.questionOf(n), turn.text, s.defaultQuestion, "", fields),
    entry("tools", s.toolsOf(n), turn.tools, "read_file", "", fields),
    entry("reply", s.replyOf(n), turn.reply, s.defaultReply, "", fields),
    h("div", { class: "studio-boxes", key: "sent" }, sentBoxes(turn, fields)),
    read && readingView(read, skill),
    h("div", { class: "studio-bar", key: "drop" }, button("drop_turn", s.dropTurn(n), fields)),
  ]);
}

/** @param {import("../state.js").Turn} turn @param {import("./parts.js").Attributes} [more] */
function sentBoxes({ interrupted, image, document }, more) {
  return [
    box("interrupted", s.interrupted, interrupted, more),
    box("image", s.image, image, more),
    box("document", s.document, document, more),
  ];
}

/** @param {import("../state.js").TurnPreview} read @param {string} skill */
function readingView({ calls, not_fired: silent, changes }, skill) {
  return [
    calls.map((call, index) => callView(call, index, skill)),
    changes.length > 0 &&
      h("section", { class: "studio-changes", key: "changes" }, [
        h("h4", {}, s.changes),
        h(
          "ul",
          {},
          changes.map(({ skill: of, hook, name, value }, index) =>
            h(
              "li",
              { key: index },
              h("code", {}, `${name} = ${JSON.stringify(value)}`),
              ` ${s.setBy(`${of} / ${hook}`)}`,
            ),
          ),
        ),
      ]),
    notFiredHooks(silent, skill),
  ];
}

/** @param {State["question"]["variables"]} chosen @param {Readonly<Record<string, import("../state.js").Value>>} values */
function variablesView(chosen, values) {
  const names = Object.keys(values);
  if (!names.length) return null;
  return h("fieldset", { class: "studio-entry studio-variables", key: "variables" }, [
    h("legend", {}, s.variables),
    names.map((name) => {
      const value = chosen[name] ?? values[name];
      const field = { "data-field": "variable", "data-name": name };
      if (typeof value === "boolean") return box(name, name, value, field);
      const type = typeof values[name] === "number" ? "number" : "text";
      return h("label", { key: name }, h("span", {}, name), h("input", { type, value, autocomplete: "off", ...field }));
    }),
    Object.keys(chosen).length > 0 &&
      h("div", { class: "studio-bar", key: "reset" }, button("start_values", s.startValues)),
  ]);
}

/** @param {string} chosen */
function channelOptions(chosen) {
  return /** @type {const} */ (["text", "voice"]).map((value) =>
    h("option", { value, selected: value === chosen, key: value }, s.channels[value]),
  );
}

/** @param {string} name @param {string} label @param {string} value @param {string} placeholder @param {string} [help] @param {import("./parts.js").Attributes} [more] */
function entry(name, label, value, placeholder, help, more = { id: `ask-${name}` }) {
  const described = help ? { "aria-describedby": `help-${name}` } : {};
  const field = {
    type: "text",
    value,
    placeholder,
    autocomplete: "off",
    "data-field": "ask",
    "data-name": name,
    ...described,
    ...more,
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
    h(
      "ol",
      { class: "read" },
      lines.map((line) => lineView(line, skill)),
    ),
  ]);
}

/** @param {import("../state.js").Line} line @param {string} skill */
function lineView({ role, text, hook }, skill) {
  const isOwn = hook?.skill === skill;
  const marks = hook && [
    h("span", { class: isOwn ? "tag tag-accent" : "tag" }, `${hook.skill} / ${hook.hook}`),
    isOwn && h("span", { class: "tag tag-accent" }, s.ownHook),
    h("span", { class: "tag" }, hook.timing),
    h("span", { class: "tag" }, t.costs.tokens(hook.tokens)),
    hook.persistent && h("span", { class: "tag" }, s.persistent),
  ];
  const excerpt = h("span", { class: "excerpt" }, shortened(text, MAX_EXCERPT_CHARS));
  return h("li", { class: `read-message role-${role} ${isOwn ? "is-hook" : ""}` }, [
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
