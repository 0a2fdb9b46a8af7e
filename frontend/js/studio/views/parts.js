/** Parts that several views are made of. @typedef {import("../../render/dom.js").Child} Child */

import { h } from "../../render/dom.js";

/** @typedef {Record<string, import("../../render/dom.js").AttributeValue>} Attributes */

/** @param {string} action the event that it is @param {Child} label @param {Attributes} [more] */
export function button(action, label, more = {}) {
  return h("button", { type: "button", class: "button small", "data-action": action, key: action, ...more }, label);
}

/** @param {...Child} text */
export const fine = (...text) => h("p", { class: "fine" }, text);

/** @param {string} name of the question's field @param {string} label @param {boolean} checked @param {Attributes} [more] */
export function box(name, label, checked, more = {}) {
  const field = { type: "checkbox", checked, "data-field": "ask", "data-name": name, ...more };
  return h("label", { class: "studio-box", key: name }, h("input", field), label);
}
