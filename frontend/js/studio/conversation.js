/** The last conversation of this browser: its last question, what was said before, and what its hooks remembered then. */

import { result } from "../../sdk/database.js";
import { CONVERSATIONS, Database, SUMMARIES } from "../database.js";

const MAX_MESSAGES = 50;

/** @typedef {{text: string, history: import("./state.js").ChatMessage[], hookState: string | null}} LastQuestion hookState: of the turn before it, null if that had none */

/** @returns {Promise<LastQuestion | null>} null if there is none, or the browser keeps nothing */
export async function lastConversation() {
  try {
    const database = new Database(indexedDB, () => undefined);
    await database.open();
    const transaction = await database.transaction("readonly");
    const cursor = await result(transaction.objectStore(CONVERSATIONS).index(SUMMARIES).openCursor(null, "prev"));
    database.connection?.close();
    return lastQuestionOf(cursor?.value?.conversationHistory);
  } catch {
    return null;
  }
}

/** @param {unknown} history as the page keeps it @returns {LastQuestion | null} */
export function lastQuestionOf(history) {
  const messages = Array.isArray(history) ? history : [];
  const isSaid = (/** @type {any} */ { role, content, _hook }) =>
    (role === "user" || role === "assistant") && typeof content === "string" && content && !_hook;
  const isKept = (/** @type {any} */ message) => isSaid(message) || (message._hook && message._sig);
  const at = messages.findLastIndex((message) => message.role === "user" && isSaid(message));
  if (at < 0) return null;
  const before = messages.slice(0, at);
  return {
    text: messages[at].content,
    history: before
      .filter(isKept)
      .slice(-MAX_MESSAGES)
      .map(({ role, content, _hook, _skill, _sig }) => ({ role, content, ...(_hook && { _hook, _skill, _sig }) })),
    hookState: before.findLast(({ _state }) => _state)?._state ?? null,
  };
}
