import assert from "node:assert/strict";
import { test } from "node:test";

import { changed, clicked } from "../../frontend/js/actions.js";
import { loadingStages } from "../../frontend/js/polls.js";
import { approvalView } from "../../frontend/js/render/approval_view.js";
import { composerView } from "../../frontend/js/render/composer_view.js";
import { conversationView, groupsOf } from "../../frontend/js/render/conversation_view.js";
import { h, memo } from "../../frontend/js/render/dom.js";
import { headerView } from "../../frontend/js/render/header_view.js";
import { hooksView } from "../../frontend/js/render/hooks_view.js";
import { inspectorView } from "../../frontend/js/render/inspector_view.js";
import { errorView } from "../../frontend/js/render/lines_view.js";
import { reasonView } from "../../frontend/js/render/not_fired_view.js";
import { sidebarView } from "../../frontend/js/render/sidebar_view.js";
import { skillsView } from "../../frontend/js/render/skills_view.js";
import { loadSettings, saveSettings } from "../../frontend/js/storage.js";
import { memoryStore } from "../../frontend/js/store.js";
import { elements, Page, pluck, READY, skill, textOf, turn, withAttribute } from "./support.js";

const t = turn("t1");
const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'&amp;`;

const withClass = (described, name) => withAttribute(described, "class", name);

function everywhere(page) {
  const { state } = page;
  return [
    conversationView(state),
    headerView(state),
    sidebarView(state),
    composerView(state),
    skillsView(state),
    inspectorView(state),
    hooksView(state),
    approvalView(state),
  ];
}

