import assert from "node:assert/strict";
import { test } from "node:test";

import { approvalView } from "../../frontend/js/render/approval_view.js";
import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { elements, ofType, Page, pluck, textOf, turn, withAttribute } from "./support.js";

const t1 = turn("t1");
const FIELDS = { arguments: "", reason: "", remember: "no" };

function asked(...frames) {
  const page = new Page().ask("Write it down", "t1").receive(t1.start());
  for (const frame of frames.length ? frames : [t1.asks("a1")]) page.dispatch({ type: "frame", frame, at: 1000 });
  return page;
}

function answer(page, approved, fields = {}, id = "a1") {
  return page.dispatch({ type: "answer_approval", id, approved, fields: { ...FIELDS, ...fields } });
}

test("an answer is sent once, and the question stays until the server says what became of it", () => {
  const page = asked();
  answer(page, true);
  answer(page, false);

  assert.deepEqual(page.sentOf("approval"), [{ type: "approval", id: "a1", approved: true }]);
  assert.equal(page.state.approvals.length, 1);
  page.receive(t1.resolves("a1", "user"));
  assert.equal(page.state.approvals.length, 0);
});

test("reason, remembering and edited arguments go along", () => {
  const page = asked().dispatch({ type: "edit_approval", id: "a1" });
  answer(page, true, { arguments: '{"path": "b"}', reason: " mine ", remember: "conversation" });

  assert.deepEqual(page.sentOf("approval"), [
    { type: "approval", id: "a1", approved: true, reason: "mine", arguments: { path: "b" }, remember: "conversation" },
  ]);
});

test("a command or a tool is remembered where that is offered", () => {
  const offered = { tool: "shell", remember_for: ["arguments", "command", "tool"], command_name: "git push" };
  const page = asked(t1.asks("a1", offered));
  const choices = () =>
    elements(approvalView(page.state))
      .filter(({ tag }) => tag === "option")
      .map((option) => [option.attributes.value, textOf(option)]);
  assert.deepEqual(choices(), [
    ["no", "only this time"],
    ["conversation", "in this conversation"],
    ["always", "always"],
    ["conversation:command", "Allow git push in this conversation"],
    ["always:command", "Always allow git push"],
    ["conversation:tool", "Allow every call of shell in this conversation"],
    ["always:tool", "Always allow every call of shell"],
  ]);

  answer(page, true, { remember: "always", rememberFor: "command" });
  assert.deepEqual(page.sentOf("approval"), [
    { type: "approval", id: "a1", approved: true, remember: "always", remember_for: "command" },
  ]);
});

test("where only the arguments can be remembered nothing else is offered", () => {
  const box = approvalView(asked(t1.asks("a1", { remember_for: ["arguments"] })).state);

  assert.equal(elements(box).filter(({ tag }) => tag === "option").length, 3);
});

test("arguments that were edited into themselves are not sent as edited", () => {
  const page = asked().dispatch({ type: "edit_approval", id: "a1" });
  answer(page, true, { arguments: '{ "path":"a" }' });

  assert.deepEqual(page.sentOf("approval"), [{ type: "approval", id: "a1", approved: true }]);
});

test("a no does not carry what was edited, and is not remembered", () => {
  const page = asked().dispatch({ type: "edit_approval", id: "a1" });
  answer(page, false, { arguments: "{", remember: "always" });

  assert.deepEqual(page.sentOf("approval"), [{ type: "approval", id: "a1", approved: false }]);
});

for (const text of ["{", "[1]", "null", '"x"', ""]) {
  test(`edited arguments that are no object are told and not sent: ${JSON.stringify(text)}`, () => {
    const page = asked().dispatch({ type: "edit_approval", id: "a1" });
    answer(page, true, { arguments: text });

    assert.deepEqual(page.sentOf("approval"), []);
    assert.notEqual(page.state.approvals[0].problem, "");
    answer(page, true, { arguments: '{"path": "c"}' });
    assert.deepEqual(page.sentOf("approval")[0].arguments, { path: "c" });
  });
}

