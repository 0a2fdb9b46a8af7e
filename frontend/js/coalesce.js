/**
 * Coalesces changes: `read` is called once for all that came while it ran before, and not while `isHidden` holds.
 *
 * @param {(ids: ReadonlySet<string>) => Promise<void>} read reads again what has changed since its last call
 * @param {() => boolean} isHidden whether the tab is hidden
 */
export function coalesce(read, isHidden) {
  /** @type {Set<string>} */
  let changed = new Set();
  let isReading = false;

  /** Read what has changed; call it when the tab becomes visible, too. */
  async function flush() {
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
    flush,
    /** @param {string} id */
    add(id) {
      changed.add(id);
      return flush();
    },
  };
}
