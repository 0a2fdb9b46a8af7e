import assert from "node:assert/strict";
import { test } from "node:test";

import { STAGES, isLocked, isOn, isSame, pretty, readDocument, withPreset } from "../../frontend/js/policy/document.js";
import { AUDIT, CONFIRM, SCAN } from "./policy_support.js";

const STORED = {
  pre_tool_use: {
    enabled: true,
    handlers: [
      { type: "audit_log", filter: null, locked: true, config: {} },
      {
        type: "dangerous_confirmation",
        filter: { tools: ["write_*"] },
        locked: false,
        config: { deep: { a: [1, null] } },
      },
    ],
  },
  tool_skip: { enabled: false, handlers: [AUDIT] },
  tool_error: null,
};
/** What is in force without the document. */
const inherited = (locked = {}, open = {}) =>
  Object.fromEntries(
    STAGES.map((stage) => [stage, { locked: locked[stage] ?? [], open: stage in open ? open[stage] : [] }]),
  );

test("a document is shown in few words, and means the same", () => {
  const shown = JSON.parse(pretty(STORED));

  assert.deepEqual(shown, {
    pre_tool_use: [
      { type: "audit_log", locked: true },
      { type: "dangerous_confirmation", filter: { tools: ["write_*"] }, config: { deep: { a: [1, null] } } },
    ],
    tool_skip: { enabled: false, handlers: [AUDIT] },
  });
  assert.ok(isSame(shown, STORED));
  assert.equal(pretty({ tool_skip: [AUDIT] }), '{\n  "tool_skip": [\n    { "type": "audit_log" }\n  ]\n}');
});

test("documents are the same however they are written, and differ in all that means something", () => {
  const config = { a: 1, b: 2 };
  assert.ok(
    isSame(
      { tool_skip: [{ type: "x", config }] },
      { tool_skip: { handlers: [{ config: { b: 2, a: 1 }, type: "x", filter: null }] } },
    ),
  );
  const others = [
    {},
    { tool_skip: [AUDIT, SCAN] },
    { tool_skip: [{ ...AUDIT, locked: true }] },
    { tool_skip: { enabled: false, handlers: [AUDIT] } },
  ];
  for (const other of others) assert.ok(!isSame({ tool_skip: [AUDIT] }, other), JSON.stringify(other));
});

test("what is no document is kept as it is written, for the server to say what is wrong", () => {
  const wrong = [
    { enabled: true },
    { tool_skip: 1 },
    { tool_skip: { handler: [] } },
    { tool_skip: { handlers: {} } },
    { tool_skip: [1] },
    { hooks: { tool_skip: [AUDIT] } },
    { tool_skip: [{ typ: "a" }] },
  ];
  for (const document of wrong) {
    const text = JSON.stringify(document);
    assert.deepEqual(readDocument(text), { document, problems: [] });
    assert.deepEqual(JSON.parse(pretty(document)), document, text);
    assert.ok(!isSame(document, {}), text);
  }
  for (const text of ["", "[", "[]", "null", "1"])
    assert.deepEqual(
      readDocument(text).problems.map(({ path }) => path),
      ["$"],
      text,
    );
});

test("the presets together are what is recommended, each handler where it works", () => {
  const all = ["audit", "ask", "redact"].reduce((document, name) => withPreset(name, true, document, inherited()), {});

  assert.deepEqual(all, {
    pre_tool_use: [AUDIT, { type: "dangerous_confirmation" }],
    post_tool_use: [SCAN, AUDIT],
    tool_error: [AUDIT],
    tool_skip: [AUDIT],
  });
  assert.deepEqual(
    ["audit", "ask", "redact"].map((name) => isOn(name, all, inherited())),
    [true, true, true],
  );
  const none = ["audit", "ask", "redact"].reduce(
    (document, name) => withPreset(name, false, document, inherited()),
    all,
  );
  assert.deepEqual(none, {}, "a stage that is as in force again is left out");
});

test("a preset leaves the other handlers of a stage and its own settings as they are", () => {
  const document = { pre_tool_use: [CONFIRM, { type: "own" }] };

  assert.equal(isOn("ask", document, inherited()), true);
  assert.equal(withPreset("ask", true, document, inherited()).pre_tool_use, document.pre_tool_use);
  assert.deepEqual(withPreset("audit", true, document, inherited()).pre_tool_use, [AUDIT, CONFIRM, { type: "own" }]);
  assert.deepEqual(withPreset("ask", false, document, inherited()).pre_tool_use, [{ type: "own" }]);
});

test("a stage that a preset takes over begins with what is in force", () => {
  const under = inherited({}, { pre_tool_use: [CONFIRM] });

  assert.equal(isOn("ask", {}, under), true);
  assert.deepEqual(withPreset("audit", true, {}, under).pre_tool_use, [AUDIT, CONFIRM]);
  assert.deepEqual(withPreset("ask", false, {}, under), { pre_tool_use: [] });
  assert.deepEqual(withPreset("ask", true, { pre_tool_use: [] }, under).pre_tool_use, [
    { type: "dangerous_confirmation" },
  ]);
});

test("what is locked is in force whatever the document says, and is not added to it", () => {
  const locked = Object.fromEntries(STAGES.map((stage) => [stage, [{ ...AUDIT, locked: true }]]));

  assert.ok(isOn("audit", { pre_tool_use: [] }, inherited(locked)));
  assert.ok(isLocked("audit", inherited(locked)));
  assert.ok(!isLocked("audit", inherited({ pre_tool_use: locked.pre_tool_use })), "in one stage alone");
  assert.deepEqual(withPreset("audit", true, {}, inherited(locked)), {});
});
