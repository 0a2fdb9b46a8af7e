import assert from "node:assert/strict";
import { test } from "node:test";

import { diffLines, withContext } from "../../frontend/js/diff.js";
import { headerView } from "../../frontend/js/render/header_view.js";
import { hooksView } from "../../frontend/js/render/hooks_view.js";
import { inspectorView } from "../../frontend/js/render/inspector_view.js";
import { h } from "../../frontend/js/render/dom.js";
import { elements, Page, READY, seeded, textOf, turn, withAttribute } from "./support.js";

const t = turn("t1");
const OPERATOR = { ...READY, user: { name: "local", is_operator: true, is_logged_in: false } };
const HOOK = {
  name: "guard",
  state: "up",
  modes: ["approve_tool"],
  pid: 1,
  last_error: "",
  restarts: 0,
  retry_in_s: null,
  gates: ["approve_tool"],
  armed: true,
  armed_reason: "",
  calls: 3,
  failures: 1,
  p50_ms: 0.42,
  p99_ms: 1204,
  dropped_events: 0,
  ignored: {},
  warnings: {},
};

const shown = (page) => textOf(hooksView(page.state));
const inspected = (page) => h("div", {}, inspectorView(page.state));

function reported(...processes) {
  return new Page().dispatch({ type: "hook_health", status: 200, body: { processes } });
}

function traced(...steps) {
  const page = new Page().ask("Hello", "t1").receive(t.start());
  for (const { event = "hook_changed", ...data } of steps) {
    page.receive({
      type: "trace",
      turn_id: "t1",
      event,
      data: { call: 1, stage: "before_llm", hook: "h", ms: 2, ...data },
    });
  }
  return page;
}

test("what an observer was told is counted", () => {
  assert.match(shown(reported({ ...HOOK, calls: 0, events: 12 })), /events12/);
});

test("a line that changed stands as one removed and one added, between those that stayed", () => {
  assert.deepEqual(
    diffLines("a\nb\nc", "a\nB\nc").map(({ kind, text }) => `${kind} ${text}`),
    ["same a", "removed b", "added B", "same c"],
  );
  assert.deepEqual(diffLines("", ""), []);
  assert.deepEqual(diffLines("", "x"), [{ kind: "added", text: "x" }]);
});

test("a diff of any two texts leads from the one to the other", () => {
  const random = seeded(7);
  const text = () =>
    Array.from({ length: Math.floor(random() * 12) }, () => "abc"[Math.floor(random() * 3)]).join("\n");
  for (let n = 0; n < 300; n += 1) {
    const [before, after] = [text(), text()];
    const lines = diffLines(before, after);
    const side = (gone) => lines.flatMap(({ kind, text }) => (kind === gone ? [] : [text])).join("\n");
    assert.equal(side("added"), before);
    assert.equal(side("removed"), after);
  }
});

test("texts too long to compare are shown whole, in no time", () => {
  const old = Array.from({ length: 40_000 }, (_, n) => `old ${n}`).join("\n");

  assert.equal(diffLines(old, old.replaceAll("old", "new")).length, 80_000);
});

test("what did not change is left out, but for what stands beside a change", () => {
  const before = Array.from({ length: 20 }, (_, n) => `${n}`).join("\n");
  const found = withContext(diffLines(before, before.replace("\n10\n", "\nten\n")));

  assert.deepEqual(
    found.map((line) => line?.text ?? "gap"),
    ["gap", "8", "9", "10", "ten", "11", "12", "gap"],
  );
});

test("the inspector shows what a hook changed in the call it belongs to", () => {
  const page = traced({
    action: "modify",
    changes: {
      model: { before: "small", after: "large" },
      messages: [{ index: 2, after: { role: "system", content: "Be kind." } }],
      tools: { added: [{ function: { name: "get_weather" } }], removed: ["read_file"], changed: [] },
    },
  });
  page.receive(t.trace("model_call", { call: 1, purpose: "direct" }));

  const [call] = withAttribute(inspected(page), "class", "call");
  const text = textOf(call);
  for (const part of [
    "1 hook step",
    "h",
    "before_llm",
    "modify",
    "removed: small",
    "added: large",
    "messages[2]",
    "Be kind.",
  ])
    assert.ok(text.includes(part), part);
  assert.match(text, /tools removed.*read_file.*tools added.*get_weather/s);
});

