/**
 * One handler: what it is, for which calls, and how it is set, each field with what is wrong with it.
 *
 * @typedef {import("../document.js").DraftHandler} DraftHandler
 * @typedef {import("../document.js").Handler} Handler
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
  const isWrong = problems.some((problem) => !["type", ""].includes(placeOf(problem)?.field ?? ""));
  return h("li", { class: "handler", key, "data-handler": key, "data-stage": place.stage }, [
    h("fieldset", { class: "bare" }, [
      h("legend", { class: "visually-hidden" }, `${index + 1}. ${handler.type}`),
      headView(handler, place),
      problemView(handler, place, "type"),
      problemView(handler, place, ""),
      h("details", { open: handler.isOpen }, [
        h("summary", {}, [
          h("span", { class: "fine" }, "Filter and settings"),
          isWrong && h("span", { class: "problem" }, "This section has a problem."),
        ]),
        toolsView(handler, place),
        permissionsView(handler, place),
        argumentsView(handler, place),
        configView(handler, place),
        mayLock && lockView(handler, place),
      ]),
    ]),
  ]);
}

/** @param {DraftHandler} handler @param {Place} place */
function headView(handler, place) {
  const { key, type } = handler;
  const { stage, index, count, kinds } = place;
  const fitting = kinds.filter(({ stages }) => stages.includes(stage)).map(({ name }) => name);
  const names = fitting.includes(type) ? fitting : [type, ...fitting]; // one that is wrong here is shown, too
  /** @param {string} action @param {string} name @param {string} label @param {string} sign @param {object} more */
  const small = (action, name, label, sign, more) => {
    const data = { id: `${name}-${key}`, key: name, "data-stage": stage, "data-key": key };
    const spoken = { class: "button icon-only small", "aria-label": `${label}: ${type}`, title: label };
    return button(action, sign, { ...data, ...spoken, ...more });
  };
  const up = { "data-by": -1, disabled: index === 0, "aria-keyshortcuts": "Alt+ArrowUp" };
  const down = { "data-by": 1, disabled: index === count - 1, "aria-keyshortcuts": "Alt+ArrowDown" };
  const field = { ...fieldAttributes("type", handler, place), "aria-label": `Handler ${index + 1}` };
  return h("div", { class: "handler-head" }, [
    h("span", { class: "number", "aria-hidden": "true" }, index + 1),
    select(field, names.map((name) => [name, name]), type), // prettier-ignore
    h("span", { class: "fine description" }, kinds.find(({ name }) => name === type)?.description),
    h("span", { class: "handler-buttons" }, [
      small("move", "up", "Move up", "↑", up),
      small("move", "down", "Move down", "↓", down),
      small("remove", "remove", "Remove", "×", {}),
    ]),
  ]);
}

/** @param {string} field @param {Place} place */
function wordsOf(field, { problems }) {
  const its = problems.filter((problem) => placeOf(problem)?.field === field);
  return its.map(({ message }) => message).join("; ");
}

/** No alert: it would interrupt with each letter. The field is described by it. @param {DraftHandler} handler @param {Place} place @param {string} field */
function problemView({ key }, place, field) {
  const words = wordsOf(field, place);
  return words && h("p", { class: "problem", id: `problem-${field}-${key}`, key: `problem-${field}` }, words);
}

/** @param {string} name @param {DraftHandler} handler @param {Place} place */
function describedAttributes(name, { key }, place) {
  return { id: `${name}-${key}`, "aria-describedby": wordsOf(name, place) ? `problem-${name}-${key}` : null };
}

/** @param {string} name @param {DraftHandler} handler @param {Place} place */
function fieldAttributes(name, handler, place) {
  const data = { "data-field": "set", "data-name": name, "data-stage": place.stage, "data-key": handler.key };
  return { ...describedAttributes(name, handler, place), ...data, "aria-invalid": wordsOf(name, place) ? "true" : null };
}

/** @param {string} name @param {string} label @param {string} words the label for screen readers @param {DraftHandler} handler @param {Place} place @param {import("./parts.js").Child} content */
function groupView(name, label, words, handler, place, content) {
  const group = { class: "entry", tabindex: "-1", role: "group", "aria-label": words, key: name };
  return [
    h("div", { ...describedAttributes(name, handler, place), ...group }, h("span", {}, label), content),
    problemView(handler, place, name),
  ];
}

/** @param {DraftHandler} handler @param {Place} place */
function toolsView(handler, place) {
  const text = { placeholder: "every tool, or one name per line, such as read_*", spellcheck: "false" };
  const rows = Math.min(8, handler.tools.split("\n").length);
  const field = { ...fieldAttributes("tools", handler, place), ...text, rows, value: handler.tools };
  return [entry("tools", "Tools", h("textarea", field)), problemView(handler, place, "tools")];
}

/** @param {DraftHandler} handler @param {Place} place */
function permissionsView(handler, place) {
  const data = { "data-field": "permission", "data-stage": place.stage, "data-key": handler.key };
  const boxes = PERMISSIONS.map((name) => {
    const box = { ...data, type: "checkbox", checked: handler.permissions.includes(name), "data-name": name };
    return h("label", { key: name }, h("input", box), name);
  });
  const content = h("span", { class: "boxes" }, boxes);
  return groupView("permissions", "Permissions", "Permissions; select none for every tool", handler, place, content);
}

/** @param {DraftHandler} handler @param {Place} place */
function argumentsView(handler, place) {
  const data = { "data-stage": place.stage, "data-key": handler.key };
  const content = h("div", { class: "arguments" }, [
    handler.arguments.map((row) => argumentView(row, { ...data, "data-row": row.key })),
    button("add_argument", "Add an argument", data),
  ]);
  return groupView("arguments", "Arguments", "Arguments", handler, place, content);
}

/** @param {DraftHandler["arguments"][number]} row @param {Record<string, string>} data */
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

/** @param {DraftHandler} handler @param {Place} place */
function configView(handler, place) {
  const { config: value, type } = handler;
  const rows = Math.min(12, Math.max(1, value.split("\n").length));
  const text = { class: "code", rows, spellcheck: "false", placeholder: "JSON object", value };
  const field = h("textarea", { ...fieldAttributes("config", handler, place), ...text });
  const settings = place.kinds.find(({ name }) => name === type)?.settings;
  const known = settings?.length ? `Known settings: ${settings.join(", ")}.` : "This handler has no settings.";
  const hint = h("span", { class: "fine hint" }, settings ? known : "The handler checks its settings itself.");
  return [entry("config", "Settings", field, hint), problemView(handler, place, "config")];
}

/** @param {DraftHandler} handler @param {Place} place */
function lockView(handler, place) {
  const box = { type: "checkbox", role: "switch", checked: handler.locked };
  const about = "Users' policies cannot remove it or put handlers before it.";
  return [
    h("label", { class: "switch", key: "locked" }, [
      h("span", {}, h("strong", {}, "Locked"), h("span", { class: "fine" }, about)),
      h("input", { ...fieldAttributes("locked", handler, place), ...box }),
    ]),
    problemView(handler, place, "locked"),
  ];
}
