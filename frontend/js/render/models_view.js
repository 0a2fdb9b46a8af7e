/**
 * The picker of the model: a dialog, and the offer of a model that was found.
 *
 * @typedef {import("../models.js").Models} Models
 * @typedef {import("../models.js").ModelOption} ModelOption
 */

import { suggestionOf } from "../downloads.js";
import { isDemo, offerOf } from "../models.js";
import { h } from "./dom.js";
import { downloadsView, suggestionView } from "./downloads_view.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {import("../state.js").State} state */
export function modelsView({ models, downloads, server }) {
  return h(
    "dialog",
    { class: "dialog", id: "models", "aria-labelledby": "models-title" },
    models.isOpen && [
      h(
        "header",
        { class: "dialog-head" },
        h("h2", { id: "models-title" }, t.models.title),
        h(
          "button",
          { type: "button", class: "button icon-only", "data-action": "close-models", "aria-label": t.close },
          icon("close"),
        ),
      ),
      models.decidedBy !== null
        ? h("p", {}, t.models.decided(server?.model.name ?? "", models.decidedBy))
        : pickerView(models, downloads),
    ],
  );
}

/** @param {Models} models @param {import("../downloads.js").Downloads} downloads */
function pickerView(models, downloads) {
  const isServerFound =
    models.options?.some(({ choice, isCurrent }) => choice.kind === "endpoint" && !(isCurrent && models.silence)) ??
    true;
  const suggested = isServerFound ? null : suggestionOf(downloads);
  return [
    h("p", { class: "fine" }, t.models.about),
    suggested && suggestionView(downloads, suggested),
    h(
      "ul",
      { class: "model-options", "aria-label": t.models.all, "aria-busy": String(models.options === null) },
      models.options?.map((option) => optionView(option, models)),
    ),
    h("p", { class: "fine", role: "status", key: "news" }, !models.isOfForm && newsOf(models)),
    !models.isOfForm && problemView(models),
    downloadsView(downloads, suggested),
    h(
      "details",
      { key: `other-${models.picks}` },
      h("summary", {}, icon("chevron"), t.models.other),
      h(
        "form",
        { class: "other-model", id: "other-model" },
        field("base_url", t.models.address, { type: "url", required: true, placeholder: "http://127.0.0.1:8000/v1" }),
        field("api_key", t.models.key, { type: "password", "aria-describedby": "other-model-key" }),
        h("p", { class: "fine", id: "other-model-key" }, t.models.keyHelp),
        field("model", t.models.model, {
          type: "text",
          required: true,
          placeholder: "qwen3:8b",
          list: "listed-models",
        }),
        h(
          "datalist",
          { id: "listed-models" },
          models.listed?.map((name) => h("option", { value: name, key: name })),
        ),
        h("p", { class: "fine", role: "status", key: "news" }, models.isOfForm && newsOf(models)),
        models.isOfForm && problemView(models),
        h("button", { type: "button", class: "button", "data-action": "list-models" }, t.models.list),
        h("button", { class: "button primary", "aria-disabled": String(Boolean(models.testing)) }, t.models.testAndUse),
      ),
    ),
  ];
}

/** @param {ModelOption} option @param {Models} models */
function optionView(option, { testing, silence }) {
  return h(
    "li",
    { key: option.key },
    h(
      "button",
      {
        type: "button",
        class: "model-option",
        "data-action": "pick-model",
        "data-key": option.key,
        "aria-pressed": String(option.isCurrent),
        "aria-disabled": String(Boolean(testing)),
      },
      h("strong", { dir: "auto" }, option.name),
      option.isCurrent &&
        (silence
          ? h("span", { class: "tag tag-warning" }, t.models.silent)
          : h("span", { class: "tag tag-accent" }, t.models.current)),
      h("span", { class: "fine" }, [placeOf(option), ...factsOf(option)].join(" · ")),
      option.isCurrent && silence && h("span", { class: "fine" }, silence),
    ),
  );
}

/** @param {Models} models */
function problemView({ problem }) {
  return problem && h("p", { class: "line line-error", role: "alert", key: "problem" }, problem);
}

/** @param {Models} models */
function newsOf({ options, testing, listed }) {
  if (testing) return t.models.testing(testing);
  if (listed) return t.models.listed(listed);
  return options === null ? t.models.looking : "";
}

/** @param {string} name @param {string} label @param {Record<string, import("./dom.js").AttributeValue>} attributes */
function field(name, label, attributes) {
  return h(
    "label",
    { class: "field" },
    label,
    h("input", { name, autocomplete: "off", spellcheck: "false", maxlength: "2048", ...attributes }),
  );
}

/** @param {ModelOption} option */
function placeOf({ choice, server, isHere }) {
  if (choice.kind === "embedded") return t.models.included;
  if (choice.kind === "file") return t.models.file;
  return isHere ? t.models.here(server) : server;
}

/** @param {ModelOption} option */
function factsOf({ firstTokenMs, callsTools }) {
  if (firstTokenMs === null) return [];
  const tools = callsTools === null ? [] : [callsTools ? t.models.callsTools : t.models.noTools];
  return [t.models.firstWord(firstTokenMs), ...tools];
}

/** Offer the model that was found instead of the embedded one. @param {Models} models */
export function offerView(models) {
  const offer = offerOf(models);
  if (!offer) return null;
  return h(
    "p",
    { class: "model-offer" },
    t.models.offer(offer.name, placeOf(offer)),
    h(
      "button",
      { type: "button", class: "button small", "data-action": "pick-model", "data-key": offer.key },
      t.models.use,
    ),
  );
}

/** Show the way to a real model, after the first reply of the embedded one. @param {Models} models */
export function demoView(models) {
  if (!isDemo(models) || models.decidedBy !== null) return null;
  return h(
    "p",
    { class: "model-offer", key: "demo" },
    t.models.isDemo,
    h("button", { type: "button", class: "button small", "data-action": "models" }, t.models.useReal),
  );
}
