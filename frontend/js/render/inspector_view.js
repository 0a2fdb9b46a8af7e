/**
 * The inspector: for each model call of a turn, what the model read.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../inspect.js").TurnTrace} TurnTrace
 * @typedef {import("../inspect.js").ModelCall} ModelCall
 * @typedef {import("../inspect.js").TraceMessage} TraceMessage
 */

import { isUserMessage } from "../conversation.js";
import { openConversation } from "../state.js";
import { h, memoAll } from "./dom.js";
import { hookStepsView } from "./hook_steps_view.js";
import { icon } from "./icons.js";
import { pretty, shortened } from "../text.js";

const MAX_EXCERPT_CHARS = 90;

/** @param {State} state */
export function inspectorView(state) {
  if (!state.settings.trace) {
    return [
      h("p", {}, "The inspector shows what the model reads in each call. It is off."),
      h("button", { type: "button", class: "button", "data-action": "trace-on" }, "Switch it on"),
    ];
  }
  if (state.isTraceRefused) return h("p", {}, "Only operators of this server can see what the model reads.");
  const turns = turnsOf(state);
  if (!turns.length) return h("p", {}, "Nothing yet. After your next message, this shows what the model reads.");
  return turns.map((turn, index) => turnTraceView({ ...turn, isOpen: index === 0 }));
}

/** Of the open conversation, newest first. @param {State} state */
function turnsOf(state) {
  const history = openConversation(state)?.conversationHistory ?? [];
  const asked = history.filter((message) => isUserMessage(message) && message._turn).reverse();
  return asked.flatMap(({ _turn = "", content }) => {
    const trace = state.traces[_turn];
    return trace ? [{ id: _turn, asked: content, trace, metrics: state.views[_turn]?.end?.metrics ?? null }] : [];
  });
}

/**
 * @typedef {object} ShownTrace
 * @property {string} id
 * @property {string} asked
 * @property {TurnTrace} trace
 * @property {Record<string, number | null> | null} metrics
 * @property {boolean} isOpen
 */

/** Described anew when more of it has come, not with every word of the reply. */
const turnTraceView = memoAll(describe, ({ trace }) => trace);

/** @param {ShownTrace} shown */
function describe({ id, asked, trace, metrics, isOpen }) {
  return h(
    "details",
    { class: "trace", key: id, open: isOpen },
    h(
      "summary",
      {},
      icon("chevron"),
      h("span", { class: "trace-title" }, asked),
      h("span", { class: "tag" }, count(trace.calls.length, "call")),
    ),
    metrics && latencyView(metrics),
    trace.calls.map((call, index) => callView(call, trace, index === trace.calls.length - 1)),
    hookStepsView(strayStepsOf(trace)),
    notFiredView(trace),
  );
}

/** Of a call that was never made: a hook ended the turn before. @param {TurnTrace} trace */
function strayStepsOf({ calls, hookSteps }) {
  const known = new Set(calls.map(({ call }) => call));
  return hookSteps.filter(({ call }) => !known.has(call));
}

const MOMENTS = [
  ["transcript", "words"],
  ["model_request", "model asked"],
  ["first_token", "first token"],
  ["first_sentence", "first sentence"],
  ["first_audio", "first sound"],
  ["total", "end"],
];

/** Since the user stopped speaking, or sent the message. @param {Record<string, number | null>} metrics */
function latencyView(metrics) {
  const known = MOMENTS.flatMap(([name = "", label]) => {
    const ms = metrics[name];
    return typeof ms === "number" ? [`${label} ${Math.round(ms)}`] : [];
  });
  return known.length > 0 && h("p", { class: "fine latency" }, `After the question, in ms: ${known.join(" · ")}`);
}

