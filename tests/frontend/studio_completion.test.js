import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { blankIn, complete, lineBreak } from "../../frontend/js/studio/completion.js";
import { isThere, lineOfPath, placeAt } from "../../frontend/js/studio/json_places.js";

const schema = JSON.parse(readFileSync(new URL("../../skills_engine/hooks.schema.json", import.meta.url), "utf8"));

/** The suggestions where the text has a bar. */
function at(marked, files = []) {
  const cursor = marked.indexOf("|");
  return complete(schema, marked.replace("|", ""), cursor, files);
}
const labels = (marked, files) => at(marked, files)?.items.map(({ label }) => label) ?? [];

test("keys of a hook are offered, but those it has", () => {
  assert.deepEqual(labels('{"hooks": [{"name": "a", "ti|'), ["timing"]);
  assert.ok(!labels('{"hooks": [{"name": "a", "|"').includes("name"));
  assert.deepEqual(labels('{"hooks": [{"ti|": "x"}]}'), ["timing"]);
  assert.deepEqual(labels('{"|'), ["hooks", "triggers", "$schema"].filter((key) => labels('{"|').includes(key)));
});

test("values of a key are offered, with what they mean", () => {
  const { items } = at('{"hooks": [{"timing": "before_p|"}]}');
  assert.deepEqual(items.map(({ label }) => label), ["before_planning"]);
  assert.match(items[0].detail, /planning call/);
  assert.deepEqual(labels('{"hooks": [{"role": "|"}]}'), ["system", "user"]);
  assert.deepEqual(labels('{"hooks": [{"file": "h|"}]}', ["hint.md", "other.md"]), ["hint.md"]);
});

test("a suggestion replaces the string with its quotes and adds what a key needs", () => {
  const text = '{"hooks": [{"tim|"}]}';
  const { from, to, items } = at(text);
  const plain = text.replace("|", "");
  assert.equal(plain.slice(from, to), '"tim"');
  assert.equal(items[0].insert, '"timing": ""');
  assert.equal(at('{"hooks": [{"tim|": "x"}]}').items[0].insert, '"timing"', "a colon is there already");
  assert.equal(at('{"hooks": [{"timing|"}]}').items[0].insert, '"timing": ""', "a whole key, too, as long as it has no value");
});

test("a key begins with a value of its kind, of which what is to be filled in is chosen", () => {
  const begun = (marked) => {
    const { insert } = at(marked).items[0];
    const [from, to] = blankIn(insert) ?? [];
    return from === undefined ? insert : `${insert.slice(0, from)}<${insert.slice(from, to)}>${insert.slice(to)}`;
  };
  const hook = (key) => begun(`{"hooks": [{"${key}|"}]}`);
  assert.deepEqual(["per", "ena", "vars"].map(hook), ['"persistent": false', '"enabled": false', '"vars": true']);
  assert.deepEqual(["sti", "file", "when", "requires_t"].map(hook), ['"sticky": <1>', '"file": "<>"', '"when": {<>}', '"requires_tools": ["<>"]']);
  assert.deepEqual(['{"tri|"', '{"triggers": [{"aft|"'].map(begun), ['"triggers": [{<>}]', '"after_s": <20>']);
  assert.equal(begun('{"hooks": [{"role": "us|"}]}'), '"user"');
});

