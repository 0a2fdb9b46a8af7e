/**
 * The fields of one handler, each with what is wrong with it.
 *
 * @typedef {import("../document.js").DraftHandler} DraftHandler
 * @typedef {import("./handler_view.js").Place} Place
 */

import { h } from "../../render/dom.js";
import { placeOf } from "../check.js";
import { PERMISSIONS } from "../document.js";

/** @param {string} field @param {string} key @param {Place} place */
export function fieldAttributes(field, key, place) {
  const described = groupAttributes(field, key, place);
  return {
    ...described,
    "data-field": field,
    "data-stage": place.stage,
    "data-key": key,
    "aria-invalid": described["aria-describedby"] ? "true" : null,
  };
}

/** @param {string} field @param {string} key @param {Place} place */
function groupAttributes(field, key, { problems }) {
  const isWrong = problems.some((problem) => placeOf(problem)?.field === field);
  return { id: `${field}-${key}`, "aria-describedby": isWrong ? `problem-${field}-${key}` : null };
}

/** No alert: it would interrupt with each letter. The field is described by it. @param {DraftHandler} handler @param {Place} place @param {string} field */
export function problemView({ key }, { problems }, field) {
  const its = problems.filter((problem) => placeOf(problem)?.field === field);
  if (!its.length) return null;
  const text = its.map(({ message }) => message).join("; ");
  return h("p", { class: "problem", id: `problem-${field}-${key}`, key: `problem-${field}` }, text);
}

/** @param {DraftHandler} handler @param {Place} place */
export function toolsView(handler, place) {
  return [
    h(
      "label",
      { class: "entry", key: "tools" },
      h("span", {}, "Tools"),
      h("textarea", {
        ...fieldAttributes("tools", handler.key, place),
        rows: Math.min(8, handler.tools.split("\n").length),
        placeholder: "every tool; or one name a line, such as read_*",
        spellcheck: "false",
        value: handler.tools,
      }),
    ),
    problemView(handler, place, "tools"),
  ];
}

/** @param {DraftHandler} handler @param {Place} place */
export function permissionsView(handler, place) {
  const { key, permissions } = handler;
  return [
    h(
      "div",
      {
        ...groupAttributes("permissions", key, place),
        class: "entry",
        tabindex: "-1",
        role: "group",
        "aria-label": "Permissions; none = every tool",
        key: "permissions",
      },
      h("span", {}, "Permissions"),
      h(
        "span",
        { class: "boxes" },
        PERMISSIONS.map((name) =>
          h(
            "label",
            { key: name },
            h("input", {
              type: "checkbox",
              checked: permissions.includes(name),
              "data-field": "permission",
              "data-stage": place.stage,
              "data-key": key,
              "data-name": name,
            }),
            name,
          ),
        ),
      ),
    ),
    problemView(handler, place, "permissions"),
  ];
}

/** @param {DraftHandler} handler @param {Place} place */
export function argumentsView(handler, place) {
  const { key } = handler;
  const data = { "data-stage": place.stage, "data-key": key };
  return [
    h(
      "div",
      {
        ...groupAttributes("arguments", key, place),
        class: "entry",
        tabindex: "-1",
        role: "group",
        "aria-label": "Arguments",
        key: "arguments",
      },
      h("span", {}, "Arguments"),
      h(
        "div",
        { class: "arguments" },
        handler.arguments.map((row) => argumentView(row, { ...data, "data-row": row.key })),
        h(
          "button",
          { type: "button", class: "button small", "data-action": "add-argument", key: "add", ...data },
          "Add an argument",
        ),
      ),
    ),
    problemView(handler, place, "arguments"),
  ];
}

/** @param {DraftHandler["arguments"][number]} row @param {Record<string, string>} data */
function argumentView(row, data) {
  const text = { type: "text", autocomplete: "off", spellcheck: "false" };
  return h(
    "div",
    { class: "argument", key: row.key },
    h("input", {
      ...text,
      ...data,
      id: `argument-${row.key}`,
      "data-field": "argument-name",
      "aria-label": "Name of the argument",
      placeholder: "path",
      value: row.name,
    }),
    h("input", {
      ...text,
      ...data,
      "data-field": "argument-glob",
      "aria-label": `What ${row.name || "it"} has to fit`,
      placeholder: "*.env",
      value: row.glob,
    }),
    h(
      "button",
      {
        ...data,
        type: "button",
        class: "button icon-only small",
        "data-action": "remove-argument",
        "aria-label": `Remove the argument ${row.name}`,
      },
      "×",
    ),
  );
}

/** What may stand in its settings. @param {DraftHandler} handler @param {Place} place */
function hintOf({ type }, { kinds }) {
  const settings = kinds.find(({ name }) => name === type)?.settings;
  if (!settings) return "As the handler reads them.";
  return settings.length ? `Any of ${settings.join(", ")}.` : "It has none.";
}

/** @param {DraftHandler} handler @param {Place} place */
export function configView(handler, place) {
  const rows = Math.min(12, Math.max(1, handler.config.split("\n").length));
  return [
    h(
      "label",
      { class: "entry", key: "config" },
      h("span", {}, "Settings"),
      h("textarea", {
        ...fieldAttributes("config", handler.key, place),
        class: "code",
        rows,
        spellcheck: "false",
        placeholder: "{ } in JSON",
        value: handler.config,
      }),
      h("span", { class: "fine hint" }, hintOf(handler, place)),
    ),
    problemView(handler, place, "config"),
  ];
}

/** @param {DraftHandler} handler @param {Place} place */
export function lockView(handler, place) {
  return [
    h(
      "label",
      { class: "switch", key: "locked" },
      h(
        "span",
        {},
        h("strong", {}, "Locked"),
        h("span", { class: "fine" }, "Users' documents can neither remove it nor put anything before it."),
      ),
      h("input", {
        ...fieldAttributes("locked", handler.key, place),
        type: "checkbox",
        role: "switch",
        checked: handler.locked,
      }),
    ),
    problemView(handler, place, "locked"),
  ];
}
