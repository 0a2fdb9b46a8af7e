/** Where the focus is when the panel or the list of conversations comes or goes. */

/** @typedef {Readonly<Record<string, string | null>>} Layers id → selector of the button that opened it; null: it is closed */

/** @type {Layers} those drawn last */
let shown = {};

/**
 * Draw. The focus does not go with a layer that had it: the button that opened it takes it. A layer
 * that covers the page from its top, and so its button, takes the focus itself: it would be out of sight.
 *
 * @param {Layers} layers those that there are from now on
 * @param {() => void} draw
 */
export function keepFocus(layers, draw) {
  const before = shown;
  shown = layers;
  const left = Object.keys(layers).filter((id) => document.getElementById(id)?.contains(document.activeElement));
  draw();
  for (const [id, button] of Object.entries(layers)) {
    const opener = before[id] ?? null;
    if (button === opener) continue;
    if (button) focusCovering(id);
    else if (opener && left.includes(id)) /** @type {HTMLElement | null} */ (document.querySelector(opener))?.focus();
  }
}

/** @param {string} id */
function focusCovering(id) {
  const layer = document.getElementById(id);
  if (!layer) return;
  const { position, top } = getComputedStyle(layer);
  if (position === "fixed" && top === "0px") layer.focus();
}
