/**
 * Pictures and documents of the user's messages: how large they may be, and which of them go to the server. Pure.
 *
 * @typedef {import("./frames.js").Message} Message
 * @typedef {import("./frames.js").SentMessage} SentMessage
 * @typedef {import("./frames.js").AttachedImage} AttachedImage
 * @typedef {import("./frames.js").Part} Part
 */

/** In one message: the server shows a model the newest four of a call. */
export const MAX_ATTACHED = 4;
/** Of earlier messages: pictures cost a model far more than words. */
export const MAX_SENT_AGAIN = 2;
/** Of one document, about 25,000 tokens of English. */
export const MAX_DOCUMENT_CHARS = 100_000;
const DOCUMENT = "data:text/plain;charset=utf-8,";
const MAX_SIDE_PX = 1568;
const MAX_IMAGE_BYTES = 5 << 20;
const BASE64_SHARE = 3 / 4;
const PICTURES_SHARE = 0.9; // of a frame; the rest is for words
const UNSEEN = "[image]";

/** What one picture may take so that a message full of them still fits into a frame. @param {import("./frames.js").Limits | null} limits */
export function imageBudgetBytes(limits) {
  const bytes = (limits?.max_message_bytes ?? 4 << 20) * PICTURES_SHARE * BASE64_SHARE;
  return Math.min(MAX_IMAGE_BYTES, Math.floor(bytes / MAX_ATTACHED));
}

/** @param {{id: string, name: string, text: string}} document @returns {AttachedImage} */
export function asDocument({ id, name, text }) {
  return { id, name, url: DOCUMENT + encodeURIComponent(text), width: 0, height: 0 };
}

/** Is it a document, not a picture? @param {AttachedImage} attached */
export function holdsText({ url }) {
  return url.startsWith(DOCUMENT);
}

/** Is this the address of a document, as `asDocument` makes it? @param {unknown} url */
export function isDocumentUrl(url) {
  if (typeof url !== "string" || !url.startsWith(DOCUMENT)) return false;
  try {
    return DOCUMENT + encodeURIComponent(decodeURIComponent(url.slice(DOCUMENT.length))) === url;
  } catch {
    return false; // not what encodeURIComponent writes
  }
}

/** What the model reads of a document. @param {AttachedImage} document */
export function documentText({ name, url }) {
  return `Document ${JSON.stringify(name)}:\n\n${decodeURIComponent(url.slice(DOCUMENT.length))}`;
}

/** @param {{width: number, height: number}} size @returns {{width: number, height: number}} */
export function fittedSize({ width, height }) {
  const scale = Math.min(1, MAX_SIDE_PX / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/**
 * The messages with their pictures as parts: all of the last message, and of
 * what was said before it so many that the newest two are sent again. In the
 * place of the others stands "[image]". Documents are always sent.
 *
 * @param {readonly Message[]} messages
 * @returns {SentMessage[]}
 */
export function withPictures(messages) {
  let left = MAX_SENT_AGAIN;
  return messages
    .toReversed()
    .map((message, age) => {
      const { _images: attached = [], ...rest } = message;
      if (!attached.length) return message;
      const documents = attached.filter(holdsText).map(documentText);
      const images = attached.filter((one) => !holdsText(one));
      const count = age === 0 ? images.length : Math.min(left, images.length);
      left = Math.max(0, left - images.length);
      return { ...rest, content: contentOf(message.content, documents, images, images.length - count) };
    })
    .toReversed();
}

/** @param {string} text @param {string[]} documents @param {readonly AttachedImage[]} images @param {number} hidden so many, the first ones */
function contentOf(text, documents, images, hidden) {
  /** @type {Part[]} */
  const parts = images.map(({ url }, index) =>
    url && index >= hidden ? { type: "image_url", image_url: { url } } : { type: "text", text: UNSEEN },
  );
  const said = text.trim() ? [text, ...documents] : documents;
  const words = said.map((part) => /** @type {Part} */ ({ type: "text", text: part }));
  const whole = [...words, ...parts];
  const texts = whole.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === whole.length ? texts.join("\n\n") : whole;
}
