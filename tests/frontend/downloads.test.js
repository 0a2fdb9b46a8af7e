import assert from "node:assert/strict";
import { test } from "node:test";

import { modelsView } from "../../frontend/js/render/models_view.js";
import { elements, ofType, Page, READY, textsOf } from "./support.js";

const OPERATOR = { ...READY, user: { name: "local", is_operator: true, is_logged_in: false } };
const SMALL = {
  name: "small.gguf",
  parameters: "0.6 B",
  licence: "MIT",
  state: "absent",
  done_bytes: 0,
  total_bytes: 639e6,
};
const BIG = { ...SMALL, name: "big.gguf", parameters: "8 B", total_bytes: 5.03e9 };
const RUNNING = { ...SMALL, state: "downloading", done_bytes: 320e6 };

const shown = (page) => elements(modelsView(page.state));
const texts = (page) => textsOf(modelsView(page.state)).join("|");
const asked = (page) => ofType(page.effects, "ask_downloads");
const answer = (page, ...models) => page.dispatch({ type: "downloads_loaded", status: 200, body: { models } });
const opened = () => {
  const page = new Page().receive(OPERATOR);
  page.dispatch({ type: "models_loaded", status: 200, body: { options: [], decided_by: null } });
  return page.dispatch({ type: "models", isOpen: true });
};

test("the picker asks once what can be downloaded, and begins nothing by itself", () => {
  const page = opened();
  answer(page, SMALL, BIG);

  assert.deepEqual(asked(page), [{ type: "ask_downloads", method: "GET", name: "", afterMs: 0 }]);
  assert.match(texts(page), /small\|Download\|0\.6 B parameters · 0\.64 GB · MIT/);
  assert.ok(!shown(page).some(({ tag }) => tag === "progress"));
});

test("a download that was asked for is shown until it ends, and then can be picked", () => {
  const page = opened();
  answer(page, SMALL, BIG);
  page.dispatch({ type: "download_model", name: "small.gguf" });
  assert.deepEqual(asked(page)[1], { type: "ask_downloads", method: "POST", name: "small.gguf", afterMs: 0 });
  answer(page, RUNNING, BIG);

  const [bar] = shown(page).filter(({ tag }) => tag === "progress");
  assert.deepEqual([bar.attributes.value, bar.attributes.max], ["320000000", "639000000"]);
  assert.match(texts(page), /small\|Stop\|0\.6 B parameters · 0\.32 of 0\.64 GB/);
  assert.equal(asked(page).length, 3);
  assert.ok(asked(page)[2].afterMs > 0, "not at once");
  page.dispatch({ type: "download_model", name: "big.gguf" });
  assert.equal(asked(page).length, 3, "one at a time");

  const before = ofType(page.effects, "load_models").length;
  answer(page, { ...SMALL, state: "complete", done_bytes: 639e6 }, BIG);
  assert.equal(ofType(page.effects, "load_models").length, before + 1);
  assert.doesNotMatch(texts(page), /small/);
  assert.equal(asked(page).length, 3, "nothing is under way");
});

test("a model that fits the memory is suggested first, until it is there, where no server was found", () => {
  const page = opened();
  const answered = (...models) => {
    const body = { models, suggested: "small.gguf", free_memory_bytes: 16.7e9 };
    page.dispatch({ type: "downloads_loaded", status: 200, body });
    return texts(page);
  };
  const suggested = /16 GB of memory are free here\. This model fits: 0\.64 GB to download, about 1 min at 100 Mbit/;
  const text = answered(SMALL, BIG);

  assert.match(text, suggested);
  assert.ok(text.indexOf("small") < text.indexOf("Download a model"));
  assert.equal(text.split("|").filter((each) => each === "small").length, 1);
  assert.doesNotMatch(answered({ ...SMALL, state: "complete" }, BIG), suggested);
  const found = { kind: "endpoint", name: "qwen3:8b", base_url: "http://127.0.0.1:11434/v1" };
  page.dispatch({ type: "models_loaded", status: 200, body: { options: [found] } });
  assert.doesNotMatch(answered(SMALL, BIG), suggested);
  const dead = { options: [{ ...found, is_current: true }], problem: "no answer from 127.0.0.1:11434" };
  page.dispatch({ type: "models_loaded", status: 200, body: dead });
  assert.match(answered(SMALL, BIG), suggested);
});

test("why a download tries again is shown while it runs", () => {
  const page = opened();
  answer(page, { ...RUNNING, error: "huggingface.co cannot be reached; trying again" });

  assert.match(texts(page), /cannot be reached; trying again/);
});

test("a download is stopped, and can be continued", () => {
  const page = opened();
  answer(page, RUNNING);
  page.dispatch({ type: "stop_download" });
  assert.equal(asked(page).at(-1).method, "DELETE");
  answer(page, { ...RUNNING, state: "partial" });

  assert.match(texts(page), /small\|Continue\|/);
});

test("a closed picker asks no more, and one that is opened again asks once at a time", () => {
  const page = opened();
  answer(page, RUNNING);
  page.dispatch({ type: "models", isOpen: false });
  const before = asked(page).length;
  answer(page, RUNNING);
  assert.equal(asked(page).length, before);

  page.dispatch({ type: "models", isOpen: true });
  answer(page, RUNNING);
  answer(page, RUNNING);
  assert.equal(page.state.downloads.asked, 1);
});

test("why a download failed or could not be begun is said, and an answer of another shape breaks nothing", () => {
  const page = opened();
  answer(page, { ...SMALL, state: "failed", error: "the disk is full" });
  assert.match(texts(page), /the disk is full/);

  page.dispatch({ type: "download_model", name: "small.gguf" });
  page.dispatch({ type: "downloads_loaded", status: 409, body: { error: { message: "another one runs" } } });
  assert.match(texts(page), /another one runs/);
  for (const body of [null, 3, {}, { models: 3 }, { models: [null, 3, {}] }]) {
    page.dispatch({ type: "models", isOpen: true }).dispatch({ type: "downloads_loaded", status: 200, body });
    shown(page);
  }
});
