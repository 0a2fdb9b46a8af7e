/**
 * What can be done with a message, and the editor of one: the rows below what was asked and what was answered.
 *
 * @typedef {import("../../sdk/frames.js").Message} Message
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {string} turnId @param {readonly string[]} versions of the turn, oldest first @param {boolean} canAsk */
export function askedActions(turnId, versions, canAsk) {
  return row([
    versions.length > 1 && versionsView(turnId, versions, canAsk),
    action("copy-message", "copy", t.turns.copyMessage, { turn: turnId }),
    canAsk && action("edit-message", "edit", t.turns.edit, { turn: turnId }),
  ]);
}

/**
 * @param {string} turnId
 * @param {{canCopy: boolean, canSpeak: boolean, isReadAloud: boolean, canRegenerate: boolean, hasTrace: boolean}} offered
 */
export function replyActions(turnId, { canCopy, canSpeak, isReadAloud, canRegenerate, hasTrace }) {
  return row([
    canCopy && action("copy-reply", "copy", t.turns.copyReply, { turn: turnId }),
    canSpeak &&
      action("read-aloud", isReadAloud ? "stop" : "sound", isReadAloud ? t.turns.stopReading : t.turns.readAloud, {
        turn: turnId,
      }),
    canRegenerate && action("ask-again", "retry", t.turns.regenerate, { turn: turnId }),
    hasTrace && action("inspect", "inspect", t.turns.inspect, { turn: turnId }),
  ]);
}

/** @param {import("./dom.js").Child[]} actions */
function row(actions) {
  return actions.some(Boolean) && h("div", { class: "message-actions" }, actions);
}

/** @param {string} turnId @param {readonly string[]} versions @param {boolean} canSwitch */
function versionsView(turnId, versions, canSwitch) {
  const place = versions.indexOf(turnId);
  const [before, after] = [versions[place - 1], versions[place + 1]];
  return h(
    "span",
    { class: "versions", role: "group", "aria-label": t.turns.versions },
    action("switch-branch", "back", t.turns.olderVersion, { turn: before }, !before || !canSwitch),
    h("span", { class: "versions-place" }, t.turns.version(place + 1, versions.length)),
    action("switch-branch", "chevron", t.turns.newerVersion, { turn: after }, !after || !canSwitch),
  );
}

/**
 * @param {string} name @param {keyof typeof import("./icons.js").PATHS} drawing @param {string} label
 * @param {{turn: string | undefined}} data @param {boolean} [disabled]
 */
function action(name, drawing, label, { turn }, disabled = false) {
  const named = { "aria-label": label, title: label, "data-action": name, "data-turn": turn };
  return h("button", { type: "button", class: "button icon-only small quiet", ...named, disabled }, icon(drawing));
}

/** @param {Message} message @param {string} turnId @param {boolean} canAsk */
export function messageEditor({ content }, turnId, canAsk) {
  return h(
    "div",
    { class: "edit-message" },
    h(
      "textarea",
      {
        id: "edit-message",
        dir: "auto",
        rows: "1",
        "data-turn": turnId,
        "aria-label": t.turns.edit,
        autocomplete: "off",
      },
      content, // its start only: from then on it is the user's
    ),
    h(
      "div",
      { class: "edit-actions" },
      h("button", { type: "button", class: "button small", "data-action": "leave-editor" }, t.turns.leaveEditor),
      h(
        "button",
        {
          type: "button",
          class: "button small primary",
          "data-action": "send-edited",
          "data-turn": turnId,
          disabled: !canAsk,
        },
        t.turns.sendEdited,
      ),
    ),
  );
}
