/**
 * A conversation as a file: JSON with everything, Markdown for people.
 *
 * @typedef {import("./state.js").ConversationRecord} ConversationRecord
 */

import { documentText, holdsText } from "../sdk/attachments.js";
import { titleOf } from "./titles.js";
import { flushHistorySegments } from "../sdk/playback.js";
import { t } from "./strings.js";

/** @param {ConversationRecord} record */
function wholeHistory({ conversationHistory, historySegments }) {
  return [...conversationHistory, ...flushHistorySegments(historySegments, "")];
}

/** @param {ConversationRecord} record */
export function asJson(record) {
  const { id, createdAt, updatedAt, branches = [] } = record;
  const messages = wholeHistory(record);
  return `${JSON.stringify(
    {
      format: "parley-conversation",
      version: 1,
      id,
      title: titleOf(record),
      created_at: new Date(createdAt).toISOString(),
      updated_at: new Date(updatedAt).toISOString(),
      messages,
      ...(branches.length && { branches: branches.map((branch) => behindShared(branch, messages)) }),
    },
    null,
    2,
  )}\n`;
}

/**
 * Return a branch without what it shares with the history on screen.
 *
 * @param {import("./branches.js").Branch} branch @param {readonly import("../sdk/frames.js").Message[]} messages
 */
function behindShared(branch, messages) {
  const differs = branch.findIndex((message, index) => message !== messages[index]);
  const after = differs < 0 ? branch.length : differs;
  return { after, messages: branch.slice(after) };
}

/** @param {ConversationRecord} record */
export function asMarkdown(record) {
  const parts = wholeHistory(record).map((message) => {
    if (message._media) return quoted(t.export.notKept(message._media.name));
    if (message._hook)
      return quoted(`${t.export.hook(`${message._skill}/${message._hook}`, message.role)}\n\n${message.content}`);
    const images = (message._images ?? []).map((one) =>
      holdsText(one) ? documentText(one) : t.export.image(one.name),
    );
    const text = [message.content.trim(), ...images].filter(Boolean).join("\n\n");
    return `**${message.role === "user" ? t.export.you : "Parley"}**\n\n${text}`;
  });
  return `# ${titleOf(record)}\n\n${parts.join("\n\n")}\n`;
}

/**
 * Return a turn as a test that plays it and expects what happened. What the model says is no part of it.
 *
 * @param {import("./inspect.js").TurnTrace} trace
 */
export function turnAsJson({ facts, values, messages, ran, injected, changes }) {
  const said = (/** @type {string} */ kind) =>
    Object.values(messages).filter(
      ({ origin, role, content }) => origin?.kind === kind && ["user", "assistant"].includes(role) && content,
    );
  const variables = Object.fromEntries(changes.map(({ skill, name, value }) => [`${skill}/${name}`, value]));
  const test = {
    history: said("history").map(({ role, content }) => ({ [role]: content })),
    user: said("user").at(-1)?.content,
    ...facts,
    context: values.context,
    script: ran.map(({ calls }) => ({ calls })),
    expect: {
      fires: injected.map(({ skill, hook }) => `${skill}/${hook}`),
      ...(changes.length && { variables }),
    },
  };
  return `${JSON.stringify({ format: "parley-turn", version: 1, test, variables: values.variables }, null, 2)}\n`;
}

/** @param {string} text */
function quoted(text) {
  return text.trim().replace(/^/gm, "> ");
}

/** @param {ConversationRecord} record @param {string} extension */
export function fileName(record, extension) {
  const stem = titleOf(record)
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  return `${stem || "conversation"}.${extension}`;
}