test("hostile text stays text in every place it can stand", () => {
  const page = new Page();
  page.receive({
    ...READY,
    skills: [
      skill(HOSTILE, {
        description: HOSTILE,
        hooks: [{ name: HOSTILE, timing: HOSTILE, role: HOSTILE, persistent: true, tool_filter: [HOSTILE] }],
        tests: {
          count: 2,
          failed: 1,
          not_run: 0,
          failures: [{ name: HOSTILE, file: HOSTILE, line: 1, details: HOSTILE }],
        },
      }),
    ],
    model: { name: HOSTILE, host: HOSTILE, location: "cloud" },
  });
  page.receive({
    type: "skills",
    skills: page.state.skills,
    diagnostics: [{ severity: "error", skill: null, file: HOSTILE, path: HOSTILE, message: HOSTILE }],
  });
  page.ask(HOSTILE, "t1");
  page.receive(
    t.start(),
    { ...t.hook(HOSTILE, HOSTILE), skill: HOSTILE, timing: HOSTILE },
    t.text(HOSTILE),
    t.sentence(0, HOSTILE),
    t.call("c", HOSTILE, { [HOSTILE]: HOSTILE }),
    { ...t.result("c", HOSTILE), for_user: HOSTILE },
  );
  page.receive(
    { type: "notice", turn_id: "t1", code: HOSTILE, level: "warning", message: HOSTILE },
    { type: "reasoning", turn_id: "t1", delta: HOSTILE },
  );
  for (const type of ["image/png", "audio/mpeg", "text/html", HOSTILE]) {
    page.receive(t.media(HOSTILE, { content_type: type }), t.media(HOSTILE, { content_type: type, url: HOSTILE }));
  }
  page.receive(t.asks("a1", { tool: HOSTILE, arguments: { [HOSTILE]: HOSTILE }, message: HOSTILE, origin: HOSTILE }));
  page.dispatch({
    type: "attach",
    image: { id: HOSTILE, name: HOSTILE, url: "data:image/png;base64,AAAA", width: 1, height: 1 },
  });
  const health = { name: HOSTILE, state: HOSTILE, modes: [HOSTILE], last_error: HOSTILE, gates: [HOSTILE] };
  const processes = [{ ...health, armed_reason: HOSTILE, warnings: { [HOSTILE]: 2 }, ignored: { [HOSTILE]: 1 } }];
  page.dispatch({ type: "hook_health", status: 200, body: { processes } });
  for (const event of ["hook_changed", "hook_failed"]) {
    const step = { call: 1, stage: HOSTILE, hook: HOSTILE, ms: 1, action: HOSTILE, kind: HOSTILE, message: HOSTILE };
    const changes = { [HOSTILE]: { before: HOSTILE, after: `${HOSTILE}.` }, tools: { added: [HOSTILE] } };
    page.receive({ type: "trace", turn_id: "t1", event, data: { ...step, effect: HOSTILE, changes } });
  }
  const origin = { kind: "hook", hook: HOSTILE, skill: HOSTILE, timing: HOSTILE };
  page.receive(t.trace("messages", { messages: [{ id: "m1", role: HOSTILE, content: HOSTILE, origin }] }));
  page.receive(t.trace("model_call", { call: 1, purpose: HOSTILE, messages: ["m1"], tools: [HOSTILE] }));

  const shown = everywhere(page);

  const tags = new Set(elements(shown).map(({ tag }) => tag));
  assert.ok(["script", "iframe", "object", "embed"].every((tag) => !tags.has(tag)));
  for (const { attributes } of elements(shown)) {
    const { src = "/media/", href = "/media/" } = attributes;
    assert.match(src, /^(\/media\/|data:image\/png;base64,)/);
    assert.match(href, /^\/media\//);
  }
  for (const { attributes } of elements(shown)) {
    for (const name of Object.keys(attributes)) assert.match(name, /^[a-z-]+$/i, "attribute names are ours");
    assert.ok(
      !Object.keys(attributes).some((name) => name.startsWith("on") || name === "style" || name === "innerHTML"),
    );
  }
  assert.ok(textOf(shown).split("<script>alert(2)</script>").length > 40, "and it is all there to read");
});

test("links leave the page without handing it over", () => {
  const page = new Page().ask("Hello", "t1");
  page.receive(t.start(), t.sentence(0, "[a](https://x.org) [b](javascript:alert(1))"), t.end());

  const links = elements(conversationView(page.state)).filter(({ tag }) => tag === "a");

  assert.deepEqual(
    links.map(({ attributes }) => [attributes.href, attributes.rel]),
    [["https://x.org/", "noopener noreferrer"]],
  );
});

test("streamed text stands there as any other before its sentence is reached", () => {
  const page = new Page().ask("Hello", "t1");
  page.receive(t.start(), t.text("One **two** three. Four"), t.sentence(0, "One **two** three. "));

  const shown = conversationView(page.state);

  assert.equal(textOf(withClass(shown, "markdown")), "One two three. Four");
  assert.deepEqual([withClass(shown, "saying"), withClass(shown, "unheard")], [[], []]);
});

test("a turn that is over is not described again while another streams", () => {
  const page = new Page();
  for (const id of ["t1", "t2"])
    page.ask("Hello", id).receive(turn(id).start(), turn(id).sentence(0, "Hi."), turn(id).end());
  page.state = { ...page.state, views: {} };
  page.ask("More", "t3");
  const before = conversationView(page.state).children[0];

  page.receive(turn("t3").start(), turn("t3").text("a"), turn("t3").text("b"));

  assert.equal(conversationView(page.state).children[0], before);
});

test("messages are grouped by turn, hooks with the turn that brought them", () => {
  const history = [
    { role: "user", content: "a", _turn: "1" },
    { role: "system", content: "h", _hook: "h", _turn: "1" },
    { role: "assistant", content: "b", _turn: "1" },
    { role: "user", content: "c", _turn: "2" },
  ];

  assert.deepEqual(
    groupsOf(history).map(({ messages }) => messages.length),
    [3, 1],
  );
});

test("retry is offered for the last turn alone, and only while it can be sent", () => {
  const page = new Page().ask("One", "t1").lose().receive(READY).ask("Two", "t2").lose();
  const retries = () => withAttribute(conversationView(page.state), "data-action", "retry");
  assert.deepEqual(pluck(pluck(retries(), "attributes"), "disabled"), [true]);

  page.receive(READY);

  assert.deepEqual(pluck(pluck(retries(), "attributes"), "disabled"), [false]);
  assert.equal(textOf(conversationView(page.state)).split("Not answered").length - 1, 2);
});

test("an error says what to do before what was found, and once how long to wait", () => {
  const found = "api.example is rate-limiting";
  const error = { type: "error", code: "provider_rate_limited", message: found, retry_after_ms: 19_500 };

  assert.equal(textOf(errorView(error)), `The model's server limits requests. Retry in 20 s. ${found}`);
  assert.equal(textOf(errorView({ type: "error", code: "unheard_of", message: "Odd." })), "Odd.");
});

test("an unverified hook is offered to be left out", () => {
  const page = new Page().ask("One", "t1");
  page.receive({ type: "error", code: "hook_signature_invalid", message: "no", path: "$.messages[0]" });

  assert.ok(
    elements(conversationView(page.state)).some(
      ({ attributes }) => attributes["data-action"] === "retry-without-unverified",
    ),
  );
});

test("the page says who answers, and where, before the first turn", () => {
  const page = new Page();
  assert.match(textOf(headerView(page.state)), /m.*local/);

  page.receive({ ...READY, model: { name: "big", host: "api.example.org", location: "cloud" } });

  assert.match(textOf(headerView(page.state)), /big.*cloud: api\.example\.org/);
  assert.match(textOf(conversationView(page.state)), /sent there/);
});

test("the inspector marks what came from hooks, as what it was sent, and what did not fire", () => {
  const tone = { kind: "hook", hook: "tone", timing: "before_planning" };
  const usage = { input_tokens: 120, cached_tokens: 80, output_tokens: 1 };
  const page = new Page().ask("Hello", "t1");
  page.receive(
    t.trace("messages", {
      messages: [
        { id: "m1", role: "system", content: "Be calm.", origin: { ...tone, skill: "calm", persistent: true } },
        { id: "m2", role: "system", content: "Forged.", origin: { kind: "hook", hook: "tone", unsigned: true } },
      ],
    }),
    t.trace("model_call", {
      ...{ call: 1, purpose: "planning", round: null, attempt: 1, messages: ["m1", "m2", "m404"], tools: [] },
      ...{ sent_roles: { m1: "user" }, trimmed: ["m0"], shortened: ["m2"], tool_choice: "none", late_system: "user" },
    }),
    t.trace("model_done", { call: 1, finish: "stop", usage, total_ms: 41.6, reply: "<need_tool>" }),
    t.trace("not_fired", {
      hooks: [{ skill: "clock", hook: "zone", timing: "after_tool_call", reason: "no tool ran" }],
    }),
    t.trace("from a newer server", {}),
  );

  const text = textOf(inspectorView(page.state));

  for (const part of [
    "Planning",
    "system → user",
    "calm / tone",
    "before_planning",
    "persistent",
    "120 tokens in (80 cached)",
    "1 token out",
    "The model answered: <need_tool>",
    "42 ms",
    "? / tone",
    "not signed",
    "1 message",
    "1 tool result",
    "m404: not in the trace",
    "clock / zone",
    "no tool ran",
  ]) {
    assert.ok(text.includes(part), part);
  }
});

test("why a hook did not fire is said in the page's language, and in the server's words if that is unknown to the page", async () => {
  const why = (silent) => textOf(h("p", {}, reasonView({ reason: "as the server says", ...silent })));
  const { zh } = await import("../../frontend/js/strings/zh.js");

  assert.equal(why({ code: "group", detail: "tone" }), "another hook of the group tone was put in");
  assert.equal(why({ code: "when", detail: "when.turn", path: "when.turn" }), "Its condition does not hold: when.turn");
  assert.equal(why({ code: "of_a_newer_server", detail: "x" }), "as the server says");
  assert.equal(zh.inspector.reasons.group("tone"), "组 tone 中的另一个钩子已插入");
});

test("a turn that was cut names why hooks stayed out, and how long each part took", () => {
  const page = new Page().ask("Hello", "t1");
  const brief = { skill: "calm", hook: "brief", timing: "before_each_agent" };
  const hooks = [
    { skill: "calm", hook: "late", timing: "after_tool_call", reason: "no tool ran" },
    { skill: "calm", hook: "aloud", timing: "after_user_input", reason: "in English", path: "when.not.channel" },
    { skill: "off", hook: "tone", timing: "before_planning", reason: "the skill is switched off" },
    { ...brief, reason: "no room", code: "budget", detail: "" },
    { ...brief, reason: "once", code: "once", detail: "turn", fired: true },
  ];
  const metrics = { model_request: 10, first_token: 40, total: 100 };
  page.receive({ type: "turn_start", turn_id: "t1" }, t.trace("not_fired", { hooks }), {
    type: "turn_end",
    turn_id: "t1",
    reason: "interrupted",
    metrics,
  });

  const view = inspectorView(page.state);
  const [notFired] = withClass(view, "not-fired");
  for (const said of [
    /calm \/ late.*no tool ran/,
    /calm \/ aloud.*Its condition does not hold: when\.not\.channel/,
    /off \/ tone.*the skill is switched off/,
    /calm \/ briefbefore_each_agentthere was no room .*calm \/ briefbefore_each_agentfired at other timesonce a turn/,
  ])
    assert.match(textOf([notFired]), said);
  const stretches = elements(view)
    .filter(({ tag }) => tag === "rect")
    .map(({ attributes }) => attributes.width);
  assert.deepEqual(stretches, [10, 30, 60]);
});

test("the inspector shows each variable with what set it, what was not found, and the context", () => {
  const page = new Page().ask("Paris", "t1");
  const set = { skill: "quiz", timing: "after_user_input" };
  page.receive(
    t.trace("values", {
      context: { plan: "pro", tags: ["beta"] },
      variables: { quiz: { step: "", score: 1 }, "not/set": { on: false } },
    }),
    t.trace("variables", { changes: [{ ...set, hook: "right", name: "score", before: 1, value: 2 }] }),
    t.trace("variables", { changes: [{ ...set, hook: "bonus", name: "score", before: 2, value: 5 }] }),
    t.trace("not_fired", {
      hooks: [{ ...set, hook: "name", reason: "in English", code: "set", detail: "set.name", path: "set.name" }],
    }),
  );

  const view = inspectorView(page.state);
  const [variables, context] = withClass(view, "trace-list");
  const lines = (list) =>
    elements([list])
      .filter(({ tag }) => tag === "li")
      .map((item) => textOf([item]));

  assert.deepEqual(lines(variables), [
    "quiz / score1→became2set by right→became5set by bonus",
    'quiz / step""',
    "not/set / onfalse",
    "quiz / namenot setnothing was found for set.name, so nothing of it was set",
  ]);
  assert.deepEqual(lines(context), ['plan"pro"', 'tags["beta"]']);
  assert.deepEqual(withClass(view, "not-fired"), []);
});

test("a server that traces for its operators alone is no cause for a notice", () => {
  const page = new Page().receive({ type: "notice", code: "trace_not_allowed", level: "info", message: "no" });
  assert.equal(page.state.notices.length, 0);

  assert.match(textOf(inspectorView(page.state)), /Only operators/);
});

test("an unusual trace does not break the page", () => {
  const page = new Page().ask("Hello", "t1");
  for (const event of [
    "messages",
    "model_call",
    "model_done",
    "injected",
    "removed",
    "not_fired",
    "values",
    "variables",
  ]) {
    for (const data of [
      null,
      3,
      "x",
      [],
      {},
      { messages: 3, hooks: "x", tools: null, variables: { a: null }, changes: 1 },
    ])
      page.receive({ type: "trace", turn_id: "t1", event, data });
  }

  assert.ok(inspectorView(page.state));
});

test("the connection is only spoken of when it is really gone", () => {
  const page = new Page();
  const line = () => textOf(withClass(composerView(page.state), "line"));
  page.dispatch({ type: "disconnected", attempt: 0, code: 1001, silently: true });
  page.dispatch({ type: "connecting", attempt: 0 });
  assert.equal(line(), "");

  page.dispatch({ type: "disconnected", attempt: 1, code: 1006, silently: false });

  assert.match(line(), /No connection/);
});

test("loading shows the stage, and why it failed", () => {
  const stage = (name, state, detail = null) => ({ name, state, detail });
  const wanted = [stage("skills", "ready"), stage("model", "loading")];
  assert.deepEqual(loadingStages({ stages: wanted, ready: false, draining: false }), wanted);
  assert.deepEqual(loadingStages({ ready: false }), []);
  assert.equal(loadingStages({ stages: wanted, ready: true, draining: false }), null);
  assert.equal(loadingStages({ stages: wanted, ready: false, draining: true }), null);
  for (const nothing of [null, "no", 0, {}, []]) assert.equal(loadingStages(nothing), null);

  const page = new Page().dispatch({ type: "loading", stages: wanted });
  assert.match(textOf(composerView(page.state)), /Loading: model/);
  page.dispatch({ type: "loading", stages: [stage("model", "failed", "No such file")] });

  assert.match(textOf(composerView(page.state)), /could not load its model\. No such file/);
});

test("a skill that the user switched off can be switched on again after a reload of the skills", () => {
  const page = new Page().dispatch({ type: "toggle_skill", name: "calm" });
  const isOn = () => elements(skillsView(page.state)).find(({ tag }) => tag === "input").attributes;

  page.receive({ type: "skills", skills: [skill("calm", { enabled: false })], diagnostics: [] });
  assert.deepEqual([isOn().checked, isOn().disabled], [false, undefined]);

  page.dispatch({ type: "toggle_skill", name: "calm" });
  assert.equal(isOn().checked, true);
});

test("skills that are not in use stand below those that are, by name, and count as no problem", () => {
  const page = new Page();
  const off = { severity: "info", file: "SKILL.md", path: "$.default", message: "off: name it in skills.enabled" };
  const diagnostics = [
    { ...off, skill: "bedtime" },
    { ...off, skill: "tutor" },
  ];
  page.receive({ type: "skills", skills: [skill("calm")], diagnostics });

  assert.match(textOf(skillsView(page.state)), /calm[^]*2 unused folders[^]*bedtime\/SKILL\.md[^]*tutor\/SKILL\.md/);
  assert.doesNotMatch(textOf(headerView(page.state)), /problem/);
});

test("the skills panel says how many of a skill's tests fail, and which", () => {
  const page = new Page();
  const failures = [{ name: "stays brief", file: "tests/a.yaml", line: 7, details: "fires\n  was  expected" }];
  page.receive({
    type: "skills",
    skills: [
      skill("calm", { tests: { count: 12, failed: 3, not_run: 2, failures } }),
      skill("clock", { tests: { count: 1, failed: 0, not_run: 0, failures: [] } }),
      skill("hidden", { tests: { count: 4, failed: 2, not_run: 0, failures: [] } }),
      skill("untested"),
    ],
    diagnostics: [],
  });

  const text = textOf(skillsView(page.state));

  for (const part of [
    "3 of 12 tests fail",
    "stays brief",
    "tests/a.yaml:7",
    "was  expected",
    "… and 2 more",
    "2 tests not run",
    "2 of 4 tests fail",
  ]) {
    assert.ok(text.includes(part), part);
  }
  assert.match(text, /1 test passed/);
  assert.equal(withClass(skillsView(page.state), "tests").length, 1);
  assert.match(textOf(headerView(page.state)), /5\s*problems/);
});

test("every button on the page means something", () => {
  const page = new Page().ask("One", "t1").dispatch({ type: "clear" });
  page.receive({ type: "notice", code: "n", level: "info", message: "n" });
  const now = { id: () => "id", time: () => 1 };
  const ofMain = new Set(["rename", "reconnect", "attach", "copy", "import"]);

  for (const { attributes } of elements(everywhere(page))) {
    const action = attributes["data-action"];
    if (action && !ofMain.has(action)) assert.ok(clicked({ action }, now), action);
    const change = attributes["data-change"];
    if (change) assert.ok(changed({ change, name: "theme" }, { value: "x", checked: true }), change);
  }
});

test("a description drawn from one value is the same description", () => {
  const view = memo((value) => h("p", {}, value.text));
  const value = { text: "a" };

  assert.equal(view(value), view(value));
  assert.notEqual(view(value), view({ text: "a" }));
});

test("a browser that stores nothing still has conversations until the page goes", async () => {
  const store = memoryStore();
  const record = { id: "a", title: "A", createdAt: 1, updatedAt: 1, conversationHistory: [], historySegments: [] };
  await store.save(record);
  await store.save({ ...record, id: "b", title: "B", updatedAt: 2 });
  assert.deepEqual(pluck(await store.list(), "id"), ["b", "a"]);

  await store.remove("b");

  assert.equal(await store.load("b"), null);
  assert.equal((await store.load("a")).title, "A");
});

test("settings that something else wrote, or that may not be read, give the defaults", () => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  const kept = new Map();
  const storage = () => ({ getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) });

  assert.deepEqual(loadSettings(forbidden), {});
  saveSettings(forbidden, { theme: "dark" });
  saveSettings(storage, { theme: "dark" });
  assert.deepEqual(loadSettings(storage), { theme: "dark" });
  saveSettings(storage, { instructions: "Be brief." }); // by a tab that knows of no theme
  assert.deepEqual(loadSettings(storage), { theme: "dark", instructions: "Be brief." });

  test("what was a switch to read aloud keeps its meaning", () => {
    const kept = (/** @type {boolean} */ readAloud) =>
      loadSettings(() => ({ getItem: () => JSON.stringify({ readAloud, theme: "dark" }) }));

    assert.deepEqual([kept(true), kept(false)], [{ theme: "dark" }, { readAloud: "never", theme: "dark" }]);
  });
  for (const nonsense of ["{", "3", "null"]) {
    kept.set("parley.settings", nonsense);
    assert.deepEqual(loadSettings(storage), {});
  }
});

