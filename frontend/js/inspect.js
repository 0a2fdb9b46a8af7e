/**
 * `trace` frames, gathered into what the inspector shows of a turn. Trace data
 * is read with care: it is a report for people, and its shape may grow.
 *
 * @typedef {{kind: string, name?: string, skill?: string, hook?: string, timing?: string, persistent?: boolean,
 *   unsigned?: boolean}} Origin
 * @typedef {{id: string, role: string, content: unknown, tool_calls?: unknown, tool_call_id?: string, origin?: Origin,
 *   tokens?: number, cut?: boolean}} TraceMessage
 *   `tokens` of a prompt hook, estimated
 * @typedef {{tokens: number, share: number, ended_by: {skill: string | null, hook: string | null} | null, lost_tokens: number,
 *   hooks?: {skill: string, hook: string, tokens: number}[]}} CommonStart
 *   what is the same as in the call before; `ended_by` without names means a process hook
 * @typedef {{call: number, purpose: string, round: number | null, attempt: number, messages: string[],
 *   sent_roles: Record<string, string>, trimmed: string[], shortened: string[], tools: string[], tool_choice: string, late_system: string,
 *   tokens: number, common: CommonStart | null}} ModelCall
 * @typedef {{call: number, finish: string, usage?: Record<string, number>, first_token_ms?: number | null,
 *   total_ms?: number | null, reply?: string}} ModelDone
 * @typedef {{skill: string, hook: string, timing: string, persistent?: boolean, message?: string}} Injected
 * @typedef {{skill: string, hook: string, timing: string, reason: string, code?: string, detail?: string,
 *   path?: string, fired?: boolean}} NotFired
 *   `reason` in the server's words, `code` and `detail` for ours; `path` of the condition that did not hold;
 *   `fired` at another time of the turn
 *
 * @typedef {{skill: string, hook: string, name: string, before?: unknown, value: unknown}} Change of a variable, by a hook
 *
 * @typedef {{call: number, calls: readonly unknown[]}} Batch The tool calls of one model call, under the keys of tests.
 *
 * @typedef {object} HookStep What a process hook or a builtin did.
 * @property {number} call the model call it belongs to
 * @property {string} stage
 * @property {string} hook
 * @property {number | null} ms
 * @property {string} action
 * @property {Readonly<Record<string, unknown>>} changes key → before and after
 * @property {Readonly<Record<string, unknown>>} discarded what of the changes does not count → why
 * @property {{kind: string, message: string, effect: string} | null} failure
 *
 * @typedef {object} TurnTrace
 * @property {Readonly<Record<string, TraceMessage>>} messages
 * @property {readonly ModelCall[]} calls
 * @property {Readonly<Record<string, ModelDone>>} done by call and attempt
 * @property {readonly Injected[]} injected
 * @property {readonly Injected[]} removed
 * @property {readonly NotFired[]} notFired
 * @property {readonly NotFired[]} notSet what hooks would have set, had it been found, or had there been room
 * @property {{context: Readonly<Record<string, unknown>>, variables: Readonly<Record<string, Readonly<Record<string, unknown>>>>}} values
 *   as the turn began; variables by skill and name
 * @property {readonly Change[]} changes of variables, in order
 * @property {readonly HookStep[]} hookSteps in the order they were asked
 * @property {Readonly<Record<string, unknown>>} facts what is known of the turn since its start, under the keys of tests
 * @property {readonly Batch[]} ran
 */

/** @type {TurnTrace} */
export const EMPTY_TRACE = {
  messages: {},
  calls: [],
  done: {},
  injected: [],
  removed: [],
  notFired: [],
  notSet: [],
  values: { context: {}, variables: {} },
  changes: [],
  hookSteps: [],
  facts: {},
  ran: [],
};

const NOT_SET = new Set(["set", "variables_full"]);

const MAX_HOOK_STEPS = 500; // of one turn

/** @param {TurnTrace} trace @param {string} event @param {unknown} data @returns {TurnTrace} */
export function withTrace(trace, event, data) {
  if (typeof data !== "object" || data === null) return trace;
  const values = /** @type {Record<string, any>} */ (data);
  switch (event) {
    case "messages":
      return { ...trace, messages: { ...trace.messages, ...byId(list(values.messages)) } };
    case "model_call":
      return { ...trace, calls: [...trace.calls, asCall(values)] };
    case "model_done":
      return { ...trace, done: { ...trace.done, [String(values.call)]: /** @type {ModelDone} */ (values) } };
    case "injected":
      return { ...trace, injected: [...trace.injected, /** @type {Injected} */ (values)] };
    case "removed":
      return { ...trace, removed: [...trace.removed, /** @type {Injected} */ (values)] };
    case "not_fired":
      return {
        ...trace,
        notFired: [...trace.notFired, ...list(values.hooks).filter(({ code }) => !NOT_SET.has(code))],
        notSet: [...trace.notSet, ...list(values.hooks).filter(({ code }) => NOT_SET.has(code))],
      };
    case "facts":
      return { ...trace, facts: values };
    case "ran":
      return { ...trace, ran: withBatch(trace.ran, Number(values.call), list(values.calls)) };
    case "values":
      return { ...trace, values: { context: record(values.context), variables: record(values.variables) } };
    case "variables":
      return { ...trace, changes: [...trace.changes, ...list(values.changes)] };
    case "hook_changed":
    case "hook_failed":
      return { ...trace, hookSteps: [...trace.hookSteps, asStep(event, values)].slice(-MAX_HOOK_STEPS) };
    default:
      return trace; // an event of a newer server
  }
}

/** Add tool calls; those of a large batch come in several parts. @param {readonly Batch[]} ran @param {number} call @param {unknown[]} calls */
function withBatch(ran, call, calls) {
  const last = ran.at(-1);
  if (last?.call !== call) return [...ran, { call, calls }];
  return [...ran.slice(0, -1), { call, calls: [...last.calls, ...calls] }];
}

/** @param {unknown} value @returns {any[]} */
function list(value) {
  return Array.isArray(value) ? value : [];
}

/** @param {unknown} value @returns {Record<string, any>} */
function record(value) {
  return typeof value === "object" && value !== null ? value : {};
}

/** @param {TraceMessage[]} messages @returns {Record<string, TraceMessage>} */
function byId(messages) {
  return Object.fromEntries(messages.map((message) => [message.id, message]));
}

/** @param {string} event @param {Record<string, any>} values @returns {HookStep} */
function asStep(event, { call, stage, hook, ms, action, changes, discarded, kind, message, effect }) {
  return {
    call: Number(call),
    stage: String(stage),
    hook: String(hook),
    ms: typeof ms === "number" ? ms : null,
    action: String(action ?? ""),
    changes: record(changes),
    discarded: record(discarded),
    failure: event === "hook_failed" ? { kind: String(kind), message: String(message), effect: String(effect) } : null,
  };
}

/** @param {Record<string, any>} values @returns {ModelCall} */
function asCall(values) {
  return {
    call: Number(values.call),
    purpose: String(values.purpose),
    round: values.round ?? null,
    attempt: values.attempt ?? 1,
    messages: list(values.messages),
    sent_roles: values.sent_roles ?? {},
    trimmed: list(values.trimmed),
    shortened: list(values.shortened),
    tools: list(values.tools),
    tool_choice: values.tool_choice ?? "auto",
    late_system: values.late_system ?? "native",
    tokens: Number(values.tokens ?? 0),
    common: typeof values.common === "object" ? values.common : null,
  };
}
