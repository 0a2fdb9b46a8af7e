/**
 * `GET /readyz` → the stages of a server that still loads its model.
 *
 * @typedef {import("./state.js").Stage} Stage
 */

/** @param {number} status @param {unknown} body @returns {Stage[] | null} null = ready */
export function loadingStages(status, body) {
  if (status === 200) return null;
  const stages = /** @type {any} */ (body)?.stages ?? body;
  if (Array.isArray(stages)) return stages.map((stage) => ({ name: String(stage?.name), state: String(stage?.state ?? stage?.status) }));
  if (stages && typeof stages === "object") {
    return Object.entries(stages).map(([name, state]) => ({ name, state: typeof state === "object" ? String(state?.state) : String(state) }));
  }
  return [];
}
