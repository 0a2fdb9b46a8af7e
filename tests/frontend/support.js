/** What the tests of the page share: a driver that carries out effects as `main.js` does, without browser or time. */

import { reduce } from "../../frontend/js/reduce.js";
import { h } from "../../frontend/js/render/dom.js";
import { initialState } from "../../frontend/js/state.js";

export const LIMITS = { max_message_bytes: 4194304, max_messages: 2000 };
export const READY = {
  type: "ready",
  protocol: "parley.v1",
  session_id: "s",
  server: "parley 0.1.0",
  skills: [skill("calm"), skill("clock")],
  model: { name: "m", host: "embedded", location: "local" },
  limits: LIMITS,
};

export function skill(name, changes = {}) {
  return { name, description: `What ${name} does`, enabled: true, hooks: [], ...changes };
}

/** A page whose store answers when told to, and which never throws anything away. */
export class Page {
  constructor({ storesAtOnce = true, timezone = "" } = {}) {
    this.state = initialState({}, timezone);
    this.storesAtOnce = storesAtOnce;
    this.sent = [];
    this.records = new Map();
    this.unsaved = [];
    this.effects = [];
    this.dispatch({ type: "open_conversation", id: "c1", at: 1 });
    this.dispatch({ type: "opened", id: "c1", record: null, access: "write", at: 1 });
    this.receive(READY);
  }

  dispatch(event) {
    this.state = reduce(this.state, event);
    for (const effect of this.state.effects) {
      this.effects.push(effect);
      if (effect.type === "send") this.sent.push(structuredClone(effect.frame));
      if (effect.type === "save") this.unsaved.push(structuredClone(effect));
    }
    if (this.storesAtOnce) this.store();
    return this;
  }

  /** The store commits what it was given. */
  store() {
    for (const { record, revision } of this.unsaved.splice(0)) {
      this.records.set(record.id, record);
      this.dispatch({ type: "saved", id: record.id, revision });
    }
  }

  receive(...frames) {
    for (const frame of frames) this.dispatch({ type: "frame", frame });
    return this;
  }

  ask(text, turnId) {
    return this.dispatch({ type: "submit", text, turnId, at: 2 });
  }

  lose(code = 1006) {
    return this.dispatch({ type: "disconnected", attempt: 1, code, silently: false });
  }

  get conversation() {
    return this.state.loaded[this.state.openId];
  }

  /** Role and content of each message, for short comparisons. */
  get history() {
    return this.conversation.conversationHistory.map(({ role, content }) => `${role}: ${content}`);
  }

  sentOf(type) {
    return this.sent.filter((frame) => frame.type === type);
  }
}

export function turn(turn_id) {
  const frame = (type, values) => ({ type, turn_id, ...values });
  return {
    start: () => frame("turn_start", { trigger: "chat", skills: [] }),
    text: (delta) => frame("text", { delta }),
    sentence: (index, text, audio = null) => frame("sentence", { index, text, spoken: null, audio }),
    sentenceEnd: (index, duration_ms = 0, words) =>
      frame("sentence_end", { index, duration_ms, ...(words && { words }) }),
    hook: (name, content = `text of ${name}`, role = "system") =>
      frame("hook", { name, role, content, skill: "calm", timing: "after_user_input", sig: `sig of ${name}` }),
    call: (id, name = "read_file", args = { path: "a.md" }) => frame("tool_call", { id, name, arguments: args }),
    result: (id, content = "found", is_error = false) =>
      frame("tool_result", { id, name: "read_file", content, is_error, duration_ms: 3 }),
    media: (name = "y.png", more = {}) =>
      frame("media", { url: "/media/0f?u=a&e=1&s=b", content_type: "image/png", name, size: 10, ...more }),
    asks: (id, more = {}) => {
      const rest = { timeout_ms: 5000, by_voice: false, remember_for: ["arguments", "tool"], ...more };
      return frame("approval_request", {
        id,
        tool: "write_note",
        arguments: { path: "a" },
        message: "May it?",
        ...rest,
      });
    },
    trace: (event, data) => frame("trace", { event, data }),
    resolves: (id, by, approved = true) => frame("approval_resolved", { id, approved, by }),
    error: (code, more = {}) => frame("error", { code, message: `the text of ${code}`, ...more }),
    end: (reason = "completed", more = {}) => frame("turn_end", { reason, usage: {}, metrics: { total: 1 }, ...more }),
  };
}

/** Numbers from 0 to 1, the same for the same seed. */
export function seeded(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Every element of a description, parents first. */
export function elements(described) {
  return h("root", {}, described).children.flatMap(function walk(node) {
    return [node, ...node.children.flatMap(walk)];
  });
}

export function textsOf(described) {
  const texts = elements(described).filter(({ tag }) => tag === "#text");
  return texts.map(({ attributes }) => attributes.text);
}

export const textOf = (described) => textsOf(described).join("");

/** The elements whose attribute has the value, of a class one word. */
export function withAttribute(described, name, value) {
  const has = ({ attributes }) => [attributes[name], ...String(attributes[name] ?? "").split(" ")].includes(value);
  return elements(described).filter(has);
}

/** One property of each, for short comparisons. */
export const pluck = (list, key) => list.map((one) => one[key]);

/** The frames or effects of one type. */
export const ofType = (list, type) => list.filter((one) => one.type === type);
