/**
 * Decides by Web Locks which tab may write a conversation: the one that holds its lock. The others read it and wait for
 * the lock, which the browser frees when its tab goes.
 */

// A page that is reloaded meets its own lock for a moment.
const GRACE_MS = 400;

/**
 * Request the lock of a conversation. `onAccess` is called with "write" once this tab holds it, before that perhaps once
 * with "read". The result releases the lock, or withdraws the request.
 *
 * @param {LockManager | undefined} locks undefined on pages that are not secure, where every tab may write
 * @param {string} id
 * @param {(access: "write" | "read") => void} onAccess
 * @returns {() => void}
 */
export function lockConversation(locks, id, onAccess) {
  if (!locks) {
    queueMicrotask(() => onAccess("write"));
    return () => {};
  }
  const leave = new AbortController();
  /** @type {() => void} */
  let release = () => {};
  const isReleased = new Promise((resolve) => (release = () => resolve(undefined)));
  const grace = setTimeout(() => onAccess("read"), GRACE_MS);
  locks
    .request(`parley:conversation:${id}`, { signal: leave.signal }, () => {
      clearTimeout(grace);
      onAccess("write");
      return isReleased;
    })
    .catch((error) => {
      if (error.name !== "AbortError") throw error;
    });
  return () => {
    clearTimeout(grace);
    leave.abort();
    release();
  };
}
