/**
 * The panel of process hooks: which run, which gates are armed, and what is wrong with them.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../hook_health.js").HookHealth} HookHealth
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** @param {State} state */
export function hooksView({ hookHealth: { processes, problem } }) {
  return [
    h(
      "p",
      { class: "fine" },
      "Process hooks are programs that the server calls before and after a model call or a tool call. They are configured in parley.yaml.",
    ),
    problem &&
      h("div", { class: "line line-warning", role: "status", key: "problem" }, icon("alert"), h("p", {}, problem)),
    processes === null && !problem && h("p", { role: "status" }, "Asking the server…"),
    processes?.length === 0 &&
      h("p", {}, "None yet. An entry under ", h("code", {}, "hooks.processes"), " in parley.yaml starts one."),
    processes && processes.length > 0 && [gatesLine(processes), h("ul", { class: "skills" }, processes.map(hookView))],
  ];
}

/** @param {readonly HookHealth[]} processes */
function gatesLine(processes) {
  const gates = processes.filter((hook) => hook.gates.length > 0);
  if (!gates.length)
    return h("p", { key: "gates" }, "No hook here is a gate: when one fails, the turn goes on without it.");
  const unarmed = gates.filter(isUnarmed);
  const untested = gates.filter((gate) => gate.isArmed === null && !isUnarmed(gate));
  if (!unarmed.length && untested.length)
    return h("p", { key: "gates", role: "status" }, `Not asked yet, so not known to be armed: ${namesOf(untested)}.`);
  if (!unarmed.length) return h("p", { key: "gates", role: "status" }, `All gates are armed: ${namesOf(gates)}.`);
  return h(
    "div",
    { class: "line line-warning", role: "status", key: "gates" },
    icon("alert"),
    h(
      "p",
      {},
      `${unarmed.length} of ${gates.length} gates not armed: ${namesOf(unarmed)}. What they guard is denied meanwhile.`,
    ),
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
      h("span", { class: state === "up" ? "tag state-up" : state === "down" ? "tag tag-warning" : "tag" }, stateText(hook)),
      armedTag(hook),
    ),
    h("p", { class: "fine" }, hook.gates.length ? `gate at ${hook.gates.join(", ")}` : modes.join(", ")),
    h(
      "dl",
      { class: "figures" },
      figure("calls", hook.calls),
      figure("failed", hook.failures),
      figure("p50", msText(hook.p50Ms)),
      figure("p99", msText(hook.p99Ms)),
      figure("restarts", hook.restarts),
      hook.droppedEvents > 0 && figure("events dropped", hook.droppedEvents),
    ),
    hook.isArmed === false && hook.armedReason && h("p", { class: "fine" }, `Not armed: ${hook.armedReason}`),
    lastError && [
      h("h4", {}, state === "up" ? "Last error (the hook has recovered)" : "Last error"),
      h("pre", { tabindex: "0" }, lastError),
    ],
    warnings.length > 0 && warningsView(warnings),
  );
}

/** @param {HookHealth} hook */
function stateText({ state, retryInS }) {
  return state === "down" && retryInS !== null ? `down, next try in ${Math.ceil(retryInS)} s` : state;
}

/** @param {HookHealth} hook */
function armedTag(hook) {
  if (!hook.gates.length) return null;
  if (isUnarmed(hook)) return h("span", { class: "tag tag-warning" }, "not armed");
  return h("span", { class: hook.isArmed ? "tag state-up" : "tag" }, hook.isArmed ? "armed" : "not asked yet");
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
    h("summary", {}, icon("chevron"), `${warnings.length} ${warnings.length === 1 ? "warning" : "warnings"}`),
    h(
      "ul",
      {},
      warnings.map(({ text, count }) =>
        h("li", {}, h("span", {}, text), count > 1 && h("span", { class: "tag" }, `${count} times`)),
      ),
    ),
  );
}
