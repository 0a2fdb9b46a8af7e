/**
 * What a turn says, on its way to the history: frame → `audioQueue` →
 * `playNextAudio` → `historySegments` → `flushHistorySegments` →
 * `conversationHistory`. There is no other way in.
 *
 * Pure: every function takes a playback and gives a new one.
 *
 * @typedef {import("./frames.js").QueuedFrame} QueuedFrame
 * @typedef {import("./frames.js").Sentence} Sentence
 * @typedef {import("./frames.js").SentenceEnd} SentenceEnd
 * @typedef {import("./frames.js").Hook} Hook
 * @typedef {import("./frames.js").Message} Message
 *
 * @typedef {{kind: "sentence", text: string}} SentenceSegment
 * @typedef {{kind: "hook", frame: Hook}} HookSegment
 * @typedef {{kind: "tool", call: import("./frames.js").ToolCall, result: import("./frames.js").ToolResult | null}} ToolSegment
 * @typedef {{kind: "media", frame: import("./frames.js").Media}} MediaSegment
 * @typedef {SentenceSegment | HookSegment | ToolSegment | MediaSegment} Segment what was reached, in playback order
 *
 * @typedef {{sentence: Sentence, end: SentenceEnd | null, heardMs: number, isOver: boolean, isIncomplete?: boolean}} Playing
 *   the sentence whose sound is being heard; `isOver` = its last sample was; `isIncomplete` = perhaps only its beginning was sent
 *
 * @typedef {object} Playback
 * @property {readonly QueuedFrame[]} audioQueue frames received and not yet reached
 * @property {Playing | null} playing
 * @property {readonly Segment[]} historySegments
 * @property {import("./frames.js").TurnEnd | null} reachedEnd the turn's end, once playback has come to it
 * @property {boolean} hasSound whether sound is played; without it, a sentence counts as heard when it is reached
 * @property {boolean} isSpoken sound has been received that is to be heard
 */

/** @param {boolean} hasSound @returns {Playback} */
export function newPlayback(hasSound = false) {
  return { audioQueue: [], playing: null, historySegments: [], reachedEnd: null, hasSound, isSpoken: false };
}

/** Least time that the sound of a character takes, in a fast voice. */
const SHORTEST_MS_A_CHAR = 60;

/** @param {Playback} playback @param {QueuedFrame} frame @returns {Playback} */
export function enqueue(playback, frame) {
  const isSpoken = playback.isSpoken || (playback.hasSound && frame.type === "sentence" && frame.audio !== null);
  return playNextAudio({ ...playback, audioQueue: [...playback.audioQueue, frame], isSpoken });
}

/**
 * Go on until a sentence has to be heard first, or the queue is empty.
 *
 * @param {Playback} playback
 * @returns {Playback}
 */
export function playNextAudio(playback) {
  let next = playback;
  for (;;) {
    next = finishPlaying(next);
    const [frame, ...audioQueue] = next.audioQueue;
    if (!frame || (next.playing && frame.type !== "sentence_end")) return next;
    next = reach({ ...next, audioQueue }, frame);
  }
}

/**
 * Note that `heardMs` of the sentence being played were heard, with `isOver` all of it.
 *
 * @param {Playback} playback @param {number} index @param {number} heardMs @param {boolean} isOver
 * @returns {Playback}
 */
export function heard(playback, index, heardMs, isOver) {
  const { playing } = playback;
  if (!playing || playing.sentence.index !== index) return playback;
  return playNextAudio({ ...playback, playing: { ...playing, heardMs, isOver: playing.isOver || isOver } });
}

/** Go on without sound: a sentence then counts as heard when it is reached. @param {Playback} playback */
export function withoutSound(playback) {
  const { playing } = playback;
  return playNextAudio({ ...playback, hasSound: false, playing: playing && { ...playing, isOver: true } });
}

/** Return the sentences, playing or still to come, that say the question about a tool aloud. @param {Playback} playback @param {string} approvalId */
export function questionSentences({ playing, audioQueue }, approvalId) {
  const sentences = audioQueue.filter((frame) => frame.type === "sentence");
  return (playing ? [playing.sentence, ...sentences] : sentences).filter(({ approval }) => approval === approvalId);
}

/**
 * Drop the spoken question about a tool that needs no answer any more. It has no text, so nothing is lost.
 *
 * @param {Playback} playback @param {string} approvalId
 * @returns {Playback}
 */
