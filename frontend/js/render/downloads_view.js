/**
 * Models to download, in the picker: a button for each, and a progress bar for the one that is on its way.
 *
 * @typedef {import("../downloads.js").Download} Download
 * @typedef {import("../downloads.js").Downloads} Downloads
 */

import { isBusy } from "../downloads.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

const BITS_PER_S = 100e6; // of the connection that the stated time is for

/** Suggest a model where no server was found. @param {Downloads} downloads @param {Download} model */
export function suggestionView(downloads, model) {
  const minutes = Math.ceil((model.totalBytes * 8) / BITS_PER_S / 60);
  return h(
    "section",
    { class: "model-suggestion", key: "suggestion" },
    h(
      "p",
      {},
      t.models.suggestion(String(Math.floor(downloads.freeBytes / 1e9)), gigabytes(model.totalBytes), minutes),
    ),
    problemView(downloads),
    h("ul", { class: "model-options" }, downloadView(model, isBusy(downloads))),
  );
}

/** @param {Downloads} downloads */
function problemView({ problem }) {
  return problem && h("p", { class: "line line-error", role: "alert", key: "problem" }, problem);
}

/** @param {Downloads} downloads @param {Download | null} suggested what stands above and is left out here */
export function downloadsView(downloads, suggested) {
  const missing = downloads.all.filter((model) => model.state !== "complete" && model !== suggested);
  if (!missing.length) return null;
  const hasBegun = missing.some(({ state }) => state !== "absent");
  return h(
    "details",
    { key: "downloads", ...(hasBegun && { open: true }) },
    h("summary", {}, icon("chevron"), t.models.fetch),
    h("p", { class: "fine" }, t.models.fetchAbout),
    !suggested && problemView(downloads),
    h(
      "ul",
      { class: "model-options" },
      missing.map((model) => downloadView(model, isBusy(downloads))),
    ),
  );
}

/** @param {Download} model @param {boolean} isAnyBusy */
function downloadView({ name, parameters, licence, state, doneBytes, totalBytes, error }, isAnyBusy) {
  const isBusy = state === "downloading" || state === "checking";
  const size = doneBytes
    ? t.models.sizeOf(gigabytes(doneBytes), gigabytes(totalBytes))
    : t.models.size(gigabytes(totalBytes));
  const title = name.replace(/\.gguf$/i, "");
  return h(
    "li",
    { key: name, class: "model-download" },
    h("strong", { dir: "auto" }, title),
    h(
      "button",
      {
        type: "button",
        class: "button small",
        "data-action": isBusy ? "stop-download" : "download-model",
        "data-key": name,
        "aria-label": isBusy ? t.models.stopFetching(title) : t.models.fetchNamed(title),
        "aria-disabled": String(isAnyBusy && !isBusy),
      },
      isBusy ? t.models.stop : doneBytes ? t.models.fetchOn : t.models.fetchIt,
    ),
    h(
      "span",
      { class: "fine" },
      [t.models.parameters(parameters), size, licence, ...(state === "checking" ? [t.models.checking] : [])].join(
        " · ",
      ),
    ),
    isBusy &&
      h("progress", {
        max: String(totalBytes),
        value: String(doneBytes),
        "aria-label": t.models.progress(title),
        key: "bar",
      }),
    error && h("p", { class: "line line-error", role: "alert", key: "error" }, t.models.notFetched(error)),
  );
}

/** @param {number} bytes */
function gigabytes(bytes) {
  return (bytes / 1e9).toFixed(2);
}
