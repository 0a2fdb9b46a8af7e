/** Parts that more than one view is made of. @typedef {import("../../render/dom.js").Child} Child */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** @typedef {Record<string, import("../../render/dom.js").AttributeValue>} Attributes */

/** @param {string} action the event that it is @param {Child} label @param {Attributes} [more] */
export function button(action, label, more = {}) {
  return h("button", { type: "button", class: "button small", "data-action": action, key: action, ...more }, label);
}

/** @param {...Child} text */
export function fine(...text) {
  return h("p", { class: "fine" }, text);
}

/** A field with its label. @param {string} key @param {string} label @param {...Child} content */
export function entry(key, label, ...content) {
  return h("label", { class: "entry", key }, h("span", {}, label), content);
}

/** @param {Attributes} attributes @param {readonly (readonly [value: string, label: string])[]} options @param {string} chosen */
export function select(attributes, options, chosen) {
  const option = (/** @type {readonly [string, string]} */ [value, label]) =>
    h("option", { value, selected: value === chosen, key: value }, label);
  return h("select", attributes, options.map(option));
}

/** What went wrong, and what helps. @param {import("../state.js").Failure | null} failure @param {string} retry the action that tries again */
export function failureView(failure, retry) {
  if (!failure) return null;
  // In a tab of its own: what was changed here would be lost.
  const login = { class: "button small", href: "/login", target: "_blank", rel: "noopener" };
  return h("div", { class: "line line-error", role: "alert", key: "failure" }, [
    icon("alert"),
    h("p", {}, failure.message, failure.path && [" (", h("code", {}, failure.path), ")"]),
    failure.kind === "login" && h("a", login, "Log in"),
    button(retry, "Try again"),
  ]);
}

/**
 * The frame of a list that is read from the server.
 *
 * @param {{id: string, title: string, about: Child, failure: Child, list: Child, isLoading: boolean,
 *   empty: string | null}} view empty: what is said instead of a list without entries; null = it has some
 */
export function listView({ id, title, about, failure, list, empty, isLoading }) {
  const line = isLoading ? h("p", { class: "line", role: "status" }, "Loading…") : h("p", { class: "line" }, empty);
  return [h("h2", { id, tabindex: "-1" }, title), fine(about), failure, empty !== null && line, list];
}

/** @param {string} time RFC 3339 */
export function timeView(time) {
  const date = new Date(time);
  return h("time", { datetime: time, title: time }, Number.isNaN(date.getTime()) ? time : MOMENT.format(date));
}
