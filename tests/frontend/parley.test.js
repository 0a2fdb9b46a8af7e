/** The client library as a page uses it: frontend/sdk/parley.js over a scripted server. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Page, pluck, READY, seeded, turn } from "./support.js";
import { settled } from "./world.js";

const sockets = [];
class FakeWebSocket {
  readyState = 1;
  bufferedAmount = 0;
  sent = [];
  constructor(url, protocols) {
    Object.assign(this, { url, protocols });
    sockets.push(this);
  }
  send(data) {
    this.sent.push(JSON.parse(data));
  }
  close() {
    this.readyState = 3;
  }
}
const reported = [];
const target = { addEventListener() {} };
Object.assign(globalThis, {
  WebSocket: FakeWebSocket,
  location: { href: "https://shop.example/tea" },
  document: { ...target, hidden: false },
  window: { ...target, setTimeout: () => 0, clearTimeout() {} },
  AudioContext: class {
    constructor() {
      throw new Error("no sound here");
    }
  },
  reportError: (error) => reported.push(error.message),
});
const { Parley, memoryStore, browserStore } = await import("../../frontend/sdk/parley.js");
const { initialState, reduce } = await import("../../frontend/sdk/client.js");

const later = async () => {
  for (let i = 0; i < 5; i += 1) await settled();
};

/** A conversation that is connected, and the server's side of it. */
async function connected(t, options = {}) {
  const parley = new Parley({ url: "https://talk.example/parley", conversation: "c", ...options });
  t.after(() => parley.close());
  const events = [];
  for (const type of ["problem", "notice", "tool", "hook", "approval_resolved", "end", "give_back"])
    parley.on(type, (detail) => events.push([type, detail]));
  const server = {
    get socket() {
      return sockets.at(-1);
    },
    say: (...frames) => frames.forEach((frame) => server.socket.onmessage({ data: JSON.stringify(frame) })),
    sent: (type) => server.socket.sent.filter((frame) => frame.type === type),
    of: (type) => events.filter(([name]) => name === type).map(([, detail]) => detail),
  };
  const isConnected = parley.connect();
  await later();
  server.say(READY);
  await isConnected;
  return { parley, server };
}

test("a message is answered, and what hooks put into the turn comes back with the next", async (t) => {
  const { parley, server } = await connected(t);
  assert.equal(server.socket.url, "wss://talk.example/parley/ws");
  const answer = parley.send("Hello");
  await later();
  const [{ id }] = server.sent("chat");
  const at = turn(id);
  server.say(
    at.start(),
    at.hook("tone"),
    at.text("Hi."),
    at.sentence(0, "Hi."),
    at.sentenceEnd(0),
    at.end("completed", { state: "s1" }),
  );

  assert.deepEqual(await answer, { turnId: id, reason: "completed", text: "Hi.", error: null });
  assert.deepEqual(pluck(server.of("hook"), "name"), ["tone"]);
  void parley.send("More");
  await later();
  const { messages, state } = server.sent("chat")[1];
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ["user", "Hello"],
      ["system", "text of tone"],
      ["assistant", "Hi."],
      ["user", "More"],
    ],
  );
  assert.equal(state, "s1");
});

test("a sentence is reported when its sound begins and when it was heard, the last one of a turn too, and before the end", async (t) => {
  const { parley, server } = await connected(t);
  parley.channel.player.begin = () => {}; // a loudspeaker, which says below what was heard
  const events = [];
  for (const type of ["text", "speaking", "sentence", "end"])
    parley.on(type, ({ turnId, text }) => events.push([type, turnId, text]));
  void parley.send("Hello");
  await later();
  const { id } = server.sent("chat").at(-1);
  const at = turn(id);
  const audio = { format: "pcm16", sample_rate: 16_000 };
  server.say(at.start(), at.text("Hi. Bye."), at.sentence(0, "Hi.", audio), at.sentenceEnd(0, 900));
  server.say(at.sentence(1, " Bye.", audio), at.sentenceEnd(1, 500), at.end());
  assert.deepEqual(events, [
    ["text", id, "Hi. Bye."],
    ["speaking", id, "Hi."],
  ]);
  assert.equal(parley.state.phase, "speaking");

  parley.channel.player.onHeard({ turnId: id, index: 0, ms: 400, isOver: false });
  parley.channel.player.onHeard({ turnId: id, index: 0, ms: 900, isOver: true });
  parley.channel.player.onHeard({ turnId: id, index: 1, ms: 500, isOver: true });

  assert.deepEqual(events.slice(2), [
    ["sentence", id, "Hi."],
    ["speaking", id, " Bye."],
    ["sentence", id, " Bye."],
    ["end", id, "Hi. Bye."],
  ]);
  assert.equal(server.sent("playback").at(-1).state, "stopped");
});

