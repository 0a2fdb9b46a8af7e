/**
 * In the inspector: the variables of a turn with what changed them, what could not be set, and the context.
 *
 * @typedef {import("../inspect.js").TurnTrace} TurnTrace
 * @typedef {import("../inspect.js").Change} Change
 */

import { visibleText } from "../../sdk/escaped_json.js";
import { hookKey } from "../hook_costs.js";
import { t } from "../strings.js";
import { h } from "./dom.js";
import { reasonView } from "./not_fired_view.js";

/** @param {TurnTrace} trace */
export function variablesView({ values, changes, notSet }) {
  const variables = variablesOf(values.variables, changes);
  const context = Object.entries(values.context);
  return [
    (variables.length > 0 || notSet.length > 0) &&
      listView("variables", t.inspector.variables, [...variables.map(variableView), ...notSet.map(notSetView)]),
    context.length > 0 &&
      listView(
        "context",
        t.inspector.context,
        context.map(([name, value]) =>
          h("li", { key: name }, h("span", { class: "hook-name" }, name), valueView(value)),
        ),
      ),
  ];
}

/** @param {string} key @param {string} title @param {import("./dom.js").Child[]} items */
function listView(key, title, items) {
  return h("section", { class: "trace-list", key }, h("h4", {}, title), h("ul", {}, items));
}

/**
 * @typedef {{skill: string, name: string, start: unknown, changes: readonly Change[]}} Variable `start`: its value when
 *   the turn began
 */

/**
 * Return all variables: those that changed first, in the order of their first changes.
 *
 * @param {TurnTrace["values"]["variables"]} bySkill @param {readonly Change[]} changes
 * @returns {Variable[]}
 */
function variablesOf(bySkill, changes) {
  /** @type {Map<string, Variable>} */
  const found = new Map();
  for (const change of changes) {
    const { skill, name, before } = change;
    const variable = found.get(`${skill} / ${name}`) ?? { skill, name, start: before, changes: [] };
    found.set(`${skill} / ${name}`, { ...variable, changes: [...variable.changes, change] });
  }
  for (const [skill, values] of Object.entries(bySkill))
    for (const [name, start] of Object.entries(values ?? {}))
      if (!found.has(`${skill} / ${name}`)) found.set(`${skill} / ${name}`, { skill, name, start, changes: [] });
  return [...found.values()];
}

/** @param {Variable} variable */
function variableView({ skill, name, start, changes }) {
  return h(
    "li",
    { key: `${skill}/${name}` },
    h("span", { class: "hook-name" }, `${skill} / ${name}`),
    valueView(start),
    changes.map(({ hook, value }) => [
      h("span", { "aria-hidden": "true" }, "→"),
      h("span", { class: "visually-hidden" }, t.inspector.became),
      valueView(value),
      h("span", { class: "tag tag-accent" }, t.inspector.setBy(hook)),
    ]),
  );
}

/** @param {import("../inspect.js").NotFired} notSet */
function notSetView({ skill, hook, ...why }) {
  return h(
    "li",
    { key: `${skill}/${hook}/${why.detail}` },
    h("span", { class: "hook-name" }, hookKey({ skill, hook })),
    h("span", { class: "tag tag-warning" }, t.inspector.notSet),
    h("span", { class: "reason" }, reasonView(why)),
  );
}

/** @param {unknown} value as JSON, so that the empty text is seen and a number is no text */
function valueView(value) {
  return h("code", {}, visibleText(JSON.stringify(value) ?? ""));
}
