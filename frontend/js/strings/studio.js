/** The texts of the studio, beside those of the page; loaded by the studio alone. */

import { locale, useLanguage } from "../strings.js";
import { en } from "./studio_en.js";

/** @type {Readonly<Record<string, () => Promise<typeof en>>>} by the code of the page's language */
export const TABLES = {
  en: async () => en,
  "zh-CN": async () => (await import("./studio_zh.js")).zh,
};

/** The texts of the studio's language. Read them when drawing, never once at import. */
export let s = en;

/** @param {string} chosen as for `useLanguage` */
export async function useStudioLanguage(chosen) {
  await useLanguage(chosen);
  s = (await (TABLES[locale] ?? TABLES.en)?.()) ?? en;
}
