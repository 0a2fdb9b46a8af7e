/**
 * Panels in tabs of their own. Such a tab knows nothing: the page that opened it draws into it, hears what is done
 * there, and takes it along when it goes. What an inspector shows is in the page's memory, and nowhere else.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Panel} Panel
 */

import { draw, h } from "./dom.js";
import { t } from "../strings.js";

/** @type {Map<Panel, Window>} */
const tabs = new Map();

/** Open a panel in a tab, in a user's gesture, as browsers demand. @param {Panel} panel */
export function openPanelTab(panel) {
  if (showPanelTab(panel)) return;
  const tab = window.open("panel.html", "_blank");
  if (tab) tabs.set(panel, tab);
}

/** @param {Panel} panel @returns {boolean} false: it is in no tab */
export function showPanelTab(panel) {
  const tab = tabs.get(panel);
  if (!tab || tab.closed) return false;
  tab.focus();
  return true;
}

/** Report the document of each panel tab that has been loaded, again if it is loaded again. @param {(document: Document) => void} onLoaded */
export function watchPanelTabs(onLoaded) {
  window.addEventListener("message", ({ origin, source }) => {
    const tab = origin === location.origin ? [...tabs.values()].find((one) => one === source) : undefined;
    if (tab) onLoaded(tab.document);
  });
  window.addEventListener("pagehide", () => tabs.forEach((tab) => tab.close()));
}

/** @param {State} state @param {(panel: Panel) => import("./dom.js").Child} view */
export function drawPanelTabs(state, view) {
  for (const [panel, tab] of tabs) {
    if (tab.closed) tabs.delete(panel);
    const root = tab.closed ? null : tab.document.getElementById("panel-tab");
    if (!root) continue; // it is still loading
    const { lang, dir } = document.documentElement;
    Object.assign(tab.document.documentElement, { lang, dir }).dataset.theme = state.settings.theme;
    tab.document.title = `${t.panels[panel]} · Parley`;
    draw(root, [
      h(
        "header",
        { class: "panel-head" },
        h("h1", { class: "visually-hidden" }, "Parley"),
        h("h2", {}, t.panels[panel]),
      ),
      h("main", { class: "panel-body", "aria-label": t.panels[panel] }, view(panel)),
    ]);
  }
}
