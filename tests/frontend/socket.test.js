import assert from "node:assert/strict";
import { test } from "node:test";

import { parseFrame, PONG_MS, retryDelayMs, Socket } from "../../frontend/sdk/socket.js";
import { pluck, READY } from "./support.js";
import { settled } from "./world.js";

class FakeClock {
  time = 0;
  timers = new Map();
  next = 1;
  now = () => this.time;
  setTimeout = (act, ms) => {
    this.timers.set(this.next, { at: this.time + ms, act });
    return this.next++;
  };
  clearTimeout = (timer) => void this.timers.delete(timer);

  advance(ms) {
    const end = this.time + ms;
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      this.timers.delete(due[0]);
      this.time = due[1].at;
      due[1].act();
    }
    this.time = end;
  }
}

function connected({ onSound, credential } = {}) {
  const clock = new FakeClock();
  const sockets = [];
  class FakeWebSocket {
    readyState = 1;
    sent = [];
    sounds = [];
    bufferedAmount = 0;
    constructor(url, protocols) {
      Object.assign(this, { url, protocols });
      sockets.push(this);
    }
    send(data) {
      if (data instanceof ArrayBuffer) this.sounds.push(data);
      else this.sent.push(JSON.parse(data));
    }
    close() {
      this.readyState = 3;
    }
  }
  const events = [];
  const socket = new Socket({
    url: "ws://x/ws",
    credential,
    onEvent: (event) => events.push(event),
    onSound,
    WebSocket: FakeWebSocket,
    clock,
    random: () => 0.5,
  });
  socket.connect();
  return {
    clock,
    sockets,
    events,
    socket,
    last: () => sockets.at(-1),
    ready: () => sockets.at(-1).onmessage({ data: JSON.stringify(READY) }),
  };
}

test("the socket asks for the protocol by name", () => {
  const { last } = connected();

  assert.deepEqual(last().protocols, ["parley.v1"]);
});

test("the socket shows the credential that holds now", () => {
  let credential = "parley.key.k1";
  const { socket, last, clock } = connected({ credential: () => credential });
  assert.deepEqual(last().protocols, ["parley.v1", "parley.key.k1"]);

  credential = "parley.key.k2";
  last().onclose({ code: 1006 });
  clock.advance(1_000);

  assert.deepEqual(last().protocols, ["parley.v1", "parley.key.k2"]);
});

test("a credential may take its time; one that fails is a connection that failed", async () => {
  const given = [];
  const credential = () => new Promise((resolve, reject) => given.push({ resolve, reject }));
  const { sockets, events, clock, last } = connected({ credential });
  assert.equal(sockets.length, 0);

  given[0].reject(new Error("no token"));
  await settled();
  assert.deepEqual(events.at(-1), { type: "disconnected", attempt: 1, code: 4000, silently: false });
  clock.advance(1_000);
  given[1].resolve("parley.bearer.t");
  await settled();

  assert.deepEqual(last().protocols, ["parley.v1", "parley.bearer.t"]);
});

test("a socket that is closed for good stays closed, also while a credential is awaited", async () => {
  const given = [];
  const { socket, sockets, events, clock } = connected({
    credential: () => new Promise((resolve) => given.push(resolve)),
  });
  socket.close();
  given[0]("parley.bearer.t");
  await settled();
  clock.advance(60_000);

  assert.deepEqual([sockets.length, given.length, events.length], [0, 1, 1]);
});

test("15 s of silence send one ping, 10 s more reconnect", () => {
  const page = connected();
  page.ready();
  page.clock.advance(14_999);
  assert.deepEqual(page.last().sent, []);

  page.clock.advance(1);
  assert.deepEqual(pluck(page.last().sent, "type"), ["ping"]);

  page.clock.advance(10_000);
  assert.equal(page.events.at(-1).type, "disconnected");
  page.clock.advance(500);
  assert.equal(page.sockets.length, 2);
});

test("anything heard puts the ping off, and answers one that is out", () => {
  const page = connected();
  page.ready();
  page.clock.advance(15_000);
  page.last().onmessage({ data: JSON.stringify({ type: "pong", t: 1 }) });

  page.clock.advance(14_000);

  assert.equal(page.last().sent.length, 1);
  assert.equal(page.sockets.length, 1);
});

