/** Saves on their way to the store: in order, never two at once, and of what waits only the newest. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as rest } from "node:timers/promises";

import { saver } from "../../frontend/sdk/saving.js";

const change = (revision, id = "c1") => ({ record: { id }, revision });

/** A store that answers when it is told to. */
class Shelf {
  constructor() {
    this.begun = [];
    this.log = [];
    this.saves = saver({
      save: (record) => new Promise((resolve, reject) => this.begun.push({ record, resolve, reject })),
      onSaved: ({ record, revision }) => this.log.push(`${record.id} ${revision}`),
      onFailed: ({ record, revision }, error) => this.log.push(`${record.id} ${revision} ${error.message}`),
    });
  }

  /** Of the oldest that is under way. */
  async answer(error) {
    const { resolve, reject } = this.begun.shift();
    if (error) reject(error);
    else resolve();
    await rest();
  }
}

test("a save is handed to the store at once", () => {
  const shelf = new Shelf();

  shelf.saves.put(change(1));

  assert.equal(shelf.begun.length, 1);
});

test("of what changes while the store is busy only the newest is stored", async () => {
  const shelf = new Shelf();
  for (const revision of [1, 2, 3, 4]) shelf.saves.put(change(revision));
  assert.equal(shelf.begun.length, 1);

  await shelf.answer();
  await shelf.answer();

  assert.deepEqual(shelf.log, ["c1 1", "c1 4"]);
  assert.equal(shelf.begun.length, 0);
  assert.ok(shelf.saves.isAtRest());
});

test("conversations do not wait for one another", async () => {
  const shelf = new Shelf();

  shelf.saves.put(change(1, "a"));
  shelf.saves.put(change(1, "b"));

  assert.deepEqual(
    shelf.begun.map(({ record }) => record.id),
    ["a", "b"],
  );
});

test("a save that fails is reported, and the next one goes on", async () => {
  const shelf = new Shelf();
  shelf.saves.put(change(1));
  shelf.saves.put(change(2));

  await shelf.answer(new Error("full"));
  await shelf.answer();

  assert.deepEqual(shelf.log, ["c1 1 full", "c1 2"]);
});

test("what is put while a save is reported is stored, too", async () => {
  const begun = [];
  const saves = saver({
    save: async (record) => void begun.push(record.n),
    onSaved: ({ record: { id, n } }) => n < 3 && saves.put({ record: { id, n: n + 1 }, revision: n + 1 }),
    onFailed: () => {},
  });

  saves.put({ record: { id: "c1", n: 1 }, revision: 1 });
  await rest();

  assert.deepEqual(begun, [1, 2, 3]);
});

test("settled waits for what was put by now, and not for what comes later", async () => {
  const shelf = new Shelf();
  shelf.saves.put(change(1));
  shelf.saves.put(change(2));
  let isSettled = false;
  void shelf.saves.settled().then(() => (isSettled = true));

  await shelf.answer();
  assert.equal(isSettled, false);
  shelf.saves.put(change(3));
  await shelf.answer();

  assert.equal(isSettled, true);
  assert.equal(shelf.begun.length, 1);
});

test("a page that goes away hands over what waits", () => {
  const shelf = new Shelf();
  for (const revision of [1, 2, 3]) shelf.saves.put({ record: { id: "c1", revision }, revision });

  shelf.saves.flush();

  assert.deepEqual(
    shelf.begun.map(({ record }) => record.revision),
    [1, 3],
  );
});