test("a message goes out once it is stored, and not if it cannot be", async (t) => {
  const saves = [];
  const store = {
    load: async () => null,
    save: () => new Promise((resolve, reject) => saves.push({ resolve, reject })),
  };
  const { parley, server } = await connected(t, { store });
  const answer = parley.send("Hello");
  await later();
  assert.equal(server.sent("chat").length, 0);

  saves[0].reject(new Error("disk full"));

  assert.equal((await answer).reason, "failed");
  assert.deepEqual(server.of("problem"), [{ code: "storage_failed", detail: "disk full" }]);
  assert.equal(server.sent("chat").length, 0);
  const again = parley.retry();
  await later();
  for (const { resolve } of saves) resolve();
  await later();
  for (const { resolve } of saves) resolve();
  await later();
  assert.equal(server.sent("chat").length, 1);
  server.say(turn(server.sent("chat")[0].id).error("model_missing"));
  assert.deepEqual((await again).error, { code: "model_missing", message: "the text of model_missing" });
});

test("a conversation that is kept is there again, and its broken turn counts as lost", async (t) => {
  const items = new Map();
  const storage = { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) };
  const first = await connected(t, { store: browserStore("p.", storage) });
  void first.parley.send("Hello");
  await later();
  const { id } = first.server.sent("chat")[0];
  first.server.say(turn(id).start(), turn(id).text("One. "), turn(id).sentence(0, "One. "), turn(id).sentenceEnd(0));
  await later();

  const { parley } = await connected(t, { store: browserStore("p.", storage) });

  assert.deepEqual(
    parley.history.map(({ content, _answer }) => [content, _answer]),
    [
      ["Hello", "lost"],
      ["One. ", undefined],
    ],
  );
});

test("a connection that is lost ends the turn and its questions, and the next one asks for the token again", async (t) => {
  let asked = 0;
  const { parley, server } = await connected(t, { token: async () => `t${(asked += 1)}` });
  assert.deepEqual(server.socket.protocols, ["parley.v1", "parley.bearer.t1"]);
  const answer = parley.send("Hello");
  await later();
  const { id } = server.sent("chat")[0];
  server.say(turn(id).start(), turn(id).text("One."), turn(id).asks("a1"));
  assert.deepEqual([...parley.approvals.keys()], ["a1"]);
  server.socket.onclose({ code: 1006 });

  assert.deepEqual(await answer, { turnId: id, reason: "lost", text: "One.", error: null });
  assert.deepEqual(server.of("approval_resolved"), [{ id: "a1", approved: false, by: "disconnect" }]);
  assert.equal(parley.state.connection, "waiting");
  parley.channel.socket.wake();
  await later();
  assert.deepEqual(server.socket.protocols, ["parley.v1", "parley.bearer.t2"]);
  server.say(READY);
  assert.equal(server.sent("configure")[0].conversation, "c");
});

test("a conversation that cannot be read is not overwritten, and can be read later", async (t) => {
  let isBroken = true;
  const saved = [];
  const load = async () => {
    if (isBroken) throw new Error("locked");
    return { id: "c", conversationHistory: [{ role: "user", content: "Before" }], historySegments: [], branches: [] };
  };
  const parley = new Parley({
    url: "https://talk.example",
    store: { load, save: async (record) => void saved.push(record) },
  });
  t.after(() => parley.close());
  const problems = [];
  parley.on("problem", ({ code }) => problems.push(code));

  await assert.rejects(parley.send("Hello"), { message: "storage_unreadable" });
  assert.deepEqual([problems, saved], [["storage_unreadable"], []]);
  isBroken = false;
  void parley.send("Hello");
  await later();
  sockets.at(-1).onmessage({ data: JSON.stringify(READY) });
  await later();

  assert.deepEqual(pluck(parley.history, "content"), ["Before", "Hello"]);
});

