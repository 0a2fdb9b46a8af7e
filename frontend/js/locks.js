/**
 * Which tab may write a conversation: the one that holds its Web Lock. Others
 * read, and wait in line; the browser frees the lock of a tab that goes.
 */

// A page that is reloaded meets its own lock for a moment.
const GRACE_MS = 400;

/**
 * Ask for a conversation. `onAccess` is called with "write" once it is ours,
 * before that perhaps once with "read". The result gives it back, or leaves the line.
 *
 * @param {LockManager | undefined} locks missing on pages that are not secure: then there is nobody to ask
 * @param {string} id
 * @param {(access: "write" | "read") => void} onAccess
 * @returns {() => void}
 */
export function claim(locks, id, onAccess) {
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