export function withoutQuestion(playback, approvalId) {
  const isAsking = new Set(questionSentences(playback, approvalId).map(({ index }) => index));
  const { playing } = playback;
  const isOut = (/** @type {QueuedFrame} */ frame) =>
    (frame.type === "sentence" || frame.type === "sentence_end") && isAsking.has(frame.index);
  return playNextAudio({
    ...playback,
    playing: playing && isAsking.has(playing.sentence.index) ? null : playing,
    audioQueue: playback.audioQueue.filter((frame) => !isOut(frame)),
  });
}

/**
 * Mark the sentence being played as perhaps incomplete: a server that stops a turn may have sent only its beginning.
 *
 * @param {Playback} playback
 * @returns {Playback}
 */
export function markedIncomplete(playback) {
  const { playing, audioQueue } = playback;
  if (!playing || audioQueue.some(({ type }) => type === "sentence")) return playback;
  return { ...playback, playing: { ...playing, isIncomplete: true } };
}

/**
 * Stop here: what was not reached is dropped, but every hook received is kept,
 * because the model has read it. The sentence being played is kept up to the word reached.
 *
 * @param {Playback} playback
 * @returns {Playback}
 */
export function cut(playback) {
  const text = playback.playing ? heardText(playback.playing) : "";
  /** @type {Segment[]} */
  const partly = text ? [{ kind: "sentence", text }] : [];
  const hooks = playback.audioQueue.filter((frame) => frame.type === "hook").map(asHookSegment);
  return {
    ...playback,
    audioQueue: [],
    playing: null,
    historySegments: [...playback.historySegments, ...partly, ...hooks],
  };
}

/**
 * Stop here and keep all that was shown, also what was not spoken yet: it could be read.
 *
 * @param {Playback} playback @param {string} streamed every `text` delta so far
 * @returns {Playback} with `reachedEnd` if the turn was complete
 */
export function cutAtShown(playback, streamed) {
  const shown = cut(withoutSound(playback));
  const text = unsaidText(shown, streamed);
  return text ? withSegment(shown, { kind: "sentence", text }) : shown;
}

/**
 * Stop here for another reason than the user's wish. Of a spoken reply, what was heard is kept; of any other, what was shown.
 *
 * @param {Playback} playback @param {string} streamed every `text` delta so far
 * @returns {Playback}
 */
export function cutAtReached(playback, streamed) {
  return playback.isSpoken ? cut(playback) : cutAtShown(playback, streamed);
}

/**
 * Return the messages that these segments leave in the conversation: neighbouring sentences joined
 * unless a hook or a file stands between; tools leave nothing.
 *
 * @param {readonly Segment[]} historySegments @param {string} turnId
 * @returns {Message[]}
 */
export function flushHistorySegments(historySegments, turnId) {
  /** @type {Message[]} */
  const messages = [];
  for (const segment of historySegments) {
    const last = messages.at(-1);
    if (segment.kind === "hook") {
      messages.push(hookMessage(segment.frame));
    } else if (segment.kind === "media") {
      messages.push(mediaMessage(segment.frame, turnId));
    } else if (segment.kind === "sentence" && last?.role === "assistant" && !last._hook && !last._media) {
      last.content += segment.text;
    } else if (segment.kind === "sentence") {
      messages.push({ role: "assistant", content: segment.text, _turn: turnId });
    }
  }
  return messages.filter((message) => message._hook || message._media || message.content.trim());
}

/**
 * Return the segments as they are stored: neighbouring sentences joined, and without tools, which only the turn shows.
 *
 * @param {readonly Segment[]} historySegments
 * @returns {Segment[]}
 */
export function storedSegments(historySegments) {
  /** @type {Segment[]} */
  const segments = [];
  let text = "";
  const endText = () => {
    if (text) segments.push({ kind: "sentence", text });
    text = "";
  };
  for (const segment of historySegments) {
    if (segment.kind === "sentence") text += segment.text;
    else if (segment.kind !== "tool") {
      endText();
      segments.push(segment);
    }
  }
  endText();
  return segments;
}

/** Return the text that was reached so far, as the model wrote it. @param {Pick<Playback, "historySegments">} playback */
export function spokenText({ historySegments }) {
  return historySegments.map((segment) => (segment.kind === "sentence" ? segment.text : "")).join("");
}

