/**
 * What the list shows of a conversation. Pure.
 *
 * @typedef {import("./state.js").Conversation} Conversation
 * @typedef {import("./state.js").ConversationRecord} ConversationRecord
 */

import { isUserMessage } from "../sdk/conversation.js";
import { t } from "./strings.js";
import { shortened } from "./text.js";

const MAX_TITLE_CHARS = 60;

/** @param {Pick<Conversation, "title" | "conversationHistory">} conversation */
export function titleOf({ title, conversationHistory }) {
  if (title) return title;
  const asked = conversationHistory.find(isUserMessage);
  const first = (asked?.content.trim() || asked?._images?.[0]?.name || "").replace(/\s+/g, " ");
  if (!first) return t.newConversation;
  return shortened(first, MAX_TITLE_CHARS);
}

/** What the list shows of it. @param {Omit<ConversationRecord, "historySegments">} record @returns {import("./state.js").Summary} */
export function summaryOf(record) {
  return { id: record.id, title: titleOf(record), updatedAt: record.updatedAt, pinnedAt: record.pinnedAt ?? 0 };
}
