import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as rest } from "node:timers/promises";

import { catchUp } from "../../frontend/js/catching_up.js";

/** A tab whose readings end when they are told to. */
function tab() {
  const read = [];
  const page = { isHidden: false, read, end: () => {} };
  page.others = catchUp(
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
  for (const id of ["a", "a", "b", "a"]) void page.others.changed(id);
  assert.deepEqual(page.read, [["a"]]);

  page.end();
  await rest();
  page.end();
  await rest();

  assert.deepEqual(page.read, [["a"], ["a", "b"]]);
});

test("a tab that nobody sees reads nothing until it is seen", async () => {
  const page = tab();
  page.isHidden = true;
  void page.others.changed("a");
  void page.others.changed("b");
  await rest();
  assert.deepEqual(page.read, []);

  page.isHidden = false;
  void page.others.go();

  assert.deepEqual(page.read, [["a", "b"]]);
});

test("a reading that fails does not end the others", async () => {
  const failing = catchUp(
    async (ids) => {
      if (ids.has("a")) throw new Error("lost");
    },
    () => false,
  );

  await assert.rejects(failing.changed("a"), /lost/);

  await failing.changed("b");
});