/** @param {ModelCall} call @param {TurnTrace} trace @param {boolean} isOpen */
function callView(call, trace, isOpen) {
  const done = trace.done[String(call.call)];
  const steps = trace.hookSteps.filter((step) => step.call === call.call);
  return h(
    "details",
    { class: "call", key: `${call.call}.${call.attempt}`, open: isOpen },
    h(
      "summary",
      {},
      icon("chevron"),
      h("span", { class: "call-name" }, `${call.call}. ${purposeText(call)}`),
      call.attempt > 1 && h("span", { class: "tag tag-warning" }, `attempt ${call.attempt}`),
      steps.length > 0 && h("span", { class: "tag tag-accent" }, count(steps.length, "hook step")),
      h("span", { class: "call-figures" }, [count(call.messages.length, "message"), ...figures(done)].join(" · ")),
    ),
    h(
      "p",
      { class: "fine" },
      call.tools.length ? `Tools: ${call.tools.join(", ")} (${call.tool_choice})` : "No tools",
      call.late_system !== "native" && `. Late system messages are sent as: ${call.late_system}`,
    ),
    call.trimmed.length > 0 &&
      h("p", { class: "fine" }, `Left out to fit the model: ${count(call.trimmed.length, "message")}.`),
    h(
      "ol",
      { class: "read" },
      call.messages.map((messageId) => readView(trace.messages[messageId], messageId, call.sent_roles[messageId])),
    ),
    hookStepsView(steps),
  );
}

/** @param {ModelCall} call */
function purposeText({ purpose, round }) {
  switch (purpose) {
    case "planning":
      return "Planning";
    case "round":
      return `Agent loop, round ${round}`;
    case "last":
      return "Last round, without tools";
    case "direct":
      return "Reply";
    default:
      return purpose;
  }
}

/** @param {import("../inspect.js").ModelDone | undefined} done */
function figures(done) {
  if (!done) return [];
  const tokens = done.usage?.output_tokens;
  return [
    tokens ? `${tokens} tokens` : "",
    typeof done.total_ms === "number" ? `${Math.round(done.total_ms)} ms` : "",
    done.finish,
  ].filter(Boolean);
}

/** @param {TraceMessage | undefined} message @param {string} id @param {string | undefined} sentRole */
function readView(message, id, sentRole) {
  if (!message) return h("li", { class: "read-message" }, h("p", { class: "fine" }, `${id}: not in the trace`));
  const { role, origin, content } = message;
  const isHook = origin?.kind === "hook";
  return h(
    "li",
    { class: `read-message role-${role} ${isHook ? "is-hook" : ""}` },
    h(
      "details",
      {},
      h(
        "summary",
        {},
        h("span", { class: "role" }, sentRole && sentRole !== role ? `${role} → ${sentRole}` : role),
        originView(origin),
        h("span", { class: "excerpt" }, shortened(textOf(content), MAX_EXCERPT_CHARS) || callNames(message.tool_calls)),
      ),
      sentRole && sentRole !== role && h("p", { class: "fine" }, `Declared as ${role}, sent as ${sentRole}.`),
      h("pre", { tabindex: "0" }, textOf(content) || "(no text)"),
      message.tool_calls !== undefined && h("pre", { tabindex: "0" }, pretty(message.tool_calls)),
      message.cut && h("p", { class: "fine" }, "Cut here: the message is longer than the limit for traces."),
    ),
  );
}

/** @param {import("../inspect.js").Origin | undefined} origin */
function originView(origin) {
  if (!origin) return null;
  if (origin.kind !== "hook" && !origin.hook)
    return h("span", { class: "tag" }, origin.name ? `${origin.kind}: ${origin.name}` : origin.kind);
  return [
    h("span", { class: "tag tag-accent" }, `${origin.skill ?? "?"} / ${origin.hook ?? origin.name ?? "?"}`),
    origin.timing && h("span", { class: "tag" }, origin.timing),
    origin.persistent && h("span", { class: "tag" }, "persistent"),
    origin.unsigned && h("span", { class: "tag tag-warning" }, "not signed"),
    origin.kind === "history" && h("span", { class: "tag" }, "from the history"),
  ];
}

/** @param {unknown} calls as an assistant message carries them */
function callNames(calls) {
  return Array.isArray(calls) ? `calls ${calls.map((call) => call?.function?.name ?? "?").join(", ")}` : "";
}

/** @param {unknown} content */
function textOf(content) {
  return content === null || content === undefined ? "" : pretty(content);
}

/** @param {TurnTrace} trace */
function notFiredView({ notFired }) {
  if (!notFired.length) return null;
  return h(
    "section",
    { class: "not-fired" },
    h("h4", {}, "Hooks that did not fire"),
    h(
      "ul",
      {},
      notFired.map(({ skill, hook, timing, reason }) =>
        h(
          "li",
          {},
          h("span", { class: "hook-name" }, `${skill} / ${hook}`),
          h("span", { class: "tag" }, timing),
          h("span", { class: "reason" }, reason),
        ),
      ),
    ),
  );
}

/** @param {number} n @param {string} noun */
function count(n, noun) {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
