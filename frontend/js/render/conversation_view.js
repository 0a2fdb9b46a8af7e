/**
 * The conversation on screen: its turns, or what to try first.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Conversation} Conversation
 * @typedef {import("../../sdk/frames.js").Message} Message
 */

import { versionsOf } from "../branches.js";
import { isUserMessage } from "../../sdk/conversation.js";
import { canSpeak, isEmpty, visibleTurn } from "../state.js";
import { canSend, openConversation } from "../../sdk/state.js";
import { offerOf, picksOf } from "../models.js";
import { h } from "./dom.js";
import { demoView, offerView } from "./models_view.js";
import { turnView } from "./turn_view.js";
import { languageProblem, talkButton, talkHint } from "./voice_view.js";
import { locale, t, unknownLanguage } from "../strings.js";
import { en } from "../strings/en.js";

/** @param {State} state */
export function conversationView(state) {
  const conversation = openConversation(state);
  if (!conversation || conversation.access === "opening") return h("div", { class: "turns", key: "opening" });
  return isEmpty(state) ? emptyView(state) : turnsView(state, conversation);
}

/** @type {readonly string[]} the same one each time */
const NONE = [];

/** @param {State} state @param {Conversation} conversation */
function turnsView(state, conversation) {
  const running = visibleTurn(state);
  const groups = withRunning(groupsOf(conversation.conversationHistory), running);
  const canAsk = canSend(state);
  const versions = versionsIn(conversation);
  const isReadable = canSpeak(state);
  return h(
    "div",
    { class: "turns", key: conversation.id },
    groups.map(({ key, messages }, index) => {
      const isLast = index === groups.length - 1;
      const own = running?.id === key ? running : null;
      const asked = own
        ? state.approvals.flatMap(({ frame: { turn_id, call_id = "" } }) => (turn_id === key ? [call_id] : []))
        : NONE;
      const view = state.views[key] ?? null;
      return turnView({
        key,
        messages,
        view,
        running: own,
        askedCalls: asked,
        isLast,
        canAsk,
        versions: versions.get(key) ?? NONE,
        ...picksOf(state),
        isEdited: state.editedTurn === key,
        canSpeak: isReadable,
        isReadAloud: state.speakTurn?.turnId === key,
        hasTrace: key in state.traces,
      });
    }),
    isFirstReply(state, groups) && demoView(state.models),
  );
}

/** @type {Message[]} the same one each time */
const UNASKED = [];

/**
 * Adds the running turn if it has no message yet, as no user message began it.
 *
 * @param {{key: string, messages: Message[]}[]} groups @param {import("../state.js").Turn | null} running
 */
function withRunning(groups, running) {
  return running?.nudge ? [...groups, { key: running.id, messages: UNASKED }] : groups;
}

/** Return whether the first conversation stands at its first reply. @param {State} state @param {{messages: Message[]}[]} groups */
function isFirstReply(state, groups) {
  const [first] = groups;
  const isReply = first?.messages.some(({ role }) => role === "assistant") ?? false;
  return isReply && groups.length === 1 && !visibleTurn(state) && state.conversations.length <= 1;
}

const versionsIn = memoVersions();

/** Return `versionsOf` with a memory: the same lists as last time while the conversation is the same. */
function memoVersions() {
  /** @type {WeakMap<readonly Message[], {branches: Conversation["branches"], versions: ReturnType<typeof versionsOf>}>} */
  const known = new WeakMap();
  return (/** @type {Conversation} */ conversation) => {
    const { conversationHistory, branches } = conversation;
    const found = known.get(conversationHistory);
    if (found?.branches === branches) return found.versions;
    const versions = versionsOf(conversation);
    known.set(conversationHistory, { branches, versions });
    return versions;
  };
}

/**
 * Group the history by turn. A user message, or a message of another turn, begins the next.
 *
 * @param {readonly Message[]} history
 */
export const groupsOf = memoGroups();

function memoGroups() {
  /** @type {WeakMap<Message, Message[]>} the group that began with this message, so that it stays the same object */
  const known = new WeakMap();
  /** @type {{history: readonly Message[], groups: {key: string, messages: Message[]}[]}} */
  let last = { history: [], groups: [] };
  return (/** @type {readonly Message[]} */ history) => {
    if (history === last.history) return last.groups;
    /** @type {Message[][]} */
    const groups = [];
    for (const message of history) {
      const group = groups.at(-1);
      if (group && !isUserMessage(message) && group[0]?._turn === message._turn) group.push(message);
      else groups.push([message]);
    }
    const keyed = groups.map((group, index) => {
      const messages = sameAs(known.get(/** @type {Message} */ (group[0])), group);
      known.set(/** @type {Message} */ (group[0]), messages);
      return { key: group[0]?._turn ?? `start-${index}`, messages };
    });
    last = { history, groups: keyed };
    return keyed;
  };
}

/** @param {Message[] | undefined} old @param {Message[]} group */
function sameAs(old, group) {
  return old?.length === group.length && old.every((message, index) => message === group[index]) ? old : group;
}

/** @param {State} state */
function emptyView(state) {
  return h(
    "section",
    { class: "empty", key: "empty", "aria-labelledby": "empty-title" },
    h("h2", { id: "empty-title" }, t.empty.title),
    h("p", {}, modelSentence(state)),
    languageView(state),
    offerView(state.models),
    h("div", { class: "empty-talk" }, talkButton(state), h("p", { class: "fine" }, talkHint(state))),
    h("ul", { class: "suggestions", "aria-label": t.empty.suggestions }, suggestions(state).map(suggestionView)),
  );
}

/** @param {State} state */
function modelSentence({ server }) {
  if (!server) return t.empty.connecting;
  const { name, host, location } = server.model;
  return location === "local" ? t.empty.local(name, t.header.hosts[host] ?? host) : t.empty.cloud(name, host);
}

/** Say that the model or the speech recognition does not know the language, and offer another one where none was found. @param {State} state */
function languageView(state) {
  const { server, models } = state;
  const unknown = unknownLanguage(server?.model.languages, locale);
  const problem = languageProblem(state) ?? (unknown && t.models.knowsOnly(unknown.known));
  if (!problem) return null;
  const canPick = unknown && server?.user?.is_operator && !offerOf(models);
  return h(
    "p",
    { class: "model-offer", key: "language" },
    unknown ? problem + t.empty.inEnglish : problem,
    canPick && h("button", { type: "button", class: "button small", "data-action": "models" }, t.models.useOther),
  );
}

/** @param {State} state */
function suggestions({ skills, server }) {
  const texts = unknownLanguage(server?.model.languages, locale) ? en.empty : t.empty;
  const skill = skills.find(({ enabled }) => enabled)?.name;
  return [
    { title: t.empty.ask, text: texts.askText },
    { title: t.empty.tool, text: texts.toolText },
    skill ? { title: t.empty.file, text: texts.fileText(skill) } : { title: t.empty.list, text: texts.listText },
  ];
}

/** @param {{title: string, text: string}} suggestion */
function suggestionView({ title, text }) {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: "suggestion", "data-action": "suggest", "data-text": text },
      h("strong", {}, title),
      h("span", {}, text),
    ),
  );
}
