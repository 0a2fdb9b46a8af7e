/**
 * Where one is, as the page's address tells it: a reload and a shared link lead to the same view and filter. Pure.
 *
 * A slash begins the fragment: it keeps it apart from the conversations of the other page.
 *
 * @typedef {import("./state.js").View} View
 * @typedef {import("./state.js").Filter} Filter
 */

import { NO_FILTER, VIEWS } from "./state.js";

const MAX_CHARS = 256;

/** What is not understood is left out. @param {string} fragment `#/audit?tool=send` @returns {{view: View, filter: Filter}} */
export function placeOf(fragment) {
  const [name = "", query] = fragment.slice(2).split(/\?(.*)/s);
  const view = VIEWS.find((known) => known === name) ?? "policy";
  const parameters = new URLSearchParams(query);
  const filter = Object.keys(NO_FILTER).map((field) => [field, read(field, parameters.get(field) ?? "")]);
  return { view, filter: Object.fromEntries(filter) };
}

/** Times are moments, so that the link means the same in another time zone. @param {Filter} filter */
export function auditFragment(filter) {
  const query = String(parametersOf(filter));
  return query ? `#/audit?${query}` : "#/audit";
}

/**
 * What is asked of the server: local times become moments.
 *
 * @param {Filter} filter
 * @returns {URLSearchParams}
 */
export function parametersOf(filter) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    const text = value.trim();
    const isTime = name === "since" || name === "until";
    const sent = isTime ? momentOf(text) : text;
    if (sent) parameters.set(name, sent);
  }
  return parameters;
}

/** @param {string} local as a field of type datetime-local gives it @returns {string} RFC 3339; empty = none */
function momentOf(local) {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

/** @param {string} field @param {string} text */
function read(field, text) {
  return field === "since" || field === "until" ? localTime(text) : text.slice(0, MAX_CHARS);
}

/** @param {string} moment @returns {string} for a field of type datetime-local, to the minute; empty = none */
function localTime(moment) {
  const time = new Date(moment);
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime()) ? "" : shifted.toISOString().slice(0, 16);
}
