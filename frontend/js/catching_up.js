/**
 * What other tabs have stored is read again: one reading at a time, and only while somebody looks at this tab.
 *
 * @param {(ids: ReadonlySet<string>) => Promise<void>} read the conversations that have changed since it was last called
 * @param {() => boolean} isHidden
 */
export function catchUp(read, isHidden) {
  /** @type {Set<string>} */
  let changed = new Set();
  let isReading = false;

  /** To be called when the tab comes into sight, too. */
  async function go() {
    if (isReading) return;
    isReading = true;
    try {
      while (changed.size && !isHidden()) {
        const ids = changed;
        changed = new Set();
        await read(ids);
      }
    } finally {
      isReading = false;
    }
  }

  return {
    go,
    /** @param {string} id */
    changed(id) {
      changed.add(id);
      return go();
    },
  };
}
