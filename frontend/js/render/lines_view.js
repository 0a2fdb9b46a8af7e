/**
 * Notices and errors: what happened, and what cures it.
 *
 * @typedef {import("../frames.js").Notice} Notice
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";

const WAIT = "Wait a moment, then retry.";

/** What happened and what the user can do about it, in words for everybody. @type {Record<string, string>} */
const CURES = {
  provider_unreachable: "The model does not answer. Check that it runs and that its address is right, then retry.",
  provider_auth: "The model's server refused the key. Ask whoever runs this server to check it.",
  provider_rate_limited: "The model's server limits requests. Wait a moment, then retry.",
  provider_timeout: "The model took too long. Retry, or ask for something shorter.",
  provider_protocol:
    "The model's server sent an invalid reply. Retry; if it happens again, try another model.",
  model_missing: "No model is set. Set llm.model in the server's configuration, or OPENAI_MODEL.",
  context_overflow: "This conversation no longer fits the model. Start a new one, or shorten the message.",
  message_too_large: "The message is too long for this server. Shorten it, or start a new conversation.",
  turn_refused_draining: "The server is about to restart. Retry in a few seconds.",
  too_many_turns: "The server is busy. Wait a moment, then retry.",
  rate_limited: "Too many requests. Wait a moment, then retry.",
  hook_signature_invalid:
    "This server cannot verify a message that a skill added earlier (its secret may have changed). You can leave the message out.",
};

/** @param {Notice} notice @param {boolean} canDismiss */
export function noticeView({ code, level, message }, canDismiss) {
  return h(
    "div",
    { class: `line line-${level}`, role: level === "error" ? "alert" : "status", key: `${code}:${message}` },
    icon(level === "info" ? "info" : "alert"),
    h("p", {}, message, CURES[code] && level === "error" && h("span", { class: "cure" }, ` ${CURES[code]}`)),
    canDismiss &&
      h(
        "button",
        {
          type: "button",
          class: "button icon-only small",
          "data-action": "dismiss-notice",
          "data-code": code,
          "aria-label": "Dismiss",
        },
        icon("close"),
      ),
  );
}

/** @param {import("../frames.js").ErrorFrame} error */
export function errorView({ code, message, path, retry_after_ms }) {
  const wait = retry_after_ms ? `Retry in ${Math.max(1, Math.ceil(retry_after_ms / 1000))} s.` : "";
  const cure = CURES[code];
  const advice = cure?.includes(WAIT) && wait ? cure.replace(WAIT, wait) : [cure, wait].filter(Boolean).join(" ");
  return h(
    "div",
    { class: "line line-error", role: "alert", "data-code": code },
    icon("alert"),
    h(
      "p",
      {},
      advice && h("span", { class: "cure" }, `${advice} `),
      h("span", { class: "details" }, message),
      path && !message.includes(path) && h("code", {}, path),
    ),
  );
}