test("a line begins as deep as the one before, and deeper in what was opened", () => {
  const broken = (path, marked) => {
    const cursor = marked.indexOf("|");
    const { text, back } = lineBreak(marked.replace("|", ""), cursor, path);
    const to = cursor + text.length;
    const whole = marked.slice(0, cursor) + text + marked.slice(cursor + 1);
    return `${whole.slice(0, to - back)}|${whole.slice(to - back)}`;
  };
  const json = (marked) => broken("hooks/hooks.json", marked);
  assert.equal(json('    "a": 1,|\n'), '    "a": 1,\n    |\n');
  assert.equal(json('  "a": [|]'), '  "a": [\n    |\n  ]');
  assert.equal(json('  {|\n  }'), '  {\n    |\n  }');
  assert.equal(json("|{}"), "\n|{}");
  const yaml = (marked) => broken("tests/a.yaml", marked);
  assert.equal(yaml("tests:|"), "tests:\n  |");
  assert.equal(yaml("  - name: a|"), "  - name: a\n    |");
  assert.equal(yaml("  - {user: a}|"), "  - {user: a}\n  |");
  assert.equal(broken("hooks/a.md", "Say this:|"), "Say this:\n|");
});

test("a quote or a bracket that ends something is known from one that begins or stands in a text", () => {
  const ends = (typed) => (marked) => isThere(marked.replace("|", ""), marked.indexOf("|"), typed);
  assert.deepEqual(['{"tools": ["a|"]}', '{"tools": ["|"]}', '{"a|": 1}'].map(ends('"')), [true, true, true]);
  assert.deepEqual(['{"a": |"b"}', '["a \\|" b"]', '["a"|, "b"]', '["a|b"]', '["a|'].map(ends('"')), Array(5).fill(false));
  assert.deepEqual(['["a"|]', "[{}|]", "[|]"].map(ends("]")), [true, true, true]);
  assert.deepEqual(['["/[a|]/"]', '["a"|}', '["a"|'].map(ends("]")), [false, false, false]);
  assert.deepEqual(['{"a": 1|}', '{"a": "{|}"}', "{|a}"].map(ends("}")), [true, false, false]);
  assert.ok(!ends("a")("|a"));
});

test("what follows a string that is just being typed stays", () => {
  for (const text of ['{"hooks": [{"ti|}]}', '{"hooks": [{"ti|, "role": "user"}]}', '{"hooks": [{"ti| "role": "user"}]}']) {
    const { from, to } = at(text);
    assert.equal(text.replace("|", "").slice(from, to), '"ti', text);
  }
});

test("where no string has been begun, one is offered if asked for", () => {
  const text = '{"hooks": [{"role": "user", }]}';
  const asked = (cursor) => complete(schema, text, cursor, [], true);
  assert.ok(asked(28).items.some(({ label }) => label === "timing"));
  assert.ok(!asked(28).items.some(({ label }) => label === "role"));
  assert.deepEqual([asked(28).from, asked(28).to], [28, 28]);
  assert.equal(complete(schema, text, 28, []), null);
  assert.deepEqual(complete(schema, '{"hooks": [{"role": }]}', 20, [], true).items.map(({ label }) => label), ["system", "user"]);
});

test("outside of strings, after them, and in unknown places nothing is offered", () => {
  for (const text of ['{"hooks": [|]}', '{"hooks": [{"role": "user"|}]}', '{"other": {"|"}}', "|", '{"hooks": [{"role": "user|"}]}'])
    assert.equal(at(text), null, text);
});

test("a place is understood in a text with mistakes and escapes", () => {
  const { path, kind, keys } = placeAt('{"a\\"b": [1, {"c": tru, "d', 26) ?? {};
  assert.deepEqual([path, kind, keys], [['a"b', 1], "key", ["c"]]);
  assert.equal(placeAt('{"a": "x\n', 9), null, "a string ends with its line");
});

test("a path is found in its line, or the deepest of it that is there", () => {
  const text = '{\n  "hooks": [\n    {"name": "a"},\n    {\n      "name": "b",\n      "when": {\n        "not": {"channel": "text"}\n      }\n    }\n  ]\n}';
  const lines = ["$", "$.hooks", "$.hooks[0]", "$.hooks[1]", "$.hooks[1].when", "$.hooks[1].when.not.channel", "$.hooks[1].role", "$.none"];
  assert.deepEqual(lines.map((path) => lineOfPath(text, path)), [1, 2, 3, 4, 6, 7, 4, 1]);
});