test("an edit that the server does not take can be mended where it says why", () => {
  const page = asked(t1.asks("a0"), t1.asks("a1"));
  answer(page, true, {}, "a0");
  page.dispatch({ type: "edit_approval", id: "a1" });
  answer(page, true, { arguments: '{"path": "[REDACTED]"}' });
  const message = "[REDACTED] stands for a secret";
  const error = { type: "error", code: "frame_invalid", message, path: "$.arguments" };
  page.receive(error);

  const [plain, edited] = page.state.approvals;
  assert.deepEqual([plain.isAnswered, plain.problem], [true, ""]);
  assert.deepEqual([edited.isAnswered, edited.isEditing, edited.problem], [false, true, message]);
  answer(page, true, { arguments: '{"path": "b"}' });
  assert.deepEqual(page.sentOf("approval").at(-1).arguments, { path: "b" });
  assert.equal(page.state.approvals[1].problem, "");
});

test("questions are asked one after the other", () => {
  const page = asked(t1.asks("a1"), t1.asks("a2", { tool: "send_mail" }));
  assert.match(textOf(approvalView(page.state)), /write_note.*1 of 2/);

  page.receive(t1.resolves("a1", "user"));
  assert.match(textOf(approvalView(page.state)), /send_mail/);
  page.receive(t1.resolves("a2", "user"));
  assert.equal(page.effects.at(-1).type, "leave_approval");
  assert.equal(approvalView(page.state), null);
});

test("what others did about it is told in its turn, and what the user did is not", () => {
  const page = asked(t1.asks("a1"), t1.asks("a2"), t1.asks("a3"));
  page.receive(t1.resolves("a1", "user"), t1.resolves("a2", "timeout", false), t1.resolves("a3", "other_client"));
  page.receive({ ...t1.resolves("a4", "remembered"), tool: "send_mail" });

  assert.deepEqual(pluck(page.state.views.t1.notices, "code"), [
    "approval_timeout",
    "approval_other_client",
    "approval_remembered",
  ]);
});

test("a lost connection takes the questions with it", () => {
  const page = asked().dispatch({ type: "disconnected", attempt: 1, code: 1006, silently: false });

  assert.deepEqual(page.state.approvals, []);
});

test("the time that is left counts down and is drawn", () => {
  const page = asked(t1.asks("a1", { timeout_ms: 90_000 }));
  const left = () => textOf(elements(approvalView(page.state)).find((one) => one.attributes.class === "approval-time"));
  assert.equal(left(), "1 min 30 s");
  page.dispatch({ type: "tick", at: 86_500 });

  assert.equal(left(), "5 s");
});

test("who hears the question hears how long there is to answer it", () => {
  const box = approvalView(asked(t1.asks("a1", { timeout_ms: 90_000 })).state);
  const described = box.attributes["aria-describedby"].split(" ");
  const texts = described.map((id) => textOf(elements(box).find(({ attributes }) => attributes.id === id)));

  assert.equal(texts.at(-1), "Without an answer in 1 min 30 s: no.");
});

test("the box says no with Esc and has the focus itself, so no key says yes by accident", () => {
  const page = asked();
  const box = approvalView(page.state);
  assert.equal(box.attributes.role, "alertdialog");
  assert.equal(box.attributes.tabindex, "-1");
  page.dispatch({ type: "dismiss_approval", id: "a1" });

  assert.deepEqual(page.sentOf("approval"), [{ type: "approval", id: "a1", approved: false }]);
});

test("a question of another window says so, and hostile text stays text", () => {
  const { turn_id, ...elsewhere } = t1.asks("a1", { tool: "<img src=x>", message: "<b>", origin: "guard" });
  const text = textOf(approvalView(asked(elsewhere).state));

  assert.equal(turn_id, "t1");
  assert.match(text, /<img src=x>.*<b>/);
  assert.match(text, /Asked by guard\. For a conversation in another of your windows\./);
});

test("the editor starts with the arguments and is not filled again", () => {
  const page = asked().dispatch({ type: "edit_approval", id: "a1" });
  const editor = withAttribute(approvalView(page.state), "id", "approval-editor")[0];

  assert.equal("value" in editor.attributes, false);
  assert.equal(textOf(editor), '{\n  "path": "a"\n}');
});

const SOUND = { format: "pcm16", sample_rate: 24000 };
const aloud = (index, id) => ({ ...t1.sentence(index, "", SOUND), spoken: "May it?", approval: id });

