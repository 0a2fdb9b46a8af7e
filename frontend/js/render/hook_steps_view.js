/**
 * In the inspector: what each process hook or builtin did around one model call, as lines removed and added.
 *
 * @typedef {import("../inspect.js").HookStep} HookStep
 */

import { diffLines, withContext } from "../diff.js";
import { h } from "./dom.js";
import { msText } from "./hooks_view.js";
import { icon } from "./icons.js";
import { pretty } from "../../sdk/escaped_json.js";
import { t } from "../strings.js";

const SLOW_MS = 100; // a listener notices pauses of a few hundred, and there may be several hooks

const SIGNS = { same: "  ", removed: "− ", added: "+ " };

/** @param {readonly HookStep[]} steps */
export function hookStepsView(steps) {
  if (!steps.length) return null;
  return h("section", { class: "hook-steps" }, h("h4", {}, t.hookSteps.title), h("ol", {}, steps.map(stepView)));
}

/** @param {HookStep} step */
function stepView(step) {
  const { hook, stage, ms, failure, action, changes, discarded } = step;
  const losses = Object.entries(discarded);
  const parts = Object.entries(changes).flatMap(([key, change]) => diffsOf(key, change));
  return h(
    "li",
    {},
    h(
      "details",
      { class: failure || losses.length ? "hook-step failed" : "hook-step" },
      h(
        "summary",
        {},
        icon("chevron"),
        h("span", { class: "hook-name" }, hook),
        h("span", { class: "tag" }, stage),
        h(
          "span",
          { class: failure ? "tag tag-warning" : "tag tag-accent" },
          failure ? `${failure.kind}: ${failure.effect}` : action,
        ),
        losses.length > 0 && h("span", { class: "tag tag-warning" }, t.hookSteps.discarded),
        h(
          "span",
          { class: "call-figures" },
          ms !== null && ms >= SLOW_MS && h("span", { class: "tag tag-warning" }, t.hookSteps.slow),
          ` ${msText(ms)}`,
        ),
      ),
      failure && h("p", { class: "fine" }, failure.message),
      losses.map(([key, why]) => h("p", { class: "fine" }, t.hookSteps.discardedPart(key, textOf(why)))),
      !failure && !parts.length && h("p", { class: "fine" }, t.hookSteps.noChange),
      parts.map(({ label, before, after }) => [h("h5", {}, label), diffView(before, after)]),
    ),
  );
}

/**
 * @param {string} key @param {unknown} change
 * @returns {{label: string, before: string, after: string}[]}
 */
function diffsOf(key, change) {
  if (Array.isArray(change)) return change.map((one) => ({ label: `${key}[${one?.index ?? "?"}]`, ...sidesOf(one) }));
  const { added, removed, changed } = /** @type {Record<string, unknown>} */ (change ?? {});
  if (added === undefined && removed === undefined && changed === undefined)
    return [{ label: key, ...sidesOf(change) }];
  return [
    { label: t.hookSteps.removed(key), before: textOf(removed), after: "" },
    { label: t.hookSteps.added(key), before: "", after: textOf(added) },
    { label: t.hookSteps.changed(key), before: "", after: textOf(changed) },
  ].filter(({ before, after }) => before || after);
}

/** @param {any} change */
function sidesOf(change) {
  return { before: textOf(change?.before), after: textOf(change?.after) };
}

/** Format a value with the lines of its texts as lines, so that they are compared one by one. @param {unknown} value @returns {string} */
function textOf(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  return typeof value === "string" ? value : pretty(value).replace(/\\(.)/g, (pair, it) => (it === "n" ? "\n" : pair));
}

/** @param {string} before @param {string} after */
function diffView(before, after) {
  return h(
    "pre",
    { class: "diff", tabindex: "0" },
    withContext(diffLines(before, after)).map((line) =>
      line
        ? h(
            "span",
            { class: `diff-${line.kind}` },
            h("span", { class: "diff-sign", "aria-hidden": "true" }, SIGNS[line.kind]),
            h("span", { class: "visually-hidden" }, t.hookSteps.lines[line.kind]),
            `${line.text}\n`,
          )
        : h("span", { class: "diff-gap" }, "⋯\n"),
    ),
  );
}