test("a token that cannot be had is a problem, and is asked for again", async (t) => {
  let asked = 0;
  const token = () => {
    asked += 1;
    throw new Error("no session");
  };
  const parley = new Parley({ url: "https://talk.example", token });
  t.after(() => parley.close());
  const problems = [];
  parley.on("problem", (problem) => problems.push(problem));
  void parley.connect().catch(() => {});
  await later();
  parley.channel.socket.wake();
  await later();

  assert.deepEqual(problems[0], { code: "token_failed", detail: "no session" });
  assert.deepEqual([asked, parley.state.connection], [2, "waiting"]);
});

test("a client that may not enter gets the reason, and no call waits for ever", async () => {
  const parley = new Parley({ url: "https://talk.example" });
  const answer = parley.send("Hello").catch(({ message }) => message);
  await later();
  sockets.at(-1).onclose({ code: 4401 });

  assert.equal(await answer, "not_authenticated");
  parley.close();
});

test("tools of the page answer, whatever becomes of them, and not after their turn", async (t) => {
  const signals = [];
  const tool = (name, run) => ({ name, description: name, run });
  const tools = [
    tool("seat", ({ row }, { signal }) => (signals.push(signal), { seat: `${row}C` })),
    tool("broken", () => Promise.reject(new Error("out of paper"))),
    tool("large", () => "x".repeat((1 << 20) + 1)),
    tool("slow", (_args, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve))),
  ];
  const { parley, server } = await connected(t, { tools });
  assert.deepEqual(server.sent("configure")[0].tools[0], {
    name: "seat",
    description: "seat",
    parameters: { type: "object", properties: {} },
  });
  void parley.send("Is there a seat?");
  await later();
  const { id: turn_id } = server.sent("chat")[0];
  server.say(turn(turn_id).start());
  for (const name of ["seat", "broken", "large", "unknown", "slow"])
    server.say({ type: "client_tool_call", turn_id, id: name, name, arguments: { row: 7 } });
  await later();

  assert.deepEqual(
    server
      .sent("tool_output")
      .map(({ id, content, is_error }) => [id, content, is_error])
      .sort(),
    [
      ["broken", "out of paper", true],
      ["large", "The output is larger than 1 MiB.", true],
      ["seat", '{"seat":"7C"}', false],
      ["unknown", "This page has no tool unknown.", true],
    ],
  );
  parley.interrupt();
  await later();
  assert.equal(signals[0].aborted, true);
  assert.equal(server.sent("tool_output").length, 4);
  assert.deepEqual(server.sent("interrupt"), [{ type: "interrupt", turn_id }]);
  server.say({ type: "client_tool_call", turn_id, id: "late", name: "seat", arguments: { row: 7 } });
  await later();
  assert.deepEqual([signals.length, server.sent("tool_output").length], [1, 4]);
});

test("a message that no server would take is refused before it is kept", async (t) => {
  const { parley, server } = await connected(t);
  const gif = { images: [{ url: "data:image/gif;base64,R0lGODlhAQABAAAAACw=" }] };
  for (const url of [gif.images[0].url, "https://x.example/cat.png", "data:image/png,raw", undefined])
    await assert.rejects(parley.send("Look", { images: [{ url }] }), /image\/png, image\/jpeg or image\/webp/);
  for (const text of [5, null, undefined]) await assert.rejects(parley.send(text), /a message is a string/);
  assert.deepEqual([parley.history, server.sent("chat")], [[], []]);

  for (const type of ["png", "jpeg", "webp"]) {
    void parley.send("Look", { images: [{ url: `data:image/${type};base64,AAAA` }] });
    await later();
  }
  void parley.send("cut 😀 here \ud83d");
  await later();
  assert.equal(server.sent("chat").length, 4);
  assert.equal(server.sent("chat")[3].messages.at(-1).content, "cut 😀 here \ufffd");
});

test("a message that the server cannot read is taken back, and the next one is sent without it", async (t) => {
  const { parley, server } = await connected(t);
  const answer = parley.send("Look", { images: [{ url: "data:image/png;base64,AAAA" }] });
  await later();
  const [{ id }] = server.sent("chat");
  server.say({ type: "error", code: "frame_invalid", message: "No such picture.", path: "$.messages[0].content[1]" });

  assert.deepEqual(await answer, {
    turnId: id,
    reason: "failed",
    text: "",
    error: { code: "frame_invalid", message: "No such picture." },
  });
  assert.deepEqual([server.of("give_back"), parley.history], [[{ text: "Look" }], []]);
  void parley.send("Hello");
  await later();
  assert.deepEqual(pluck(server.sent("chat")[1].messages, "content"), ["Hello"]);
});

