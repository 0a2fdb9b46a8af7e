import assert from "node:assert/strict";
import { test } from "node:test";

import { comparedCalls, hookCosts, hookActivity, hookTokens, tracedTurns } from "../../frontend/js/hook_costs.js";
import { inspectorView } from "../../frontend/js/render/inspector_view.js";
import { skillsView } from "../../frontend/js/render/skills_view.js";
import { Page, skill, textOf } from "./support.js";

const HOOKS = {
  mood: { skill: "calm", hook: "mood", timing: "after_user_input" },
  clock: { skill: "calm", hook: "clock", timing: "before_each_agent" },
};

/** Ask, and receive the trace of a turn whose calls read these hooks. */
function askTraced(page, id, calls, { notFired = [] } = {}) {
  page.ask(`Question ${id}`, id).receive({ type: "turn_start", turn_id: id });
  const trace = (event, data) => page.receive({ type: "trace", turn_id: id, event, data });
  const messages = Object.entries(HOOKS).map(([name, origin]) => {
    return { id: name, role: "system", content: name, tokens: name.length, origin: { kind: "hook", ...origin } };
  });
  trace("messages", { messages: [{ id: "user", role: "user", content: "?", origin: { kind: "user" } }, ...messages] });
  for (const name of new Set(calls.flatMap(({ reads }) => reads)))
    if (HOOKS[name]) trace("injected", { ...HOOKS[name], message: name });
  calls.forEach(({ reads, common = null, attempt = 1, tools = [] }, index) => {
    trace("model_call", { call: index + 1, purpose: "direct", attempt, messages: reads, tokens: 50, common, tools });
    const usage = { input_tokens: 60, cached_tokens: 30 };
    trace("model_done", { call: index + 1, finish: "stop", usage });
  });
  if (notFired.length) trace("not_fired", { hooks: notFired });
  page.receive({ type: "turn_end", turn_id: id, reason: "completed", metrics: {} });
}

const ENDED = { tokens: 20, share: 0.4, ended_by: { skill: "calm", hook: "clock" }, lost_tokens: 7 };
const KEPT = {
  tokens: 50,
  share: 1,
  ended_by: null,
  lost_tokens: 0,
  hooks: [{ skill: "calm", hook: "mood", tokens: 4 }],
};

function twoTurns() {
  const page = new Page();
  askTraced(page, "t1", [{ reads: ["user", "mood"] }, { reads: ["user", "mood", "clock"], common: KEPT }]);
  askTraced(page, "t2", [{ reads: ["user", "clock"], common: ENDED }], {
    notFired: [{ ...HOOKS.mood, reason: "in English", path: "when.channel" }],
  });
  return page;
}

test("what each hook cost is summed over calls and turns, the dearest first", () => {
  const page = twoTurns();
  const traces = tracedTurns(page.state).map(({ trace }) => trace);

  assert.deepEqual(hookCosts(traces), [
    { skill: "calm", hook: "clock", tokens: 10, cachedTokens: 0, calls: 2, lostCalls: 1, lostTokens: 7 },
    { skill: "calm", hook: "mood", tokens: 8, cachedTokens: 4, calls: 2, lostCalls: 0, lostTokens: 0 },
  ]);
  assert.equal(comparedCalls(traces), 2);
  assert.equal(hookTokens(traces[1].calls[1], traces[1]), 9);
});

test("a call that was tried again counts once, and a process hook has no sum", () => {
  const page = new Page();
  askTraced(page, "t1", [
    { reads: ["mood"] },
    { reads: ["mood"], attempt: 2, common: ENDED },
    { reads: [], common: { ...ENDED, ended_by: { skill: null, hook: null } } },
  ]);
  const traces = tracedTurns(page.state).map(({ trace }) => trace);

  assert.deepEqual(hookCosts(traces), [
    { skill: "calm", hook: "mood", tokens: 4, cachedTokens: 0, calls: 1, lostCalls: 0, lostTokens: 0 },
  ]);
  assert.match(textOf(inspectorView(page.state)), /40 % \(≈ 20 tokens\), up to a process hook\./);
});

