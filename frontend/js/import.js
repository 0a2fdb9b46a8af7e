/**
 * A conversation out of a file that this page, or another copy of it, has exported. The file may hold anything:
 * what is not known is left out, and what cannot be shown or sent is refused.
 *
 * @typedef {import("./state.js").ConversationRecord} ConversationRecord
 * @typedef {import("../sdk/frames.js").Message} Message
 */

import { isDocumentUrl } from "./images.js";

const MAX_MESSAGES = 20_000; // of all branches together
const MAX_TITLE_CHARS = 120;
const TURN_ID = /^[A-Za-z0-9_-]{1,64}$/;
const PICTURE = /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/=]+$/;

/**
 * @param {string} text of the file @param {{id: string, at: number}} as it is named here
 * @returns {ConversationRecord | null} null if it holds no conversation
 */
export function fromJson(text, { id, at }) {
  const file = parsed(text);
  if (file?.format !== "parley-conversation" || file.version !== 1) return null;
  const conversationHistory = messagesOf(file.messages);
  const branches = list(file.branches).map((branch) => {
    const tail = messagesOf(branch?.messages);
    return tail && [...(conversationHistory ?? []).slice(0, Number(branch?.after) || 0), ...tail];
  });
  const count = branches.reduce((sum, branch) => sum + (branch?.length ?? 0), conversationHistory?.length ?? 0);
  if (!conversationHistory?.length || branches.includes(null) || count > MAX_MESSAGES) return null;
  return {
    id,
    title: typeof file.title === "string" ? file.title.slice(0, MAX_TITLE_CHARS) : "",
    createdAt: Date.parse(file.created_at) || at,
    updatedAt: at,
    pinnedAt: 0,
    conversationHistory,
    branches: /** @type {Message[][]} */ (branches),
    historySegments: [],
  };
}

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {unknown} value @returns {any[]} */
function list(value) {
  return Array.isArray(value) ? value : [];
}

/** @param {unknown} values @returns {Message[] | null} null if one of them is no message */
function messagesOf(values) {
  const messages = list(values).map(messageOf);
  return messages.includes(null) ? null : /** @type {Message[]} */ (messages);
}

/** @param {any} value @returns {Message | null} */
function messageOf(value) {
  const { role, content, _media, _images, _turn, _answer, _at, _unverified } = value ?? {};
  if (!["system", "user", "assistant"].includes(role) || typeof content !== "string") return null;
  /** @type {Message} */
  const message = { role, content };
  for (const name of /** @type {const} */ (["_hook", "_skill", "_sig", "_timing", "_state"]))
    if (typeof value[name] === "string") message[name] = value[name];
  if (TURN_ID.test(_turn)) message._turn = _turn;
  if (_answer !== undefined) message._answer = ["stopped", "restarted", "failed"].includes(_answer) ? _answer : "lost";
  if (Number.isFinite(_at)) message._at = _at;
  if (_unverified === true) message._unverified = true;
  const images = list(_images).filter(isImage);
  if (images.length)
    message._images = images.map(({ id, name, url, width, height }) => ({ id, name, url, width, height }));
  if (isMedia(_media)) {
    const { url, content_type, name, size } = _media;
    message._media = { url, content_type, name, size };
  }
  return message;
}

/** @param {any} image "" as its address: the browser that exported it had lost it */
function isImage(image) {
  const isKnown = TURN_ID.test(image?.id) && (image.url === "" || PICTURE.test(image.url) || isDocumentUrl(image.url));
  return isKnown && typeof image.name === "string" && Number.isFinite(image.width) && Number.isFinite(image.height);
}

/** @param {any} media */
function isMedia(media) {
  const isText = [media?.url, media?.content_type, media?.name].every((value) => typeof value === "string");
  return isText && Number.isFinite(media.size);
}
