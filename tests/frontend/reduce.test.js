import assert from "node:assert/strict";
import { test } from "node:test";

import { ofType, Page, pluck, READY, skill, turn } from "./support.js";

const t = turn("t1");

test("a user message is stored before it is sent", () => {
  const page = new Page({ storesAtOnce: false }).ask("Hello", "t1");
  assert.equal(page.sentOf("chat").length, 0);
  assert.equal(page.unsaved.at(-1).record.conversationHistory.at(-1).content, "Hello");

  page.store();

  assert.equal(page.sentOf("chat").length, 1);
  assert.equal(page.sentOf("chat")[0].id, "t1");
});

test("a turn that the store could not keep is not sent, and may be tried again", () => {
  const page = new Page({ storesAtOnce: false }).ask("Hello", "t1");
  const { record, revision } = page.unsaved.pop();

  page.dispatch({ type: "save_failed", id: record.id, revision, message: "QuotaExceededError" });

  assert.equal(page.sentOf("chat").length, 0);
  assert.equal(page.conversation.conversationHistory[0]._answer, "failed");
  assert.match(page.state.notices[0].message, /QuotaExceededError/);
});

test("a completed turn joins the history, and comes back with the next, keys that begin with _ included", () => {
  const page = new Page().ask("Hello", "t1");
  page.receive(
    t.start(),
    t.hook("tone"),
    t.text("Hi. "),
    t.sentence(0, "Hi. "),
    t.text("There."),
    t.sentence(1, "There."),
    t.end(),
  );
  assert.deepEqual(page.history, ["user: Hello", "system: text of tone", "assistant: Hi. There."]);
  assert.equal(page.state.turn, null);

  page.ask("Again", "t2");

  const { messages } = page.sentOf("chat").at(-1);
  assert.deepEqual(pluck(messages, "content"), ["Hello", "text of tone", "Hi. There.", "Again"]);
  assert.equal(messages[1]._sig, "sig of tone");
  assert.equal(messages[1]._skill, "calm");
  assert.ok(!("_answer" in messages[0]), "an answered message carries no mark");
});

test("tool rounds are shown and not kept", () => {
  const page = new Page().ask("Read", "t1");
  page.receive(
    t.start(),
    t.sentence(0, "Let me look. "),
    t.call("c"),
    t.result("c", "secret content"),
    t.sentence(1, "\n\nDone."),
    t.end(),
  );

  assert.deepEqual(page.history, ["user: Read", "assistant: Let me look. \n\nDone."]);
  assert.ok(!JSON.stringify(page.records.get("c1")).includes("secret content"));
  assert.deepEqual(pluck(page.state.views.t1.segments, "kind"), ["sentence", "tool", "sentence"]);
});

test("what was shown is stored while the turn runs, with every piece that comes", () => {
  const page = new Page().ask("Hello", "t1");
  page.receive(t.start(), t.text("One. Tw"), t.sentence(0, "One. "), t.hook("tone"), t.text("o."));

  const { historySegments, conversationHistory } = page.records.get("c1");

  assert.deepEqual(
    historySegments.map(({ text, kind }) => text ?? kind),
    ["One. ", "hook", "Two."],
  );
  assert.equal(conversationHistory[0]._answer, "pending");
});

test("of a reply that is spoken, text that was not heard is not stored", () => {
  const page = new Page().ask("Hello", "t1");
  page.receive(t.start(), t.text("One. "), t.sentence(0, "One. ", { format: "pcm16", sample_rate: 22050 }));
  const before = page.effects.length;

  page.receive(t.text("Two."));

  assert.equal(page.effects.length, before);
  assert.deepEqual(page.records.get("c1").historySegments, []);
});

const CUTS = {
  "the user stops": {
    act: (page) => page.dispatch({ type: "stop" }),
    answer: "stopped",
    sent: "interrupt",
    isRead: true,
  },
  "the socket is lost": { act: (page) => page.lose(), answer: "lost", sent: "chat", isRead: true },
  "the server restarts": {
    act: (page) => page.receive(t.end("interrupted", { message: "It restarts." })),
    answer: "restarted",
    sent: "chat",
    isRead: true,
  },
  "the server interrupts": { act: (page) => page.receive(t.end("interrupted")), answer: "stopped", sent: "chat" },
  "the server aborts": {
    act: (page) => page.receive(t.end("aborted", { message: "No." })),
    answer: "stopped",
    sent: "chat",
  },
  "the turn fails": {
    act: (page) => page.receive(t.error("provider_timeout"), t.end("error")),
    answer: "failed",
    sent: "chat",
  },
};

