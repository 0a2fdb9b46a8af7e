/**
 * `<tex-formula tex="…" is-display>`: draws TeX as MathML. Until the converter is there, where it was not
 * installed, and for what it cannot read, its children show: the source. A shadow root keeps them what they are.
 */

const VENDOR = new URL("../../vendor/", import.meta.url).href;
const MAX_CHARS = 4000;
const LIMITS = { trust: false, throwOnError: true, maxExpand: 200, maxSize: [40, 800] };

/** @type {Promise<any> | null} the converter, loaded at the first formula; null where it cannot be had */
let converter = null;

function loadConverter() {
  converter ??= import(`${VENDOR}temml.js`).then(
    (module) => module.default,
    () => null,
  );
  return converter;
}

class TexFormula extends HTMLElement {
  static observedAttributes = ["tex", "is-display"];

  attributeChangedCallback() {
    void this.#render();
  }

  async #render() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.replaceChildren(document.createElement("slot"));
    const tex = this.getAttribute("tex") ?? "";
    const displayMode = this.hasAttribute("is-display");
    const temml = tex.length <= MAX_CHARS ? await loadConverter() : null;
    if (!temml || tex !== this.getAttribute("tex") || displayMode !== this.hasAttribute("is-display")) return;
    const target = document.createElement("span");
    try {
      temml.render(tex, target, { ...LIMITS, displayMode });
    } catch {
      return; // no TeX that it knows
    }
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = `${VENDOR}temml.css`;
    root.replaceChildren(style, target);
  }
}

if (globalThis.customElements) customElements.define("tex-formula", TexFormula); // Node, in tests, has none
