/**
 * Two documents beside each other. Pure.
 *
 * @typedef {import("./document.js").PolicyDocument} PolicyDocument
 * @typedef {import("./document.js").Stage} Stage
 */

import { diffLines } from "../diff.js";
import { STAGES, canonical } from "./document.js";

/** The stages that differ. @param {PolicyDocument} one @param {PolicyDocument} other @returns {Stage[]} */
export function differing(one, other) {
  return STAGES.filter((name) => canonical(only(one, name)) !== canonical(only(other, name)));
}

/** What saving `mine` would remove of what is stored, and add. @param {PolicyDocument} stored @param {PolicyDocument} mine @param {Stage} stage */
export function compare(stored, mine, stage) {
  return diffLines(textOf(stored, stage), textOf(mine, stage));
}

/** @param {PolicyDocument} document @param {Stage} name @returns {PolicyDocument} */
function only(document, name) {
  const stage = document[name];
  return stage ? { [name]: stage } : {};
}

/** @param {PolicyDocument} document @param {Stage} name */
function textOf(document, name) {
  const stage = JSON.parse(canonical(only(document, name)))[name];
  return stage ? JSON.stringify(stage, null, 2) : "";
}
