"""Codes that open something, as people write them down: `lockbox by the meter, code 4471`, `Tresor: L20-R55-L31`, `CELULAR: 2 5 8 0`."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.code_values import CODE, codes_in, is_code, is_odd, is_plain
from server.policy.redaction.rules.code_words import (
    CODE_ENDS,
    CODES,
    ENTERED,
    FOREIGN_CODES,
    FOREIGN_ENTERED,
    FOREIGN_LOCKS,
    LOCK_ENDS,
    LOCKS,
    NO_CODES,
    OPEN_NOTHING,
    OPENS_NOTHING_AFTER,
)
from server.policy.redaction.rules.windows import windows
from server.policy.redaction.spans import Span

_VERBS: Final = (
    "is|was|are|now|nu|be|ist|lautet|jetzt|neu|est|es|ahora|son|é|è|agora|adesso|ora|je|jest|to|er|är|on|este|là|mới|artık|yeni|это|теперь|сейчас|"
    "הוא|היא|هو|هي|είναι|bliver|blir|wordt|lyder|becomes?|with|mit|con|avec|com|met|new|then|dann|enter|put|press|"
    "saisir|saisissez|introducir|digite|digitare|wpisz|eingeben|erfassen|tippen|輸入|输入"
)
_OPEN: Final = r"[\"'“„«`*‘【「『（(\[ \t　]{0,8}"
_DIRECT: Final = re.compile(
    r"(?:[^\W\d_]{0,4}|[-‑]?\w{0,12})(?:</\w{1,8}>)?[\"'”»*)\]】」]{0,3}(?: ?#?\d{1,2}(?=[ :=)]))?(?: ?[(（\[][^()（）\[\]\n]{0,40}[)）\]])?"
    r"\s{0,4}(?:[:：→|]|->|\.{3,}|は|是|为|為|[은는이가]|[–—-]\s)?\s{0,24}(?:<\w{1,8}>)?" + _OPEN + r"\Z"
)
_TOLD: Final = re.compile(
    rf"(?:[:：→]|\.{{3,}}|\s{{3,}}|(?<!\w)(?:{_VERBS})(?!\w))\s{{0,8}}(?:<\w{{1,8}}>)?:?{_OPEN}\Z|(?:는|은|は|为|為|是|に)[\s【「『（(]{{0,4}}\Z",
    re.IGNORECASE,
)
_LED: Final = re.compile(
    rf"(?:[:：→=,+/|(（]|\.{{3,}}|\s{{3,}}|(?<!\w)(?:{_VERBS}|code|kode?|pin)(?!\w))\s{{0,8}}{_OPEN}\Z", re.IGNORECASE
)
_STOP: Final = re.compile(r"(?<![ .]\w)(?<![ .]\w\w)(?<![ .]\w\w\w)(?<!\.)[.!?](?=\s)|[。！？\x00]|;\s|\n|\\n")
_COMPUTED: Final = re.compile(r"[=!<>]=|[={}]|=>|\(\)|\w\(|[\[;]|\breturn\b|\(self|</?\w{9}")
_OF_A_PLACE: Final = re.compile(r" (?:for|of|für|von) [A-Z][\w-]+ (?:is|ist|was|war) ")
_NOT_NEAR: Final = re.compile(r"\A[\"']|[\d={}<>|]|[\"'][,:]")
_ALONE: Final = re.compile(
    r"[\n>][\s│┃║|>*_`┌┐└┘─━═╔╗╚╝┏┓┗┛-]{0,80}+" + CODE.pattern + r"(?=[ \t│┃║|*_`]{0,24}(?:\r?\n|</|\Z))"
)
_PROSE: Final = re.compile(r"[^\W\d_]{3}[^\n]{0,50}\Z")
_UNITS: Final = re.compile(r"(?:[.,:/-]?\w|\s\w+\s\d)")
_SURE: Final = re.compile(
    r"(?:lockbox|keybox|padlock|keypad|tresor|safe|kluis|kluisje|schloss|schrank|spind|alarm|alarmanlage|cofre|coffre|cassaforte|lock|cadenas|candado|sejf|seif|сейф|домофон|lukko|lås|locker|taquilla|ontgrendelen|sperre|startspärr|tastenfeld|gym)\Z",
    re.IGNORECASE,
)
_ENTERED: Final = re.compile(
    r"(?: in| the| in the| with| mit| con| avec)?[ :]{1,2}[\"'“„«`*]{0,2}"
    + CODE.pattern
    + r"(?=[\"'”»`*]{0,2}(?:[.,;]?\s(?:to|and|then|y|e|et|und|puis|poi|luego|depois|um|para|per|pour|für|on|at|seguito|и|è|an|\+)|[.,;]|\s*(?:\n|\Z)|\s\())"
)
_SIGNED: Final = re.compile(r"[:：→](?: [\"'“„«]?)?\Z")
_BEGINS_ENTRY: Final = re.compile(r" +(?:[^\W\d_]|\d+\.\d)|:")
"""On a line of its own a code is followed by no word, as a revision in a log is."""
_IS_LAST: Final = re.compile(r"[ \t]*(?:\(|\n|\\n|\Z|\0)")
_WORD_BEFORE: Final = re.compile(r"([^\W\d_]+!?)[ _-]?\Z")
_APART: Final = re.compile(r"\n[ \t\r>]*\n|[:：] *\r?\n|</\w+>")
_SPELLED: Final = re.compile(r"\d(?<!\d \d)(?<!\d[.,] \d)(?<![\w.,:+/-]\d)(?: \d){3,7}(?! ?\d)(?: ?[#*](?!\w))?")
_ENTER: Final = tuple(f"{word}{sign}" for word in ENTERED for sign in " :")
ANCHORS: Final = (*CODE_ENDS, *CODES, *FOREIGN_CODES, *LOCK_ENDS, *LOCKS, *FOREIGN_LOCKS, *_ENTER, *FOREIGN_ENTERED)
_CODE_WORDS: Final = frozenset((*CODE_ENDS, *CODES))
_LOCK_WORDS: Final = frozenset((*LOCK_ENDS, *LOCKS))
_NOTHING: Final = " :：=→\t*\"'”)-–"
_SHORTEST: Final = 3
"""Digits of a lock; behind the bare word for a code they are a status."""
_NUMBER: Final = re.compile(r"\d{4}|\d[ -]\d")
_LOOK: Final = 110
_FAR: Final = 260
_NEAR: Final = 44
_SPELLED_WITHIN: Final = 500
_FAR_OFF: Final = 1000


def opening_spans(page: Page) -> Iterator[Span]:
    text = page.text
    codes = page.once(_code_cues)
    locks = _cues(page, _LOCK_WORDS, LOCK_ENDS, FOREIGN_LOCKS)
    done = 0
    for (at, end), following in zip_longest(codes, codes[1:]):
        if at >= done and not _opens_nothing(text, at, end):
            last = following[0] if following else len(text)
            for span in (*_behind_code(text, end, last), *_on_its_own_line(text, end, last)):
                done = max(done, span.end)
                yield span
    for (_, end), following in zip_longest(locks, locks[1:]):
        yield from _behind_lock(text, end, following[0] if following else len(text))
    if codes or locks:
        cues = sorted(end for _, end in (*codes, *locks))
        yield from _spelled(text, cues)
        yield from _entered(page, cues)


def _entered(page: Page, cues: list[int]) -> Iterator[Span]:
    """`press 4471 and push`; where codes or locks are spoken of."""
    near: list[tuple[int, int]] = []
    for end in _enter_cues(page):
        found = _ENTERED.match(page.text, end)
        if found is None or not found["s"].replace(" ", "").replace("-", "").isdigit():
            continue
        near = near or list(windows(page.text, cues, before=_FAR_OFF, behind=_FAR_OFF))
        if not any(_NUMBER.search(page.text, first, last) for first, last in near):
            return
        which = bisect_right(near, (end, len(page.text))) - 1
        if which < 0 or end > near[which][1]:
            continue
        if is_code(page.text, found.start("s"), found.end("s"), is_sure=False):
            yield Span(found.start("s"), found.end("s"), "code")


def _enter_cues(page: Page) -> list[int]:
    """Where a word for typing something in ends, in order."""
    found = [
        end
        for anchor in page.held.intersection(_ENTER)
        for at in page.occurrences(anchor)
        if page.is_word(at, end := at + len(anchor) - 1)
    ]
    if not page.is_ascii:
        found += [at + len(stem) for stem in page.held.intersection(FOREIGN_ENTERED) for at in page.occurrences(stem)]
    return sorted(found)


def code_cues(page: Page) -> Iterator[int]:
    """Where a word for a code ends."""
    return (end for at, end in page.once(_code_cues) if not _opens_nothing(page.text, at, end))


def _code_cues(page: Page) -> list[tuple[int, int]]:
    return _cues(page, _CODE_WORDS, CODE_ENDS, FOREIGN_CODES)


def _cues(page: Page, words: frozenset[str], ends: tuple[str, ...], foreign: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where such a word stands, in order."""
    held = page.held
    found = [
        (at, at + len(word.rstrip(".-")))
        for at, word in page.words_with(held.intersection(ends))
        if _is_compound(word.lower().rstrip("-."), ends)
    ]
    found += [
        (at, at + len(word.rstrip(".-")))
        for at, word in page.words_like((held & words).difference(ends))
        if word != "tan"
    ]
    if not page.is_ascii:
        found += [(at, at + len(stem)) for stem in held.intersection(foreign) for at in page.occurrences(stem)]
        found += [place for word in held.intersection(words) if not word.isascii() for place in _words(page, word)]
    return sorted(found)


