"""Sentences, spoken one by one, from a stream of text.

The slices joined are the input, character for character: white space leads the
sentence that follows it. Pure code; nothing waits for a further token where the
punctuation itself decides.
"""

import re
from typing import Final

TERMINALS: Final = (  # from Unicode's Sentence_Terminal; ． (U+FF0E) stands behind numbers of lists
    "。！？｡﹖﹗‼‽⁇⁈⁉"
    "।॥۔؟։"  # Devanagari and its relatives, Urdu, Arabic, Armenian
    "܀܁܂߹።፧፨"  # Syriac, N'Ko, Ethiopic
    "။។៕།༎᠃᠉"  # Burmese, Khmer, Tibetan, Mongolian
    "᙮᥄᥅᪨᪩᪪᪫᭚᭛᭞᭟᰻᰼᱾᱿꓿꘎꘏꛳꛷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫"
)
"""Marks that end a sentence whatever follows."""
STOPS: Final = ".!?"
"""Marks that end one before white space, unless they are part of a number, a name or an abbreviation."""
SENTENCE_ENDS: Final = STOPS + TERMINALS + "…"
CLAUSE_STOPS: Final = ",;:–—،؛՝፣፤፥"
"""Marks that end a clause before white space."""
WIDE_CLAUSE_STOPS: Final = "，、；：､၊"
"""Marks that end one whatever follows."""
CLOSERS: Final = "\"'”’)]}»«」』）】》"
"""Marks that belong to the sentence that they close."""

MAX_SENTENCE_CHARS: Final = 600
"""Longest run without a stop; a longer one is cut, at white space if there is some in its second half."""

_DECISIVE: Final = TERMINALS + "…\n"  # end a sentence whatever follows
_STOPS: Final = frozenset(SENTENCE_ENDS + "\n")
_SLICE_CHARS: Final = 4096  # of a delta at once: each cut copies what is left of it
_CLOSERS: Final = frozenset(CLOSERS + "*_`~")
_MAX_CLOSERS: Final = 16
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_FORMULA_MARK: Final = re.compile(r"[\\^_{=]")
_LINK: Final = re.compile(r"(?:https?://|www\.)\S*$", re.IGNORECASE)
_OPENED: Final = {"“": "”", "‘": "’", "「": "」", "『": "』", "（": "）", "(": ")", "《": "》", "【": "】"}
_TWINS: Final = ('"', "**", "__")  # open and close alike
_LAST_WORD: Final = re.compile(r"[a-zà-ɏ.]*$", re.IGNORECASE)
_LIST_NUMBER: Final = re.compile(r"(?:^|\n)\s*(?:\d{1,3}|[a-z])$")
_ABBREVIATIONS: Final = frozenset(
    "mr mrs ms dr prof st jr sr vs etc e.g i.e cf fig approx dept est inc ltd co corp a.m p.m u.s u.k ph.d "
    "jan feb mar apr jun jul aug sep sept oct nov dec gen col sen gov rev sgt lt capt mt fr messrs mme".split()
)
_BEFORE_NUMBERS: Final = frozenset("no nos p pp vol sec ch art eq max min".split())
"""Abbreviations only if a digit follows; else they are words."""
_MIN_CLAUSE_WORDS: Final = 4
_MIN_WIDE_CLAUSE_CHARS: Final = 6


