/**
 * One turn: the user's message, and in playback order what came of it.
 *
 * @typedef {import("../../sdk/frames.js").Message} Message
 * @typedef {import("../../sdk/playback.js").Segment} Segment
 * @typedef {import("../state.js").Turn} Turn
 * @typedef {import("../state.js").TurnView} TurnView
 * @typedef {import("./markdown_view.js").Mark} Mark
 * @typedef {import("./dom.js").Child} Child
 */

import { isUserMessage, replyTo } from "../../sdk/conversation.js";
import { unsaidText } from "../../sdk/playback.js";
import { h, memo, memoAll } from "./dom.js";
import { icon } from "./icons.js";
import { sentImages } from "./image_view.js";
import { errorView, noticeView } from "./lines_view.js";
import { growingView, markdownView } from "./markdown_view.js";
import { mediaView } from "./media_view.js";
import { askedActions, messageEditor, replyActions } from "./message_actions.js";
import { toolView } from "./tool_view.js";
import { t } from "../strings.js";

/**
 * @typedef {object} ShownTurn
 * @property {string} key
 * @property {readonly Message[]} messages
 * @property {TurnView | null} view
 * @property {Turn | null} running
 * @property {readonly string[]} askedCalls ids of the running turn's tool calls that the user is asked about
 * @property {boolean} isLast the last one of the conversation, so it may be tried again
 * @property {boolean} canAsk a turn may be asked
 * @property {readonly string[]} versions of this turn, oldest first; none or one: there are no others
 * @property {boolean} isEdited
 * @property {boolean} isLimited the model knows only some languages
 * @property {boolean} canPick the user may pick another model
 * @property {boolean} canSpeak its reply can be read aloud
 * @property {boolean} isReadAloud its reply is being read aloud
 * @property {boolean} hasTrace
 */

/** View of a turn; one that is over is described once for each way it may be shown. */
export const turnView = memoAll(describe, ({ messages }) => messages);

/** @param {ShownTurn} shown */
function describe({
  key,
  messages,
  view,
  running,
  askedCalls,
  isLast,
  canAsk,
  versions,
  isEdited,
  isLimited,
  canPick,
  canSpeak,
  isReadAloud,
  hasTrace,
}) {
  const asked = messages.find(isUserMessage);
  const rest = messages.filter((message) => message !== asked);
  const hasActivity = view?.segments.some(({ kind }) => kind === "tool" || kind === "media");
  const refused = view?.refused ?? [];
  const isShownWhole = view && (hasActivity || view.unheard);
  const body = running
    ? liveBody(running, { asked: askedCalls, refused })
    : isShownWhole
      ? withText(parts(view.segments), view.unheard, allOf(view.unheard, "unheard"), { asked: [], refused }, () =>
          growingView(),
        )
      : rest.map(messageView);
  const isAnswered = body.length > 0;
  const hasReply = replyTo(messages, key) !== "";
  return h(
    "article",
    { class: "turn", key, "aria-label": t.turn, "data-turn": key },
    asked && (isEdited ? messageEditor(asked, key, canAsk) : userView(asked)),
    asked?._turn && !isEdited && !running && askedActions(key, versions, canAsk),
    view?.reasoning && reasoningView(view.reasoning, Boolean(running)),
    (isAnswered || running) &&
      h(
        "div",
        { class: "reply", "aria-label": t.reply, role: "group", "aria-busy": running ? "true" : null },
        body,
        running && waitingView(running),
      ),
    view?.notices.map((notice) => noticeView(notice, false)),
    view?.error && errorView(view.error),
    (asked?._turn || hasReply) &&
      !running &&
      replyActions(key, {
        canCopy: hasReply,
        canSpeak: canSpeak && hasReply,
        isReadAloud,
        canRegenerate: canAsk && asked !== undefined && !(isLast && canRetry(asked)),
        hasTrace,
      }),
    !running && asked && endView(asked, view, { isLast, canAsk, isLimited, canPick }),
  );
}

const userView = memo((/** @type {Message} */ message) =>
  h(
    "div",
    { class: "said-by-user" },
    h("span", { class: "visually-hidden" }, t.turns.you),
    message._images && sentImages(message._images),
    message.content && h("p", { dir: "auto" }, message.content),
  ),
);

const messageView = memo((/** @type {Message} */ message) => {
  if (message._media) return mediaView(message._media);
  return message._hook ? hookView(message) : markdownView(message.content);
});

/** Show what was reached and behind it what has streamed, with the sentence being heard marked. @param {Turn} turn @param {Decided} decided @returns {Child[]} */
function liveBody({ id, playback, streamed }, decided) {
  const { playing, historySegments } = playback;
  const isHeard = playing !== null && playing.heardMs > 0;
  const mark = isHeard ? allOf(playing.sentence.text, "saying") : null;
  return withText(parts(historySegments), unsaidText(playback, streamed), mark, decided, growingOf(id));
}

/** Mark a text without the white space around it. @param {string} text @param {Mark["kind"]} kind @returns {Mark} */
function allOf(text, kind) {
  return { from: text.length - text.trimStart().length, to: text.trimEnd().length, kind };
}

/** @type {{id: string, views: Map<number, ReturnType<typeof growingView>>}} of the running turn's texts, by their place */
let growing = { id: "", views: new Map() };

/** @param {string} id of the running turn */
function growingOf(id) {
  if (growing.id !== id) growing = { id, views: new Map() };
  const { views } = growing;
  return (/** @type {number} */ place) => {
    const view = views.get(place) ?? growingView();
    views.set(place, view);
    return view;
  };
}

