/** The login page: one field, one request, and back to where one came from. */

import { keepSessionKey, loadSettings, sessionHeaders } from "./storage.js";
import { t, useLanguage } from "./strings.js";

const HEADERS = { "Content-Type": "application/json" };

const form = /** @type {HTMLFormElement} */ (document.getElementById("login"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("token"));
const button = /** @type {HTMLButtonElement} */ (document.getElementById("submit"));
const problem = /** @type {HTMLElement} */ (document.getElementById("problem"));

/** Go on to the page. The fragment names the conversation or, with a slash, what the policy page showed; nothing else of an address is followed. */
function goOn() {
  location.replace(`/${location.hash.startsWith("#/") ? "policy.html" : ""}${location.hash}`);
}

/** Go on if the user is logged in: a link from another site sends no cookie, so that the server shows the login page. */
async function goOnIfLoggedIn() {
  const answer = await fetch("/api/session", { cache: "no-store", headers: sessionHeaders() }).catch(() => null);
  const session = answer?.ok ? await answer.json().catch(() => null) : null;
  if (session?.is_logged_in) goOn();
}

/** @param {string} token @returns {Promise<string | null>} what went wrong */
async function logIn(token) {
  const asked = fetch("/api/login", { method: "POST", headers: HEADERS, body: JSON.stringify({ token }) });
  const answer = await asked.catch(() => null);
  if (!answer) return t.login.unreachable;
  const read = await answer.json().catch(() => null);
  if (answer.ok) return keepSessionKey(String(read?.key)) ? null : t.login.keepsNothing;
  const text = read?.error?.message ?? t.login.answered(answer.status);
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (button.disabled) return;
  button.disabled = true;
  problem.textContent = "";
  const wrong = await logIn(field.value);
  if (wrong === null) return goOn();
  problem.textContent = wrong;
  button.disabled = false;
  field.select();
  field.focus();
});

await useLanguage(loadSettings(() => localStorage).pageLanguage ?? "");
document.title = t.login.title;
button.textContent = t.login.submit;
for (const [selector, text] of [
  ["label", t.login.token],
  ["#help", t.login.help],
])
  /** @type {HTMLElement} */ (document.querySelector(/** @type {string} */ (selector))).textContent = text ?? "";
button.disabled = false; // before that the browser itself would send the form
void goOnIfLoggedIn();
