/**
 * `<code-editor>`: a text that is edited in CodeMirror, or in a plain text field where CodeMirror was not installed.
 *
 * Attributes: label, help, language ("json", "yaml", "markdown"), readonly, problems (JSON). Property: value. A plain
 * field sets the attribute `plain`, needs none of the help, which is about the keys of CodeMirror, and hides it after it.
 * Event: input. A shadow root holds it: CodeMirror's styles then need no exception from the page's
 * Content-Security-Policy, which allows none in the document.
 *
 * @import { Completion } from "./completion.js"
 * @typedef {{line: number, severity: "error" | "warning" | "info", message: string}} Marked a problem in its line, from 1
 * @typedef {{label: string, help: string, language: string, isReadOnly: boolean, problems: readonly Marked[]}} Settings
 * @typedef {{text: string, settings: Settings, focus: () => void, goTo: (line: number) => void, close: () => void}} Surface
 *   what the text is edited in
 * @typedef {object} Page what an editor asks of the page that it stands in
 * @property {(text: string, cursor: number, isAsked: boolean) => Completion | null} complete what can be written at the cursor
 * @property {() => void} leave moves the focus to where Escape leads
 */

const STYLES = new URL("../../css/code_editor.css", import.meta.url).href;

/** Resolves to the editor of the text: CodeMirror where it is installed, else a plain field. */
const loading = import("./codemirror.js").then(
  ({ codeMirror }) => codeMirror,
  () => textField,
);

/** @param {Page} page */
export function defineCodeEditor(page) {
  customElements.define(
    "code-editor",
    class extends CodeEditor {
      page = page;
    },
  );
}

/** Its page is given by `defineCodeEditor`. */
export class CodeEditor extends HTMLElement {
  static observedAttributes = ["label", "help", "language", "readonly", "problems"];
  #root = this.attachShadow({ mode: "open", delegatesFocus: true });
  #text = "";
  /** @type {string | null} the text that was set first, to which undoing leads back */
  #firstText = null;
  /** @type {Surface | null} while it stands in the document */
  #surface = null;
  /** @type {Page} */
  page = { complete: () => null, leave: () => undefined };

  get value() {
    return this.#surface?.text ?? this.#text;
  }

  set value(text) {
    this.#text = text.replace(/\r\n?/g, "\n"); // as both surfaces have it
    this.#firstText ??= this.#text;
    if (this.#surface) this.#surface.text = this.#text;
  }

  async connectedCallback() {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = STYLES;
    this.#root.replaceChildren(style);
    const open = await loading;
    if (!this.isConnected || this.#surface) return;
    const changed = () => this.dispatchEvent(new InputEvent("input", { bubbles: true }));
    this.#surface = open(this.#root, this.#firstText ?? "", this.#settings, changed, this.page);
    this.#surface.text = this.#text; // what was changed while CodeMirror was loaded can be undone, too
    this.#surface.settings = this.#settings; // the problems are those of this text
    this.toggleAttribute("plain", open === textField);
  }

  disconnectedCallback() {
    this.#text = this.#firstText = this.value;
    this.#surface?.close();
    this.#surface = null;
  }

  /** @param {string} _name @param {string | null} before @param {string | null} now */
  attributeChangedCallback(_name, before, now) {
    if (this.#surface && now !== before) this.#surface.settings = this.#settings;
  }

  async focus() {
    await loading;
    this.#surface?.focus();
  }

  /** Chooses the line and brings it into view. @param {number} line counted from 1 */
  async goTo(line) {
    await loading;
    this.#surface?.goTo(line);
  }

  /** @returns {Settings} */
  get #settings() {
    return {
      label: this.getAttribute("label") ?? "",
      help: this.getAttribute("help") ?? "",
      language: this.getAttribute("language") ?? "",
      isReadOnly: this.hasAttribute("readonly"),
      problems: JSON.parse(this.getAttribute("problems") ?? "[]"),
    };
  }
}

/** @param {ShadowRoot} root @param {string} text @param {Settings} settings @param {() => void} changed @returns {Surface} */
function textField(root, text, settings, changed) {
  const field = document.createElement("textarea");
  field.spellcheck = false;
  field.value = text;
  field.addEventListener("input", (event) => {
    event.stopPropagation();
    changed();
  });
  root.append(field);
  const surface = {
    get text() {
      return field.value;
    },
    set text(next) {
      if (next !== field.value) field.value = next;
    },
    /** @param {Settings} next */
    set settings({ label, isReadOnly, problems }) {
      field.ariaLabel = label;
      field.readOnly = isReadOnly;
      field.ariaInvalid = String(problems.some(({ severity }) => severity === "error"));
    },
    focus: () => field.focus(),
    goTo(/** @type {number} */ line) {
      const lines = field.value.split("\n").slice(0, line);
      const end = lines.join("\n").length;
      field.focus();
      field.setSelectionRange(end - (lines.at(-1)?.length ?? 0), end);
    },
    close: () => field.remove(),
  };
  surface.settings = settings;
  return surface;
}
