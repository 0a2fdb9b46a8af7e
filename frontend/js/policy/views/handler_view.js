/**
 * One handler: what it is, for which calls, and how it is set, each field with what is wrong with it.
 *
 * @typedef {import("../document.js").DraftHandler} DraftHandler
 * @typedef {import("../document.js").Handler} Handler
 * @typedef {ReturnType<typeof fieldsOf>} Fields
 *
 * @typedef {object} Place
 * @property {import("../document.js").Stage} stage
 * @property {number} index
 * @property {number} count
 * @property {readonly import("../state.js").Kind[]} kinds
 * @property {boolean} mayLock
 * @property {readonly import("../document.js").Problem[]} problems of this handler
 */

import { h } from "../../render/dom.js";
import { PERMISSIONS, placeOf } from "../document.js";
import { button, entry, select } from "./parts.js";

/** One that cannot be changed here. @param {Handler} handler @param {{key: string, note: string}} place */
export function sketchView({ type, filter, config }, { key, note }) {
  const { tools, permissions, arguments: wanted } = filter ?? {};
  const fits = wanted && Object.entries(wanted).map(([name, glob]) => `${name}: ${glob}`);
  const words = [tools, permissions, fits].flatMap((list) => list?.join(", ") ?? []);
  const isSet = Object.keys(config ?? {}).length > 0;
  const about = words.length ? `for ${words.join("; ")}` : "for every call";
  return h("li", { class: "handler sketch", key }, [
    h("strong", {}, type),
    h("span", { class: "fine" }, about, isSet && [", set: ", h("code", {}, JSON.stringify(config))]),
    note && h("span", { class: "tag tag-warning" }, note),
  ]);
}

/** @param {DraftHandler} handler @param {Place} place */
export function handlerView(handler, place) {
  const { index, mayLock, problems } = place;
  const { key } = handler;
  const fields = fieldsOf(handler, place);
  const isWrong = problems.some((problem) => !["type", ""].includes(placeOf(problem)?.field ?? ""));
  return h("li", { class: "handler", key, "data-handler": key, "data-stage": place.stage }, [
    h("fieldset", { class: "bare" }, [
      h("legend", { class: "visually-hidden" }, `${index + 1}. ${handler.type}`),
      headView(handler, place, fields),
      fields.problem("type"),
      fields.problem(""),
      h("details", { open: handler.isOpen }, [
        h("summary", {}, [
          h("span", { class: "fine" }, "Filter and settings"),
          isWrong && h("span", { class: "problem" }, "This section has a problem."),
        ]),
        toolsView(handler, fields),
        permissionsView(handler, fields),
        argumentsView(handler, fields),
        configView(handler, place, fields),
        mayLock && lockView(handler, fields),
      ]),
    ]),
  ]);
}

/** What all fields of a handler have in common. @param {DraftHandler} handler @param {Place} place */
function fieldsOf({ key }, { stage, problems }) {
  const data = { "data-stage": stage, "data-key": key };
  const wrong = (/** @type {string} */ name) => {
    const its = problems.filter((problem) => placeOf(problem)?.field === name);
    return its.map(({ message }) => message).join("; ");
  };
  const described = (/** @type {string} */ name) => {
    return { id: `${name}-${key}`, "aria-describedby": wrong(name) ? `problem-${name}-${key}` : null };
  };
  /** No alert: it would interrupt with each letter. The field is described by it. @param {string} name */
  const problem = (name) => {
    const words = wrong(name);
    return words && h("p", { class: "problem", id: `problem-${name}-${key}`, key: `problem-${name}` }, words);
  };
  return {
    data,
    problem,
    /** A field that sets one thing. @param {string} name */
    attributes: (name) => {
      const sets = { ...data, "data-field": "set", "data-name": name };
      return { ...described(name), ...sets, "aria-invalid": wrong(name) ? "true" : null };
    },
    /** Several fields for one thing. @param {string} name @param {string} label @param {string} spoken @param {import("./parts.js").Child} content */
    group: (name, label, spoken, content) => {
      const group = { class: "entry", tabindex: "-1", role: "group", "aria-label": spoken, key: name };
      return [h("div", { ...described(name), ...group }, h("span", {}, label), content), problem(name)];
    },
  };
}

