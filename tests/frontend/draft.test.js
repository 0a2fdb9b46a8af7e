import assert from "node:assert/strict";
import { test } from "node:test";

import { keepImages, keptImages } from "../../frontend/js/draft.js";
import { MAX_ATTACHED } from "../../frontend/js/images.js";
import { Page, pluck } from "./support.js";

const image = (id, url = `data:image/png;base64,${id}`) => ({ id, name: `${id}.png`, url, width: 4, height: 3 });

/** Holds so many characters, as browsers do: one too many and nothing of it is written. */
function storageOf(limit = Infinity) {
  const items = new Map();
  return () => ({
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => {
      if (value.length > limit) throw new DOMException("full", "QuotaExceededError");
      items.set(key, value);
    },
  });
}

/** The page of a tab, and what a reload makes of it. */
function tabOf(storage) {
  const open = () => {
    const page = new Page().dispatch({ type: "restore_images", images: keptImages(storage) });
    return page;
  };
  const act = (page, event) => {
    const known = page.effects.length;
    page.dispatch(event);
    for (const { type, images } of page.effects.slice(known)) if (type === "keep_images") keepImages(storage, images);
    return page;
  };
  return { open, act };
}

test("pictures that wait to be sent are there after a reload, and go with the message", () => {
  const { open, act } = tabOf(storageOf());
  act(open(), { type: "attach", image: image("cat") });

  const page = open();
  act(page, { type: "submit", text: "What is this?", turnId: "t1", at: 2 });

  assert.equal(page.sentOf("chat")[0].messages[0].content[1].image_url.url, image("cat").url);
  assert.deepEqual(open().state.attachments, []);
});

test("one that was removed does not come back", () => {
  const { open, act } = tabOf(storageOf());
  const page = act(open(), { type: "attach", image: image("cat") });
  act(page, { type: "detach", id: "cat" });

  assert.deepEqual(open().state.attachments, []);
});

test("where there is room for one, the first one is kept, never an older state", () => {
  const storage = storageOf(150);
  keepImages(storage, [image("old")]);
  keepImages(storage, [image("a"), image("b")]);

  assert.deepEqual(pluck(keptImages(storage), "id"), ["a"]);
});

test("no more come back than a message takes, and only what is a picture", () => {
  const storage = storageOf();
  keepImages(storage, [{ id: 1 }, null, "x", ...Array.from({ length: MAX_ATTACHED + 1 }, (_, n) => image(`i${n}`))]);

  assert.equal(keptImages(storage).length, MAX_ATTACHED);
  storage().setItem("parley.draft.images", "{");
  assert.deepEqual(keptImages(storage), []);
});

test("a browser that forbids storage attaches all the same", () => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  const { open, act } = tabOf(forbidden);

  assert.equal(act(open(), { type: "attach", image: image("cat") }).state.attachments.length, 1);
});
