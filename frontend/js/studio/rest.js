/**
 * Sends the studio's requests to the server; no other module of it does. What went wrong is thrown as an error whose cause is a Failure.
 *
 * @import { Event, Failure } from "./state.js"
 * @typedef {(effect: any, dispatch: (event: Event) => void) => Promise<Event | null>} ServerRequest
 */

import { download } from "../render/dom.js";
import { sessionHeaders } from "../storage.js";
import { s } from "../strings/studio.js";

const LIMIT_MS = 30_000; // a connection that hangs says nothing by itself for minutes
const FETCH_MS = 150_000; // git may take two minutes
const MAX_FILE_BYTES = 740_000; // in base64 within what the server takes
const ROOT = "/api/skills";

/** @type {Record<string, AbortController>} of the trial and of the draft that run */
const running = {};
let isLooking = false;

/**
 * @param {string} path
 * @param {{method?: string, etag?: string | null, known?: string, body?: unknown, signal?: AbortSignal}} [options] etag null if
 *   the file must not exist yet; known: the version that need not be sent again
 * @returns {Promise<Response>}
 */
async function fetched(path, { method = "GET", etag, known, body, signal = AbortSignal.timeout(LIMIT_MS) } = {}) {
  const hasBody = method === "POST" || method === "PUT";
  const unknown = etag === null ? "*" : known && `"${known}"`;
  const condition = unknown ? { "If-None-Match": unknown } : etag && { "If-Match": `"${etag}"` };
  const headers = { ...sessionHeaders(), ...(hasBody && { "Content-Type": "application/json" }), ...condition };
  const sent = hasBody && { body: JSON.stringify(body ?? {}) };
  const answer = await fetch(path, { method, headers, cache: "no-store", signal, ...sent }).catch(() => null);
  if (answer?.ok || answer?.status === 304) return answer;
  const read = await answer?.json().catch(() => null);
  throw new Error(path, { cause: failureOf(answer?.status ?? 0, read?.error, answer?.headers.get("ETag") ?? "") });
}

/** @param {string} path @param {Parameters<typeof fetched>[1]} [options] @returns {Promise<any>} */
async function request(path, options) {
  const answer = await fetched(path, options);
  return answer.json().catch(() => {
    throw new Error(path, { cause: failureOf(0, null, "") });
  });
}

/** @param {number} status 0 if there was no answer @param {any} error as the server describes it @param {string} etag @returns {Failure} */
export function failureOf(status, error, etag) {
  const code = String(error?.code ?? `status_${status}`);
  const said = { current: typeof error?.current === "string" ? error.current : null, etag: etag.replaceAll('"', "") };
  if (status === 0) return { kind: "offline", code, message: s.unreachable, ...said };
  if (status === 401) return { kind: "login", code, message: s.loggedOut, ...said };
  return { kind: "refused", code, message: String(error?.message ?? s.answered(status)), ...said };
}

/** @param {string} skill @param {string} [rest] */
const of = (skill, rest = "") => `${ROOT}/${encodeURIComponent(skill)}${rest}`;
/** @param {string} skill @param {string} path @param {string} [rest] */
const fileOf = (skill, path, rest = "") => of(skill, `/file${rest}?path=${encodeURIComponent(path)}`);