test("a question that was answered is not said to its end, and the reply goes on", () => {
  const page = asked(t1.sentence(0, "Let me write. ", SOUND), t1.sentenceEnd(0, 800), aloud(1, "a1"), t1.asks("a1"));
  page.dispatch({ type: "heard", turnId: "t1", index: 0, ms: 800, isOver: true });
  page.dispatch({ type: "heard", turnId: "t1", index: 1, ms: 120, isOver: false });

  page.receive(t1.resolves("a1", "user"));

  assert.deepEqual(ofType(page.effects, "skip"), [{ type: "skip", turnId: "t1", index: 1 }]);
  assert.deepEqual(page.sentOf("playback").at(-1), {
    type: "playback",
    turn_id: "t1",
    index: 1,
    ms: 120,
    state: "stopped",
  });
  page.receive(t1.sentenceEnd(1, 900), t1.sentence(2, "Done."), t1.sentenceEnd(2), t1.end());
  assert.deepEqual(page.history, ["user: Write it down", "assistant: Let me write. Done."]);
});

test("a question that was answered before its turn to be heard is passed over, and what is playing is not", () => {
  const page = asked(t1.sentence(0, "Let me write.", SOUND), t1.sentenceEnd(0, 800), aloud(1, "a1"), t1.asks("a1"));
  page.dispatch({ type: "heard", turnId: "t1", index: 0, ms: 100, isOver: false });
  const told = page.sentOf("playback").length;

  page.receive(t1.resolves("a1", "user"), t1.sentenceEnd(1, 900), t1.end());

  assert.equal(page.sentOf("playback").length, told);
  assert.equal(page.state.turn.playback.playing.sentence.index, 0);
  page.dispatch({ type: "heard", turnId: "t1", index: 0, ms: 800, isOver: true });
  assert.equal(page.state.turn, null);
});

test("a lost connection means no, and the turn says so", () => {
  const page = asked(t1.asks("a1"), t1.asks("a2", { tool: "send_mail", turn_id: undefined }));

  page.lose();

  assert.deepEqual(page.state.approvals, []);
  assert.deepEqual(pluck(page.state.views.t1.notices, "message"), [
    "write_note did not run: the connection was lost before an answer.",
  ]);
  assert.deepEqual(page.state.notices, [], "another window's question comes again");
});

test("a call does not run while the user is asked about it, and one that was refused was not carried out", () => {
  const page = asked(t1.call("k1", "write_note"), t1.asks("a1", { call_id: "k1" }));
  const says = (text) => textOf(conversationView(page.state)).includes(text);
  assert.ok(says("waits for you"));

  page.receive(t1.resolves("a1", "user"));
  assert.ok(says("running…"));

  page.receive({ ...t1.result("k1", "no", true), duration_ms: 0 });
  assert.ok(says("not carried out"));
  assert.ok(!says("0 ms"));
});

test("a call that did not run says why", () => {
  const page = asked(t1.asks("a2", { call_id: "k2", tool: "renamed_by_a_hook" }), t1.resolves("a2", "user", false));
  page.receive(t1.call("k1", "write_note", { n: 1 }), t1.call("k2", "write_note", { n: 1 }));
  const outcome = (id, ending, more) => ({ ...t1.result(id, "x", true), duration_ms: 0, ending, ...more });
  const states = () => withAttribute(conversationView(page.state), "class", "tool-state").map(textOf);

  page.receive(outcome("k1", "denied"), outcome("k2", "denied"));
  for (const id of ["k3", "k4", "k5", "k6", "k7"]) page.receive(t1.call(id));
  page.receive(
    outcome("k3", "answered"),
    outcome("k4", "answered", { is_error: false }),
    outcome("k5", "skipped"),
    outcome("k6", "failed", { duration_ms: 5 }),
    outcome("k7", "failed"),
  );
  const expected = [
    "not allowed",
    "you said no",
    "a hook answered with an error",
    "answered by a hook",
    "not carried out",
    "failed, 5 ms",
    "stopped",
  ];
  assert.deepEqual(states(), expected);
  page.receive(t1.end());
  assert.deepEqual(states(), expected);
});

test("arguments stand in a table, and what would be mistaken for another value stands as in JSON", () => {
  const values = { path: "a b", count: "1", n: 1, empty: "", edge: " x", list: [1], turned: "a\u202eb" };
  const box = approvalView(asked(t1.asks("a1", { arguments: values })).state);
  const cells = elements(box)
    .filter(({ tag }) => tag === "td")
    .map(textOf);

  assert.deepEqual(cells, ["a b", '"1"', "1", '""', '" x"', "[\n  1\n]", "a\\u202eb"]);
  const json = withAttribute(box, "class", "approval-json")[0];
  assert.match(textOf(json), /"count": "1"/);
});

