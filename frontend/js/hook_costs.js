/**
 * What hooks cost, in estimated tokens: of one model call, and summed over the turns of a conversation whose traces
 * are there. A call that was tried again counts once.
 *
 * @typedef {import("./inspect.js").TurnTrace} TurnTrace
 * @typedef {import("./inspect.js").ModelCall} ModelCall
 *
 * @typedef {object} HookCost
 * @property {string} skill
 * @property {string} hook
 * @property {number} tokens
 * @property {number} cachedTokens those of them in the part that was the same as in the call before
 * @property {number} calls in which the model read it
 * @property {number} lostCalls in which it kept a cache from tokens that were the same as before
 * @property {number} lostTokens
 *
 * @typedef {object} HookActivity When a hook last fired, or why it did not.
 * @property {number | null} firedAgo turns since it last fired, 0 for the last turn; null if it fired in no traced turn
 * @property {Pick<import("./inspect.js").NotFired, "reason" | "code" | "detail" | "path"> | null} notFired why it did not fire in the last turn
 */

import { isUserMessage } from "../sdk/conversation.js";
import { openConversation } from "../sdk/state.js";

/** The traces of the open conversation, newest first. @param {import("./state.js").State} state */
export function tracedTurns(state) {
  const history = openConversation(state)?.conversationHistory ?? [];
  const asked = history.filter((message) => isUserMessage(message) && message._turn).reverse();
  return asked.flatMap(({ _turn = "", content }, ago) => {
    const trace = state.traces[_turn];
    return trace ? [{ id: _turn, asked: content, ago, trace }] : [];
  });
}

/** The tokens of all hooks in one call. @param {ModelCall} call @param {TurnTrace} trace */
export function hookTokens(call, trace) {
  return call.messages.reduce((sum, id) => sum + tokensOf(trace, id), 0);
}

/** Dearest first; process hooks, which have no name here, are left out. @param {readonly TurnTrace[]} traces @returns {HookCost[]} */
export function hookCosts(traces) {
  /** @type {Map<string, HookCost>} */
  const sums = new Map();
  for (const cost of traces.flatMap(costsOfTurn)) {
    const key = hookKey(cost);
    const sum = sums.get(key);
    sums.set(key, sum ? added(sum, cost) : cost);
  }
  return [...sums.values()].sort((a, b) => b.tokens - a.tokens || hookKey(a).localeCompare(hookKey(b)));
}

/** Return how many calls can be compared with one before them. @param {readonly TurnTrace[]} traces */
export function comparedCalls(traces) {
  return traces.flatMap(({ calls }) => calls).filter(({ attempt, common }) => attempt === 1 && common).length;
}

/** Return the activity of each hook, by its key. @param {readonly {ago: number, trace: TurnTrace}[]} turns newest first */
export function hookActivity(turns) {
  /** @type {Map<string, HookActivity>} */
  const activity = new Map();
  const activityOf = (/** @type {{skill: string, hook: string}} */ named) => {
    const known = activity.get(hookKey(named)) ?? { firedAgo: null, notFired: null };
    activity.set(hookKey(named), known);
    return known;
  };
  for (const { ago, trace } of turns) {
    for (const injected of trace.injected) activityOf(injected).firedAgo ??= ago;
    if (ago === 0) for (const hook of trace.notFired) activityOf(hook).notFired ??= hook;
  }
  return activity;
}

/** @param {{skill?: string | null, hook?: string | null}} named */
export function hookKey({ skill, hook }) {
  return `${skill ?? "?"} / ${hook ?? "?"}`;
}

/** @type {WeakMap<TurnTrace, HookCost[]>} */
const known = new WeakMap(); // a trace never changes, and the sums are drawn with every word of a reply

/** @param {TurnTrace} trace @returns {HookCost[]} */
function costsOfTurn(trace) {
  const found = known.get(trace);
  if (found) return found;
  const costs = trace.calls.filter(({ attempt }) => attempt === 1).flatMap((call) => costsOfCall(call, trace));
  known.set(trace, costs);
  return costs;
}

const NOTHING = { tokens: 0, cachedTokens: 0, calls: 0, lostCalls: 0, lostTokens: 0 };

/** @param {ModelCall} call @param {TurnTrace} trace @returns {HookCost[]} */
function costsOfCall(call, trace) {
  const read = call.messages.flatMap((id) => {
    const tokens = tokensOf(trace, id);
    const { skill = "?", hook = "?" } = trace.messages[id]?.origin ?? {};
    return tokens ? [{ ...NOTHING, skill, hook, tokens, calls: 1 }] : [];
  });
  for (const { skill, hook, tokens } of call.common?.hooks ?? [])
    read.push({ ...NOTHING, skill, hook, cachedTokens: tokens });
  const { ended_by: by, lost_tokens: lostTokens = 0 } = call.common ?? {};
  if (!by?.hook || !lostTokens) return read;
  return [...read, { ...NOTHING, skill: by.skill ?? "?", hook: by.hook, lostCalls: 1, lostTokens }];
}

/** @param {TurnTrace} trace @param {string} id */
function tokensOf(trace, id) {
  const { tokens } = trace.messages[id] ?? {};
  return typeof tokens === "number" ? tokens : 0;
}

/** @param {HookCost} a @param {HookCost} b @returns {HookCost} */
function added(a, b) {
  return {
    ...a,
    tokens: a.tokens + b.tokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    calls: a.calls + b.calls,
    lostCalls: a.lostCalls + b.lostCalls,
    lostTokens: a.lostTokens + b.lostTokens,
  };
}