/** @param {DraftHandler} handler @param {Place} place @param {Fields} fields */
function headView({ key, type }, { stage, index, count, kinds }, fields) {
  const fitting = kinds.filter(({ stages }) => stages.includes(stage)).map(({ name }) => name);
  const names = fitting.includes(type) ? fitting : [type, ...fitting]; // one that is wrong here is shown, too
  const options = names.map((name) => /** @type {[string, string]} */ ([name, name]));
  /** @param {string} action @param {string} name @param {string} label @param {string} sign @param {object} [more] */
  const small = (action, name, label, sign, more) => {
    const spoken = { class: "button icon-only small", "aria-label": `${label}: ${type}`, title: label };
    return button(action, sign, { ...fields.data, id: `${name}-${key}`, key: name, ...spoken, ...more });
  };
  const up = { "data-by": -1, disabled: index === 0, "aria-keyshortcuts": "Alt+ArrowUp" };
  const down = { "data-by": 1, disabled: index === count - 1, "aria-keyshortcuts": "Alt+ArrowDown" };
  return h("div", { class: "handler-head" }, [
    h("span", { class: "number", "aria-hidden": "true" }, index + 1),
    select({ ...fields.attributes("type"), "aria-label": `Handler ${index + 1}` }, options, type),
    h("span", { class: "fine description" }, kinds.find(({ name }) => name === type)?.description),
    h("span", { class: "handler-buttons" }, [
      small("move", "up", "Move up", "↑", up),
      small("move", "down", "Move down", "↓", down),
      small("remove", "remove", "Remove", "×"),
    ]),
  ]);
}

/** @param {DraftHandler} handler @param {Fields} fields */
function toolsView({ tools: value }, fields) {
  const text = { placeholder: "every tool, or one name per line, such as read_*", spellcheck: "false" };
  const rows = Math.min(8, value.split("\n").length);
  const field = h("textarea", { ...fields.attributes("tools"), ...text, rows, value });
  return [entry("tools", "Tools", field), fields.problem("tools")];
}

/** @param {DraftHandler} handler @param {Fields} fields */
function permissionsView({ permissions }, fields) {
  const boxes = PERMISSIONS.map((name) => {
    const data = { ...fields.data, "data-field": "permission", "data-name": name };
    const box = h("input", { ...data, type: "checkbox", checked: permissions.includes(name) });
    return h("label", { key: name }, box, name);
  });
  const content = h("span", { class: "boxes" }, boxes);
  return fields.group("permissions", "Permissions", "Permissions; select none for every tool", content);
}

/** @param {DraftHandler} handler @param {Fields} fields */
function argumentsView(handler, { data, group }) {
  const rows = handler.arguments.map((row) => argumentView(row, { ...data, "data-row": row.key }));
  const content = h("div", { class: "arguments" }, rows, button("add_argument", "Add an argument", data));
  return group("arguments", "Arguments", "Arguments", content);
}

/** @param {DraftHandler["arguments"][number]} row @param {import("./parts.js").Attributes} data */
function argumentView({ key, name, glob }, data) {
  const text = { ...data, type: "text", autocomplete: "off", spellcheck: "false", "data-field": "set_argument" };
  const nameField = { "data-name": "name", "aria-label": "Argument name", placeholder: "path", value: name };
  const globLabel = `Pattern for ${name || "the argument"}`;
  const globField = { "data-name": "glob", "aria-label": globLabel, placeholder: "*.env", value: glob };
  const removing = { ...data, class: "button icon-only small", "aria-label": `Remove argument ${name}` };
  return h("div", { class: "argument", key }, [
    h("input", { ...text, ...nameField, id: `argument-${key}` }),
    h("input", { ...text, ...globField }),
    button("remove_argument", "×", removing),
  ]);
}

/** @param {DraftHandler} handler @param {Place} place @param {Fields} fields */
function configView({ config: value, type }, { kinds }, { attributes, problem }) {
  const rows = Math.min(12, Math.max(1, value.split("\n").length));
  const text = { class: "code", rows, spellcheck: "false", placeholder: "JSON object", value };
  const settings = kinds.find(({ name }) => name === type)?.settings;
  const known = settings?.length ? `Known settings: ${settings.join(", ")}.` : "This handler has no settings.";
  const hint = h("span", { class: "fine hint" }, settings ? known : "The handler checks its settings itself.");
  return [entry("config", "Settings", h("textarea", { ...attributes("config"), ...text }), hint), problem("config")];
}

/** @param {DraftHandler} handler @param {Fields} fields */
function lockView({ locked: checked }, { attributes, problem }) {
  const about = "Users' policies cannot remove it or put handlers before it.";
  return [
    h("label", { class: "switch", key: "locked" }, [
      h("span", {}, h("strong", {}, "Locked"), h("span", { class: "fine" }, about)),
      h("input", { ...attributes("locked"), type: "checkbox", role: "switch", checked }),
    ]),
    problem("locked"),
  ];
}
