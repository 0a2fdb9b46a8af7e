/**
 * The page without a browser, for a server that is not in Node: a line in is a
 * list of steps, a line out is what the page sent meanwhile, or what went wrong.
 *
 * See tests/session/test_page_interleavings.py.
 */

import { createInterface } from "node:readline";

import { settled, World } from "./world.js";

const STEPS = {
  reset: (isPushToTalk) => void (world = new World({ turnOf: (sample) => sample, isPushToTalk })),
  frame: (frame) => {
    world.deliver(frame);
    // the model of the test numbers its turns in every word
    const record = world.turns.get(frame.turn_id); // none: the page has never taken that turn for its own
    const number = frame.type === "sentence" && /\d+/.exec(frame.text);
    if (record && number) record.n = Number(number[0]);
  },
  sound: ({ value, count }) => world.deliverSound(new Int16Array(count).fill(value)),
  event: (event) => world.dispatch(event),
  listen: (ms) => world.listen(ms),
  lose: () => world.lose(),
  check: () => world.check(),
};

/** @type {World} */
let world;

async function answer(steps) {
  for (const [name, argument] of steps) {
    STEPS[name](argument);
    await settled();
  }
  const isQuiet = world.page.state.turn === null && world.core.pieces.length === 0;
  return { up: world.up.splice(0), isQuiet, turns: world.turns.size, cut: world.cut };
}

for await (const line of createInterface({ input: process.stdin })) {
  const said = await answer(JSON.parse(line)).catch((error) => ({ error: error.stack }));
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