def _words(page: Page, end: str) -> Iterator[tuple[int, int]]:
    """Where words that end so stand."""
    for at in page.occurrences(end):
        if not page.text[at + len(end) : at + len(end) + 1].isalnum():
            yield at, at + len(end)


def _is_compound(word: str, ends: tuple[str, ...]) -> bool:
    return word.endswith(ends) and not word.endswith(NO_CODES) and "_" not in word and "." not in word


def _opens_nothing(text: str, at: int, end: int) -> bool:
    if text[end : end + 1] == ">" and text[at - 1 : at] in ("<", "/"):
        return True  # a tag
    before = _WORD_BEFORE.search(text[max(0, at - 20) : at])
    heads = (before[1] if before else "", text[at : end - 4].strip("-"))
    return not OPEN_NOTHING.isdisjoint(
        form for head in heads for form in (head.lower(), head.lower().removesuffix("s"))
    ) or bool(OPENS_NOTHING_AFTER.match(text, end))


def _behind_code(text: str, end: int, last: int) -> Iterator[Span]:
    last = min(last, end + _LOOK)
    stop = _STOP.search(text, end, last)
    if stop is not None and (stop[0] != "\n" or text[end : stop.start()].strip(_NOTHING)):
        last = stop.start()  # else nothing is on its line: the code is on the next
    for found in codes_in(text, end, last):
        start = found.start()
        gap = text[end:start]
        if "\n" in gap and _BEGINS_ENTRY.match(text, found.end()):
            return
        is_told = _DIRECT.match(gap) is not None or _TOLD.search(gap) is not None
        if _COMPUTED.search(gap) or _OF_A_PLACE.fullmatch(gap):
            return
        if len(found[0]) == _SHORTEST and found[0].isdigit():
            continue
        is_near = start - end <= _NEAR and not _NOT_NEAR.search(gap)
        if (is_told or (is_near and is_plain(found[0]))) and is_code(text, start, found.end(), is_sure=is_told):
            yield Span(start, found.end(), "code")
            return