test("where speech is only transcribed, words begin no turn and a message fails at once", async (t) => {
  const { parley, server } = await connected(t, { configure: { transcribe_only: true } });
  assert.equal(server.sent("configure")[0].transcribe_only, true);
  const heard = [];
  parley.on("transcript", ({ text, isFinal }) => heard.push([text, isFinal]));
  server.say({ type: "speech_started", utterance: "u1", audio_ms: 1 }, { type: "speech_stopped", utterance: "u1" });
  server.say({ type: "transcript", utterance: "u1", text: "Good day.", final: true });
  assert.deepEqual([heard, parley.history, parley.state.phase], [[["Good day.", true]], [], "idle"]);

  const answer = parley.send("Hello");
  await later();
  server.say({ type: "error", code: "frame_invalid", message: "this connection only transcribes", path: "$.type" });
  assert.deepEqual((await answer).error, { code: "frame_invalid", message: "this connection only transcribes" });
});

/** A microphone that the browser grants when it is told to. */
function grantedMicrophone(t) {
  const asked = [];
  const track = { stop: () => (track.isStopped = true) };
  const mediaDevices = {
    addEventListener() {},
    getUserMedia: () => new Promise((resolve) => asked.push(() => resolve({ getTracks: () => [track] }))),
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { mediaDevices, userAgent: "test" } });
  t.after(() => Object.defineProperty(globalThis, "navigator", before));
  return { asked, track };
}

test("a conversation that is closed begins nothing any more, and says so", async (t) => {
  const { asked } = grantedMicrophone(t);
  const { parley, server } = await connected(t);
  const running = parley.send("Hello");
  await later();
  const shown = [];
  parley.on("state", ({ connection, phase, microphone }) => shown.push([connection, phase, microphone]));
  const count = sockets.length;
  parley.close();

  assert.equal((await running).reason, "stopped");
  const { history } = parley;
  for (const act of ["send", "talk", "connect", "retry"])
    await assert.rejects(parley[act]("Hello"), { message: "closed" }, act);
  parley.stopTalking();
  parley.mute();
  parley.close();

  assert.deepEqual(shown, [["closed", "offline", "off"]]);
  assert.deepEqual([parley.history, asked.length, sockets.length], [history, 0, count]);
  assert.equal(server.sent("interrupt").length, 1);
});

test("closing while the browser asks for the microphone rejects, and lets it go again", async (t) => {
  const { asked, track } = grantedMicrophone(t);
  const { parley } = await connected(t);
  const talked = assert.rejects(parley.talk(), { message: "closed" });
  await later();
  assert.deepEqual([asked.length, parley.state.microphone], [1, "starting"]);
  parley.close();
  await talked;
  asked[0]();
  await later();

  assert.deepEqual([track.isStopped, parley.state.microphone], [true, "off"]);
});

test("closing while the history is read, or in the moment of connecting, begins nothing either", async (t) => {
  const { asked } = grantedMicrophone(t);
  let loaded = () => {};
  const store = { load: () => new Promise((resolve) => (loaded = () => resolve(null))), save: async () => {} };
  const slow = new Parley({ url: "https://talk.example", store });
  const waiting = assert.rejects(slow.send("Hello"), { message: "closed" });
  await later();
  slow.close();
  loaded();
  await waiting;

  const parley = new Parley({ url: "https://talk.example" });
  const acts = [parley.talk(), parley.send("Hello")].map((act) => assert.rejects(act, { message: "closed" }));
  await later();
  sockets.at(-1).onmessage({ data: JSON.stringify(READY) });
  parley.close();
  await Promise.all(acts);
  assert.deepEqual([parley.history, asked.length], [[], 0]);
});

test("an address or a token that no browser can use is refused, and named", async (t) => {
  for (const url of ["http://", "mailto:shop@example.org"])
    assert.throws(() => new Parley({ url }), {
      name: "TypeError",
      message: `url: ${url} is not the address of a server`,
    });
  for (const token of ["x=/", "two words", "é"])
    assert.throws(
      () => new Parley({ url: "wss://talk.example", token }),
      /^TypeError: token: browsers send only letters/,
    );

  const parley = new Parley({ url: "wss://talk.example/ws", token: () => "x=/" });
  t.after(() => parley.close());
  const problems = [];
  parley.on("problem", ({ code, detail }) => problems.push([code, detail.slice(0, 20)]));
  void parley.connect().catch(() => {});
  await later();
  assert.deepEqual([problems, parley.state.connection], [[["token_failed", "token: browsers send"]], "waiting"]);
});