for (const [name, { act, answer, sent, isRead }] of Object.entries(CUTS)) {
  test(`${name}: sentences that were reached are kept, and what only streamed is${isRead ? "" : " not"}`, () => {
    const page = new Page().ask("Hello", "t1");
    page.receive(t.start(), t.hook("tone"), t.text("One. Tw"), t.sentence(0, "One. "));

    act(page);

    assert.deepEqual(page.history, ["user: Hello", "system: text of tone", `assistant: One. ${isRead ? "Tw" : ""}`]);
    assert.equal(page.conversation.conversationHistory[0]._answer, answer);
    assert.equal(page.state.turn, null);
    assert.equal(page.sent.at(-1).type, sent);
    assert.deepEqual(page.records.get("c1").historySegments, []);
  });
}

test("asking something new cuts the running turn; its late hooks go before the new message", () => {
  const page = new Page().ask("First", "t1").receive(t.start(), t.sentence(0, "One. ")).ask("Second", "t2");

  page.receive(t.hook("late"), t.sentence(1, "Stale."), t.text("Stale."), t.end("interrupted"), turn("t2").start());

  assert.deepEqual(page.history, ["user: First", "assistant: One. ", "system: text of late", "user: Second"]);
  assert.deepEqual(page.state.cutTurns, {});
  assert.equal(page.state.turn.phase, "running");
});

test("after its end nothing of a turn counts", () => {
  const page = new Page().ask("Hello", "t1").receive(t.start(), t.sentence(0, "One."), t.end());
  const before = page.history;

  page.receive(t.hook("ghost"), t.sentence(1, "Ghost."), t.text("Ghost."), t.end());

  assert.deepEqual(page.history, before);
});

test("a rollback takes the turn away and gives the text back", () => {
  const page = new Page().ask("Bad idea", "t1");
  page.receive(
    t.start(),
    t.hook("tone"),
    t.sentence(0, "One. "),
    t.end("aborted", { rollback: true, message: "Not allowed." }),
  );

  assert.deepEqual(page.history, []);
  assert.deepEqual(ofType(page.effects, "give_back").at(-1), { type: "give_back", text: "Bad idea", images: [] });
  assert.equal(page.state.notices[0].message, "Not allowed.");
});

test("a rollback that crosses our own stop takes the turn away all the same", () => {
  const page = new Page().ask("Bad idea", "t1").receive(t.start(), t.sentence(0, "One. ")).dispatch({ type: "stop" });

  page.receive(t.end("aborted", { rollback: true, message: "Not allowed." }));

  assert.deepEqual(page.history, []);
  assert.equal(page.effects.findLast(({ type }) => type === "give_back").text, "Bad idea");
  assert.deepEqual(page.state.cutTurns, {});
});

test("a rollback gives nothing back over a message that was sent meanwhile", () => {
  const page = new Page().ask("Bad idea", "t1").receive(t.start()).ask("Better idea", "t2");

  page.receive(t.end("aborted", { rollback: true }));

  assert.deepEqual(page.history, ["user: Better idea"]);
  assert.deepEqual(ofType(page.effects, "give_back"), []);
});

test("retry asks the lost message again under a new id, once the connection is back", () => {
  const page = new Page().ask("Hello", "t1").lose().dispatch({ type: "retry", turnId: "t2", at: 3 });
  assert.equal(page.sentOf("chat").length, 1, "not without a connection");
  page.receive(READY);
  assert.equal(page.sentOf("chat").length, 1, "and never by itself");

  page.dispatch({ type: "retry", turnId: "t3", at: 4 });

  assert.deepEqual(pluck(page.sentOf("chat").at(-1).messages, "content"), ["Hello"]);
  assert.equal(page.sentOf("chat").at(-1).id, "t3");
  page.receive(turn("t3").start(), turn("t3").sentence(0, "Hi."), turn("t3").end());
  assert.deepEqual(page.history, ["user: Hello", "assistant: Hi."]);
});

