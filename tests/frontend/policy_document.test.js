import assert from "node:assert/strict";
import { test } from "node:test";

import {
  compare,
  differing,
  documentOf,
  draftOf,
  fitsForm,
  isSame,
  normal,
  placeOf,
  readDocument,
} from "../../frontend/js/policy/document.js";
import { AUDIT, CONFIRM, KINDS, SCAN } from "./policy_support.js";

const FULL = {
  pre_tool_use: {
    enabled: true,
    handlers: [
      { type: "audit_log", filter: null, locked: true, config: {} },
      {
        type: "dangerous_confirmation",
        filter: {
          tools: ["write_*", "re:^a{1,3}$"],
          permissions: ["WRITE", "EXTERNAL"],
          arguments: { "path.name": "*.env" },
        },
        config: { never: ["x"], deep: { a: [1, 2.5, null] } },
      },
    ],
  },
  tool_skip: { enabled: false, handlers: [] },
};

test("a document comes out of the form as it went in, without what says nothing", () => {
  const { document, problems } = documentOf(draftOf(FULL));

  assert.deepEqual(problems, []);
  assert.deepEqual(document.pre_tool_use.handlers[0], { type: "audit_log", locked: true });
  assert.deepEqual(document.pre_tool_use.handlers[1], FULL.pre_tool_use.handlers[1]);
  assert.deepEqual(Object.keys(document), ["pre_tool_use", "tool_skip"]);
  assert.ok(isSame(document, normal(FULL)));
});

test("a stage that is a plain list is the same as one in full", () => {
  assert.deepEqual(normal({ tool_error: [AUDIT] }), { tool_error: { enabled: true, handlers: [AUDIT] } });
});

test("what of the form cannot be sent is named with its place", () => {
  const draft = draftOf({ tool_error: { handlers: [AUDIT] } });
  const [handler] = draft.tool_error.handlers;
  const row = (name) => ({ key: name, name, glob: "*" });
  const problems = (change) => {
    const tool_error = { enabled: true, handlers: [{ ...handler, ...change }] };
    return documentOf({ ...draft, tool_error }).problems.map(({ path }) => path);
  };

  assert.deepEqual(problems({ config: "{" }), ["$.tool_error.handlers[0].config"]);
  assert.deepEqual(problems({ config: "[1]" }), ["$.tool_error.handlers[0].config"]);
  assert.deepEqual(problems({ arguments: [row("")] }), ["$.tool_error.handlers[0].filter.arguments"]);
  assert.deepEqual(problems({ arguments: [row("a"), row(" a")] }), ["$.tool_error.handlers[0].filter.arguments"]);
  assert.deepEqual(problems({ tools: " \n a\n\n b ", config: " " }), []);
});

test("a text is a document as soon as it is a JSON object, and is sent as it is written", () => {
  const paths = (text) => readDocument(text).problems.map(({ path }) => path);

  for (const text of ["", "[", "[]", "null", "1"]) assert.deepEqual(paths(text), ["$"], text);
  for (const document of [{ tool_skip: [AUDIT] }, { hooks: { tool_skip: [AUDIT] } }])
    assert.deepEqual(readDocument(JSON.stringify(document)), { document, problems: [] });
});

const UNSHOWN = [
  { enabled: true },
  { constructor: [] },
  { tool_skip: 1 },
  { tool_skip: { handler: [] } },
  { tool_skip: { enabled: "no" } },
  { tool_skip: { handlers: {} } },
  { tool_skip: { handlers: [1] } },
  { tool_skip: { handlers: [{}] } },
  { tool_skip: [{ type: "audit_log", colour: 1 }] },
  { tool_skip: [{ type: "audit_log", locked: 1 }] },
  { tool_skip: [{ type: "audit_log", config: [] }] },
  { tool_skip: [{ type: "audit_log", filter: [] }] },
  { tool_skip: [{ type: "audit_log", filter: { tools: "*" } }] },
  { tool_skip: [{ type: "audit_log", filter: { tools: [] } }] },
  { tool_skip: [{ type: "audit_log", filter: { permissions: ["ROOT"] } }] },
  { tool_skip: [{ type: "audit_log", filter: { arguments: { a: 1 } } }] },
];

test("a document that the form cannot show in full is sent as it is written", () => {
  for (const document of UNSHOWN) {
    const text = JSON.stringify(document);
    assert.ok(!fitsForm(document), text);
    assert.deepEqual(readDocument(text), { document, problems: [] });
  }
  assert.ok(fitsForm(normal(FULL)));
});

test("a problem is placed at the field it is about, whoever found it", () => {
  const field = (path) => placeOf({ path, message: "" });
  const at = (index, name) => ({ stage: "tool_skip", index, field: name });

  assert.deepEqual(field("$.tool_skip.handlers[1].type"), at(1, "type"));
  assert.deepEqual(field("$.tool_skip.handlers[12].filter.tools[3]"), at(12, "tools"));
  assert.deepEqual(field("$.tool_skip[0].filter.arguments[...]"), at(0, "arguments"));
  assert.deepEqual(field("$.tool_skip.handlers[0].config.always[0]"), at(0, "config"));
  assert.deepEqual(field("$.tool_skip.handlers[0].filter"), at(0, ""));
  assert.equal(field("$.tool_skip.enabled"), null);
  assert.equal(field("$"), null);
});

test("documents are compared by stage, however they are written", () => {
  const mine = { pre_tool_use: [AUDIT], tool_skip: { handlers: [SCAN] } };
  const theirs = { pre_tool_use: { enabled: true, handlers: [{ ...AUDIT, filter: null }] }, tool_error: [] };

  assert.deepEqual(differing(normal(mine), normal(theirs)), ["tool_error", "tool_skip"]);
});

test("comparing shows what saving would remove of what is stored, and add", () => {
  const lines = compare(normal({ tool_skip: [AUDIT] }), normal({ tool_skip: [SCAN] }), "tool_skip");
  const changed = lines.filter(({ kind }) => kind !== "same").map(({ kind, text }) => `${kind} ${text.trim()}`);

  assert.deepEqual(changed, ['removed "type": "audit_log"', 'added "type": "security_scan"']);
  assert.ok(compare({}, { tool_skip: [SCAN] }, "tool_skip").every(({ kind }) => kind === "added"));
});
