import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { LANGUAGES, languageFor } from "../../frontend/js/strings.js";
import { TABLES as POLICY } from "../../frontend/js/strings/policy.js";
import { TABLES } from "../../frontend/js/strings/studio.js";

const FOLDERS = ["render/", "policy/", "policy/views/", "studio/views/"];
const VIEWS = FOLDERS.map((folder) => new URL(`../../frontend/js/${folder}`, import.meta.url));

/** Every text of a table with its path; of a function, what it makes of numbers that stand for whatever it is given. */
function texts(table, path = "") {
  return Object.entries(table).flatMap(([key, value]) => {
    const at = `${path}.${key}`;
    if (typeof value === "object") return texts(value, at);
    return [[at, typeof value === "function" ? value(41, 42, 43) : value]];
  });
}

/** @param {(() => Promise<object>)[]} loads the tables of one page, English first */
async function compare(loads) {
  const [english, ...others] = await Promise.all(loads.map((load) => load()));
  const expected = Object.fromEntries(texts(english));
  for (const other of others) {
    const found = Object.fromEntries(texts(other));
    assert.deepEqual(Object.keys(found), Object.keys(expected));
    for (const [path, text] of Object.entries(expected)) {
      assert.equal(found[path] === "", text === "", `${path} is empty in one language alone`);
      const values = (/** @type {string} */ of) => [...new Set(of.match(/4[123]/g))].sort();
      assert.deepEqual(values(found[path]), values(text), `${path} leaves out what it was given`);
    }
  }
}

test("every language has every text, and says with it what the English one says", async () => {
  await compare(LANGUAGES.map(({ load }) => load));
});

test("the studio and the policy page have every language of the page", async () => {
  for (const tables of [TABLES, POLICY]) await compare(LANGUAGES.map(({ code }) => tables[code]));
});

test("the page takes what was chosen, else what the browser prefers, else English", () => {
  assert.equal(languageFor("zh-CN", ["en"]).code, "zh-CN");
  assert.equal(languageFor("", ["fr", "zh-Hans-SG", "en"]).code, "zh-CN");
  assert.equal(languageFor("", ["fr"]).code, "en");
  assert.equal(languageFor("tlh", ["en-GB"]).code, "en");
});

/** Names of keys, of the product, and of languages in their own words are no texts. */
test("no view has a text of its own", () => {
  const files = VIEWS.flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder)));
  for (const file of files.filter(({ pathname }) => pathname.endsWith(".js"))) {
    const code = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    const found = code
      .match(/["`][A-Z][a-z]+( [^"`]*)?["`]/g)
      ?.filter((text) => !/"(Parley|Enter|Escape|English|Deutsch|Italiano)"/.test(text));
    assert.deepEqual(found ?? [], [], `${file.pathname}: put it into frontend/js/strings/`);
  }
});
