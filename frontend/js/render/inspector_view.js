/**
 * The inspector: for each model call of a turn, what the model read.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../inspect.js").TurnTrace} TurnTrace
 * @typedef {import("../inspect.js").ModelCall} ModelCall
 * @typedef {import("../inspect.js").TraceMessage} TraceMessage
 */

import { tracedTurns } from "../hook_costs.js";
import { h, memoAll } from "./dom.js";
import { callCostView, hookCostsView } from "./hook_costs_view.js";
import { hookStepsView } from "./hook_steps_view.js";
import { icon } from "./icons.js";
import { notFiredView } from "./not_fired_view.js";
import { variablesView } from "./variables_view.js";
import { shortened } from "../text.js";
import { pretty } from "../../sdk/escaped_json.js";
import { t } from "../strings.js";

const MAX_EXCERPT_CHARS = 90;

/** @param {State} state */
export function inspectorView(state) {
  if (!state.settings.trace) {
    return [
      h("p", {}, t.inspector.isOff),
      h("button", { type: "button", class: "button", "data-action": "trace-on" }, t.inspector.switchOn),
    ];
  }
  if (state.isTraceRefused) return h("p", {}, t.inspector.refused);
  const turns = turnsOf(state);
  if (!turns.length) return h("p", {}, t.inspector.nothing);
  const only = turns.filter(({ id }) => id === state.inspectedTurn);
  if (only.length) return [only.map((turn) => turnTraceView({ ...turn, isOpen: true })), allButton()];
  const costs = hookCostsView(turns.map(({ trace }) => trace));
  return [...(costs ? [costs] : []), ...turns.map((turn, index) => turnTraceView({ ...turn, isOpen: index === 0 }))];
}

function allButton() {
  return h("button", { type: "button", class: "button", "data-action": "inspect-all" }, t.inspector.all);
}

/** Return the traced turns of the open conversation, newest first. @param {State} state */
function turnsOf(state) {
  return tracedTurns(state).map(({ id, asked, trace }) => {
    const { metrics = null } = state.views[id]?.end ?? {};
    return { id, asked, trace, metrics };
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

/** View of a trace, described anew when more of it has come, not with every word of the reply. */
const turnTraceView = memoAll(describe, ({ trace }) => trace);

/** @param {ShownTrace} shown */
function describe(shown) {
  const { id, asked, trace, metrics, isOpen } = shown;
  return h(
    "details",
    { class: "trace", key: id, open: isOpen },
    h(
      "summary",
      {},
      icon("chevron"),
      h("h3", { class: "trace-title" }, asked),
      h("span", { class: "tag" }, t.inspector.calls(trace.calls.length)),
    ),
    metrics && latencyView(metrics),
    trace.calls.map((call, index) => callView(call, trace, index === trace.calls.length - 1)),
    hookStepsView(strayStepsOf(trace)),
    variablesView(trace),
    notFiredView(trace.notFired),
    h("button", { type: "button", class: "button", "data-action": "export-turn", "data-id": id }, t.inspector.export),
  );
}

/** Return the hook steps of a call that was never made, because a hook ended the turn before. @param {TurnTrace} trace */
function strayStepsOf({ calls, hookSteps }) {
  const known = new Set(calls.map(({ call }) => call));
  return hookSteps.filter(({ call }) => !known.has(call));
}

/** Show the moments since the user stopped speaking, or sent the message. @param {Record<string, number | null>} metrics */
function latencyView(metrics) {
  const known = Object.entries(t.inspector.moments).flatMap(([name, label]) => {
    const ms = metrics[name];
    return typeof ms === "number" ? [{ label, ms }] : [];
  });
  if (!known.length) return null;
  const text = t.inspector.latency(known.map(({ label, ms }) => `${label} ${Math.round(ms)}`).join(" · "));
  return [latencyBar(known), h("p", { class: "fine latency" }, text)];
}

/** Draw one stretch from each moment to the next; the line below says the same in words. @param {{label: string, ms: number}[]} moments */
function latencyBar(moments) {
  const sorted = [...moments].sort((a, b) => a.ms - b.ms);
  const whole = Math.max(1, sorted.at(-1)?.ms ?? 1);
  return h(
    "svg",
    { class: "latency-bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    sorted.map(({ label, ms }, index) => {
      const from = ((sorted[index - 1]?.ms ?? 0) / whole) * 100;
      const width = Math.max(0.3, (ms / whole) * 100 - from);
      return h("rect", { class: `stretch-${index}`, x: from, y: 0, width, height: 4 }, h("title", {}, label));
    }),
  );
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
      call.attempt > 1 && h("span", { class: "tag tag-warning" }, t.inspector.attempt(call.attempt)),
      steps.length > 0 && h("span", { class: "tag tag-accent" }, t.inspector.hookSteps(steps.length)),
      h("span", { class: "call-figures" }, [t.inspector.messages(call.messages.length), ...figures(done)].join(" · ")),
    ),
    h(
      "p",
      { class: "fine" },
      call.tools.length ? t.inspector.tools(call.tools.join(", "), call.tool_choice) : t.inspector.noTools,
      call.late_system !== "native" && t.inspector.lateSystem(call.late_system),
    ),
    call.trimmed.length > 0 && h("p", { class: "fine" }, t.inspector.trimmed(call.trimmed.length)),
    call.shortened.length > 0 && h("p", { class: "fine" }, t.inspector.shortened(call.shortened.length)),
    callCostView(call, trace),
    h(
      "ol",
      { class: "read" },
      call.messages.map((messageId) => readView(trace.messages[messageId], messageId, call.sent_roles[messageId])),
    ),
    done?.reply && h("p", { class: "fine" }, t.inspector.answered, h("q", {}, done.reply)),
    hookStepsView(steps),
  );
}

