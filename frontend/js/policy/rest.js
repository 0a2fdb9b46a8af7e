/**
 * The only module that asks the server. What went wrong is thrown as a Refusal.
 *
 * @typedef {import("./state.js").Failure} Failure
 * @typedef {import("./state.js").Filter} Filter
 * @typedef {import("./state.js").Scope} Scope
 * @typedef {(effect: any) => Promise<import("./state.js").Event | null>} Question
 */

import { parametersOf } from "./reduce_audit.js";

const LIMIT_MS = 30_000; // a connection that hangs says nothing by itself for minutes
const PAGE_ROWS = "50";

export class Refusal extends Error {
  /** @param {Failure} failure */
  constructor(failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/**
 * @param {string} path
 * @param {{method?: string, etag?: string, body?: unknown, limitMs?: number}} [question] limitMs 0: as long as it takes
 * @returns {Promise<{body: any, etag: string}>}
 */
export async function ask(path, { method = "GET", etag, body, limitMs = LIMIT_MS } = {}) {
  const sent = body !== undefined && { body: JSON.stringify(body) };
  const headers = { ...(sent && { "Content-Type": "application/json" }), ...(etag && { "If-Match": etag }) };
  const limit = limitMs && { signal: AbortSignal.timeout(limitMs) };
  const options = { method, headers, cache: /** @type {const} */ ("no-store"), ...sent, ...limit };
  const answer = await fetch(path, options).catch(() => null);
  if (!answer) throw new Refusal({ kind: "offline", code: "offline", message: UNREACHABLE, path: null });
  const read = await answer.json().catch(() => null);
  if (!answer.ok || read === null) throw new Refusal(failureOf(answer.status, read?.error));
  return { body: read, etag: answer.headers.get("ETag") ?? "" };
}

const UNREACHABLE = "The server cannot be reached. Your changes are kept.";

/** @param {number} status @param {any} error @returns {Failure} */
export function failureOf(status, error) {
  const code = String(error?.code ?? `status_${status}`);
  const path = error?.path ? String(error.path) : null;
  if (status === 401) return { kind: "login", code, message: "You are no longer logged in.", path: null };
  const text = String(error?.message ?? `the server answered ${status}; its log says why`);
  return { kind: "refused", code, message: `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`, path };
}

/** @param {Filter} filter @param {Record<string, string>} more */
function askAudit(filter, more) {
  return ask(`/api/audit?${new URLSearchParams([...parametersOf(filter), ...Object.entries(more)])}`);
}

/** What each effect asks, and the event of its answer; null = none. Without an answer it is `<effect>_failed`. */
export const QUESTIONS = {
  /** @param {{scope: Scope}} effect */
  async load_policy({ scope }) {
    const paths = ["available", "config", `config?scope=${scope}`];
    const [available, effective, own] = await Promise.all(paths.map((path) => ask(`/api/hooks/${path}`)));
    const kinds = [...available?.body.builtin, ...available?.body.custom];
    return { type: "policy_loaded", scope, kinds, effective: effective?.body, document: own?.body, etag: own?.etag };
  },
  /** @param {{scope: Scope, etag: string, document: unknown}} effect */
  async save_policy({ scope, etag: before, document }) {
    const sent = { method: "POST", etag: before, body: document };
    const { body, etag } = await ask(`/api/hooks/config?scope=${scope}`, sent);
    return { type: "policy_saved", version: body.version, etag, document };
  },
  /** @param {{filter: Filter, cursor: string | null, question: number}} effect */
  async load_audit({ filter, cursor, question }) {
    const { body } = await askAudit(filter, { limit: PAGE_ROWS, ...(cursor !== null && { cursor }) });
    return { type: "audit_loaded", question, rows: body.entries, next: body.next };
  },
  /** @param {{filter: Filter}} effect */
  check_audit: ({ filter }) => askAudit(filter, { limit: "1" }).then(() => null),
  verify: async () => ({ type: "verified", found: (await ask("/api/audit/verification", { limitMs: 0 })).body }),
  load_approvals: async () => ({ type: "approvals_loaded", approvals: (await ask("/api/approvals")).body.approvals }),
  /** @param {{id: string}} effect */
  async revoke({ id }) {
    await ask(`/api/approvals/${encodeURIComponent(id)}`, { method: "DELETE" });
    return { type: "revoked", id };
  },
};
