/** Values and texts as a reader sees them. */

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * Return the text if it has at most `max` UTF-16 units, else its beginning and an ellipsis, together as long;
 * what a reader sees as one character, an emoji say, is not torn.
 *
 * @param {string} text @param {number} max
 */
export function shortened(text, max) {
  if (text.length <= max) return text;
  let end = 0;
  for (const { index, segment } of CHARACTERS.segment(text.slice(0, max + 1))) {
    if (index + segment.length >= max) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end).trimEnd()}…`;
}
