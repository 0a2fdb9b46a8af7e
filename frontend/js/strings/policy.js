/** The texts of the policy page, beside those of the page; loaded by it alone. */

import { locale, useLanguage } from "../strings.js";
import { en } from "./policy_en.js";

/** @type {Readonly<Record<string, () => Promise<typeof en>>>} by the code of the page's language */
export const TABLES = {
  en: async () => en,
  "zh-CN": async () => (await import("./policy_zh.js")).zh,
};

/** The texts of the policy page's language. Read them when drawing, never once at import. */
export let p = en;

/** @param {string} chosen as for `useLanguage` */
export async function usePolicyLanguage(chosen) {
  await useLanguage(chosen);
  p = (await (TABLES[locale] ?? TABLES.en)?.()) ?? en;
}