for (const code of ["too_many_turns", "rate_limited"]) {
  test(`a chat refused with ${code} may be tried again`, () => {
    const page = new Page().ask("Hello", "t1");

    page.receive({ type: "error", code, message: "no" });

    assert.equal(page.state.turn, null);
    assert.equal(page.state.views.t1.error.code, code);
    assert.equal(page.conversation.conversationHistory[0]._answer, "failed");
  });
}

for (const code of ["frame_invalid", "message_too_large"]) {
  test(`a message refused with ${code} comes back, so that those after it can be read`, () => {
    const page = new Page().ask("Hello", "t1").receive(t.start(), t.sentence(0, "Hi."), t.end());
    page.ask("Look", "t2").receive({ type: "error", code, message: "No picture.", path: "$.messages[2].content[1]" });

    assert.deepEqual([page.history, page.state.turn], [["user: Hello", "assistant: Hi."], null]);
    assert.equal(page.effects.findLast(({ type }) => type === "give_back").text, "Look");
    assert.equal(page.state.notices[0].message, "No picture.");
    page.ask("And now?", "t3");
    assert.deepEqual(pluck(page.sentOf("chat").at(-1).messages, "content"), ["Hello", "Hi.", "And now?"]);
  });
}

const REFUSED = { type: "error", code: "turn_refused_draining", message: "the server is stopping" };
const GOODBYE = { type: "disconnected", attempt: 0, code: 1001, silently: true };
const BROKEN = { type: "disconnected", attempt: 1, code: 1006, silently: false };
const chatsOf = (page) => page.sentOf("chat").map(({ id, messages }) => `${id} ${messages.at(-1).content}`);
const answerOf = (page) => page.conversation.conversationHistory.findLast(({ role }) => role === "user")._answer;

for (const [name, end] of [
  ["was refused by a server that stops", (page) => page.receive(REFUSED).dispatch(GOODBYE)],
  ["was refused, on a socket that then breaks", (page) => page.receive(REFUSED).dispatch(BROKEN)],
  ["had not begun when the server said goodbye", (page) => page.dispatch(GOODBYE)],
]) {
  test(`a typed turn that ${name} is sent once more, with the same id`, () => {
    const page = new Page().ask("Hello", "t1");

    end(page);
    for (let attempt = 2; attempt <= 5; attempt += 1) page.dispatch({ ...BROKEN, attempt });
    assert.equal(page.sentOf("chat").length, 1, "not without a connection");
    const from = page.sent.length;
    page.receive(READY);

    assert.deepEqual(chatsOf(page), ["t1 Hello", "t1 Hello"]);
    assert.deepEqual(pluck(page.sentOf("chat"), "resend"), [undefined, true]);
    assert.deepEqual(pluck(page.sent.slice(from), "type"), ["configure", "chat"]);
    page.receive(t.start(), t.sentence(0, "Hi."), t.end());
    assert.deepEqual(page.history, ["user: Hello", "assistant: Hi."]);
    assert.equal(answerOf(page), undefined);
  });

  test(`a typed turn that ${name} is not sent a third time`, () => {
    const page = new Page().ask("Hello", "t1");

    end(page);
    page.receive(READY);
    end(page);
    page.receive(READY);

    assert.equal(page.sentOf("chat").length, 2);
    assert.equal(page.state.turn, null);
    assert.ok(["lost", "failed"].includes(answerOf(page)));
  });
}

test("a turn that had begun before it was sent once more counts as lost", () => {
  const page = new Page().ask("Hello", "t1").dispatch(GOODBYE).receive(READY);

  page.receive({ type: "error", code: "turn_id_reused", message: "this turn has begun", path: "$.id" });

  assert.deepEqual([page.state.turn, answerOf(page), page.state.notices], [null, "lost", []]);
});

for (const [name, act] of [
  ["whose socket broke without a close", (page) => page.ask("Hello", "t1").dispatch(BROKEN)],
  ["that had begun", (page) => page.ask("Hello", "t1").receive(t.start()).dispatch(GOODBYE)],
  ["that was spoken", (page) => speak(page).dispatch(GOODBYE)],
  ["that waited for a connection too long", (page) => waited(page, { attempt: 9 })],
  ["whose login is over", (page) => waited(page, { attempt: 2, code: 4401 })],
  ["that was stopped meanwhile", (page) => waited(page, { attempt: 1 }).dispatch({ type: "stop" })],
]) {
  test(`a turn ${name} is never sent again by itself`, () => {
    const page = new Page();

    act(page);
    page.receive(READY);

    assert.ok(page.sentOf("chat").length <= 1);
    assert.deepEqual(page.sentOf("interrupt"), []);
    assert.equal(page.state.turn, null);
    assert.ok(["lost", "stopped"].includes(answerOf(page)));
  });
}

