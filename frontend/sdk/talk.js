/**
 * `<parley-talk url="https://…">`: a button that talks with a Parley server, in any page. docs/clients.md.
 *
 * It connects when it is pressed for the first time. Attributes: `url`, `token`, `conversation` (kept in this browser under
 * that name), `push-to-talk`, `label`. What an attribute cannot say (`tools`, a `token` that is fetched) is set before as
 * `element.options`; `element.parley` is the conversation.
 */

import { browserStore, Parley } from "./parley.js";
import { textsFor } from "./talk_texts.js";
import { escapedJson, visibleText } from "./escaped_json.js";

const ASKED_MS = 600; // a new question takes no press that was meant for what stood there before

const ICONS = {
  microphone: "M12 14a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v5a3 3 0 0 0 3 3Zm-5-3a5 5 0 0 0 10 0M12 16v4m-3 0h6",
  stop: "M8 8h8v8H8Z",
};

const STYLE = `
:host { display: inline-block; font: 1rem/1.4 system-ui, sans-serif; max-width: 22rem;
  --accent: var(--parley-accent, light-dark(#0b57d0, #a8c7fa)); --on-accent: var(--parley-on-accent, light-dark(#fff, #062e6f)); }
:host([hidden]) { display: none; }
.row { display: flex; align-items: center; gap: 0.6em; }
button { font: inherit; cursor: pointer; border: 1px solid var(--accent); border-radius: 2em; padding: 0.5em 1em; color: var(--accent); background: transparent; }
.talk { display: inline-flex; align-items: center; gap: 0.5em; color: var(--on-accent); background: var(--accent); touch-action: none; user-select: none; }
.talk[aria-pressed="true"] { outline: 3px solid currentColor; outline-offset: -6px; }
button:focus-visible { outline: 3px solid light-dark(#000, #fff); outline-offset: 2px; }
svg { width: 1.4em; height: 1.4em; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.talk[data-phase="hearing"] svg, .talk[data-phase="speaking"] svg { animation: beat 1s ease-in-out infinite alternate; }
@keyframes beat { to { transform: scale(1.25); } }
p { margin: 0.5em 0 0; }
p, .question { overflow-wrap: anywhere; white-space: pre-line; }
.reply { max-height: 12em; overflow-y: auto; }
.reply:empty, .question:empty { display: none; }
.question { margin-top: 0.6em; border: 1px solid; border-radius: 0.6em; padding: 0.6em; }
button:disabled { cursor: default; opacity: 0.6; }
.question button { margin: 0.6em 0.6em 0 0; }
@media (prefers-reduced-motion: reduce) { svg { animation: none !important; } }
@media (forced-colors: active) { .talk { border: 2px solid ButtonText; forced-color-adjust: auto; } }
`;

const SHEET = new CSSStyleSheet(); // not an element: a page's policy need not allow inline styles
SHEET.replaceSync(STYLE);

export class ParleyTalkElement extends HTMLElement {
  /** @type {import("./types/parley.js").Options} */
  options = {};
  /** @type {Parley | null} */
  parley = null;
  #texts = textsFor("en");
  #button = element("button", { class: "talk", part: "button", type: "button" });
  #status = element("span", { part: "status", role: "status" });
  #reply = element("p", { class: "reply", part: "reply", tabindex: "0" });
  #question = element("div", { class: "question", part: "question", role: "group" });
  #isDrawn = false;

