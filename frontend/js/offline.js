/** What stands in the place of the page while the server cannot be reached; the page comes back by itself. */

import { loadSettings } from "./storage.js";
import { t, useLanguage } from "./strings.js";

const AGAIN_MS = 5_000;
const PROBE = "/manifest.webmanifest"; // served to everybody, and never from the service worker's cache

const { theme = "auto", pageLanguage = "" } = loadSettings(() => localStorage);
document.documentElement.dataset.theme = theme;
await useLanguage(pageLanguage);
const reload = () => location.reload();
/** @type {HTMLElement} */ (document.getElementById("offline")).textContent = t.offline;
/** @type {HTMLElement} */ (document.getElementById("retry")).textContent = t.retry;
document.addEventListener("submit", (event) => {
  event.preventDefault();
  reload();
});
setInterval(() => void fetch(PROBE, { cache: "no-store" }).then(reload, () => {}), AGAIN_MS);
window.addEventListener("online", reload);
