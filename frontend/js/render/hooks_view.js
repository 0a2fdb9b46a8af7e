/**
 * The panel of process hooks: which run, which gates are armed, and what is wrong with them.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../hook_health.js").HookHealth} HookHealth
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {State} state */
export function hooksView({ hookHealth: { processes, problem } }) {
  return [
    h("p", { class: "fine" }, t.hooks.help),
    problem &&
      h("div", { class: "line line-warning", role: "status", key: "problem" }, icon("alert"), h("p", {}, problem)),
    processes === null && !problem && h("p", { role: "status" }, t.hooks.asking),
    processes?.length === 0 && h("p", {}, t.hooks.none[0], h("code", {}, "hooks.processes"), t.hooks.none[1]),
    processes && processes.length > 0 && [gatesLine(processes), h("ul", { class: "skills" }, processes.map(hookView))],
  ];
}

/** @param {readonly HookHealth[]} processes */
function gatesLine(processes) {
  const gates = processes.filter((hook) => hook.gates.length > 0);
  if (!gates.length) return h("p", { key: "gates" }, t.hooks.noGate);
  const unarmed = gates.filter(isUnarmed);
  const untested = gates.filter((gate) => gate.isArmed === null && !isUnarmed(gate));
  if (!unarmed.length && untested.length)
    return h("p", { key: "gates", role: "status" }, t.hooks.untested(namesOf(untested)));
  if (!unarmed.length) return h("p", { key: "gates", role: "status" }, t.hooks.allArmed(namesOf(gates)));
  return h(
    "div",
    { class: "line line-warning", role: "status", key: "gates" },
    icon("alert"),
    h("p", {}, t.hooks.unarmed(unarmed.length, gates.length, namesOf(unarmed))),
  );
}

/** @param {HookHealth} gate */
function isUnarmed({ isArmed, state }) {
  return isArmed === false || state !== "up";
}

/** @param {readonly HookHealth[]} hooks */
function namesOf(hooks) {
  return hooks.map(({ name }) => name).join(", ");
}

/** @param {HookHealth} hook */
function hookView(hook) {
  const { name, state, modes, lastError, warnings } = hook;
  return h(
    "li",
    { class: "skill", key: name },
    h(
      "div",
      { class: "hook-health" },
      h("span", { class: "skill-name" }, name),
      h(
        "span",
        { class: state === "up" ? "tag state-up" : state === "down" ? "tag tag-warning" : "tag" },
        stateText(hook),
      ),
      armedTag(hook),
    ),
    h("p", { class: "fine" }, hook.gates.length ? t.hooks.gateAt(hook.gates.join(", ")) : modes.join(", ")),
    h(
      "dl",
      { class: "figures" },
      figure(t.hooks.figures.calls, hook.calls),
      figure(t.hooks.figures.failed, hook.failures),
      figure(t.hooks.figures.p50, msText(hook.p50Ms)),
      figure(t.hooks.figures.p99, msText(hook.p99Ms)),
      figure(t.hooks.figures.restarts, hook.restarts),
      hook.events > 0 && figure(t.hooks.figures.events, hook.events),
      hook.droppedEvents > 0 && figure(t.hooks.figures.eventsDropped, hook.droppedEvents),
    ),
    hook.isArmed === false && hook.armedReason && h("p", { class: "fine" }, t.hooks.notArmedBecause(hook.armedReason)),
    lastError && [
      h("h3", {}, state === "up" ? t.hooks.lastErrorRecovered : t.hooks.lastError),
      h("pre", { tabindex: "0" }, lastError),
    ],
    warnings.length > 0 && warningsView(warnings),
  );
}

/** @param {HookHealth} hook */
function stateText({ state, retryInS }) {
  return state === "down" && retryInS !== null ? t.hooks.downUntil(Math.ceil(retryInS)) : state;
}

/** @param {HookHealth} hook */
function armedTag(hook) {
  if (!hook.gates.length) return null;
  if (isUnarmed(hook)) return h("span", { class: "tag tag-warning" }, t.hooks.notArmed);
  return h("span", { class: hook.isArmed ? "tag state-up" : "tag" }, hook.isArmed ? t.hooks.armed : t.hooks.notAsked);
}

/** @param {string} label @param {string | number} value */
function figure(label, value) {
  return h("div", {}, h("dt", {}, label), h("dd", {}, String(value)));
}

/** @param {number | null} ms */
export function msText(ms) {
  if (ms === null) return "–";
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

/** @param {HookHealth["warnings"]} warnings */
function warningsView(warnings) {
  return h(
    "details",
    { class: "hooks" },
    h("summary", {}, icon("chevron"), t.hooks.warnings(warnings.length)),
    h(
      "ul",
      {},
      warnings.map(({ text, count }) =>
        h("li", {}, h("span", {}, text), count > 1 && h("span", { class: "tag" }, t.hooks.times(count))),
      ),
    ),
  );
}
