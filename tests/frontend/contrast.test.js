import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const css = readFileSync(new URL("../../frontend/css/tokens.css", import.meta.url), "utf8");
const [light, auto, dark] = [...css.matchAll(/\{\s*color-scheme: (?:light|dark);([^}]*)\}/g)].map(([, body]) =>
  Object.fromEntries([...body.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value])),
);

/** Contrast of WCAG 2: (lighter + 0.05) / (darker + 0.05) of the relative luminances. */
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(hex) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Which text stands on which surface; 4.5 is AA for text, 3 for the outlines of fields. */
const PAIRS = [
  ["ink", ["ground", "surface", "sunken", "bubble", "accent-soft"], 4.5],
  ["ink-soft", ["ground", "surface", "sunken", "hook-soft", "line"], 4.5],
  ["ink-faint", ["ground", "surface", "sunken"], 4.5],
  ["accent-ink", ["accent"], 4.5],
  ["accent-text", ["ground", "surface", "accent-soft", "sunken"], 4.5],
  ["good", ["sunken", "surface"], 4.5],
  ["warning", ["warning-soft"], 4.5],
  ["error", ["error-soft", "surface", "sunken", "ground"], 4.5],
  ["ground", ["error"], 4.5],
  ["hook", ["surface", "hook-soft", "sunken"], 4.5],
  ["line-strong", ["surface"], 3],
  ["accent", ["ground", "surface"], 3],
];

for (const [name, theme] of Object.entries({ light, dark })) {
  for (const [text, surfaces, least] of PAIRS) {
    for (const surface of surfaces) {
      test(`${name}: ${text} can be read on ${surface}`, () => {
        const found = contrast(theme[text], theme[surface]);

        assert.ok(found >= least, `${found.toFixed(2)} is less than ${least}`);
      });
    }
  }
}

test("dark is the same dark, chosen or inherited", () => {
  assert.deepEqual(auto, dark);
});
