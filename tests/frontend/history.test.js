import assert from "node:assert/strict";
import { test } from "node:test";

import { fromRecord, isUserMessage } from "../../frontend/sdk/conversation.js";
import { Page, READY, seeded, turn } from "./support.js";

const ROUNDS = process.env.SOAK ? 5_000 : 400;

/** What the page must never lose, kept beside it by other means. */
class Witness {
  asked = []; // texts of user messages that were handed to the store
  said = []; // sentences that were reached while their turn ran, and text that stood there when the user cut it
  unsaid = []; // text that stood there when the server ended the turn
  hooks = []; // hooks received for a turn, in time
}

/** One random walk: frames of the server and acts of the user in any order, cuts anywhere. */
function walk(seed) {
  const random = seeded(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const page = new Page({ storesAtOnce: false });
  const witness = new Witness();
  let count = 0;
  let cutOff = []; // turns that were cut and whose end has not come
  let lastEnded = null;
  let streamed = ""; // and no sentence yet

  const cutAtShown = () => {
    if (current()) witness.said.push(streamed);
    streamed = "";
  };
  const current = () => page.state.turn;
  const isRunning = () => current()?.phase === "sent" || current()?.phase === "running";

  const acts = {
    ask() {
      if (page.state.connection.phase !== "online") return;
      const text = `question ${(count += 1)}`;
      if (isRunning()) cutOff.push(current().id);
      cutAtShown();
      page.ask(text, `t${count}`);
      witness.asked.push(text);
      page.store();
    },
    sentence() {
      if (!isRunning()) return;
      const text = `sentence ${(count += 1)}. `;
      const whole = streamed + text;
      page.receive(
        turn(current().id).start(),
        turn(current().id).text(text),
        turn(current().id).sentence(count, whole),
      );
      witness.said.push(whole);
      streamed = "";
    },
    streamed() {
      if (!isRunning()) return;
      const text = `streamed ${(count += 1)} `;
      page.receive(turn(current().id).text(text));
      streamed += text;
    },
    hook() {
      if (!isRunning()) return;
      page.receive(turn(current().id).hook(`hook ${(count += 1)}`));
      witness.hooks.push(`hook ${count}`);
    },
    tool() {
      if (isRunning())
        page.receive(turn(current().id).call(`c${(count += 1)}`), turn(current().id).result(`c${count}`));
    },
    lateHook() {
      if (!cutOff.length || page.state.connection.phase !== "online") return;
      page.receive(turn(pick(cutOff)).hook(`hook ${(count += 1)}`));
      witness.hooks.push(`hook ${count}`);
    },
    stale() {
      const ghost = lastEnded ?? "none";
      page.receive(turn(ghost).sentence(0, "UNSAID "), turn(ghost).hook("GHOST"), turn(ghost).text("UNSAID "));
      if (cutOff.length) page.receive(turn(pick(cutOff)).sentence(0, "UNSAID "), turn(pick(cutOff)).text("UNSAID "));
    },
    end() {
      if (!isRunning()) return;
      lastEnded = current().id;
      if (streamed) witness.unsaid.push(streamed);
      streamed = "";
      page.receive(turn(current().id).end(pick(["completed", "interrupted", "aborted", "error"])));
    },
    lateEnd() {
      const id = cutOff.shift();
      if (!id) return;
      page.receive(turn(id).end("interrupted"));
      lastEnded = id;
    },
    stop() {
      if (isRunning()) cutOff.push(current().id);
      cutAtShown();
      page.dispatch({ type: "stop" });
    },
    retry() {
      const failed = page.conversation.conversationHistory.findLast(isUserMessage);
      if (!failed?._answer || current() || page.state.connection.phase !== "online") return;
      page.dispatch({ type: "retry", turnId: `t${(count += 1)}`, at: count });
      page.store();
    },
    lose() {
      cutAtShown();
      page.lose();
      cutOff = [];
      page.receive(READY);
    },
    reload() {
      page.store();
      const record = page.records.get("c1");
      if (!record) return;
      cutAtShown();
      page.state = { ...new Page().state, loaded: { c1: fromRecord(structuredClone(record), "write") } };
      cutOff = [];
    },
  };

  const names = [
    "ask",
    "ask",
    "sentence",
    "sentence",
    "sentence",
    "streamed",
    "hook",
    "hook",
    "tool",
    "lateHook",
    "stale",
    "end",
    "end",
    "lateEnd",
    "stop",
    "retry",
    "lose",
    "reload",
  ];
  for (let step = 0; step < 60; step += 1) {
    acts[pick(names)]();
    page.store();
  }
  acts.stop();
  page.store();
  return { page, witness };
}

test("whatever comes in whatever order, the history loses nothing and gains nothing", { timeout: 120_000 }, () => {
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const { page, witness } = walk(seed);
    const history = page.conversation.conversationHistory;
    const label = `seed ${seed}`;

    const asked = new Set(history.filter(isUserMessage).map(({ content }) => content));
    for (const text of witness.asked) assert.ok(asked.has(text), `${label}: lost ${text}`);

    const said = history
      .filter(({ role }) => role === "assistant")
      .map(({ content }) => content)
      .join("");
    for (const text of witness.said) assert.ok(said.includes(text), `${label}: lost ${text}`);
    for (const text of ["UNSAID", ...witness.unsaid]) assert.ok(!said.includes(text), `${label}: kept ${text}`);

    const hooks = history.filter(({ _hook }) => _hook).map(({ _hook }) => _hook);
    assert.deepEqual(hooks.toSorted(), witness.hooks.toSorted(), `${label}: hooks`);

    const stored = page.records.has("c1") ? fromRecord(page.records.get("c1"), "write").conversationHistory : [];
    assert.deepEqual(stored, history, `${label}: the store holds the same`);
  }
});

test("the new user message is always the last one sent", { timeout: 120_000 }, () => {
  for (let seed = 1; seed <= ROUNDS / 4; seed += 1) {
    for (const { messages } of walk(seed).page.sentOf("chat")) {
      const last = messages.at(-1);
      assert.ok(isUserMessage(last) && last._answer === "pending", `seed ${seed}`);
    }
  }
});
