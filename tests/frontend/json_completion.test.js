import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { complete } from "../../frontend/js/editor/completion.js";
import { lineOfPath, placeAt } from "../../frontend/js/editor/json_places.js";
import { pluck } from "./support.js";

const schema = JSON.parse(readFileSync(new URL("../../skills_engine/hooks.schema.json", import.meta.url), "utf8"));

/** The suggestions where the text has a bar. */
function at(marked, files = []) {
  const cursor = marked.indexOf("|");
  return complete(schema, marked.replace("|", ""), cursor, files);
}
const labels = (marked, files) => at(marked, files)?.items.map(({ label }) => label) ?? [];
const item = (marked, label, files) => at(marked, files).items.find((one) => one.label === label);

test("keys of a hook are offered, but those it has", () => {
  assert.ok(labels('{"hooks": [{"name": "a", "ti|').includes("timing"));
  assert.ok(!labels('{"hooks": [{"name": "a", "|"').includes("name"));
  assert.ok(labels('{"hooks": [{"ti|": "x"}]}').includes("timing"));
  assert.deepEqual(
    labels('{"|'),
    ["hooks", "triggers", "variables", "$schema"].filter((key) => labels('{"|').includes(key)),
  );
});

test("values of a key are offered, with what they mean", () => {
  assert.match(item('{"hooks": [{"timing": "before_p|"}]}', "before_planning").detail, /planning call/);
  assert.deepEqual(labels('{"hooks": [{"role": "|"}]}'), ["system", "user"]);
  assert.deepEqual(labels('{"hooks": [{"file": "h|"}]}', ["hint.md", "other.md"]), ["hint.md", "other.md"]);
});

test("a suggestion replaces the string with its quotes and adds what a key needs", () => {
  const text = '{"hooks": [{"tim|"}]}';
  const { from, to, quotes } = at(text);
  assert.deepEqual([text.replace("|", "").slice(from, to), quotes], ["tim", [1, 1]]);
  const written = (marked) => [item(marked, "timing")].map(({ insert, value }) => insert + value)[0];
  assert.equal(written(text), '"timing": ""');
  assert.equal(written('{"hooks": [{"tim|": "x"}]}'), '"timing"', "a colon is there already");
  assert.equal(written('{"hooks": [{"timing|"}]}'), '"timing": ""', "a whole key, too, as long as it has no value");
});

test("a key begins with a value of its kind", () => {
  const hook = (key) => item('{"hooks": [{"|"}]}', key).value;
  assert.deepEqual(["persistent", "enabled", "vars"].map(hook), ["true", "false", "true"]);
  assert.deepEqual(["sticky", "file", "when", "requires_tools"].map(hook), ["1", '""', "{}", '[""]']);
  assert.deepEqual([item('{"|"', "triggers").value, item('{"triggers": [{"|"', "after_s").value], ["[{}]", "20"]);
  assert.equal(item('{"hooks": [{"role": "us|"}]}', "user").value, "");
});

test("of several kinds only those are offered that what stands before the cursor leaves", () => {
  const kind = (name, setting) => ({
    properties: { type: { const: name, description: `The ${name}.` }, config: { properties: { [setting]: {} } } },
  });
  const either = { anyOf: [kind("cat", "mouse"), kind("dog", "bone")] };
  const offered = (marked) => {
    const found = complete({ items: either }, marked.replace("|", ""), marked.indexOf("|"), []);
    return found?.items.map(({ label, detail }) => [label, detail]) ?? [];
  };
  assert.deepEqual(offered('[{"type": "|"'), [
    ["cat", "The cat."],
    ["dog", "The dog."],
  ]);
  assert.deepEqual(offered('[{"type": "dog", "config": {"|'), [["bone", ""]]);
  assert.deepEqual(offered('[{"config": {"|').length, 2);
  assert.deepEqual(offered('[{"type": "cow", "config": {"|'), []);
});

test("what follows a string that is just being typed stays", () => {
  for (const text of [
    '{"hooks": [{"ti|}]}',
    '{"hooks": [{"ti|, "role": "user"}]}',
    '{"hooks": [{"ti| "role": "user"}]}',
  ]) {
    const { from, to, quotes } = at(text);
    assert.deepEqual([text.replace("|", "").slice(from, to), quotes], ["ti", [1, 0]], text);
  }
});

test("where no string has been begun, one is offered if asked for", () => {
  const text = '{"hooks": [{"role": "user", }]}';
  const asked = (cursor) => complete(schema, text, cursor, [], true);
  assert.ok(asked(28).items.some(({ label }) => label === "timing"));
  assert.ok(!asked(28).items.some(({ label }) => label === "role"));
  assert.deepEqual([asked(28).from, asked(28).to], [28, 28]);
  assert.equal(complete(schema, text, 28, []), null);
  assert.deepEqual(pluck(complete(schema, '{"hooks": [{"role": }]}', 20, [], true).items, "label"), ["system", "user"]);
});

test("outside of strings, after them, and in unknown places nothing is offered", () => {
  for (const text of ['{"hooks": [|]}', '{"hooks": [{"role": "user"|}]}', '{"other": {"|"}}', "|"])
    assert.equal(at(text), null, text);
});

test("a place is understood in a text with mistakes and escapes", () => {
  const { path, kind, keys } = placeAt('{"a\\"b": [1, {"c": tru, "d', 26) ?? {};
  assert.deepEqual([path, kind, keys], [['a"b', 1], "key", ["c"]]);
  assert.equal(placeAt('{"a": "x\n', 9), null, "a string ends with its line");
});

test("a path is found in its line, or the deepest of it that is there", () => {
  const text =
    '{\n  "hooks": [\n    {"name": "a"},\n    {\n      "name": "b",\n      "when": {\n        "not": {"channel": "text"}\n      }\n    }\n  ]\n}';
  const lines = [
    "$",
    "$.hooks",
    "$.hooks[0]",
    "$.hooks[1]",
    "$.hooks[1].when",
    "$.hooks[1].when.not.channel",
    "$.hooks[1].role",
    "$.none",
  ];
  assert.deepEqual(
    lines.map((path) => lineOfPath(text, path)),
    [1, 2, 3, 4, 6, 7, 4, 1],
  );
});
