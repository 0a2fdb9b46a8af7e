import assert from "node:assert/strict";
import { test } from "node:test";

import { Page, READY } from "./support.js";

test("a model whose name is found out later takes the place of the one without", () => {
  const page = new Page();
  const named = { name: "qwen3", host: "127.0.0.1:8000", location: "local" };

  page.receive({ type: "model", ...named });

  assert.deepEqual(page.state.server, { ...READY, model: named });
});
