/** The last conversation of this browser: its last question, and what was said before. */

import { CONVERSATIONS, Database, SUMMARIES, result } from "../database.js";

const MAX_MESSAGES = 50;

/** @returns {Promise<{text: string, history: import("./state.js").ChatMessage[]} | null>} null if there is none, or the browser keeps nothing */
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

/** @param {unknown} history as the page keeps it */
export function lastQuestionOf(history) {
  const messages = Array.isArray(history) ? history : [];
  const said = messages.filter(
    ({ role, content, _hook }) =>
      (role === "user" || role === "assistant") && typeof content === "string" && content && !_hook,
  );
  const at = said.findLastIndex(({ role }) => role === "user");
  if (at < 0) return null;
  const before = said.slice(Math.max(0, at - MAX_MESSAGES), at);
  return { text: said[at].content, history: before.map(({ role, content }) => ({ role, content })) };
}