test("who is logged in is named, and can log out; who needs no login is not", () => {
  const page = new Page();
  const logOut = () =>
    withClass(headerView(page.state), "menu-item").filter(({ attributes }) => attributes["data-action"] === "log-out");
  assert.equal(logOut().length, 0);
  page.receive({ ...READY, user: { name: "local", is_operator: true, is_logged_in: false } });
  assert.equal(logOut().length, 0);

  page.receive({ ...READY, user: { name: HOSTILE, is_operator: false, is_logged_in: true } });

  assert.equal(textOf(logOut()[0]), `Log out ${HOSTILE}`);
});

test("of a reply that grows only what may still change is described anew", () => {
  const t = turn("t1");
  const page = new Page().ask("Q", "t1").receive(t.start(), t.text("One.\n\nTwo.\n\nThree.\n\nFou"));
  const blocksOf = () => withClass(conversationView(page.state), "markdown")[0].children;
  const before = blocksOf();

  page.receive(t.text("r.\n\nFive."));

  const after = blocksOf();
  assert.equal(after.length, 5);
  assert.equal(after[0], before[0]);
  assert.equal(after[1], before[1]);
  assert.equal(textOf(after[3]), "Four.");
});

test("a turn that is over is described once, also one of this visit", () => {
  const page = new Page();
  for (const id of ["t1", "t2", "t3"]) {
    const t = turn(id);
    page.ask(`Question ${id}`, id).receive(t.start(), t.text("Hi."), t.sentence(0, "Hi."), t.sentenceEnd(0), t.end());
  }
  const before = conversationView(page.state).children;

  page.dispatch({ type: "panel", panel: "settings" });

  const after = conversationView(page.state).children;
  assert.equal(before.length, 3);
  assert.ok(after.every((described, index) => described === before[index]));
});

test("what the model read is not described anew with every word of its reply", () => {
  const t = turn("t1");
  const page = new Page()
    .ask("Q", "t1")
    .receive(t.start(), t.trace("model_call", { call: 1, purpose: "direct", messages: [], tools: [] }));
  const before = inspectorView(page.state);

  page.receive(t.text("A word."));

  assert.equal(before.length, 1);
  assert.equal(inspectorView(page.state)[0], before[0]);
});
