/** Somebody else has stored another version: both beside each other. @typedef {import("../state.js").State} State */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { compare, differing } from "../compare.js";
import { documentOf } from "../document.js";

const SIGNS = { same: " ", added: "+", removed: "−" };
const WORDS = { same: "", added: "mine: ", removed: "stored: " };

/** @param {State} state */
export function conflictView({ editor }) {
  if (!editor.conflict) return null;
  const mine = documentOf(editor.draft).document;
  const theirs = editor.conflict.document;
  return h(
    "section",
    { class: "conflict", "aria-labelledby": "conflict-title", key: "conflict" },
    h(
      "div",
      { class: "line line-warning" },
      icon("alert"),
      h(
        "p",
        { id: "conflict-title", tabindex: "-1" },
        "The policy was changed elsewhere since you read it. Your changes are kept below.",
      ),
    ),
    differing(mine, theirs).map((stage) =>
      h(
        "div",
        { class: "difference", key: stage },
        h(
          "div",
          { class: "stage-head" },
          h("h3", {}, h("code", {}, stage)),
          h(
            "button",
            {
              type: "button",
              class: "button small",
              "data-action": "take-stage",
              "data-stage": stage,
              "aria-label": `Take what is stored for ${stage}`,
            },
            "Take what is stored",
          ),
        ),
        h(
          "pre",
          { tabindex: "0", "aria-label": `${stage}: − is stored, + is mine` },
          compare(theirs, mine, stage).map(({ kind, text }, index) =>
            h(
              "span",
              { class: `diff diff-${kind}`, key: index },
              h("span", { "aria-hidden": "true" }, `${SIGNS[kind]} `),
              WORDS[kind] && h("span", { class: "visually-hidden" }, WORDS[kind]),
              `${text}\n`,
            ),
          ),
        ),
      ),
    ),
    h(
      "div",
      { class: "conflict-actions" },
      button("take-theirs", "Take all that is stored"),
      button("keep-mine", "Go on with mine"),
    ),
    h("p", { class: "fine" }, "Going on with yours saves nothing yet; Save then replaces what is stored."),
  );
}

/** @param {string} action @param {string} label */
function button(action, label) {
  return h("button", { type: "button", class: "button", "data-action": action }, label);
}
