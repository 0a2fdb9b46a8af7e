/** Parts that more than one view is made of. @typedef {import("../../render/dom.js").Child} Child */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { locale } from "../../strings.js";
import { p } from "../../strings/policy.js";

/** @typedef {Record<string, import("../../render/dom.js").AttributeValue>} Attributes */

/** @param {string} action the event that it is @param {Child} label @param {Attributes} [more] */
export function button(action, label, more = {}) {
  return h("button", { type: "button", class: "button small", "data-action": action, key: action, ...more }, label);
}

/** @param {...Child} text */
export const fine = (...text) => h("p", { class: "fine" }, text);

/** @param {string} view @param {string} text */
export const title = (view, text) => h("h2", { id: `${view}-title`, tabindex: "-1" }, text);

/** Return a field with its label. @param {string} key @param {string} label @param {...Child} content */
export function entry(key, label, ...content) {
  return h("label", { class: "entry", key }, h("span", {}, label), content);
}

/** @param {Attributes} attributes @param {readonly string[][]} options each a value and its label @param {string} chosen */
export function select(attributes, options, chosen) {
  const views = options.map(([value, label]) => h("option", { value, selected: value === chosen, key: value }, label));
  return h("select", attributes, views);
}

/** Show what went wrong, and what helps. @param {import("../state.js").Failure | null} failure @param {string} retry the action that tries again */
export function failureView(failure, retry) {
  if (!failure) return null;
  // In a tab of its own: what was changed here would be lost.
  const login = { class: "button small", href: "/login", target: "_blank", rel: "noopener" };
  return h("div", { class: "line line-error", role: "alert", key: "failure" }, [
    icon("alert"),
    h("p", {}, failure.message, failure.path && [" (", h("code", {}, failure.path), ")"]),
    failure.kind === "login" && h("a", login, p.logIn),
    button(retry, p.tryAgain),
  ]);
}

/** Show that a list has no entries, or is being loaded. @param {string} phase @param {string} words if it is known to have none */
export function emptyView(phase, words) {
  const isLoading = phase === "loading";
  return h("p", { class: "line", role: isLoading && "status", key: "empty" }, isLoading ? p.loading : words);
}

/** @param {string} time RFC 3339 */
export function timeView(time) {
  const date = new Date(time);
  return h(
    "time",
    { datetime: time, title: time },
    Number.isNaN(date.getTime()) ? time : date.toLocaleString(locale, { dateStyle: "medium", timeStyle: "medium" }),
  );
}