test("of a long message only the lines that changed are marked", () => {
  const message = (content) => ({ index: 0, role: "system", content });
  const [before, after] = ["One.\nTwo \\n.\nThree.", "One.\nTwo \\n!\nThree."].map(message);
  const view = inspected(traced({ changes: { messages: [{ index: 0, before, after }] } }));

  const marked = elements(view).filter(({ attributes }) => /^diff-(added|removed)$/.test(attributes.class ?? ""));

  assert.deepEqual(marked.map(textOf), ["− removed: Two \\\\n.\n", "+ added: Two \\\\n!\n"]);
});

test("a hook that failed, and one that ended the turn before a call was made, are shown", () => {
  const page = traced(
    { event: "hook_failed", kind: "timed_out", message: "no reply in 500 ms", effect: "deny_tool", ms: 501 },
    { call: 9, action: "abort_turn", changes: { reason: { after: "enough" } } },
  );

  const text = textOf(inspected(page));

  for (const part of ["timed_out: deny_tool", "no reply in 500 ms", "slow", "abort_turn", "added: enough"])
    assert.ok(text.includes(part), part);
});

test("what of a hook's reply does not count is said, and why", () => {
  const changes = { messages: [{ index: 0, after: { role: "tool", content: "x" } }] };
  const page = traced(
    { action: "modify", changes, discarded: { messages: "message 0 is a result without an open call" } },
    { action: "ignored", changes: {}, discarded: { reply: 'unsupported action "redact"' } },
  );

  const text = textOf(inspected(page));

  assert.equal(text.split("Discarded").length - 1, 2);
  assert.ok(text.includes("Discarded: messages: message 0 is a result without an open call"));
  assert.ok(text.includes('Discarded: reply: unsupported action "redact"'));
});

test("a trace of another shape breaks nothing", () => {
  for (const changes of [
    null,
    3,
    "x",
    [1],
    { a: null },
    { a: [null, 3] },
    { tools: { added: 3 } },
    { a: { before: [] } },
  ])
    inspected(traced({ changes, discarded: changes, ms: "x", hook: null }));
});

test("the panel is there for operators, and opening it asks the server", () => {
  const buttons = (page) => elements(headerView(page.state)).map(({ attributes }) => attributes["data-panel"]);
  const page = new Page();
  assert.ok(!buttons(page).includes("hooks"));
  page.receive(OPERATOR);
  assert.ok(buttons(page).includes("hooks"));

  page.dispatch({ type: "panel", panel: "hooks" });

  assert.deepEqual(page.effects.at(-1), { type: "watch_hooks" });
  assert.match(shown(page), /Asking the server/);
});

test("state, figures, errors and warnings of a hook can be read", () => {
  const page = reported({ ...HOOK, restarts: 2, last_error: "Traceback", warnings: { "unknown action": 3 } });

  for (const part of ["guard", "up", "armed", "0.4 ms", "1.2 s", "Traceback", "unknown action", "3 times"])
    assert.ok(shown(page).includes(part), part);
  assert.match(shown(page), /All gates are armed: guard\./);
});

test("a gate that is not armed is said first, with its reason", () => {
  const down = { ...HOOK, name: "gate", state: "down", armed: false, armed_reason: "it is down", retry_in_s: 3.2 };
  const page = reported(HOOK, down);

  assert.match(shown(page), /1 of 2 gates not armed: gate\..*down, next try in 4 s.*Not armed: it is down/s);
});

test("an approver that was not asked yet is no warning", () => {
  const page = reported(HOOK, { ...HOOK, name: "office", armed: null });

  assert.match(shown(page), /Not asked yet, so not known to be armed: office\./);
  assert.doesNotMatch(shown(page), /not armed/);
});

test("without hooks the panel says how to have some", () => {
  assert.match(shown(reported()), /None yet.*hooks\.processes/);
});

test("a server that does not answer leaves what was known, and who may not see it sees nothing", () => {
  const page = reported(HOOK).dispatch({ type: "hook_health", status: 0, body: null });
  assert.match(shown(page), /does not answer.*guard/s);

  page.dispatch({ type: "hook_health", status: 403, body: { error: {} } });

  assert.match(shown(page), /operators/);
  assert.doesNotMatch(shown(page), /guard/);
});

test("a report of another shape breaks nothing", () => {
  for (const body of [null, 3, {}, { processes: 3 }, { processes: [null, 3, {}, { warnings: 3, modes: "x" }] }])
    shown(new Page().dispatch({ type: "hook_health", status: 200, body }));
});
