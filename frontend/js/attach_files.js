/**
 * Pictures and documents that the user picks, pastes or drops, on their way to the message field.
 *
 * @typedef {object} AttachTarget The message field that files are attached to.
 * @property {(event: import("./reduce.js").Event) => void} dispatch
 * @property {() => string} id makes a new id
 * @property {() => number} budgetBytes of one picture
 * @property {() => boolean} isOpen whether the message field can be written
 * @property {(isOver: boolean) => void} showDrop
 */

import { isDocument, readDocument } from "./document_reader.js";
import { readPicture } from "./image_reader.js";
import { MAX_ATTACHED } from "./images.js";

/** Read files one after the other and attach them in their order. @param {readonly File[]} files @param {AttachTarget} attachTarget */
export async function attach(files, { dispatch, id, budgetBytes, isOpen }) {
  const first = files.slice(0, MAX_ATTACHED + 1); // one too many is reported; more need not be read
  if (!first.length || !isOpen()) return;
  dispatch({ type: "reading_images", count: first.length });
  for (const file of first) {
    const image = await (isDocument(file) ? readDocument : readPicture)(file, {
      id: id(),
      budgetBytes: budgetBytes(),
    }).catch((error) => {
      dispatch({ type: "warn", code: "image_unreadable", message: String(error?.message ?? error) });
      return null;
    });
    dispatch({ type: "attach", image });
  }
}

/** Return the files that can be attached, as far as the browser can tell. @param {FileList | readonly File[] | null | undefined} files */
export function attachable(files) {
  return Array.from(files ?? []).filter((file) => file.type.startsWith("image/") || isDocument(file));
}

/** @param {AttachTarget} attachTarget */
export function listenForFiles(attachTarget) {
  document.addEventListener("paste", (event) => {
    const files = attachable(event.clipboardData?.files);
    if (!files.length || event.clipboardData?.types.includes("text/plain")) return; // of a text, the picture is a copy
    event.preventDefault();
    void attach(files, attachTarget);
  });
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    attachTarget.showDrop(true);
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && attachTarget.showDrop(false));
  document.addEventListener("drop", (event) => {
    attachTarget.showDrop(false);
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault(); // else the browser would leave the page for the file
    void attach(Array.from(event.dataTransfer.files), attachTarget); // also what cannot be: it is named
  });
}