test("a question is asked in one sentence, with its reason", () => {
  const said = (message) => {
    const box = approvalView(asked(t1.asks("a1", { message })).state);
    return textOf(withAttribute(box, "id", "approval-message")[0]);
  };

  assert.equal(said("May I use write_note?"), "");
  assert.equal(said("May I use write_note?\nwrite_note: it changes a file"), "write_note: it changes a file");
  assert.equal(said("Shall write_note spend 5 dollars?"), "Shall write_note spend 5 dollars?");
});

test("Esc in the editor forgets what was edited and leaves the question open", () => {
  const page = asked().dispatch({ type: "edit_approval", id: "a1" });
  answer(page, true, { arguments: "{" });

  page.dispatch({ type: "leave_approval_editor", id: "a1" });

  assert.deepEqual(page.sentOf("approval"), []);
  assert.deepEqual([page.state.approvals[0].isEditing, page.state.approvals[0].problem], [false, ""]);
});

test("always for this tool is offered where the server remembers tools", () => {
  const offered = (more) =>
    elements(approvalView(asked(t1.asks("a1", more)).state)).some(
      ({ attributes }) => attributes["data-action"] === "allow-tool",
    );

  assert.ok(offered({}));
  assert.ok(!offered({ remember_for: ["arguments"] }));
});

test("a call whose arguments were edited shows those that ran", () => {
  const page = asked(t1.call("k1", "current_time", { timezone: "Asia/Tokyo" }));
  page.receive({ ...t1.result("k1", "12:00"), arguments: { timezone: "Europe/Rome" } });

  const text = textOf(conversationView(page.state));
  assert.match(text, /Europe\/Rome/);
  assert.doesNotMatch(text, /Tokyo/);
});

test("every character that is not seen is marked in a question, and what shapes pictures and letters stays", () => {
  const unseen = [
    ..."\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u200b\u200c\u200d\u200e\u202e\u2028\u2060\u2064\u2069\u206a\u2800",
    ..."\u3164\ufe0f\ufeff\uffa0\ufff9\u007f\u009b\u{e0041}\u{e0100}\u{1d173}",
  ];
  const shown = (text) => {
    const box = approvalView(asked(t1.asks("a1", { arguments: { command: text }, message: `Run ${text}?` })).state);
    return [withAttribute(box, "id", "approval-message")[0], elements(box).find(({ tag }) => tag === "td")].map(textOf);
  };

  for (const char of unseen) {
    const units = char.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const marked = `rm${units.join("")}x`;
    assert.deepEqual(shown(`rm${char}x`), [`Run ${marked}?`, marked]);
  }
  for (const [text, marked] of [
    ["rm\u061c\u200c\u061cx", "rm\\u061c\\u200c\\u061cx"],
    ["\u0627\u200d\u0600\u200c\u0661", "\u0627\\u200d\\u0600\\u200c\u0661"],
    ["\u070f\u200d\u0710", "\\u070f\\u200d\u0710"],
    ["1\ufe0f2", "1\\ufe0f2"],
  ]) {
    assert.deepEqual(shown(text), [`Run ${marked}?`, marked]);
  }
  const words = "I ❤️ 1️⃣ 👩🏽‍🚀 می‌رود ක්‍ර 北京 é\nnext";
  assert.deepEqual(shown(words), [`Run ${words}?`, words]);
});

test("arguments that would read as others than they are show the signs that would deceive", () => {
  const path = "safe\u202etxt.exe\u200b";
  const page = asked(t1.asks("a1", { arguments: { path } }));
  const shown = () => textOf(approvalView(page.state));

  assert.ok(shown().includes('"safe\\u202etxt.exe\\u200b"'));
  page.dispatch({ type: "edit_approval", id: "a1" });
  assert.ok(shown().includes('"safe\\u202etxt.exe\\u200b"'));

  const fields = { ...FIELDS, arguments: '{"path": "safe\\u202etxt.exe\\u200b"}' };
  page.dispatch({ type: "answer_approval", id: "a1", approved: true, fields });
  assert.equal(page.sentOf("approval").at(-1).arguments, undefined, "it means the same: nothing was edited");
});
