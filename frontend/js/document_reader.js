/**
 * Documents that the user gives → their text, which the model reads with the message. The text travels and is
 * kept as pictures are, as a data: URL. PDF.js reads PDFs in a worker; setup copies it to vendor/, the first PDF loads it.
 *
 * @typedef {import("../sdk/frames.js").AttachedImage} AttachedImage
 */

import { asDocument, MAX_DOCUMENT_CHARS } from "./images.js";
import { documentText } from "../sdk/attachments.js";
import { shortened } from "./text.js";
import { t } from "./strings.js";

const MAX_FILE_BYTES = 32 << 20;
const MAX_NAME_CHARS = 80;
const TEXT_NAME = /\.(txt|text|md|markdown|csv|tsv)$/i;
const VENDOR = new URL("../vendor/", import.meta.url).href;

/** @param {File} file */
export function isDocument({ name, type }) {
  return isPdf({ name, type }) || ["text/plain", "text/markdown", "text/csv"].includes(type) || TEXT_NAME.test(name);
}

/**
 * Rejects with a sentence for the user.
 *
 * @param {File} file @param {{id: string, budgetBytes: number}} as
 * @returns {Promise<AttachedImage>}
 */
export async function readDocument(file, { id, budgetBytes }) {
  const name = shortened(file.name, MAX_NAME_CHARS) || "document";
  if (file.size > MAX_FILE_BYTES) throw new Error(t.images.tooLarge(name, MAX_FILE_BYTES >> 20));
  const data = await file.arrayBuffer();
  const text = (isPdf(file) ? await pdfText(data, name) : plainText(data, name)).trim();
  if (!text) throw new Error(t.images.noText(name));
  const document = asDocument({ id, name, text });
  const bytes = new TextEncoder().encode(documentText(document)).length;
  if (text.length > MAX_DOCUMENT_CHARS || bytes > budgetBytes)
    throw new Error(t.images.tooLong(name, text.length, MAX_DOCUMENT_CHARS));
  return document;
}

/** @param {{name: string, type: string}} file */
function isPdf({ name, type }) {
  return type === "application/pdf" || /\.pdf$/i.test(name);
}

/** @param {ArrayBuffer} data @param {string} name */
function plainText(data, name) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    throw new Error(t.images.notUtf8(name));
  }
}

/** Reads no further than the limit. @param {ArrayBuffer} data @param {string} name @returns {Promise<string>} */
async function pdfText(data, name) {
  const pdfjs = await import(`${VENDOR}pdf.js`).catch(() => null);
  if (!pdfjs) throw new Error(t.images.noPdfReader);
  pdfjs.GlobalWorkerOptions.workerSrc = `${VENDOR}pdf.worker.js`;
  const task = pdfjs.getDocument({ data, disableFontFace: true });
  try {
    const pdf = await task.promise;
    let text = "";
    for (let number = 1; number <= pdf.numPages && text.length <= MAX_DOCUMENT_CHARS; number += 1) {
      const { items } = await (await pdf.getPage(number)).getTextContent();
      for (const { str = "", hasEOL = false } of items) text += hasEOL ? `${str}\n` : str;
      text += "\n\n";
    }
    return new TextDecoder().decode(new TextEncoder().encode(text)); // a PDF may hold half a character
  } catch {
    throw new Error(t.images.unreadablePdf(name));
  } finally {
    await task.destroy();
  }
}