class SentenceSplitter:
    """Cuts the reply of one turn: `feed` what arrives, `flush` at the end of each model reply.

    A sentence holds at least one letter or digit: stray punctuation and white
    space wait for what follows. Inside a code fence only the end of a line cuts.
    Inside a quotation or brackets a stop waits for one more character: the mark
    that closes them belongs to the sentence. Code in backticks, the words of a
    link and formulas in a line are never cut.
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
        self._line_at: int | None = 0  # where the current line begins; None if it began before _text
        self._fence: str | None = None  # what closes the code block that we are in

    def feed(self, delta: str) -> list[str]:
        """Return the sentences that `delta` completes, often none."""
        sentences = []
        for at in range(0, len(delta), _SLICE_CHARS):
            self._text += delta[at : at + _SLICE_CHARS]
            while (end := self._find_end()) is not None:
                sentences.append(self._cut(end))
        return sentences

    def flush(self) -> str | None:
        """Return what is left: the reply is over, or something else is spoken first. A new line may begin."""
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
        """Return the end of the first sentence, or None if more text is needed."""
        while self._at < len(self._text):
            character = self._text[self._at]
            if self._wants_clause and (character in CLAUSE_STOPS or character in WIDE_CLAUSE_STOPS):
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
        """Return whether the text before this comma or dash is worth hearing, or None if the next character decides."""
        before = self._text[: self._at]
        if self._fence is not None or self._fence_mark() or _is_in_formula(before, stop):
            return False
        if stop in WIDE_CLAUSE_STOPS:
            return sum(map(str.isalnum, before)) >= _MIN_WIDE_CLAUSE_CHARS
        if sum(any(map(str.isalnum, word)) for word in before.split()) < _MIN_CLAUSE_WORDS:
            return False
        following = self._text[self._at + 1 : self._at + 2]
        return following.isspace() if following else None

    def _is_line_end(self) -> bool:
        mark = self._fence_mark()
        if self._fence is None:
            self._fence = mark
        elif mark and mark.startswith(self._fence):
            self._fence = None
        self._line_at = self._at + 1
        return mark is not None or self._has_word

    def _fence_mark(self) -> str | None:
        match = None if self._line_at is None else _FENCE.match(self._text, self._line_at, self._at)
        return match[1] if match else None

    def _is_stop(self) -> bool | None:
        """Return whether the stop at `_at` ends a sentence, or None if the next character decides."""
        if not self._has_word or self._fence is not None or self._fence_mark():
            return False
        stop = self._text[self._at]
        end = self._past_closers(self._at + 1)
        before = self._text[: self._at]
        following = self._text[end : end + 1]
        if _is_in_markup(before, self._text[:end]) or _is_in_formula(before, stop):
            return False if following else None
        if stop in _DECISIVE:
            return True if following or not _is_in_quotation(self._text[:end]) else None
        if stop == ".":
            if not following:
                return None
            return _is_wide(following) or (following.isspace() and self._is_period(end))
        is_in_link = _LINK.search(before) is not None
        if not following:
            # ` !` may become `!=`
            return None if is_in_link or before[-1:].isspace() or _is_in_quotation(self._text[:end]) else True
        # `a?b=c`, `a != b`, `it?.length` go on
        return following.isspace() or _is_wide(following) or (following.isupper() and not is_in_link)

    def _past_closers(self, end: int) -> int:
        """Return the end of further stops and closing marks that are already here; none is waited for."""
        text = self._text
        limit = min(len(text), end + _MAX_CLOSERS)
        while end < limit and (text[end] in _CLOSERS or (text[end] in _STOPS and text[end] != "\n")):
            end += 1
        return end

    def _is_period(self, end: int) -> bool | None:
        """Return whether this is no abbreviation, or None if what follows the white space decides."""
        before = self._text[: self._at]
        if _LIST_NUMBER.search(before):
            return False
        match = _LAST_WORD.search(before)
        word = match[0] if match else ""
        if word.lower() in _BEFORE_NUMBERS and end == self._at + 1:
            rest = self._text[end:].lstrip(" ")
            return not rest[0].isdigit() if rest else None
        is_initial = len(word) == 1 and word.isupper() and word != "I"
        return not (is_initial or word.lower() in _ABBREVIATIONS)

    def _forced_end(self) -> int:
        second_half = range(MAX_SENTENCE_CHARS - 1, MAX_SENTENCE_CHARS // 2, -1)
        return next((at for at in second_half if self._text[at].isspace()), MAX_SENTENCE_CHARS)


def _is_in_markup(before: str, upto: str) -> bool:
    """Return whether code in backticks, or a link's words, must be closed by what comes after `upto`."""
    line = before[before.rfind("\n") + 1 :]
    return line.count("`") % 2 == 1 or upto.rfind("[", len(before) - len(line)) > upto.rfind("]")


def _is_in_formula(before: str, stop: str) -> bool:
    """Return whether LaTeX has begun in this line. A dollar without a mark of formulas behind it is money or a name."""
    line = before[before.rfind("\n") + 1 :]
    if line.rfind("\\(") > line.rfind("\\)") or line.rfind("\\[") > line.rfind("\\]"):
        return True
    if line.replace("$$", "$").count("$") % 2 == 0:
        return False
    inside = line[line.rfind("$") + 1 :]
    is_bare = not inside or inside[0].isspace() or inside[0].isdigit()
    return not is_bare and (_FORMULA_MARK.search(inside) is not None or (stop == "!" and " " not in inside))


def _is_in_quotation(text: str) -> bool:
    line = text[text.rfind("\n") + 1 :]
    return any(line.count(opened) > line.count(closed) for opened, closed in _OPENED.items()) or any(
        line.count(twin) % 2 for twin in _TWINS
    )


def _is_wide(character: str) -> bool:
    return character >= "\u2e80"
