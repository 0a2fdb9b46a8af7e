/**
 * Polls the server over HTTP as long as the answer matters.
 *
 * @typedef {import("./state.js").Stage} Stage
 */

import { sessionHeaders } from "./storage.js";

const READY_POLL_MS = 700;
const HEALTH_POLL_MS = 2_000;

/**
 * Return the two polls. Each may be called at any time; a second call does not begin a second poll.
 *
 * @param {(event: import("./reduce.js").Event) => void} dispatch
 * @param {() => import("./state.js").State} state
 */
export function polls(dispatch, state) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let readinessTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let healthTimer;

  /** Poll until the server has loaded its model, or is gone. */
  async function readiness() {
    clearTimeout(readinessTimer);
    const answer = await fetch("/stages", request()).catch(() => null);
    if (!answer) return;
    const stages = loadingStages(answer.ok ? await answer.json().catch(() => null) : null);
    if (stages || state().loading) dispatch({ type: "loading", stages });
    clearTimeout(readinessTimer);
    if (stages) readinessTimer = setTimeout(readiness, READY_POLL_MS);
  }

  /** Poll the state of hook processes while their panel is open and the page is visible. */
  async function hooks() {
    clearTimeout(healthTimer);
    if (state().panel !== "hooks") return;
    if (!document.hidden) {
      const answer = await fetch("/api/hooks/processes", request()).catch(() => null);
      dispatch({ type: "hook_health", status: answer?.status ?? 0, body: await answer?.json().catch(() => null) });
    }
    clearTimeout(healthTimer);
    healthTimer = setTimeout(hooks, HEALTH_POLL_MS);
  }

  return { readiness, hooks };
}

/** Return the hooks of a skill, or null without an answer. @param {string} skill @returns {Promise<import("../sdk/frames.js").HookItem[] | null>} */
export async function askHooks(skill) {
  const answer = await fetch(`/api/hooks/skills/${encodeURIComponent(skill)}`, request()).catch(() => null);
  return answer?.ok ? ((await answer.json().catch(() => null))?.hooks ?? null) : null;
}

/** @returns {RequestInit} */
const request = () => ({ cache: "no-store", headers: sessionHeaders() });

/** `GET /stages` → the stages of a server that still loads its model; null if there is nothing to wait for. @param {unknown} body null if it could not be read @returns {Stage[] | null} */
export function loadingStages(body) {
  const { ready, stages, draining } = /** @type {{[name: string]: unknown}} */ (body ?? {});
  if (ready !== false || draining) return null; // one that drains is going, not coming: its connections end by themselves
  return Array.isArray(stages) ? stages.map(asStage) : [];
}

/** @param {any} stage @returns {Stage} */
function asStage(stage) {
  return {
    name: String(stage?.name),
    state: String(stage?.state),
    detail: stage?.detail ? String(stage.detail) : null,
  };
}
