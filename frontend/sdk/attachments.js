/**
 * Pictures and documents of the user's messages, as the parts that are sent. Pure.
 *
 * @typedef {import("./frames.js").Message} Message
 * @typedef {import("./frames.js").SentMessage} SentMessage
 * @typedef {import("./frames.js").AttachedImage} AttachedImage
 * @typedef {import("./frames.js").Part} Part
 */

/** Pictures of earlier messages that are sent again; they cost a model far more than words. */
export const MAX_SENT_AGAIN = 2;
export const DOCUMENT = "data:text/plain;charset=utf-8,";
const UNSEEN = "[image]";

/** Return whether it is a document, not a picture. @param {AttachedImage} attached */
export function holdsText({ url }) {
  return url.startsWith(DOCUMENT);
}

/** Return the text that the model reads of a document. @param {AttachedImage} document */
export function documentText({ name, url }) {
  return `Document ${JSON.stringify(name)}:\n\n${decodeURIComponent(url.slice(DOCUMENT.length))}`;
}

/**
 * Return the messages with their pictures as parts: all of the last message, and of
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