function waited(page, how) {
  return page
    .ask("Hello", "t1")
    .receive(REFUSED)
    .dispatch(GOODBYE)
    .dispatch({ ...BROKEN, ...how });
}

function speak(page) {
  page.receive({ type: "speech_started", utterance: "u1", audio_ms: 1 });
  return page.receive({ type: "transcript", utterance: "u1", text: "Hello", final: true, turn_id: "t1" });
}

test("a turn that the server had to end says so, one that it interrupted for speech does not", () => {
  const page = new Page();
  page.ask("Hello", "t1").receive(t.start(), t.end("interrupted", { message: "the server had to restart" }));
  assert.equal(answerOf(page), "restarted");

  page.ask("Again", "t2").receive(turn("t2").start(), turn("t2").end("interrupted"));
  assert.equal(answerOf(page), "stopped");
});

test("an error about another frame leaves the waiting turn alone", () => {
  const page = new Page().ask("Hello", "t1");

  page.receive({ type: "error", code: "frame_invalid", message: "Expected array", path: "$.skills" });

  assert.equal(page.state.turn.id, "t1");
  assert.match(page.state.notices[0].message, /\$\.skills/);
});

test("a turn taken for refused that begins after all is running", () => {
  const page = new Page().ask("Hello", "t1").receive({ type: "error", code: "rate_limited", message: "about a ping" });

  page.receive(t.start(), t.sentence(0, "Hi."), t.end());

  assert.deepEqual(page.history, ["user: Hello", "assistant: Hi."]);
  assert.equal(page.state.views.t1.error, null);
  assert.ok(!("_answer" in page.conversation.conversationHistory[0]));
});

test("a hook that does not verify may be left out; others stay, and it is not sent again", () => {
  const page = new Page().ask("One", "t1");
  page.receive(t.start(), t.hook("good"), t.hook("forged"), t.hook("forged too"), t.sentence(0, "Hi."), t.end());
  page.ask("Two", "t2");
  page.receive({ type: "error", code: "hook_signature_invalid", message: "no", path: "$.messages[2]" });
  assert.equal(page.sentOf("chat").length, 2, "nothing is left out without asking");

  page.dispatch({ type: "retry_without_unverified", turnId: "t3", at: 3 });
  page.receive({ type: "error", code: "hook_signature_invalid", message: "no", path: "$.messages[2]", turn_id: "t3" });

  const { messages, id } = page.sentOf("chat").at(-1);
  assert.deepEqual(pluck(messages, "content"), ["One", "text of good", "Hi.", "Two"]);
  assert.notEqual(id, "t3", "each attempt has an id of its own");
  assert.equal(page.conversation.conversationHistory.length, 6, "they stay in the conversation");
});

test("a message too long to send alone stays with the user", () => {
  const page = new Page().receive({ ...READY, limits: { max_messages: 10, max_message_bytes: 1000 } });

  page.ask("x".repeat(2000), "t1");

  assert.deepEqual(page.history, []);
  assert.equal(page.state.notices[0].code, "message_too_large");
  assert.ok(!page.effects.some(({ type }) => type === "compose"));
});

test("oldest turns are left out of the frame, not of the conversation, and it is said", () => {
  const page = new Page().receive({ ...READY, limits: { max_messages: 3, max_message_bytes: 1e6 } });
  for (const n of [1, 2, 3]) {
    page.ask(`Q${n}`, `t${n}`);
    page.receive(turn(`t${n}`).start(), turn(`t${n}`).sentence(0, `A${n}`), turn(`t${n}`).end());
  }

  assert.deepEqual(pluck(page.sentOf("chat").at(-1).messages, "content"), ["Q2", "A2", "Q3"]);
  assert.equal(page.history.length, 6);
  assert.equal(page.state.views.t3.notices[0].code, "history_shortened");
});

test("sentences are announced as they are reached, without their marks", () => {
  const page = new Page().ask("Hello", "t1");
  page.receive(t.start(), t.text("**One.** "), t.sentence(0, "**One.** "), t.sentence(1, "Two."));

  assert.deepEqual(pluck(page.state.announcements, "text"), ["One.", "Two."]);
});

