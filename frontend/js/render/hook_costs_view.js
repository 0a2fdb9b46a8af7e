/**
 * What hooks cost: of one model call and of a conversation in the inspector, of one hook in the skills panel.
 *
 * @typedef {import("../hook_costs.js").HookCost} HookCost
 * @typedef {import("../inspect.js").TurnTrace} TurnTrace
 * @typedef {import("../inspect.js").ModelCall} ModelCall
 */

import { comparedCalls, hookCosts, hookKey, hookTokens } from "../hook_costs.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {ModelCall} call @param {TurnTrace} trace */
export function callCostView(call, trace) {
  const { tokens, common } = call;
  if (!tokens) return null; // an older server
  const cached = trace.done[String(call.call)]?.usage?.cached_tokens ?? 0;
  return h(
    "p",
    { class: "fine call-cost" },
    t.costs.ofHooks(hookTokens(call, trace), tokens),
    common && t.costs.same(Math.round(common.share * 100), common.tokens),
    common?.ended_by && [t.costs.upTo, endedByView(common.ended_by)],
    common && t.costs.end,
    common && common.lost_tokens > 0 && t.costs.lost(common.lost_tokens),
    common && cached > 0 && t.costs.cached(cached),
    common && hasOtherTools(call, trace) && t.costs.otherTools,
  );
}

/** @param {{skill: string | null, hook: string | null}} named */
function endedByView(named) {
  return h("strong", {}, named.hook ? hookKey(named) : t.costs.processHook);
}

/** @param {ModelCall} call @param {TurnTrace} trace */
function hasOtherTools(call, { calls }) {
  const before = calls[calls.indexOf(call) - 1];
  return before !== undefined && before.tools.join() !== call.tools.join();
}

/** @param {readonly TurnTrace[]} traces of the conversation */
export function hookCostsView(traces) {
  const costs = hookCosts(traces);
  if (!costs.length) return null;
  const compared = comparedCalls(traces);
  return h(
    "details",
    { class: "hook-costs", key: "hook-costs" },
    h("summary", {}, icon("chevron"), t.costs.title, costs.some(({ lostCalls }) => lostCalls > 0) && warningTag()),
    h("p", { class: "fine" }, t.costs.help),
    costs.some(({ lostCalls }) => lostCalls > 0) && h("p", { class: "fine" }, t.costs.remedy),
    h(
      "ul",
      {},
      costs.map((cost) =>
        h("li", { key: hookKey(cost) }, h("span", { class: "hook-name" }, hookKey(cost)), hookCostView(cost, compared)),
      ),
    ),
  );
}

function warningTag() {
  return h("span", { class: "tag tag-warning" }, t.costs.breaksCache);
}

/** @param {HookCost} cost @param {number} compared calls that could use a cache */
export function hookCostView({ tokens, cachedTokens, calls, lostCalls, lostTokens }, compared) {
  return [
    h(
      "span",
      { class: "hook-cost" },
      t.costs.sum(tokens, calls),
      cachedTokens > 0 && t.costs.cachedOfThem(cachedTokens),
    ),
    lostCalls > 0 && h("span", { class: "tag tag-warning" }, t.costs.lostSum(lostTokens, lostCalls, compared)),
  ];
}