/** Requests by effect; each returns the event of its answer, or null. Without an answer that is `<effect>_failed`. @satisfies {Record<string, ServerRequest>} */
export const REQUESTS = {
  async load_skills() {
    const [{ is_on: isOn, skills }, { schema }] = await Promise.all([request(ROOT), request("/api/hooks/schema")]);
    return { type: "skills_loaded", isOn, skills, schema };
  },
  load_skill: async ({ skill, focuses }) => ({
    type: "skill_loaded",
    skill,
    focuses,
    listing: await request(of(skill)),
  }),
  /** Read the skill again if its files have changed. */
  async look({ skill, etag }) {
    if (isLooking) return null;
    isLooking = true;
    const answer = await fetched(of(skill), { known: etag }).finally(() => (isLooking = false));
    return answer.status === 304 ? null : { type: "skill_loaded", skill, listing: await answer.json() };
  },
  async load_file({ skill, path, focuses, line }) {
    const { text, etag } = await request(fileOf(skill, path));
    return { type: "file_loaded", skill, path, text, etag, focuses, line };
  },
  async save({ skill, path, text, etag }) {
    const saved = await request(fileOf(skill, path), { method: "PUT", etag, body: { text } });
    return { type: "saved", skill, path, text, etag: saved.etag, listing: saved.skill };
  },
  async rename_file({ skill, path, to, etag }) {
    const saved = await request(fileOf(skill, path, "/name"), { method: "POST", etag, body: { path: to } });
    return { type: "file_renamed", skill, path, to, etag: saved.etag, listing: saved.skill };
  },
  async delete_file({ skill, path, etag }) {
    return {
      type: "file_deleted",
      skill,
      path,
      listing: await request(fileOf(skill, path), { method: "DELETE", etag }),
    };
  },
  step: async ({ skill, way, etag }) => ({
    type: "stepped",
    skill,
    way,
    listing: await request(of(skill, `/${way}`), { method: "POST", etag }),
  }),
  create_skill: async ({ name }) => ({
    type: "skill_created",
    listing: await request(ROOT, { method: "POST", body: { name } }),
  }),
  async rename_skill({ skill, name, etag }) {
    return {
      type: "skill_renamed",
      skill,
      listing: await request(of(skill, "/name"), { method: "POST", etag, body: { name } }),
    };
  },
  async delete_skill({ skill, etag }) {
    await request(of(skill), { method: "DELETE", etag });
    return { type: "skill_deleted", skill };
  },
  async download({ skill }) {
    download(`${skill}.zip`, "application/zip", await (await fetched(of(skill, "/zip"))).blob());
    return null;
  },
  async preview({ type: _type, skill, asked, ...body }) {
    return { type: "previewed", asked, preview: await request(of(skill, "/preview"), { method: "POST", body }) };
  },
  async read_file({ file }) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (bytes.length > MAX_FILE_BYTES)
      throw new Error("file", { cause: failureOf(413, { message: s.fileTooLarge }, "") });
    const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    return { type: "file_read", source: file.name, data };
  },
  async receive({ type: _type, ...body }) {
    const signal = AbortSignal.timeout(FETCH_MS);
    return { type: "arrived", ...(await request("/api/skill_arrivals", { method: "POST", body, signal })) };
  },
  load_bin: async () => ({ type: "bin_loaded", ...(await request("/api/skill_bin")) }),
  restore: async ({ entry }) => ({
    type: "restored",
    listing: await request("/api/skill_bin", { method: "POST", body: { entry } }),
  }),
  async describe({ type: _type, skill, ...body }, dispatch) {
    await streamed("describe", of(skill, "/describe"), body, (line) => dispatch({ type: "draft_step", ...line }));
    return null;
  },
  async stop_describing() {
    running.describe?.abort();
    return null;
  },
  async try_it({ type: _type, skill, ...body }, dispatch) {
    const isWhole = await streamed("try", of(skill, "/try"), body, (line) =>
      dispatch({ type: "trial_piece", ...line }),
    );
    return isWhole ? { type: "tried" } : null;
  },
  async stop_trying() {
    running.try?.abort();
    return null;
  },
};

/**
 * Read the lines of an answer until its end; a second one of the kind ends the first.
 *
 * @param {string} kind @param {string} path @param {unknown} body @param {(line: any) => void} take
 * @returns {Promise<boolean>} false if it was stopped
 */
async function streamed(kind, path, body, take) {
  running[kind]?.abort();
  const { signal } = (running[kind] = new AbortController());
  try {
    const { body: stream } = await fetched(path, { method: "POST", body, signal });
    for await (const line of linesOf(stream)) if (!signal.aborted) take(JSON.parse(line));
  } catch (error) {
    if (!signal.aborted)
      throw error instanceof Error && error.cause ? error : new Error(kind, { cause: failureOf(0, null, "") });
  }
  return !signal.aborted;
}

/** @param {ReadableStream<Uint8Array> | null} stream */
async function* linesOf(stream) {
  const reader = stream?.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
