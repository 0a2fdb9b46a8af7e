/**
 * Saves on their way to the store: one under way for each conversation. What changes meanwhile waits,
 * and of what waits only the newest is stored: a store that is slow is not flooded.
 *
 * @typedef {import("./types/client.js").ConversationRecord} ConversationRecord
 * @typedef {{record: ConversationRecord, revision: number}} Change
 *
 * @typedef {object} Line What is stored of one conversation, in order.
 * @property {Change} newest
 * @property {Promise<void>} saving
 * @property {Promise<void> | null} waiting settles when the newest is stored; null if that is the save under way
 */

/**
 * @param {object} options
 * @param {(record: ConversationRecord) => Promise<void>} options.save begins at once
 * @param {(change: Change) => void} options.onSaved it, and whatever was put before it
 * @param {(change: Change, error: unknown) => void} options.onFailed
 */
export function saver({ save, onSaved, onFailed }) {
  /** @type {Map<string, Line>} by conversation; those that are not at rest */
  const lines = new Map();

  /** @param {Change} change */
  function put(change) {
    const line = lines.get(change.record.id);
    if (!line) return void begin(change);
    line.newest = change;
    const next = () => begin(line.newest).saving;
    line.waiting ??= line.saving.then(next, next);
  }

  /** @param {Change} change @returns {Line} */
  function begin(change) {
    const { id } = change.record;
    /** @type {Line} */
    const line = { newest: change, saving: Promise.resolve(), waiting: null };
    lines.set(id, line);
    const over = save(change.record).finally(() => {
      if (!line.waiting) lines.delete(id);
    });
    line.saving = over.then(
      () => onSaved(change),
      (error) => onFailed(change, error),
    );
    return line;
  }

  return {
    put,
    isAtRest: () => lines.size === 0,
    /** Resolves when all that was put by now is stored, or could not be. */
    async settled() {
      await Promise.allSettled(Array.from(lines.values(), ({ saving, waiting }) => waiting ?? saving));
    },
    /** Hand over what waits at once, because the page goes away. */
    flush() {
      for (const { newest, waiting } of lines.values()) if (waiting) void save(newest.record).catch(() => {});
    },
  };
}
