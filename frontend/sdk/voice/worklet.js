/** Loads what runs in the audio threads. */

/**
 * Load a worklet from its file, or from the text of the function that defines it: a bundler moves this module, and may leave the file behind.
 * A page's Content-Security-Policy that allows scripts of the server alone allows the file, and not the text.
 *
 * @param {AudioContext} context
 * @param {URL} file a module that calls that function with the global object
 * @param {() => Promise<(scope: any) => unknown>} load the function, which names nothing outside itself
 */
export async function addWorklet({ audioWorklet }, file, load) {
  try {
    await audioWorklet.addModule(file);
  } catch (error) {
    await addText(audioWorklet, load).catch(() => Promise.reject(error));
  }
}

/** @param {AudioWorklet} audioWorklet @param {() => Promise<(scope: any) => unknown>} load */
async function addText(audioWorklet, load) {
  const url = URL.createObjectURL(new Blob([`(${await load()})(globalThis)`], { type: "text/javascript" }));
  try {
    await audioWorklet.addModule(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}
