/**
 * Where the user writes, and the lines just above it: connection, loading, notices.
 *
 * @typedef {import("../state.js").State} State
 */

import { isEmpty, visibleTurn } from "../state.js";
import { canSend, openConversation } from "../../sdk/state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { attachedImages } from "./image_view.js";
import { noticeView } from "./lines_view.js";
import { problemLine, talkButton, talkView } from "./voice_view.js";
import { t } from "../strings.js";

/** @param {State} state */
export function composerView(state) {
  const turn = visibleTurn(state);
  const isReading = openConversation(state)?.access === "read";
  return h(
    "footer",
    { class: "foot" },
    h(
      "div",
      { class: "lines" },
      connectionLine(state),
      loadingLine(state),
      isReading && readingLine(),
      problemLine(state),
      undoLine(state),
      state.notices.map((notice) => noticeView(notice, true)),
    ),
    talkView(state),
    h(
      "form",
      { class: "composer", "data-submit": "send", "aria-label": t.composer.form },
      attachedImages(state.attachments, state.pendingImages),
      attachButton(isReading),
      h("textarea", {
        id: "input",
        rows: "1",
        dir: "auto",
        "aria-label": t.composer.message,
        placeholder: isReading ? t.readOnly : t.composer.placeholder,
        readonly: isReading,
        autocomplete: "off",
        enterkeyhint: "send",
        "aria-describedby": "input-help",
      }),
      turn &&
        h(
          "button",
          {
            type: "button",
            class: "button round",
            key: "stop",
            "data-action": "stop",
            "aria-label": t.composer.stop,
            title: t.composer.stopKey,
          },
          icon("stop"),
        ),
      h(
        "button",
        {
          type: "submit",
          class: "button round primary",
          key: "send",
          disabled: !canSend(state) || state.pendingImages > 0,
          "aria-label": t.composer.send,
          title: t.composer.sendKey,
        },
        icon("send"),
      ),
      !isEmpty(state) && talkButton(state), // in the place of "send" as long as there is nothing to send
    ),
    h("p", { id: "input-help", class: "fine" }, t.composer.help),
  );
}

/** Return the button that attaches files, which can be pasted and dropped, too. @param {boolean} disabled */
function attachButton(disabled) {
  return [
    h("input", {
      type: "file",
      id: "picker",
      hidden: true,
      multiple: true,
      accept: "image/*,text/plain,.txt,.md,.markdown,.csv,.tsv,application/pdf,.pdf",
      disabled,
    }),
    h(
      "button",
      {
        type: "button",
        class: "button round",
        key: "attach",
        "data-action": "attach",
        "aria-label": t.composer.attach,
        title: t.composer.attachHelp,
        disabled,
      },
      icon("attach"),
    ),
  ];
}

/** @param {State} state */
function connectionLine({ connection, server }) {
  const { phase, attempt } = connection;
  if (phase === "online" || (server && attempt === 0) || (!server && attempt < 2)) return null;
  const text = connection.code === 4401 ? t.composer.loggedOut : t.composer.reconnecting;
  return h(
    "div",
    { class: "line line-warning", role: "status", key: "connection" },
    icon("cloud"),
    h("p", {}, text),
    h("button", { type: "button", class: "button small", "data-action": "reconnect" }, t.composer.now),
  );
}

/** @param {State} state */
function loadingLine({ loading }) {
  if (!loading) return null;
  const failed = loading.find(({ state }) => state === "failed");
  if (failed) return failedLine(failed);
  const done = loading.filter(({ state }) => state === "ready").length;
  const current = loading.find(({ state }) => state !== "ready");
  return h(
    "div",
    { class: "line line-info", role: "status", key: "loading" },
    h(
      "progress",
      loading.length
        ? { max: loading.length, value: done, "aria-label": t.composer.loading }
        : { "aria-label": t.composer.loading },
    ),
    h("p", {}, current ? t.composer.loadingPart(partOf(current)) : t.composer.gettingReady),
  );
}

/** @param {import("../state.js").Stage} stage */
function partOf({ name }) {
  return t.composer.parts[name] ?? name;
}

/** @param {import("../state.js").Stage} stage */
function failedLine(stage) {
  const { detail } = stage;
  return h(
    "div",
    { class: "line line-error", role: "alert", key: "failed" },
    icon("alert"),
    h("p", {}, t.composer.loadFailed(partOf(stage)), detail && ` ${detail}`),
  );
}

function readingLine() {
  return h(
    "div",
    { class: "line line-info", role: "status", key: "reading" },
    icon("info"),
    h("p", {}, t.composer.openElsewhere),
    h("button", { type: "button", class: "button small", "data-action": "new" }, t.composer.startAnother),
  );
}

/** @param {State} state */
function undoLine({ undo }) {
  if (!undo) return null;
  return h(
    "div",
    { class: "line line-info", role: "status", key: "undo" },
    h("p", {}, `${undo.label}.`),
    h("button", { type: "button", class: "button small", "data-action": "undo" }, t.undo),
    h(
      "button",
      { type: "button", class: "button icon-only small", "data-action": "dismiss-undo", "aria-label": t.dismiss },
      icon("close"),
    ),
  );
}
