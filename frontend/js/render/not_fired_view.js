/**
 * Hooks that did not fire, each with the reason in the page's language.
 *
 * @import { NotFired } from "../inspect.js"
 */

import { t } from "../strings.js";
import { h } from "./dom.js";

/** @param {readonly NotFired[]} notFired */
export function notFiredView(notFired) {
  if (!notFired.length) return null;
  return h(
    "section",
    { class: "not-fired trace-list", key: "not-fired" },
    h("h4", {}, t.inspector.notFired),
    h("ul", {}, notFired.map(itemView)),
  );
}

/** @param {NotFired} silent */
function itemView({ skill, hook, timing, fired, ...why }) {
  return h(
    "li",
    { key: `${skill}/${hook}/${timing}/${why.code}/${why.path ?? ""}` },
    h("span", { class: "hook-name" }, `${skill} / ${hook}`),
    h("span", { class: "tag" }, timing),
    fired && h("span", { class: "tag" }, t.inspector.firedAtOtherTimes),
    h("span", { class: "reason" }, reasonView(why)),
  );
}

/** Show the reason; one whose code we do not know in the server's words. @param {Pick<NotFired, "reason" | "code" | "detail" | "path">} why */
export function reasonView({ reason, code = "", detail = "", path }) {
  const own = t.inspector.reasons[code];
  if (path && !own) return [t.inspector.conditionFailed, h("code", {}, path)];
  return own?.(detail) ?? reason;
}
