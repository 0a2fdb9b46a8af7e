import assert from "node:assert/strict";
import { test } from "node:test";

import { lockConversation } from "../../frontend/js/locks.js";

/** Web Locks as the browser keeps them: one holder a name, others in line. */
class FakeLocks {
  lines = new Map();

  request(name, { signal }, act) {
    return new Promise((resolve, reject) => {
      const line = this.lines.get(name) ?? [];
      this.lines.set(name, line);
      const entry = { act, resolve };
      signal.addEventListener("abort", () => {
        if (line[0] === entry) return; // granted already
        line.splice(line.indexOf(entry), 1);
        reject(new DOMException("left the line", "AbortError"));
      });
      line.push(entry);
      if (line[0] === entry) void this.#grant(line);
    });
  }

  async #grant(line) {
    const [entry] = line;
    entry.resolve(await entry.act());
    line.shift();
    if (line.length) void this.#grant(line);
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

function locked(locks, id) {
  const seen = [];
  return { seen, release: lockConversation(locks, id, (access) => seen.push(access)) };
}

test("a conversation that no tab holds is ours at once, and never announced as read-only", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { seen } = locked(new FakeLocks(), "c");
  await settled();
  t.mock.timers.tick(10_000);

  assert.deepEqual(seen, ["write"]);
});

test("one that is held is read-only until its holder lets go", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const locks = new FakeLocks();
  const first = locked(locks, "c");
  const second = locked(locks, "c");
  t.mock.timers.tick(1_000);
  assert.deepEqual(second.seen, ["read"]);

  first.release();
  await settled();

  assert.deepEqual(second.seen, ["read", "write"]);
});

test("a page that is reloaded meets its own lock and does not mention it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const locks = new FakeLocks();
  const before = locked(locks, "c");
  const after = locked(locks, "c");
  t.mock.timers.tick(100);
  before.release();
  await settled();
  t.mock.timers.tick(10_000);

  assert.deepEqual(after.seen, ["write"]);
});

test("who leaves the line is not called any more", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const locks = new FakeLocks();
  const first = locked(locks, "c");
  const second = locked(locks, "c");
  const third = locked(locks, "c");
  second.release();
  first.release();
  await settled();
  t.mock.timers.tick(10_000);

  assert.deepEqual(second.seen, []);
  assert.deepEqual(third.seen, ["write"]);
});

test("two conversations do not wait for each other", async () => {
  const locks = new FakeLocks();
  const one = locked(locks, "a");
  const two = locked(locks, "b");
  await settled();

  assert.deepEqual([one.seen, two.seen], [["write"], ["write"]]);
});

test("without Web Locks every tab may write", async () => {
  const { seen } = locked(undefined, "c");
  await settled();

  assert.deepEqual(seen, ["write"]);
});
