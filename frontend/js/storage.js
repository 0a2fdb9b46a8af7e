/**
 * Small things beside the conversations: settings for this browser, the draft for this tab.
 * Where the browser forbids even to ask, nothing is kept and nothing breaks.
 *
 * @typedef {import("./state.js").Settings} Settings
 */

const SETTINGS_KEY = "parley.settings";
const SESSION_KEY = "parley.session_key";

/** @param {() => Storage} storage @param {string} key @returns {string | null} */
export function readItem(storage, key) {
  try {
    return storage().getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {() => Storage} storage @param {string} key @param {string} value
 * @returns {boolean} whether it was stored; if not, what was stored before stays
 */
export function writeItem(storage, key, value) {
  try {
    storage().setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** @param {() => Storage} storage @returns {Partial<Settings>} */
export function loadSettings(storage) {
  try {
    const settings = JSON.parse(readItem(storage, SETTINGS_KEY) ?? "{}");
    if (typeof settings !== "object" || !settings) return {};
    const { readAloud, ...others } = settings;
    if (typeof readAloud !== "boolean") return settings;
    return readAloud ? others : { ...others, readAloud: "never" }; // a switch once, which was on by default
  } catch {
    return {}; // written by something else: the defaults do
  }
}

/** Store a change of some settings, and leave the others as the last tab has stored them. @param {() => Storage} storage @param {Partial<Settings>} change */
export function saveSettings(storage, change) {
  writeItem(storage, SETTINGS_KEY, JSON.stringify({ ...loadSettings(storage), ...change }));
}

/** Call `take` with the settings whenever another tab has stored some. @param {(settings: Partial<Settings>) => void} take */
export function watchSettings(take) {
  window.addEventListener("storage", ({ key }) => key === SETTINGS_KEY && take(loadSettings(() => localStorage)));
}

/**
 * The key of the session: a browser sends the cookie to every port of this host, and takes it from every port, but
 * this storage is the origin's own.
 *
 * @returns {string | null}
 */
export const sessionKey = () => readItem(() => localStorage, SESSION_KEY) || null;

/** @param {string} key empty to log out @returns {boolean} whether the browser has kept it */
export const keepSessionKey = (key) => writeItem(() => localStorage, SESSION_KEY, key);

/** Return the headers of every request but those for files. @returns {Record<string, string>} */
export function sessionHeaders() {
  const key = sessionKey();
  return key ? { "Parley-Session-Key": key } : {};
}
