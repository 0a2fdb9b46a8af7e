/** The policy page without browser: its events and effects, before a server that keeps documents and versions. */

import { readDocument } from "../../frontend/js/policy/document.js";
import { reduce } from "../../frontend/js/policy/reduce.js";
import { initialState } from "../../frontend/js/policy/state.js";
import { withAttribute } from "./support.js";

export const AUDIT = { type: "audit_log" };
export const SCAN = { type: "security_scan" };
export const CONFIRM = { type: "dangerous_confirmation", filter: { permissions: ["WRITE"] } };
export const OFFLINE = { kind: "offline", code: "offline", message: "No server.", path: null };
export const STALE = { kind: "refused", code: "version_stale", message: "Stale.", path: null };

export class PolicyPage {
  constructor({ document = {}, effective = document, answers = true } = {}) {
    this.stored = { document, version: 1 };
    this.effective = effective;
    this.answers = answers;
    this.effects = [];
    this.state = initialState();
    this.dispatch({ type: "show", view: "policy" });
  }

  dispatch(event) {
    this.state = reduce(this.state, event);
    const { effects } = this.state;
    this.effects.push(...effects);
    if (this.answers) for (const effect of effects) this.answer(effect);
    return this;
  }

  /** The document is written anew. */
  write(document) {
    return this.dispatch({
      type: "edit_text",
      value: typeof document === "string" ? document : JSON.stringify(document),
    });
  }

  preset(name, value = true) {
    return this.dispatch({ type: "preset", name, value });
  }

  answer(effect) {
    if (effect.type === "load_policy") this.load(effect.scope);
    if (effect.type !== "save_policy") return;
    if (effect.etag !== this.etag) return this.dispatch({ type: "save_policy_failed", failure: STALE });
    this.stored = { document: effect.document, version: this.stored.version + 1 };
    this.effective = effect.document;
    this.dispatch({
      type: "policy_saved",
      version: this.stored.version,
      etag: this.etag,
      document: effect.document,
    });
  }

  load(scope = "user") {
    const { effective, etag, stored } = this;
    this.dispatch({ type: "policy_loaded", scope, schema: {}, effective, document: stored.document, etag });
  }

  /** Another user stores a document. */
  change(document) {
    this.stored = { document, version: this.stored.version + 1 };
    return this;
  }

  /** The user agrees to what was asked last. */
  agree() {
    return this.dispatch(this.effects.findLast(({ type }) => type === "confirm").event);
  }

  get etag() {
    return `"u${this.stored.version}"`;
  }

  get editor() {
    return this.state.editor;
  }

  get document() {
    return readDocument(this.editor.text).document;
  }

  get focus() {
    return this.effects.filter(({ type }) => type === "focus").at(-1)?.ids;
  }
}

export function withId(described, id) {
  return withAttribute(described, "id", id)[0];
}
