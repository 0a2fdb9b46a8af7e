"""A stream of text → the sentences that are spoken one by one.

The slices joined are the input, character for character: white space leads the
sentence that follows it. Pure code; nothing waits for a further token where the
punctuation itself decides.
"""

import re
from typing import Final

MAX_SENTENCE_CHARS: Final = 600
"""A longer run without a stop is cut, at white space if there is some in its second half."""

_DECISIVE: Final = "。！？…\n"  # end a sentence whatever follows
_STOPS: Final = frozenset(_DECISIVE + ".!?")
_CLOSERS: Final = frozenset("\"'”’)]}»」』）】》*_`~")  # belong to the sentence that they close
_MAX_CLOSERS: Final = 16
_FENCE: Final = "```"
_LINK: Final = re.compile(r"(?:https?://|www\.)\S*$", re.IGNORECASE)
_LAST_WORD: Final = re.compile(r"[^\s(\[\"'“‘（]*$")
_LIST_NUMBER: Final = re.compile(r"(?:^|\n)\s*\d{1,3}$")
_ABBREVIATIONS: Final = frozenset(
    "mr mrs ms dr prof st jr sr vs etc e.g i.e cf fig approx dept est inc ltd co corp a.m p.m u.s u.k ph.d "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_CLAUSE_STOPS: Final = frozenset(",;:–—")  # end a clause before white space
_WIDE_CLAUSE_STOPS: Final = frozenset("，、；：")  # whatever follows
_MIN_CLAUSE_WORDS: Final = 4
_MIN_WIDE_CLAUSE_CHARS: Final = 6


class SentenceSplitter:
    """Cuts the reply of one turn: `feed` what arrives, `flush` at the end of each model reply.

    A sentence holds at least one letter or digit: stray punctuation and white
    space wait for what follows. Inside a ``` fence only the end of a line cuts.
    With `first_clause` the very first sentence may end at a clause, so that it
    can be heard early.
    """

    def __init__(self, *, first_clause: bool = False) -> None:
        self._wants_clause = first_clause
        self._begin()

    def _begin(self) -> None:
        self._text = ""  # not yet part of a sentence
        self._at = 0  # _text[:_at] has been looked at
        self._has_word = False  # _text[:_at] holds a letter or a digit
        self._line_at: int | None = 0  # where the current line begins; None: before _text
        self._in_fence = False

    def feed(self, delta: str) -> list[str]:
        """The sentences that `delta` completes, often none."""
        self._text += delta
        sentences = []
        while (end := self._find_end()) is not None:
            sentences.append(self._cut(end))
        return sentences

    def flush(self) -> str | None:
        """What is left: the reply is over, or something else is said first. A new line may begin."""
        rest = self._text
        self._begin()
        return rest or None

    def _cut(self, end: int) -> str:
        self._wants_clause = False
        sentence, self._text = self._text[:end], self._text[end:]
        self._at = 0
        self._has_word = False
        self._line_at = None
        return sentence

    def _find_end(self) -> int | None:
        """Where the first sentence ends; None: more text is needed."""
        while self._at < len(self._text):
            character = self._text[self._at]
            if self._wants_clause and (character in _CLAUSE_STOPS or character in _WIDE_CLAUSE_STOPS):
                is_clause = self._is_clause(character)
                if is_clause is None:
                    return None
                if is_clause:
                    return self._at + 1
            if character in _STOPS:
                is_end = self._is_line_end() if character == "\n" else self._is_stop()
                if is_end is None:
                    return None
                if is_end:
                    return self._at if character == "\n" else self._past_closers(self._at + 1)
            self._has_word = self._has_word or character.isalnum()
            self._at += 1
            if self._at == MAX_SENTENCE_CHARS:
                return self._forced_end()
        return None

    def _is_clause(self, stop: str) -> bool | None:
        """Is enough said before this comma or dash to be worth hearing? None: the next character will tell."""
        before = self._text[: self._at]
        if self._in_fence or self._is_fence_line():
            return False
        if stop in _WIDE_CLAUSE_STOPS:
            return sum(map(str.isalnum, before)) >= _MIN_WIDE_CLAUSE_CHARS
        if sum(any(map(str.isalnum, word)) for word in before.split()) < _MIN_CLAUSE_WORDS:
            return False
        following = self._text[self._at + 1 : self._at + 2]
        return following.isspace() if following else None

    def _is_line_end(self) -> bool:
        is_fence = self._is_fence_line()
        self._in_fence ^= is_fence
        self._line_at = self._at + 1
        return is_fence or self._has_word

    def _is_fence_line(self) -> bool:
        return self._line_at is not None and self._text[self._line_at : self._at].lstrip(" ").startswith(_FENCE)

    def _is_stop(self) -> bool | None:
        """Does the stop at `_at` end a sentence? None: the next character will tell."""
        if not self._has_word or self._in_fence or self._is_fence_line():
            return False
        stop = self._text[self._at]
        if stop in _DECISIVE:
            return True
        end = self._past_closers(self._at + 1)
        following = self._text[end : end + 1]
        if stop == ".":
            if not following:
                return None
            return _is_wide(following) or (following.isspace() and not self._is_abbreviation())
        is_in_link = _LINK.search(self._text[: self._at]) is not None
        if not following:
            return None if is_in_link else True
        # `a?b=c`, `a != b`, `it?.length` go on
        return following.isspace() or _is_wide(following) or (following.isupper() and not is_in_link)

    def _past_closers(self, end: int) -> int:
        """Further stops and closing marks that are already here; none is waited for."""
        text = self._text
        limit = min(len(text), end + _MAX_CLOSERS)
        while end < limit and (text[end] in _CLOSERS or (text[end] in _STOPS and text[end] != "\n")):
            end += 1
        return end

    def _is_abbreviation(self) -> bool:
        before = self._text[: self._at]
        if _LIST_NUMBER.search(before):
            return True
        found = _LAST_WORD.search(before)
        word = found[0] if found else ""
        is_initial = len(word) == 1 and word.isupper() and word != "I"
        return is_initial or word.lower() in _ABBREVIATIONS

    def _forced_end(self) -> int:
        for at in range(MAX_SENTENCE_CHARS - 1, MAX_SENTENCE_CHARS // 2, -1):
            if self._text[at].isspace():
                return at
        return MAX_SENTENCE_CHARS


def _is_wide(character: str) -> bool:
    """Scripts that put no space between sentences."""
    return character >= "\u2e80"