/**
 * @param {Part[]} reached @param {string} text that follows @param {Mark | null} mark in that text @param {Decided} decided
 * @param {(place: number) => ReturnType<typeof growingView>} textAt
 * @returns {Child[]}
 */
function withText(reached, text, mark, decided, textAt) {
  const last = reached.at(-1);
  const isJoined = typeof last === "string";
  const before = isJoined ? last.length : 0;
  const moved = mark && { ...mark, from: mark.from + before, to: mark.to + before };
  const shown = reached.map((part, place) => {
    if (typeof part !== "string") return partView(part, decided);
    return place === reached.length - 1 ? textAt(place)(part + text, moved) : textAt(place)(part);
  });
  return isJoined || !text.trim() ? shown : [...shown, textAt(reached.length)(text, moved)];
}

/** @typedef {string | Exclude<Segment, {kind: "sentence"}>} Part */

/** @typedef {{asked: readonly string[], refused: readonly string[]}} Decided ids of calls: asked about now, said no to */

/** @param {Exclude<Part, string>} part @param {Decided} decided */
function partView(part, { asked, refused }) {
  if (part.kind !== "tool") return segmentView(part);
  const isAsked = !part.result && asked.includes(part.call.id);
  const isRefused = refused.includes(part.call.id);
  return isAsked || isRefused ? toolView(part.call, part.result, { isAsked, isRefused }) : segmentView(part);
}

/** Join neighbouring sentences to one text. @param {readonly Segment[]} segments */
function parts(segments) {
  /** @type {Part[]} */
  const found = [];
  for (const segment of segments) {
    const last = found.at(-1);
    if (segment.kind !== "sentence") found.push(segment);
    else if (typeof last === "string") found[found.length - 1] = last + segment.text;
    else found.push(segment.text);
  }
  return found;
}

const segmentView = memo((/** @type {Exclude<Segment, {kind: "sentence"}>} */ segment) => {
  switch (segment.kind) {
    case "hook": {
      const { name, skill, timing, role, content } = segment.frame;
      return hookView({ role, content, _hook: name, _skill: skill, _timing: timing });
    }
    case "tool":
      return toolView(segment.call, segment.result);
    case "media":
      return mediaView(segment.frame);
  }
});

/** Show a persistent hook where it stands in the conversation. @param {Message} message */
function hookView(message) {
  return h(
    "details",
    { class: "hook-frame" },
    h(
      "summary",
      {},
      icon("hook"),
      h("span", { class: "hook-name" }, `${message._skill} / ${message._hook}`),
      message._timing && h("span", { class: "tag" }, message._timing),
      message._unverified && h("span", { class: "tag tag-warning" }, t.turns.unverified),
      icon("chevron"),
    ),
    h(
      "div",
      { class: "hook-body" },
      h("p", { class: "fine" }, t.turns.hookAdded(message.role)),
      h("pre", { tabindex: "0" }, message.content),
    ),
  );
}

/** @param {string} reasoning @param {boolean} isRunning */
function reasoningView(reasoning, isRunning) {
  return h(
    "details",
    { class: "reasoning" },
    h("summary", {}, icon("chevron"), isRunning ? t.turns.thinking : t.turns.reasoning),
    h("div", { class: "reasoning-body" }, reasoning),
  );
}

/** @param {Turn} turn */
function waitingView({ phase, streamed }) {
  if (streamed) return null;
  const text = phase === "running" ? t.turns.waiting : t.turns.sending;
  return h(
    "p",
    { class: "waiting", key: "waiting" },
    h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")),
    h("span", { class: "visually-hidden" }, text),
  );
}

/** @param {Message} asked */
function canRetry({ _answer }) {
  return _answer !== undefined && _answer !== "pending";
}

/** @param {Message} asked @param {TurnView | null} view @param {Pick<ShownTurn, "isLast" | "canAsk" | "isLimited" | "canPick">} at */
export function endView(asked, view, { isLast, canAsk, isLimited, canPick }) {
  const line = endLine(asked._answer, view);
  if (!line) return null;
  const isUnread = isLimited && view?.error?.code === "language_unknown"; // the same model would refuse it again
  const isRetried = isLast && canRetry(asked) && !isUnread;
  const isRefusedForHook = view?.error?.code === "hook_signature_invalid";
  const disabled = !canAsk;
  return h(
    "div",
    { class: "turn-end" },
    h("span", {}, line),
    isRetried &&
      h("button", { type: "button", class: "button small", "data-action": "retry", disabled }, icon("retry"), t.retry),
    isLast &&
      isUnread &&
      canPick &&
      h("button", { type: "button", class: "button small", "data-action": "models" }, t.models.useOther),
    isRetried &&
      isRefusedForHook &&
      h(
        "button",
        { type: "button", class: "button small", "data-action": "retry-without-unverified", disabled },
        t.turns.sendWithout,
      ),
  );
}

/** @param {import("../../sdk/frames.js").Answer | undefined} answer @param {TurnView | null} view */
function endLine(answer, view) {
  if (view?.end?.reason === "aborted") return view.end.message ?? t.turns.ended;
  switch (answer) {
    case "pending": // and not by us: we would be showing it as running
      return t.turns.answeredElsewhere;
    case "lost":
      return t.turns.lost;
    case "stopped":
      return withUnheard(t.turns.stopped, view);
    case "restarted":
      return withUnheard(t.turns.restarted, view);
    case "failed":
      return t.turns.failed;
    case undefined:
      return null;
  }
}

/** @param {string} line @param {TurnView | null} view */
function withUnheard(line, view) {
  return view?.unheard.trim() ? line + t.turns.unplayed : line;
}
