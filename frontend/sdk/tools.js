/**
 * Tools that the page gives the model and runs itself.
 *
 * @typedef {import("./types/parley.js").Tool} Tool
 */

const MAX_OUTPUT_BYTES = 1 << 20;

/** Return the tools as `configure` declares them. @param {readonly Tool[]} tools */
export function declared(tools) {
  return tools.map(({ name, description, parameters = { type: "object", properties: {} } }) => ({
    name,
    description,
    parameters,
  }));
}

/**
 * Run the tool that is called. Whatever goes wrong becomes an error that the model reads.
 *
 * @param {readonly Tool[]} tools @param {import("./frames.js").ClientToolCall} call
 * @param {AbortSignal} signal of the turn's end
 * @returns {Promise<import("./frames.js").ToolOutput>}
 */
export async function answerCall(tools, { id, turn_id, name, arguments: given }, signal) {
  const answer = (/** @type {string} */ content, is_error = false) => ({
    type: /** @type {const} */ ("tool_output"),
    id,
    turn_id,
    content,
    is_error,
  });
  try {
    const tool = tools.find((one) => one.name === name);
    if (!tool) return answer(`This page has no tool ${name}.`, true);
    const output = await tool.run(given, { signal, turnId: turn_id });
    const content = typeof output === "string" ? output : (JSON.stringify(output) ?? "");
    const isTooLarge = new TextEncoder().encode(content).length > MAX_OUTPUT_BYTES;
    return isTooLarge ? answer("The output is larger than 1 MiB.", true) : answer(content);
  } catch (error) {
    return answer(error instanceof Error ? error.message : String(error), true);
  }
}