  connectedCallback() {
    this.#texts = textsFor(this.closest("[lang]")?.getAttribute("lang") || navigator.language);
    if (!this.#isDrawn) this.#build();
    this.#show(null);
  }

  /** Ends the conversation once the element has left the page, not when it is only moved. */
  disconnectedCallback() {
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.parley?.close();
      this.parley = null;
    });
  }

  /** Start to talk, or stop; as pressing the button does. */
  async toggle() {
    try {
      const parley = (this.parley ??= this.#begin());
      if (parley.state.microphone !== "off") return parley.stopTalking();
      this.#status.textContent = this.#texts.connecting;
      await parley.talk();
    } catch (error) {
      if (this.isConnected) this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #build() {
    this.#isDrawn = true;
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    root.adoptedStyleSheets = [SHEET];
    const row = element("div", { class: "row" });
    row.append(this.#button, this.#status);
    root.append(row, this.#reply, this.#question);
    this.#button.onclick = () => this.#isHeldToTalk() || void this.toggle();
    for (const type of ["pointerdown", "pointerup", "pointercancel", "keydown", "keyup", "blur"])
      this.#button.addEventListener(type, (event) => this.#held(event));
    root.addEventListener("keydown", (event) => {
      if (/** @type {KeyboardEvent} */ (event).key === "Escape") this.parley?.interrupt();
    });
  }

  #begin() {
    const conversation = this.getAttribute("conversation");
    const parley = new Parley({
      ...(this.hasAttribute("url") && { url: this.getAttribute("url") ?? "" }),
      ...(this.hasAttribute("token") && { token: this.getAttribute("token") ?? "" }),
      ...(conversation && { conversation, store: browserStore() }),
      turnDetection: this.hasAttribute("push-to-talk") ? "push_to_talk" : "server_vad",
      ...this.options,
    });
    parley.on("state", (state) => this.#show(state));
    parley.on("turn", () => (this.#reply.textContent = ""));
    parley.on("text", ({ text }) => this.#write(text));
    parley.on("end", ({ error }) => error && this.#fail(error.message));
    parley.on("problem", ({ code, detail }) => this.#fail(code, String(detail)));
    parley.on("approval", () => this.#ask());
    parley.on("approval_resolved", () => this.#ask());
    return parley;
  }

  /** Return whether the button is held to talk now. */
  #isHeldToTalk() {
    return this.parley?.state.microphone === "on" && this.hasAttribute("push-to-talk");
  }

  /** @param {Event} event */
  #held(event) {
    if (!this.#isHeldToTalk()) return;
    const { key = " ", repeat = false } = /** @type {KeyboardEvent} */ (event);
    if (key === "Escape") return void this.parley?.stopTalking();
    if (key !== " " && key !== "Enter") return;
    if (event.type !== "blur") event.preventDefault();
    if (event instanceof PointerEvent && event.type === "pointerdown") this.#button.setPointerCapture(event.pointerId);
    if (!repeat) this.parley?.hold(event.type === "pointerdown" || event.type === "keydown");
  }

  /** @param {import("./types/parley.js").State | null} state null until the button is pressed */
  #show(state) {
    const isOn = state !== null && state.microphone !== "off";
    const isHeldToTalk = this.#isHeldToTalk();
    const label = isHeldToTalk
      ? this.#texts.hold
      : isOn
        ? this.#texts.stop
        : this.getAttribute("label") || this.#texts.talk;
    this.#button.replaceChildren(icon(isOn && !isHeldToTalk ? "stop" : "microphone"), label);
    if (isHeldToTalk)
      this.#button.setAttribute("aria-pressed", String(state?.isHeld)); // else the label says it
    else this.#button.removeAttribute("aria-pressed");
    this.#button.dataset["phase"] = state?.phase ?? "idle";
    if (state) this.#status.textContent = this.#statusOf(state);
  }

  /** @param {import("./types/parley.js").State} state */
  #statusOf({ phase, problem, transcript, isBlocked, microphone, connection }) {
    if (problem) return this.#texts.problems[problem] ?? problem;
    if (isBlocked) return this.#texts.blocked;
    if (transcript) return transcript;
    if (connection === "waiting") return this.#texts.phases.offline;
    if (connection !== "online" || microphone === "starting") return this.#texts.connecting;
    return this.#texts.phases[phase];
  }

  /** @param {string} text */
  #write(text) {
    this.#reply.textContent = text;
    this.#reply.scrollTop = this.#reply.scrollHeight;
  }

  /** @param {string} code of what is known, or a text @param {string} [detail] */
  #fail(code, detail = "") {
    this.#status.textContent = this.#texts.problems[code] ?? (detail || code);
  }

  /** Show the oldest open question about a tool, or remove it. */
  #ask() {
    const [request] = this.parley?.approvals.values() ?? [];
    if (!request) return this.#question.replaceChildren();
    const text = element("span", { id: "question" });
    text.textContent = `${visibleText(request.message)}\n${request.tool} ${escapedJson(request.arguments)}`;
    this.#question.setAttribute("aria-labelledby", "question");
    const answers = [true, false].map((isYes) => {
      const button = element("button", { type: "button" });
      button.textContent = isYes ? this.#texts.allow : this.#texts.deny;
      button.onclick = () => this.parley?.approve(request.id, isYes);
      button.disabled = true;
      setTimeout(() => (button.disabled = false), ASKED_MS);
      return button;
    });
    this.#question.replaceChildren(text, element("br", {}), ...answers);
    this.#status.textContent = request.message;
  }
}

/** @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Record<string, string>} attributes */
function element(tag, attributes) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** @param {keyof typeof ICONS} name */
function icon(name) {
  const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  if (!svg || !path) throw new TypeError("no SVG");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

customElements.define("parley-talk", ParleyTalkElement);
