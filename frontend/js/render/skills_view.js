/**
 * The skills panel: what is on, which hooks it brings, and what is wrong with its files.
 *
 * @typedef {import("../state.js").State} State
 */

import { isSkillOn } from "../state.js";
import { comparedCalls, hookCosts, hookActivity, hookKey, tracedTurns } from "../hook_costs.js";
import { h } from "./dom.js";
import { hookCostView } from "./hook_costs_view.js";
import { icon } from "./icons.js";
import { reasonView } from "./not_fired_view.js";
import { t } from "../strings.js";

/** @param {State} state */
export function skillsView(state) {
  const { skills, diagnostics, settings, server } = state;
  const usage = usageOf(state);
  const elsewhere = diagnostics
    .filter(({ skill }) => !skills.some(({ name }) => name === skill))
    .map((found) => ({ ...found, file: [found.skill, found.file].filter(Boolean).join("/") }));
  const unused = elsewhere.filter(({ severity }) => severity === "info");
  return [
    h("p", { class: "fine" }, t.skills.help),
    server?.user?.is_operator &&
      h(
        "p",
        { class: "fine", key: "studio" },
        h("a", { href: "/studio.html", target: "_blank", rel: "noopener" }, t.skills.studio),
        t.settings.anotherTab,
      ),
    elsewhere.filter(({ severity }) => severity !== "info").map(diagnosticView),
    skills.length === 0 && h("p", {}, t.skills.none),
    h(
      "ul",
      { class: "skills" },
      skills.map((skill) =>
        skillView(
          skill,
          isSkillOn(settings, skill),
          diagnostics.filter((diagnostic) => diagnostic.skill === skill.name),
          usage,
        ),
      ),
    ),
    unused.length > 0 &&
      h(
        "details",
        { class: "hooks", key: "unused" },
        h("summary", {}, icon("chevron"), t.skills.unused(unused.length)),
        unused.map(diagnosticView),
      ),
  ];
}

/**
 * Activity and costs of hooks, by the traces of the conversation.
 *
 * @typedef {object} Usage
 * @property {Map<string, import("../hook_costs.js").HookCost>} costs by hook
 * @property {Map<string, import("../hook_costs.js").HookActivity>} activity by hook
 * @property {number} compared calls that could use a cache
 */

/** @param {State} state @returns {Usage} */
function usageOf(state) {
  const turns = tracedTurns(state);
  const traces = turns.map(({ trace }) => trace);
  const costs = new Map(hookCosts(traces).map((cost) => [hookKey(cost), cost]));
  return { costs, activity: hookActivity(turns), compared: comparedCalls(traces) };
}

/**
 * @param {import("../../sdk/frames.js").SkillItem} skill
 * @param {boolean} isOn
 * @param {import("../../sdk/frames.js").Diagnostic[]} diagnostics
 * @param {Usage} usage
 */
function skillView({ name, description, hooks, hooks_omitted = 0, tests, triggers = [] }, isOn, diagnostics, usage) {
  const tokens = hooks.reduce((sum, { name: hook }) => sum + (costOf(usage, name, hook)?.tokens ?? 0), 0);
  return h(
    "li",
    { class: "skill", key: name },
    h(
      "label",
      { class: "switch" },
      h("span", { class: "skill-name" }, name),
      h("input", {
        type: "checkbox",
        role: "switch",
        checked: isOn,
        "data-change": "skill",
        "data-name": name,
      }),
    ),
    h("p", {}, description),
    diagnostics.map(diagnosticView),
    tests && testsView(tests),
    triggers.length > 0 &&
      h("p", { class: "fine" }, t.skills.speaksFirst(triggers.map(({ name, on }) => `${name} (${on})`).join(", "))),
    hooks_omitted > 0 &&
      h(
        "button",
        { type: "button", class: "button small", "data-action": "show-hooks", "data-name": name },
        t.skills.showHooks(hooks_omitted),
      ),
    hooks.length > 0 &&
      h(
        "details",
        { class: "hooks" },
        h("summary", {}, icon("chevron"), t.skills.hooks(hooks.length), tokens > 0 && t.costs.ofSkill(tokens)),
        h(
          "ul",
          {},
          hooks.map((hook) => hookView(name, hook, usage)),
        ),
      ),
  );
}

/** Show the result of the skill's own tests when it was last loaded. @param {import("../../sdk/frames.js").SkillTests} tests */
function testsView({ count, failed, not_run, failures }) {
  const leftOut = not_run > 0 && h("p", { class: "fine" }, t.skills.testsNotRun(not_run));
  if (failures.length === 0) {
    const text = failed === 0 ? t.skills.testsPass(count - not_run) : t.skills.testsFail(failed, count);
    return [h("p", { class: "fine", role: "status" }, text), leftOut];
  }
  return [
    h(
      "details",
      { class: "tests", key: "tests" },
      h("summary", {}, icon("chevron"), h("span", { role: "status" }, t.skills.testsFail(failed, count))),
      h("ul", {}, failures.map(failureView)),
      failed > failures.length && h("p", { class: "fine" }, t.skills.moreFail(failed - failures.length)),
    ),
    leftOut,
  ];
}

/** @param {import("../../sdk/frames.js").FailedTest} failure */
function failureView({ name, file, line, details }) {
  return h(
    "li",
    { key: `${file}${name}` },
    h("strong", {}, name),
    h("code", { class: "place" }, `${file}:${line}`),
    h("pre", { tabindex: "0" }, details),
  );
}

/** @param {Usage} usage @param {string} skill @param {string} hook */
function costOf({ costs }, skill, hook) {
  return costs.get(hookKey({ skill, hook }));
}

/** @param {string} skill @param {import("../../sdk/frames.js").HookItem} hook @param {Usage} usage */
function hookView(skill, { name, timing, role, persistent, tool_filter, text }, usage) {
  const cost = costOf(usage, skill, name);
  return h(
    "li",
    { key: `${name} ${timing}` },
    h("span", { class: "hook-name" }, name),
    h("span", { class: "tag" }, timing),
    h("span", { class: "tag" }, role),
    persistent && h("span", { class: "tag tag-accent" }, t.skills.persistent),
    tool_filter && h("span", { class: "tag" }, t.skills.after(tool_filter.join(", ") || t.skills.noTool)),
    cost && hookCostView(cost, usage.compared),
    activityView(usage.activity.get(hookKey({ skill, hook: name }))),
    text !== undefined &&
      h(
        "details",
        { class: "hook-text" },
        h("summary", {}, icon("chevron"), t.costs.text),
        h("pre", { tabindex: "0" }, text),
      ),
  );
}

/** @param {import("../hook_costs.js").HookActivity | undefined} activity */
function activityView(activity) {
  if (!activity) return null;
  const { firedAgo, notFired } = activity;
  return h(
    "p",
    { class: "fine" },
    firedAgo !== null && t.costs.fired(firedAgo),
    firedAgo !== 0 && notFired && [t.costs.silent, reasonView(notFired)],
  );
}

/** @param {import("../../sdk/frames.js").Diagnostic} diagnostic */
function diagnosticView({ severity, file, path, message }) {
  const level = severity === "error" ? "error" : severity === "warning" ? "warning" : "info";
  return h(
    "div",
    { class: `line line-${level} diagnostic`, role: "status", key: `${file}${path}${message}` },
    icon(level === "info" ? "info" : "alert"),
    h(
      "p",
      {},
      h("span", { class: "visually-hidden" }, t.skills.levels[level]),
      message,
      (file || path) && h("span", { class: "place" }, file && h("code", {}, file), path && h("code", {}, path)),
    ),
  );
}
