/** The list of conversations by day. @typedef {import("../state.js").Summary} Summary */

import { locale, t } from "../strings.js";

/**
 * Puts pinned conversations first, the others under the day, week or month of their last message.
 *
 * @param {readonly Summary[]} summaries newest first @param {number} now
 * @returns {{label: string, summaries: Summary[]}[]}
 */
export function groupsByDay(summaries, now) {
  const spans = spansUpTo(now);
  /** @type {Map<string, Summary[]>} */
  const groups = new Map();
  const inOrder = [...summaries.filter(isPinned), ...summaries.filter((summary) => !isPinned(summary))];
  for (const summary of inOrder) {
    const span = spans.find(({ since }) => summary.updatedAt >= since);
    const label = isPinned(summary) ? t.list.pinned : (span?.label ?? monthOf(summary.updatedAt));
    groups.set(label, [...(groups.get(label) ?? []), summary]);
  }
  return Array.from(groups, ([label, grouped]) => ({ label, summaries: grouped }));
}

/** @param {Summary} summary */
function isPinned({ pinnedAt }) {
  return pinnedAt > 0;
}

/** @param {number} now */
function spansUpTo(now) {
  const daysAgo = (/** @type {number} */ days) => {
    const day = new Date(now);
    day.setHours(0, 0, 0, 0);
    return day.setDate(day.getDate() - days); // not 24 hours: clocks are changed
  };
  return [
    { label: t.list.today, since: daysAgo(0) },
    { label: t.list.yesterday, since: daysAgo(1) },
    { label: t.list.week, since: daysAgo(7) },
    { label: t.list.days30, since: daysAgo(30) },
  ];
}

/** @param {number} at */
function monthOf(at) {
  return new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" }).format(at);
}