def _on_its_own_line(text: str, end: int, last: int) -> Iterator[Span]:
    """`Here is the code you need:`, and it below, alone; also in a box or between tags."""
    last = min(last, end + _FAR)
    parted = text.find("\0", end, last)
    last = parted if parted >= 0 else last
    apart = _APART.search(text, end, last)
    if apart is None:
        return
    for found in _ALONE.finditer(text, apart.start(), last):
        if (
            is_plain(found["s"])
            and found.start("s") >= apart.end()
            and is_code(text, found.start("s"), found.end("s"), is_sure=False)
        ):
            yield Span(found.start("s"), found.end("s"), "code")
            return


def _spelled(text: str, cues: list[int]) -> Iterator[Span]:
    """`2 5 8 0` at the end of a clause: nobody writes a number so."""
    stretches = windows(text, cues, before=0, behind=_SPELLED_WITHIN)
    for found in (found for start, end in stretches for found in _SPELLED.finditer(text, start, end)):
        digits = found[0].replace(" ", "")
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()][-60:]
        is_counted = digits.isdigit() and digits in "0123456789"
        if _PROSE.search(line) and not is_counted and not _UNITS.match(text, found.end()):
            yield Span(found.start(), found.end(), "code")


def _behind_lock(text: str, end: int, last: int) -> Iterator[Span]:
    last = min(last, end + _NEAR)
    stop = _STOP.search(text, end, last)
    if stop is not None:
        last = stop.start()
    for found in codes_in(text, end, last):
        start = found.start()
        gap = text[end:start]
        is_sure = is_odd(found[0]) or (
            _SIGNED.search(gap) is not None and _IS_LAST.match(text, found.end()) is not None
        )
        is_direct = (
            gap in (" ", ": ") and text[start].isdigit() and _SURE.search(text, max(0, end - 12), end) is not None
        )
        is_sure |= is_direct and _IS_LAST.match(text, found.end()) is not None
        if (
            is_plain(found[0])
            and (is_sure or is_direct or _LED.search(gap))
            and is_code(text, start, found.end(), is_sure=is_sure)
        ):
            yield Span(start, found.end(), "code")
            return
