/**
 * Recommended models that the server can download: how far each is, and beginning or stopping it. For operators alone.
 *
 * @typedef {import("./state.js").State} State
 *
 * @typedef {object} Download
 * @property {string} name
 * @property {string} parameters
 * @property {string} licence
 * @property {"absent" | "partial" | "downloading" | "checking" | "complete" | "failed"} state
 * @property {number} doneBytes
 * @property {number} totalBytes
 * @property {string} error
 *
 * @typedef {object} Downloads
 * @property {readonly Download[]} all
 * @property {string} suggested the name of the one that fits the server's memory, or empty
 * @property {number} freeBytes of that memory
 * @property {string} problem why nothing could be begun
 * @property {number} asked requests and pauses under way: the next begins after the last of them
 */

import { withModels } from "./models.js";
import { sessionHeaders } from "./storage.js";
import { withEffects } from "./state.js";
import { t } from "./strings.js";

const PATH = "/api/models";
const PAUSE_MS = 500;

/** @param {"GET" | "POST" | "DELETE"} method @param {string} [name] to begin with */
export async function askDownloads(method, name) {
  const headers = { ...sessionHeaders(), ...(name && { "Content-Type": "application/json" }) };
  const sent = { method, headers, ...(name && { body: JSON.stringify({ name }) }) };
  const path = method === "GET" ? PATH : `${PATH}/download`;
  const answer = await fetch(path, { cache: "no-store", ...sent }).catch(() => null);
  return { status: answer?.status ?? 0, body: await answer?.json().catch(() => null) };
}

/** @param {State} state @param {"GET" | "POST" | "DELETE"} method @param {string} [name] @returns {State} */
export function asking(state, method, name) {
  const downloads = { ...state.downloads, asked: state.downloads.asked + 1, ...(method !== "GET" && { problem: "" }) };
  const afterMs = method === "GET" && isBusy(downloads) ? PAUSE_MS : 0;
  return withEffects({ ...state, downloads }, { type: "ask_downloads", method, name: name ?? "", afterMs });
}

/** @param {State} state @param {number} status @param {any} body @returns {State} */
export function loaded(state, status, body) {
  const before = state.downloads;
  const asked = before.asked - 1;
  if (status !== 200) {
    const problem = status === 0 ? t.models.noAnswer : String(body?.error?.message ?? t.models.failed(status));
    return again({ ...state, downloads: { ...before, asked, problem } });
  }
  const all = Array.isArray(body?.models) ? body.models.filter(Boolean).map(asDownload) : [];
  const known = { suggested: String(body?.suggested ?? ""), freeBytes: Number(body?.free_memory_bytes) };
  const next = { ...state, downloads: { ...before, asked, all, ...known } };
  const complete = (/** @type {readonly Download[]} */ list) => list.filter(({ state }) => state === "complete").length;
  return again(complete(all) > complete(before.all) && before.all.length ? withModels(next) : next);
}

/** Ask again while something is under way and the picker shows it. @param {State} state @returns {State} */
function again(state) {
  return isBusy(state.downloads) && !state.downloads.asked && state.models.isOpen ? asking(state, "GET") : state;
}

/** @param {Downloads} downloads */
export function isBusy({ all }) {
  return all.some(({ state }) => state === "downloading" || state === "checking");
}

/** Return the model that the picker suggests, until it is there. @param {Downloads} downloads @returns {Download | null} */
export function suggestionOf({ all, suggested }) {
  return all.find(({ name, state }) => name === suggested && state !== "complete") ?? null;
}

/** @param {any} model @returns {Download} */
function asDownload({ name, parameters, licence, state, done_bytes, total_bytes, error }) {
  return {
    name: String(name),
    parameters: String(parameters),
    licence: String(licence),
    state,
    doneBytes: Number(done_bytes),
    totalBytes: Number(total_bytes),
    error: error ? String(error) : "",
  };
}