/** @param {ModelCall} call */
function purposeText({ purpose, round }) {
  switch (purpose) {
    case "planning":
      return t.inspector.planning;
    case "round":
      return t.inspector.round(round);
    case "last":
      return t.inspector.lastRound;
    case "direct":
      return t.reply;
    default:
      return purpose;
  }
}

/** @param {import("../inspect.js").ModelDone | undefined} done */
function figures(done) {
  if (!done) return [];
  const { input_tokens: read = 0, cached_tokens: cached = 0, output_tokens: written = 0 } = done.usage ?? {};
  return [
    read ? t.inspector.read(read, cached) : "",
    written ? t.inspector.written(written) : "",
    typeof done.total_ms === "number" ? `${Math.round(done.total_ms)} ms` : "",
    done.finish,
  ].filter(Boolean);
}

/** @param {TraceMessage | undefined} message @param {string} id @param {string | undefined} sentRole */
function readView(message, id, sentRole) {
  if (!message) return h("li", { class: "read-message" }, h("p", { class: "fine" }, t.inspector.notInTrace(id)));
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
        message.tokens !== undefined && h("span", { class: "tag" }, t.costs.tokens(message.tokens)),
        h("span", { class: "excerpt" }, shortened(textOf(content), MAX_EXCERPT_CHARS) || callNames(message.tool_calls)),
      ),
      sentRole && sentRole !== role && h("p", { class: "fine" }, t.inspector.sentAs(role, sentRole)),
      h("pre", { tabindex: "0" }, textOf(content) || t.inspector.noText),
      message.tool_calls !== undefined && h("pre", { tabindex: "0" }, pretty(message.tool_calls)),
      message.cut && h("p", { class: "fine" }, t.inspector.cut),
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
    origin.persistent && h("span", { class: "tag" }, t.inspector.persistent),
    origin.unsigned && h("span", { class: "tag tag-warning" }, t.inspector.notSigned),
    origin.kind === "history" && h("span", { class: "tag" }, t.inspector.fromHistory),
  ];
}

/** @param {unknown} calls as an assistant message carries them */
function callNames(calls) {
  return Array.isArray(calls) ? t.inspector.callsOf(calls.map((call) => call?.function?.name ?? "?").join(", ")) : "";
}

/** @param {unknown} content */
function textOf(content) {
  return content === null || content === undefined ? "" : pretty(content);
}
