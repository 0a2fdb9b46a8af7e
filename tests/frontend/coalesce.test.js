import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as rest } from "node:timers/promises";

import { coalesce } from "../../frontend/js/coalesce.js";

/** A tab whose reads end when `end` is called. */
function tab() {
  const read = [];
  const page = { isHidden: false, read, end: () => {} };
  page.others = coalesce(
    (ids) => {
      read.push([...ids]);
      return new Promise((resolve) => (page.end = resolve));
    },
    () => page.isHidden,
  );
  return page;
}

test("what is stored while a reading is under way is read once after it", async () => {
  const page = tab();
  for (const id of ["a", "a", "b", "a"]) void page.others.add(id);
  assert.deepEqual(page.read, [["a"]]);

  page.end();
  await rest();
  page.end();
  await rest();

  assert.deepEqual(page.read, [["a"], ["a", "b"]]);
});

test("a hidden tab reads nothing until it is visible", async () => {
  const page = tab();
  page.isHidden = true;
  void page.others.add("a");
  void page.others.add("b");
  await rest();
  assert.deepEqual(page.read, []);

  page.isHidden = false;
  void page.others.flush();

  assert.deepEqual(page.read, [["a", "b"]]);
});

test("a reading that fails does not end the others", async () => {
  const failing = coalesce(
    async (ids) => {
      if (ids.has("a")) throw new Error("lost");
    },
    () => false,
  );

  await assert.rejects(failing.add("a"), /lost/);

  await failing.add("b");
});