test("the back-off doubles from half a second to 15, give or take 30 %", () => {
  const middle = [1, 2, 3, 4, 5, 6, 7, 50].map((attempt) => retryDelayMs(attempt, 0.5));
  assert.deepEqual(middle, [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);

  assert.ok(Math.abs(retryDelayMs(1, 0) - 350) < 1e-6);
  assert.ok(Math.abs(retryDelayMs(1, 1) - 650) < 1e-6);
});

test("each failed try waits longer, and `ready` forgets them", () => {
  const page = connected();
  page.last().onclose({ code: 1006 });
  page.clock.advance(500);
  page.last().onclose({ code: 1006 });
  page.clock.advance(999);
  assert.equal(page.sockets.length, 2);
  page.clock.advance(1);
  assert.equal(page.sockets.length, 3);

  page.ready();
  page.last().onclose({ code: 1006 });

  assert.equal(page.events.at(-1).attempt, 1);
});

test("a server that goes away is replaced at once and silently", () => {
  const page = connected();
  page.ready();

  page.last().onclose({ code: 1001 });

  assert.equal(page.sockets.length, 2);
  assert.deepEqual(page.events.slice(-2), [
    { type: "disconnected", attempt: 0, code: 1001, silently: true },
    { type: "connecting", attempt: 0 },
  ]);
});

test("a server that goes away again and again is not hammered", () => {
  const page = connected();
  for (let i = 0; i < 2; i += 1) {
    page.ready();
    page.last().onclose({ code: 1001 });
  }
  assert.equal(page.sockets.length, 2);

  page.clock.advance(500);

  assert.equal(page.sockets.length, 3);
});

test("waking up reconnects at once while waiting, and asks a silent socket", () => {
  const page = connected();
  page.last().onclose({ code: 1006 });
  page.socket.wake();
  assert.equal(page.sockets.length, 2);
  page.clock.advance(600);
  assert.equal(page.sockets.length, 2, "the timer of the first try is gone");

  page.ready();
  page.clock.time += 60_000; // the machine slept: no timer ran
  page.socket.wake();

  assert.deepEqual(pluck(page.last().sent, "type"), ["ping"]);
});

test("a socket that looks alive is probed at once after waking, and given up without an answer", () => {
  const page = connected();
  page.ready();
  page.clock.advance(1_000); // as our clock has it: it may have stood still while the machine slept

  page.socket.wake();
  page.socket.wake();
  assert.deepEqual(pluck(page.last().sent, "type"), ["ping"]);
  page.clock.advance(PONG_MS);

  assert.equal(page.events.at(-1).type, "disconnected");
});

test("a socket that answers after waking stays", () => {
  const page = connected();
  page.ready();
  page.socket.wake();
  page.last().onmessage({ data: JSON.stringify({ type: "pong", t: 0 }) });

  page.clock.advance(PONG_MS + 1_000);

  assert.equal(page.sockets.length, 1);
  assert.ok(page.events.every(({ type }) => type !== "disconnected"));
});

test("a socket that was given up says nothing more", () => {
  const page = connected();
  page.ready();
  const old = page.last();
  old.onclose({ code: 1006 });

  assert.equal(old.onmessage, null);
  assert.equal(old.onclose, null);
});

test("frames of a newer server, sound and nonsense are not for us", () => {
  assert.equal(parseFrame(JSON.stringify({ type: "brand_new" })), null);
  assert.equal(parseFrame(JSON.stringify({ type: "toString" })), null);
  assert.equal(parseFrame("{"), null);
  assert.equal(parseFrame("null"), null);
  assert.equal(parseFrame(new ArrayBuffer(4)), null);
  assert.equal(parseFrame(JSON.stringify({ type: "pong", t: 1, more: true })).t, 1);
});

test("what is sent while the socket is closed is dropped, not thrown", () => {
  const page = connected();
  page.last().readyState = 3;

  page.socket.send({ type: "ping", t: 1 });

  assert.deepEqual(page.last().sent, []);
});

test("sound comes out as it came in, and belongs to no frame", () => {
  const sounds = [];
  const { last } = connected({ onSound: (pcm) => sounds.push(pcm) });
  const pcm = new ArrayBuffer(8);

  last().onmessage({ data: pcm });

  assert.deepEqual(sounds, [pcm]);
});

test("the microphone's sound waits for nothing: before the greeting it is dropped", () => {
  const page = connected();
  page.socket.sendSound(new ArrayBuffer(640));
  assert.deepEqual(page.last().sounds, []);

  page.ready();
  page.socket.sendSound(new ArrayBuffer(640));

  assert.equal(page.last().sounds.length, 1);
});

test("sound that a slow network does not take is dropped, frames are not", () => {
  const page = connected();
  page.ready();
  page.last().bufferedAmount = 300 << 10;
  page.socket.sendSound(new ArrayBuffer(640));
  page.socket.send({ type: "ping", t: 1 });
  page.last().bufferedAmount = 0;
  page.socket.sendSound(new ArrayBuffer(640));

  assert.equal(page.last().sounds.length, 1);
  assert.equal(page.socket.droppedSound, 1);
  assert.equal(page.last().sent.length, 1);
});

test("who is not logged in does not try again by itself", () => {
  const page = connected();
  page.ready();

  page.last().onclose({ code: 4401 });
  page.clock.advance(120_000);

  assert.equal(page.sockets.length, 1);
  assert.deepEqual(page.events.at(-1), { type: "disconnected", attempt: 1, code: 4401, silently: false });
});