test("a listener that fails does not stop the conversation", async (t) => {
  const { parley, server } = await connected(t);
  parley.on("text", () => {
    throw new Error("my mistake");
  });
  const answer = parley.send("Hello");
  await later();
  const { id } = server.sent("chat")[0];
  server.say(
    turn(id).start(),
    turn(id).text("Hi."),
    turn(id).sentence(0, "Hi."),
    turn(id).sentenceEnd(0),
    turn(id).end(),
  );

  assert.equal((await answer).text, "Hi.");
  assert.deepEqual(reported.splice(0), ["my mistake"]);
});

test("a store of one's own may be asked for anything that was given to it", async () => {
  const store = memoryStore();
  await store.save({ id: "a", conversationHistory: [] });

  assert.deepEqual([(await store.load("a")).id, await store.load("b")], ["a", null]);
});

/** What a random course of events makes of a client: what it sends, and its history. */
class Client {
  sent = [];
  constructor() {
    this.state = initialState("c1", { speak: "spoken", turnDetection: "server_vad" }, {});
    this.dispatch({ type: "opened", record: null, at: 1 });
  }
  dispatch(event) {
    this.state = reduce(this.state, event);
    const { effects } = this.state;
    for (const effect of effects) if (effect.type === "send") this.sent.push(structuredClone(effect.frame));
    for (const { type, revision } of effects) if (type === "save") this.dispatch({ type: "saved", id: "c1", revision });
  }
}

test("the library makes the same history as the page, and sends the same, whatever happens", () => {
  for (let seed = 1; seed <= (process.env.SOAK ? 5_000 : 200); seed += 1) {
    const random = seeded(seed);
    const page = new Page();
    const client = new Client();
    let count = 0;
    const both = (event, forClient = event) => (page.dispatch(event), client.dispatch({ at: 1, ...forClient }));
    const say = (frame) => both({ type: "frame", frame, at: 1 });
    const audio = () => (random() < 0.5 ? { format: "pcm16", sample_rate: 16_000 } : null);
    const now = () => turn(page.state.turn?.id ?? "none");
    const acts = [
      () =>
        both(
          { type: "submit", text: `q${count}`, turnId: `t${count}`, at: 2 },
          { type: "ask", text: `q${count}`, images: [], turnId: `t${count}`, at: 2 },
        ),
      () => say(now().start()),
      () => (say(now().text(`s${count} and more. `)), say(now().sentence(count, `s${count} and more. `, audio()))),
      () => say(now().sentenceEnd(count - 1, 1000)),
      () =>
        both({ type: "heard", turnId: page.state.turn?.id ?? "", index: count - 2, ms: 600, isOver: random() < 0.5 }),
      () => say(now().hook(`h${count}`)),
      () => (say(now().call(`k${count}`)), say(now().result(`k${count}`))),
      () => say(now().end(["completed", "interrupted", "error"][count % 3], { state: `state ${count}` })),
      () => say({ type: "speech_started", utterance: `u${count}`, audio_ms: count }),
      () =>
        say({
          type: "transcript",
          utterance: page.state.voice.utterance ?? "",
          text: `spoken ${count}`,
          final: true,
          turn_id: `v${count}`,
        }),
      () => both({ type: "stop" }),
      () => both({ type: "retry", turnId: `r${count}`, at: 3 }),
      () => (both({ type: "disconnected", attempt: 1, code: count % 2 ? 1006 : 1001, silently: false }), say(READY)),
    ];
    client.dispatch({ type: "frame", frame: READY, at: 1 });
    for (count = 1; count <= 80; count += 1) acts[Math.floor(random() * acts.length)]();

    const history = (of) => of.state.loaded.c1.conversationHistory;
    assert.deepEqual(history(client), history(page), `seed ${seed}`);
    const turns = ({ sent }) => sent.filter(({ type }) => type !== "configure");
    assert.deepEqual(turns(client), turns(page), `seed ${seed}`);
  }
});
