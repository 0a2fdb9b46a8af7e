/** The language of the page: one table of texts for each, all of the same shape. */

import { en } from "./strings/en.js";

/** @typedef {typeof en} Strings */

/**
 * What the page can be read in: a code as in `<html lang>`, the language's own name, its table.
 *
 * @type {readonly {code: string, name: string, load: () => Promise<Strings>}[]}
 */
export const LANGUAGES = [
  { code: "en", name: "English", load: async () => en },
  { code: "zh-CN", name: "简体中文", load: async () => (await import("./strings/zh.js")).zh },
];

/** The texts of the page's language. Read them when drawing, never once at import: they may come later. */
export let t = en;

/** The code of the page's language, for dates and numbers. */
export let locale = "en";

/**
 * Load the texts, and mark the document with their language.
 *
 * @param {string} chosen a code of LANGUAGES; anything else takes the first language that the browser prefers and we have
 */
export async function useLanguage(chosen) {
  const language = languageFor(chosen, navigator.languages);
  t = await language.load();
  locale = language.code;
  document.documentElement.lang = language.code;
  document.documentElement.dir = t.direction;
}

/** @param {string} chosen @param {readonly string[]} preferred */
export function languageFor(chosen, preferred) {
  const known = LANGUAGES.find(({ code }) => code === chosen);
  const ours = preferred.flatMap((tag) => LANGUAGES.find(({ code }) => primary(code) === primary(tag)) ?? []);
  return /** @type {typeof LANGUAGES[number]} */ (known ?? ours[0] ?? LANGUAGES[0]);
}

/**
 * Return a language and those that are known, in words, if it is none of them; null if it is, or if none are listed.
 *
 * @param {readonly string[] | undefined} known @param {string} wanted
 */
export function unknownLanguage(known = [], wanted) {
  if (!known.length || known.some((tag) => primary(tag) === primary(wanted))) return null;
  const names = new Intl.DisplayNames([locale], { type: "language" });
  const nameOf = (/** @type {string} */ tag) => names.of(primary(tag)) ?? tag;
  return { wanted: nameOf(wanted), known: new Intl.ListFormat([locale]).format(known.map(nameOf)) };
}

/** Return what the user can do about an error; empty if nothing is known. @param {{code: string, retry_after_ms?: number}} error */
export function adviceOn({ code, retry_after_ms }) {
  const wait = retry_after_ms ? t.retryIn(Math.max(1, Math.ceil(retry_after_ms / 1000))) : "";
  const cure = t.cures[code];
  return cure?.includes(t.waitThenRetry) && wait
    ? cure.replace(t.waitThenRetry, wait)
    : [cure, wait].filter(Boolean).join(" ");
}

/** Return whether a text of the server names settings or code, which tell its users nothing. @param {string} text */
export function namesSettings(text) {
  return /\b(llm|speech)\.|OPENAI_|base_url|api_key|matching regex/.test(text);
}

/** "zh-CN" → "zh". @param {string} tag */
export function primary(tag) {
  return tag.split("-")[0]?.toLowerCase() ?? tag;
}
