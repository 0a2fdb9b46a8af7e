/**
 * `GET /readyz` → the stages of a server that still loads its model.
 *
 * @typedef {import("./state.js").Stage} Stage
 */

/** @param {number} status @param {unknown} body @returns {Stage[] | null} null = nothing to wait for */
export function loadingStages(status, body) {
  if (status === 200) return null;
  const { stages, draining } = /** @type {{stages?: unknown, draining?: unknown}} */ (body ?? {});
  if (draining) return null; // it is going, not coming: its connections end by themselves
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