test("the server is told once what the user wants, and again after each connection and change", () => {
  const page = new Page();
  assert.deepEqual(page.sentOf("configure"), [
    {
      type: "configure",
      voice: true,
      turn_detection: "server_vad",
      input: { format: "pcm16", sample_rate: 16000 },
      skills: null,
      enable_tools: true,
      language: null,
      instructions: null,
      speaker: null,
      speed: 1,
      conversation: "c1",
      trace: true,
      context: {},
      nudges: false,
    },
  ]);

  page.dispatch({ type: "toggle_skill", name: "calm" }).dispatch({ type: "set", change: { language: "de" } });
  page.dispatch({ type: "panel", panel: "skills" });
  page.lose().receive(READY);

  assert.deepEqual(
    page.sentOf("configure").map(({ skills, language }) => [skills, language]),
    [
      [null, null],
      [["clock"], undefined],
      [undefined, "de"],
      [["clock"], "de"],
    ],
  );
});

test("the server is told the time zone of this browser", () => {
  const page = new Page({ timezone: "Europe/Berlin" });

  assert.deepEqual(pluck(page.sentOf("configure"), "context"), [{ timezone: "Europe/Berlin" }]);
});

test("instructions of the user's own go with every turn until they are taken away", () => {
  const page = new Page();
  page.dispatch({ type: "set", change: { instructions: " Speak slowly. " } });
  page.dispatch({ type: "set", change: { instructions: " " } });

  assert.deepEqual(pluck(page.sentOf("configure"), "instructions"), [null, "Speak slowly.", null]);
});

test("a skill that appears is on, also for those who switched another off", () => {
  const page = new Page().dispatch({ type: "toggle_skill", name: "calm" });

  page.receive({ type: "skills", skills: [skill("calm"), skill("clock"), skill("new")], diagnostics: [] });

  assert.deepEqual(page.sentOf("configure").at(-1).skills, ["clock", "new"]);
});

test("a skill that is off by default is on only for those who switched it on, and then the server is told of all", () => {
  const page = new Page();
  const skills = [skill("calm"), skill("tutor", { enabled: false, default: "off" })];
  page.receive({ type: "skills", skills, diagnostics: [] });
  assert.equal(page.sentOf("configure").at(-1).skills, null);

  page.dispatch({ type: "toggle_skill", name: "tutor" });
  assert.deepEqual(page.sentOf("configure").at(-1).skills, ["calm", "tutor"]);

  page.dispatch({ type: "toggle_skill", name: "tutor" });
  assert.equal(page.sentOf("configure").at(-1).skills, null);
});

test("opening another conversation stops the turn; its late hooks still find it", () => {
  const page = new Page().ask("Hello", "t1").receive(t.start(), t.sentence(0, "One. "));
  page.dispatch({ type: "open_conversation", id: "c2", at: 5 });
  page.dispatch({ type: "opened", id: "c2", record: null, access: "write", at: 5 });
  assert.equal(page.sent.findLast(({ type }) => type === "interrupt").turn_id, "t1");

  page.receive(t.hook("late"));
  assert.deepEqual(pluck(page.records.get("c1").conversationHistory, "content"), ["Hello", "One. ", "text of late"]);
  assert.ok(!page.effects.some(({ type }) => type === "release"));
  page.receive(t.end("interrupted"));

  assert.deepEqual(ofType(page.effects, "release").at(-1), { type: "release", id: "c1" });
  assert.deepEqual(Object.keys(page.state.loaded), ["c2"]);
});

test("a conversation held by another tab is not written, and becomes ours when that tab goes", () => {
  const page = new Page();
  const record = {
    id: "c2",
    title: "",
    createdAt: 0,
    updatedAt: 0,
    conversationHistory: [{ role: "user", content: "Hi", _turn: "x", _answer: "pending" }],
    historySegments: [{ kind: "sentence", text: "Half" }],
  };
  page.dispatch({ type: "open_conversation", id: "c2", at: 5 });
  page.dispatch({ type: "opened", id: "c2", record, access: "read", at: 5 });
  page.ask("Mine", "t9");
  assert.deepEqual(page.history, ["user: Hi", "assistant: Half"]);
  assert.equal(page.records.has("c2"), false);

  page.dispatch({ type: "opened", id: "c2", record, access: "write", at: 6 });

  assert.deepEqual(page.history, ["user: Hi", "assistant: Half"]);
  assert.equal(page.conversation.conversationHistory[0]._answer, "lost");
  assert.deepEqual(
    page.records.get("c2").historySegments,
    [],
    "what the other tab had heard is flushed, and stored so",
  );
  page.ask("Mine", "t9");
  assert.equal(page.records.get("c2").conversationHistory.length, 3);
});

