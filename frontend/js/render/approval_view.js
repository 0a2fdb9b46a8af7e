/**
 * The oldest open request to run a tool, above the message field.
 *
 * Not modal: the conversation goes on beside it. The focus goes to the box
 * itself, never to a button, so that no key that was meant for something else
 * says yes.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Approval} Approval
 */

import { argumentsView } from "./arguments_view.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { escapedJson, visibleText } from "../../sdk/escaped_json.js";
import { t } from "../strings.js";
import { en } from "../strings/en.js";

/** @param {State} state */
export function approvalView({ approvals, now }) {
  const approval = approvals[0];
  if (!approval) return null;
  const { frame, isAnswered, isEditing, problem } = approval;
  const { id } = frame;
  const reason = reasonOf(frame);
  const [before, after] = t.approval.question;
  return h(
    "section",
    {
      class: "approval",
      id: "approval",
      key: `approval-${id}`,
      role: "alertdialog",
      tabindex: "-1",
      "aria-labelledby": "approval-title",
      "aria-describedby": "approval-message approval-limit",
      "data-approval": id,
      "aria-busy": String(isAnswered),
    },
    h(
      "header",
      { class: "approval-head" },
      icon("alert"),
      h("h2", { id: "approval-title" }, before, h("code", {}, frame.tool), after),
      approvals.length > 1 && h("span", { class: "tag" }, t.approval.place(approvals.length)),
      h("span", { class: "approval-time", "aria-hidden": "true" }, timeLeft(approval, now)),
    ),
    h("p", { id: "approval-message", hidden: !reason }, reason),
    h("p", { id: "approval-limit", class: "visually-hidden" }, t.approval.limit(duration(frame.timeout_ms))),
    h("p", { class: "fine" }, factsOf(frame)),
    isEditing ? editor(approval) : argumentsView(frame.arguments),
    problem && h("p", { id: "approval-problem", class: "problem", role: "alert" }, problem),
    h(
      "div",
      { class: "approval-more" },
      h(
        "label",
        {},
        t.approval.reason,
        h("input", { id: "approval-reason", type: "text", maxlength: "500", autocomplete: "off" }),
      ),
      h(
        "label",
        {},
        t.approval.remember,
        h(
          "select",
          { id: "approval-remember" },
          h("option", { value: "no" }, t.approval.once),
          h("option", { value: "conversation" }, t.approval.conversation),
          h("option", { value: "always" }, t.approval.always),
          widerChoices(frame).map(([value, label]) => h("option", { value, key: value }, label)),
        ),
      ),
    ),
    h(
      "div",
      { class: "approval-actions" },
      !isEditing && button("edit-approval", id, t.approval.edit, "button", isAnswered),
      !isEditing &&
        frame.remember_for?.includes("tool") &&
        button("allow-tool", id, t.approval.allowTool, "button", isAnswered),
      button("deny", id, t.approval.deny, "button", isAnswered),
      button("allow", id, isEditing ? t.approval.allowEdited : t.approval.allow, "button primary", isAnswered),
    ),
    h(
      "p",
      { class: "fine" },
      isEditing ? t.approval.keysEditing : t.approval.keys,
      frame.by_voice && t.approval.byVoice,
    ),
  );
}

/** Return the message without a first line that only asks what the title asks. @param {Approval["frame"]} frame */
function reasonOf({ message, tool }) {
  const [first = "", ...rest] = message.split("\n");
  return visibleText([en, t].some(({ approval }) => approval.plain(tool) === first) ? rest.join("\n") : message);
}

/** @param {Approval} approval */
function editor({ frame, problem }) {
  const text = escapedJson(frame.arguments);
  return h(
    "textarea",
    {
      id: "approval-editor",
      class: "approval-arguments",
      rows: Math.min(12, text.split("\n").length + 1),
      spellcheck: "false",
      "aria-label": t.approval.editor(frame.tool),
      "aria-invalid": problem ? "true" : null,
      "aria-describedby": problem ? "approval-problem" : null,
    },
    text, // its start only: from then on it is the user's
  );
}

/** @param {string} action @param {string} id @param {string} label @param {string} style @param {boolean} disabled */
function button(action, id, label, style, disabled) {
  return h(
    "button",
    { type: "button", class: style, key: action, "data-action": action, "data-id": id, disabled },
    label,
  );
}

/** Return the wider choices that a yes may be remembered for. @param {Approval["frame"]} frame @returns {[string, string][]} */
function widerChoices({ tool, remember_for, command_name }) {
  /** @type {[string, string | undefined][]} */
  const names = [
    ["command", command_name],
    ["tool", t.approval.everyCall(tool)],
  ];
  return names.flatMap(([kind, name]) =>
    name && remember_for?.some((offered) => offered === kind)
      ? [
          [`conversation:${kind}`, t.approval.allowHere(name)],
          [`always:${kind}`, t.approval.allowAlways(name)],
        ]
      : [],
  );
}

/** @param {Approval["frame"]} frame */
function factsOf({ origin, permission, turn_id }) {
  return [
    permission && t.approval.touches[permission],
    origin && t.approval.origin(origin),
    !turn_id && t.approval.otherWindow,
  ]
    .filter(Boolean)
    .join(" ");
}

/** @param {Approval} approval @param {number} now */
function timeLeft({ deadline, isAnswered }, now) {
  return isAnswered ? "" : duration(Math.max(0, deadline - now));
}

/** @param {number} ms */
function duration(ms) {
  const seconds = Math.ceil(ms / 1000);
  return seconds >= 60 ? t.approval.minutes(Math.floor(seconds / 60), seconds % 60) : t.approval.seconds(seconds);
}
