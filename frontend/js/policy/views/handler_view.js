/**
 * One handler: what it is, for which calls, and how it is set.
 *
 * @typedef {import("../document.js").DraftHandler} DraftHandler
 * @typedef {import("../document.js").Handler} Handler
 * @typedef {import("../document.js").Problem} Problem
 *
 * @typedef {object} Place
 * @property {import("../document.js").Stage} stage
 * @property {number} index
 * @property {number} count
 * @property {readonly import("../state.js").Kind[]} kinds
 * @property {boolean} mayLock
 * @property {readonly Problem[]} problems of this handler
 */

import { h } from "../../render/dom.js";
import { placeOf } from "../check.js";
import {
  argumentsView,
  configView,
  fieldAttributes,
  lockView,
  permissionsView,
  problemView,
  toolsView,
} from "./handler_fields.js";

/** One that cannot be changed here. @param {Handler} handler @param {{key: string, note: string}} place */
export function sketchView({ type, filter, config }, { key, note }) {
  const settings = Object.keys(config ?? {}).length;
  return h(
    "li",
    { class: "handler sketch", key },
    h("strong", {}, type),
    h("span", { class: "fine" }, wordsOf(filter), settings > 0 && [", set: ", h("code", {}, JSON.stringify(config))]),
    note && h("span", { class: "tag tag-warning" }, note),
  );
}

/** @param {Handler["filter"]} filter */
function wordsOf(filter) {
  const { tools, permissions, arguments: wanted } = filter ?? {};
  const words = [
    tools?.join(", "),
    permissions?.join(", "),
    wanted && Object.entries(wanted).map(([name, glob]) => `${name}: ${glob}`).join(", "), // prettier-ignore
  ].filter(Boolean);
  return words.length ? `for ${words.join("; ")}` : "for every call";
}

/** @param {DraftHandler} handler @param {Place} place */
export function handlerView(handler, place) {
  const { stage, index, mayLock } = place;
  const { key } = handler;
  const isWrong = place.problems.some((problem) => !["type", ""].includes(placeOf(problem)?.field ?? ""));
  return h(
    "li",
    { class: "handler", key, "data-handler": key, "data-stage": stage },
    h(
      "fieldset",
      { class: "bare" },
      h("legend", { class: "visually-hidden" }, `${index + 1}. ${handler.type}`),
      headView(handler, place),
      problemView(handler, place, "type"),
      problemView(handler, place, ""),
      h(
        "details",
        { open: handler.isOpen },
        h(
          "summary",
          {},
          h("span", { class: "fine" }, "For which calls, and how"),
          isWrong && h("span", { class: "problem" }, "Something here is wrong."),
        ),
        toolsView(handler, place),
        permissionsView(handler, place),
        argumentsView(handler, place),
        configView(handler, place),
        mayLock && lockView(handler, place),
      ),
    ),
  );
}

/** @param {DraftHandler} handler @param {Place} place */
function headView({ key, type }, place) {
  const { stage, index, count, kinds } = place;
  const fitting = kinds.filter(({ stages }) => stages.includes(stage)).map(({ name }) => name);
  const names = fitting.includes(type) ? fitting : [type, ...fitting]; // one that is wrong here is shown, too
  const description = kinds.find(({ name }) => name === type)?.description ?? "";
  return h(
    "div",
    { class: "handler-head" },
    h("span", { class: "number", "aria-hidden": "true" }, index + 1),
    h(
      "select",
      { ...fieldAttributes("type", key, place), "aria-label": `Handler ${index + 1}` },
      names.map((name) => h("option", { value: name, selected: name === type, key: name }, name)),
    ),
    h("span", { class: "fine description" }, description),
    h(
      "span",
      { class: "handler-buttons" },
      actionView("up", "Move up", "↑", { stage, key, type, disabled: index === 0 }),
      actionView("down", "Move down", "↓", { stage, key, type, disabled: index === count - 1 }),
      actionView("remove", "Remove", "×", { stage, key, type, disabled: false }),
    ),
  );
}

/** @param {string} action @param {string} label @param {string} sign @param {{stage: string, key: string, type: string, disabled: boolean}} of */
function actionView(action, label, sign, { stage, key, type, disabled }) {
  return h(
    "button",
    {
      type: "button",
      class: "button icon-only small",
      id: `${action}-${key}`,
      "data-action": action,
      "data-stage": stage,
      "data-key": key,
      "aria-label": `${label}: ${type}`,
      "aria-keyshortcuts": action === "remove" ? null : `Alt+Arrow${action === "up" ? "Up" : "Down"}`,
      title: label,
      disabled,
    },
    sign,
  );
}