test("clearing takes hooks along, and can be undone", () => {
  const page = new Page().ask("Hello", "t1").receive(t.start(), t.hook("tone"), t.sentence(0, "Hi."), t.end());
  page.dispatch({ type: "clear" }).ask("Fresh", "t2");
  assert.deepEqual(pluck(page.sentOf("chat").at(-1).messages, "content"), ["Fresh"]);

  page.dispatch({ type: "undo", at: 9 });

  assert.deepEqual(page.history, ["user: Hello", "system: text of tone", "assistant: Hi.", "user: Fresh"]);
});

test("a deleted conversation comes back with undo", () => {
  const page = new Page().ask("Hello", "t1").receive(t.start(), t.sentence(0, "Hi."), t.end());
  page.dispatch({ type: "delete", nextId: "c2", at: 5 });
  assert.deepEqual(pluck(ofType(page.effects, "remove"), "id"), ["c1"]);
  assert.equal(page.state.openId, "c2");

  page.dispatch({ type: "undo", at: 6 });

  assert.equal(page.state.openId, "c1");
  assert.deepEqual(pluck(page.records.get("c1").conversationHistory, "content"), ["Hello", "Hi."]);
});

test("a fresh conversation is not made twice", () => {
  const page = new Page();

  page.dispatch({ type: "new_conversation", id: "c2", at: 5 });

  assert.equal(page.state.openId, "c1");
});

test("a title is kept until it is emptied", () => {
  const page = new Page().ask("Hello", "t1").dispatch({ type: "rename", title: "  Greetings " });
  assert.equal(page.state.conversations[0].title, "Greetings");

  page.dispatch({ type: "rename", title: "" });

  assert.equal(page.state.conversations[0].title, "Hello");
});

test("the views and traces of turns do not grow without end", () => {
  const page = new Page();
  for (let n = 0; n < 400; n += 1) {
    page.receive({ type: "error", turn_id: `x${n}`, code: "internal", message: "" });
    page.receive({ type: "trace", turn_id: `x${n}`, event: "model_call", data: { call: 1, messages: [] } });
    page.receive({ type: "notice", code: `n${n}`, level: "info", message: "" });
  }

  assert.equal(Object.keys(page.state.views).length, 300);
  assert.equal(Object.keys(page.state.traces).length, 20);
  assert.equal(page.state.notices.length, 5);
});

test("a warning goes when the user goes on; one of a state that lasts stays", () => {
  const page = new Page();
  const codes = () => page.state.notices.map(({ code }) => code);
  page.dispatch({ type: "warn", code: "storage_missing", message: "Nothing is stored." });
  page.dispatch({ type: "warn", code: "image_unreadable", message: "a.docx: no." });
  page.dispatch({ type: "reading_images", count: 1 }).dispatch({ type: "attach", image: null });
  page.dispatch({ type: "warn", code: "image_unreadable", message: "b.docx: no." });
  assert.deepEqual(
    page.state.notices.map(({ message }) => message),
    ["Nothing is stored.", "b.docx: no."],
  );

  page.ask("Hello", "t1");

  assert.deepEqual(codes(), ["storage_missing"]);
});

test("a login that is over keeps what was heard and leads to the login page", () => {
  const page = new Page();
  const t = turn("t1");
  page.ask("Hello", "t1").receive(t.start(), t.text("Hi."), t.sentence(0, "Hi."), t.sentenceEnd(0, 0));

  page.dispatch({ type: "disconnected", attempt: 1, code: 4401, silently: false });

  assert.equal(ofType(page.effects, "log_in").length, 1);
  assert.ok(page.unsaved.length || page.records.size);
});

test("any other loss of the connection does not", () => {
  const page = new Page();

  page.dispatch({ type: "disconnected", attempt: 1, code: 1006, silently: false });

  assert.ok(!page.effects.some(({ type }) => type === "log_in"));
});