/** Return the text that was streamed and is not in the segments yet. @param {Pick<Playback, "historySegments">} playback @param {string} streamed */
export function unsaidText(playback, streamed) {
  const said = spokenText(playback);
  return streamed.startsWith(said) ? streamed.slice(said.length) : "";
}

/** @param {Hook} frame @returns {Message} */
export function hookMessage(frame) {
  return {
    role: frame.role,
    content: frame.content,
    _hook: frame.name,
    _skill: frame.skill,
    _sig: frame.sig,
    _timing: frame.timing,
    _turn: frame.turn_id,
  };
}

/** @param {import("./frames.js").Media} frame @param {string} turnId @returns {Message} */
function mediaMessage({ url, content_type, name, size }, turnId) {
  return { role: "assistant", content: "", _media: { url, content_type, name, size }, _turn: turnId };
}

/** @param {Playback} playback @param {QueuedFrame} frame @returns {Playback} */
function reach(playback, frame) {
  switch (frame.type) {
    case "sentence":
      if (frame.audio && playback.hasSound) {
        return { ...playback, playing: { sentence: frame, end: null, heardMs: 0, isOver: false } };
      }
      return withSegment(playback, { kind: "sentence", text: frame.text });
    case "sentence_end":
      if (playback.playing?.sentence.index !== frame.index) return playback;
      return { ...playback, playing: { ...playback.playing, end: frame } };
    case "hook":
      return withSegment(playback, asHookSegment(frame));
    case "tool_call":
      return withSegment(playback, { kind: "tool", call: frame, result: null });
    case "tool_result":
      return withResult(playback, frame);
    case "media":
      return withSegment(playback, { kind: "media", frame });
    case "turn_end":
      return { ...playback, reachedEnd: frame };
  }
}

/** @param {Playback} playback @param {Segment} segment @returns {Playback} */
function withSegment(playback, segment) {
  return { ...playback, historySegments: [...playback.historySegments, segment] };
}

/** @param {Playback} playback @param {import("./frames.js").ToolResult} result @returns {Playback} */
function withResult(playback, result) {
  const historySegments = playback.historySegments.map((segment) =>
    segment.kind === "tool" && segment.call.id === result.id && !segment.result ? { ...segment, result } : segment,
  );
  return { ...playback, historySegments };
}

/** @param {Playback} playback @returns {Playback} */
function finishPlaying(playback) {
  const { playing } = playback;
  // duration_ms 0: synthesis failed, there is no sound to wait for.
  if (!playing?.end || !(playing.isOver || playing.end.duration_ms === 0)) return playback;
  return withSegment({ ...playback, playing: null }, { kind: "sentence", text: playing.sentence.text });
}

/** @param {Hook} frame @returns {HookSegment} */
function asHookSegment(frame) {
  return { kind: "hook", frame };
}

/**
 * Return the part of a sentence that was heard, back to a word boundary; empty if that is less than a word.
 *
 * @param {Playing} playing
 */
export function heardText({ sentence, end, heardMs, isOver, isIncomplete = false }) {
  const { text } = sentence;
  if (isOver) return text;
  if (heardMs <= 0 || !end || end.duration_ms <= 0) return "";
  const lengthMs = isIncomplete ? Math.max(end.duration_ms, shortestMs(sentence)) : end.duration_ms;
  if (heardMs >= lengthMs) return text;
  if (end.words?.length) return [...text].slice(0, wordsHeard(end.words, heardMs)).join("").trimEnd(); // code points
  return backToWord(text, Math.floor((text.length * heardMs) / lengthMs));
}

/** @param {Sentence} sentence */
function shortestMs({ text, spoken }) {
  return SHORTEST_MS_A_CHAR * (spoken ?? text).trim().length;
}

/**
 * Return where the word begins that was being spoken: a word counts once the next one has begun.
 *
 * @param {import("./frames.js").Word[]} words @param {number} heardMs
 */
function wordsHeard(words, heardMs) {
  const begun = words.filter(([, startMs]) => startMs <= heardMs);
  return begun.at(-1)?.[0] ?? 0;
}

const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });

/** @param {string} text @param {number} length */
function backToWord(text, length) {
  let end = 0;
  for (const { index, segment } of WORDS.segment(text)) {
    if (index + segment.length > length) break;
    end = index + segment.length;
  }
  return text.slice(0, end).trimEnd();
}