test("each hook says when it last fired, and why it stayed out of the last turn", () => {
  const page = twoTurns();

  const activity = hookActivity(tracedTurns(page.state));

  assert.deepEqual([...activity.keys()], ["calm / clock", "calm / mood"]);
  assert.deepEqual(activity.get("calm / clock"), { firedAgo: 0, notFired: null });
  assert.equal(activity.get("calm / mood").firedAgo, 1);
  assert.equal(activity.get("calm / mood").notFired.path, "when.channel");
});

test("the inspector says of each call what hooks cost and what is the same as before", () => {
  const page = new Page();
  const tools = ["read_file"];
  askTraced(page, "t1", [{ reads: ["user", "mood"] }, { reads: ["user", "mood", "clock"], common: ENDED, tools }]);

  const text = textOf(inspectorView(page.state));

  for (const part of [
    "Hooks are ≈ 4 of ≈ 50 tokens here.",
    "Hooks are ≈ 9 of ≈ 50 tokens here. The same as in the call before: 40 % (≈ 20 tokens), up to calm / clock.",
    "Without it, ≈ 7 more tokens would be the same.",
    "The model server took 30 tokens from its cache.",
    "The tools differ",
    "What hooks cost in this conversationcosts the cache",
    "calm / mood≈ 8 tokens in 2 calls",
    "calm / clock≈ 5 tokens in 1 callcosts the cache ≈ 7 tokens in 1 of 1 call",
  ])
    assert.ok(text.includes(part), `${part}\n${text}`);
});

test("what an older server traces is shown without costs", () => {
  const page = new Page().ask("Hello", "t1");
  const data = { call: 1, purpose: "direct", attempt: 1, messages: ["m1"] };
  page.receive({ type: "trace", turn_id: "t1", event: "model_call", data });

  assert.doesNotMatch(textOf(inspectorView(page.state)), /Hooks are|cost/);
});

test("the skills panel shows texts of hooks, their costs, and when each fired", () => {
  const page = twoTurns();
  const hooks = Object.values(HOOKS).map(({ hook: name, timing }) => {
    return { name, timing, role: "system", persistent: false, tool_filter: null, text: `Text of ${name}` };
  });
  page.receive({ type: "skills", skills: [skill("calm", { hooks })], diagnostics: [] });

  const text = textOf(skillsView(page.state));

  assert.match(text, /2 hooks, ≈ 18 tokens in this conversation/);
  assert.match(
    text,
    /mood.*≈ 8 tokens in 2 calls, ≈ 4 of them from a cacheLast fired 1 turn ago\. Not in the last turn: Its condition does not hold: when\.channelTextText of mood/,
  );
  assert.match(text, /clock.*1 of 2 callsFired in the last turn\. TextText of clock/);
});

test("without traces the skills panel says nothing of costs", () => {
  const page = new Page();
  const hooks = [{ name: "mood", timing: "after_user_input", role: "system", persistent: false, tool_filter: null }];
  page.receive({ type: "skills", skills: [skill("calm", { hooks })], diagnostics: [] });

  assert.doesNotMatch(textOf(skillsView(page.state)), /token|fired|Text/);
});

test("hooks that the server left out of its list are loaded one skill at a time", () => {
  const page = new Page();
  page.receive({ type: "skills", skills: [skill("calm", { hooks_omitted: 2 }), skill("kind")], diagnostics: [] });
  assert.match(textOf(skillsView(page.state)), /Show 2 hooks/);

  page.dispatch({ type: "show_hooks", skill: "calm" });
  assert.deepEqual(
    page.effects.filter(({ type }) => type === "load_hooks"),
    [{ type: "load_hooks", skill: "calm" }],
  );
  const hooks = [{ name: "mood", timing: "after_user_input", role: "system", persistent: false, tool_filter: null }];
  page.dispatch({ type: "hooks_loaded", skill: "calm", hooks });

  const text = textOf(skillsView(page.state));
  assert.match(text, /1 hook.*mood/);
  assert.doesNotMatch(text, /Show/);
});
