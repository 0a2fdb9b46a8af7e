/**
 * `GET /stages` → the stages of a server that still loads its model.
 *
 * @typedef {import("./state.js").Stage} Stage
 */

/** @param {unknown} body null = not read @returns {Stage[] | null} null = nothing to wait for */
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
