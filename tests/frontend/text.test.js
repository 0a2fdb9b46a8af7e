import assert from "node:assert/strict";
import { test } from "node:test";

import { titleOf } from "../../frontend/js/titles.js";
import { shortened } from "../../frontend/js/text.js";

test("a text that fits stays as it is", () => {
  assert.equal(shortened("12345", 5), "12345");
});

test("a longer one ends in an ellipsis and is as long as allowed", () => {
  assert.equal(shortened("123456", 5), "1234…");
  assert.equal(shortened("123 456", 5), "123…");
});

test("what a reader sees as one character is not torn", () => {
  const family = "👨‍👩‍👧";
  for (let max = 3; max < 20; max += 1) {
    const short = shortened(`ab${family}cdefghijklmnopqrst`, max);
    assert.ok(short.length <= max);
    assert.ok(short.isWellFormed());
    assert.ok(short.includes(family) || short === "ab…", short);
  }
});

test("a title made from a question ends before the emoji that does not fit", () => {
  const title = titleOf({
    title: "",
    conversationHistory: [{ role: "user", content: `${"x".repeat(58)}😀😀 and more` }],
  });

  assert.equal(title, `${"x".repeat(58)}…`);
});
