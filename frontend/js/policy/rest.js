/**
 * Sends the page's requests to the server; no other module of it does. What went wrong is thrown as an error whose cause is a Failure.
 *
 * @import { Failure } from "./state.js"
 * @typedef {(effect: any) => Promise<import("./state.js").Event | null>} ServerRequest
 */

import { download } from "../render/dom.js";
import { sessionHeaders } from "../storage.js";
import { p } from "../strings/policy.js";
import { parametersOf } from "./reduce_audit.js";

const LIMIT_MS = 30_000; // a connection that hangs says nothing by itself for minutes
const PAGE_ROWS = "50";

/**
 * @param {string} path
 * @param {{method?: string, etag?: string, body?: unknown, limitMs?: number, as?: "json" | "blob"}} [options]
 *   limitMs 0: without a limit
 * @returns {Promise<{body: any, etag: string}>}
 */
export async function request(path, { method = "GET", etag, body, limitMs = LIMIT_MS, as = "json" } = {}) {
  const sent = body !== undefined && { body: JSON.stringify(body) };
  const kind = sent && { "Content-Type": "application/json" };
  const headers = { ...sessionHeaders(), ...kind, ...(etag && { "If-Match": etag }) };
  const limit = limitMs && { signal: AbortSignal.timeout(limitMs) };
  const options = { method, headers, cache: /** @type {const} */ ("no-store"), ...sent, ...limit };
  const answer = await fetch(path, options).catch(() => null);
  const read = await answer?.[answer.ok ? as : "json"]().catch(() => null);
  if (!answer?.ok || !read)
    throw new Error(path, { cause: failureOf(answer?.ok ? 0 : (answer?.status ?? 0), read?.error) });
  return { body: read, etag: answer.headers.get("ETag") ?? "" };
}

/** @param {number} status 0 if there was no answer @param {any} error as the server describes it @returns {Failure} */
export function failureOf(status, error) {
  const code = String(error?.code ?? `status_${status}`);
  if (status === 0) return { kind: "offline", code, message: p.unreachable, path: null };
  if (status === 401) return { kind: "login", code, message: p.loggedOut, path: null };
  const text = String(error?.message ?? p.answered(status));
  const message = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
  return { kind: "refused", code, message, path: error?.path ? String(error.path) : null };
}

/** Requests by effect; each returns the event of its answer. Without an answer that is `<effect>_failed`. @satisfies {Record<string, ServerRequest>} */
export const REQUESTS = {
  async load_policy({ scope }) {
    const paths = ["available", "config", `config?scope=${scope}`];
    const [available, effective, own] = await Promise.all(paths.map((path) => request(`/api/hooks/${path}`)));
    return {
      type: "policy_loaded",
      scope,
      schema: available?.body.schema,
      effective: effective?.body,
      document: own?.body,
      etag: own?.etag,
    };
  },
  async save_policy({ scope, etag: before, document }) {
    const sent = { method: "POST", etag: before, body: document };
    const { body, etag } = await request(`/api/hooks/config?scope=${scope}`, sent);
    return { type: "policy_saved", version: body.version, etag, document };
  },
  async check({ text, of }) {
    await request("/api/hooks/document", { method: "POST", body: { text } });
    return { type: "checked", of };
  },
  read_yaml: async ({ text }) => ({
    type: "yaml_read",
    document: (await request("/api/hooks/document", { method: "POST", body: { text } })).body,
  }),
  async load_audit({ filter, cursor, requestId }) {
    const { body } = await request(`/api/audit?${parametersOf(filter, { limit: PAGE_ROWS, cursor })}`);
    return { type: "audit_loaded", requestId, rows: body.entries, next: body.next };
  },
  async export_audit({ filter, format }) {
    const { body } = await request(`/api/audit/export?${parametersOf(filter, { format })}`, { limitMs: 0, as: "blob" });
    download(`parley-audit-${new Date().toISOString().slice(0, 10)}.${format}`, body.type, body);
    return { type: "exported" };
  },
  verify: async () => ({ type: "verified", found: (await request("/api/audit/verification", { limitMs: 0 })).body }),
  load_approvals: async () => ({
    type: "approvals_loaded",
    approvals: (await request("/api/approvals")).body.approvals,
  }),
  async revoke({ id }) {
    await request(`/api/approvals/${encodeURIComponent(id)}`, { method: "DELETE" });
    return { type: "revoked", id };
  },
};
