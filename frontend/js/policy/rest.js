/**
 * The only module that asks the server. Nothing is thrown: what went wrong is a Failure.
 *
 * @typedef {import("./state.js").Failure} Failure
 * @typedef {{body: any, etag: string, failure: null} | {body: null, etag: "", failure: Failure}} Answer
 */

const LIMIT_MS = 30_000; // a connection that hangs says nothing by itself for minutes

/**
 * @param {string} path
 * @param {{method?: string, etag?: string, body?: unknown, limitMs?: number}} [question] limitMs 0: as long as it takes
 * @returns {Promise<Answer>}
 */
export async function ask(path, { method = "GET", etag, body, limitMs = LIMIT_MS } = {}) {
  const headers = {
    ...(body !== undefined && { "Content-Type": "application/json" }),
    ...(etag !== undefined && { "If-Match": etag }),
  };
  /** @type {RequestInit} */
  const options = {
    method,
    headers,
    cache: "no-store",
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(limitMs && { signal: AbortSignal.timeout(limitMs) }),
  };
  const answer = await fetch(path, options).catch(() => null);
  if (!answer) return refused(OFFLINE);
  const read = await answer.json().catch(() => null);
  if (answer.ok && read !== null) return { body: read, etag: answer.headers.get("ETag") ?? "", failure: null };
  return refused(failureOf(answer.status, read?.error));
}

/** @type {Failure} */
const OFFLINE = {
  kind: "offline",
  code: "offline",
  message: "The server cannot be reached. What you have changed here is kept.",
  path: null,
};

/** @param {Failure} failure @returns {Answer} */
function refused(failure) {
  return { body: null, etag: "", failure };
}

/** @param {number} status @param {any} error @returns {Failure} */
export function failureOf(status, error) {
  const code = String(error?.code ?? `status_${status}`);
  const path = error?.path ? String(error.path) : null;
  if (status === 401) return { kind: "login", code, message: "You are not logged in any more.", path: null };
  const text = String(error?.message ?? `the server answers ${status}; its log says why`);
  return { kind: "refused", code, message: `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`, path };
}
