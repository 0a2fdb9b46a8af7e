"""Secrets as people tell them, where more than a sign or a verb stands between the name and the value.

`the wifi password at the cabin is …`, `temporary password for root@db: …`, `… is the new password`, `the root pw?` and the answer below.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from server.policy.redaction.key_names import STRONG, strength_of
from server.policy.redaction.page import Page
from server.policy.redaction.rules.names import KEY_OR_PASSWORD, Name, names_id
from server.policy.redaction.rules.values import is_mixed, is_striking
from server.policy.redaction.spans import Span

_VERBS: Final = "is|was|are|remains|becomes|ist|war|lautet|est|es|era|é|è|je|jest|är|er|là|adalah|byl[ao]?|это|είναι|(?:set|changed|reset|updated|geändert|gesetzt|cambiad[oa]|changé|zmienion\\w) (?:to|auf|a|en|zu|à|na)"
_IS_LATER: Final = re.compile(
    rf"[\"'*]{{0,2}}(?: [^\W\d][\w.@'’/-]{{0,24}}){{0,6}}? (?:{_VERBS})(?: now| still| currently| jetzt)?:?"
    r" [\"'“„«`]?(?P<s>\d{4,8}(?!\S)|[^\s\"'”“»`]{6,64})",
    re.IGNORECASE,
)
_COLON_LATER: Final = re.compile(
    r"\??[^\S\n][^\n:]{2,90}[^\s:] ?:(?:[ \t]+|\s*\n\s*)[\"'`]?(?P<s>[^\s\"'`]{6,128})(?=[\"'`]?(?:\s|\Z))"
)
_ASKED: Final = re.compile(
    r"[^\n?]{0,40}\?[ \t]*\r?\n(?:[\[(][^\])\n]{1,24}[\])] ?)?(?:<?[\w .-]{1,24}>?: ?)?(?P<s>[^\s\"'`]{6,64})[ \t]*(?:\r?\n|\Z)"
)
_LOOSE: Final = re.compile(
    # no verb at all: only what has letters, a digit and a sign no name has
    r"(?: [^\W\d_]{1,16}){1,3} (?P<s>(?=\S*\d)(?=\S*[^\W\d_])(?=\S*[!#$%&*+^~§]\S)[^\s\"'`(){}<>=/@]{8,64}?)(?=[.,;]?(?:\s|\Z))"
)
_OTHER_THINGS: Final = re.compile(
    r"\b(?:user|username|login|name|account|konto|e-?mail|host|server|id|at|from|by|time|date|ip|client|device|error|reason|status|see|note|example|url|link|path|file|version|type) ?:\s*[\"'`]?\Z",
    re.IGNORECASE,
)
_LEAST_APART: Final = 3
"""Characters between two names; nearer, they are a list."""
_LOOK_BACK: Final = 120
_MOST_WORDS: Final = 5
_SAYS: Final = frozenset("as is was for als ist war como es é comme est jako je som 是".split())
_CLAUSE_ENDS: Final = re.compile(
    r"[\"'”]?(?:\s*(?:[.,;:!?)\n]|\Z)| (?:for|to|of|on|at|für|zum|vom|para|pour|and|y|e|und)\b)"
)


def prose_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    done = 0
    for name, following in zip_longest(names, names[1:]):
        if name.start < done or (following is not None and _is_list(name, following)):
            continue
        for span in _around(page.text, name):
            done = max(done, span.end)
            yield span


def _is_list(name: Name, following: Name) -> bool:
    return following.strength in STRONG and following.start - name.end < _LEAST_APART


def _around(text: str, name: Name) -> Iterator[Span]:
    is_strong = name.strength in STRONG or text[name.start : name.end].lower() in KEY_OR_PASSWORD
    if (not is_strong and name.strength != "code") or names_id(text, name):
        return
    following = text[name.end : name.end + 1]
    if following == " " and not text[name.end + 1 : name.end + 2].isalpha():
        following = ""
    if following in (" ", '"', "'", "*") and (later := _IS_LATER.match(text, name.end)):
        value = _plain(later["s"])
        if _is_telling(value) if is_strong else value.isdigit():
            yield Span(later.start("s"), later.start("s") + len(value), "prose")
            return
    if not is_strong:
        return
    if following in (" ", "?") and (later := _COLON_LATER.match(text, name.end)) and _is_told(text, later):
        yield Span(later.start("s"), later.end("s"), "prose")
    elif following == " " and (end := _LOOSE.match(text, name.end)):
        yield Span(end.start("s"), end.end("s"), "prose")
    elif following in (" ", "?") and (asked := _ASKED.match(text, name.end)):
        value = _plain(asked["s"])
        if _is_telling(value):
            yield Span(asked.start("s"), asked.start("s") + len(value), "prose")
    if text[name.start - 1 : name.start] == " " and _CLAUSE_ENDS.match(text, name.end):
        yield from _before(text, name.start)


def _is_told(text: str, later: re.Match[str]) -> bool:
    """`…password for user 'admin': x`, but not `…password for user: x`."""
    value = later["s"]
    is_odd = is_striking(value) or (is_mixed(value, 8) and not value.islower() and not value.isupper())
    return is_odd and _is_telling(value) and not _OTHER_THINGS.search(text, later.start(), later.start("s"))


def _before(text: str, at: int) -> Iterator[Span]:
    """`x is the new password`: what stands before the verb."""
    start = max(0, at - _LOOK_BACK, text.rfind("\n", 0, at) + 1)
    words = text[start:at].split()
    for index in range(len(words) - 1, max(0, len(words) - _MOST_WORDS), -1):
        if not words[index].replace("-", "").isalpha():
            return
        if words[index].lower() in _SAYS:
            value = _plain(words[index - 1].strip("\"'`“”„"))
            if _is_telling(value):
                begin = text.rindex(value, start, at)
                yield Span(begin, begin + len(value), "prose")
            return


def _is_telling(value: str) -> bool:
    """With a digit or a sign, and no path or address."""
    return (
        value.count("/") < 2
        and not value.startswith(("http", "www."))
        and is_mixed(value, 6)
        and strength_of(value) is None
    )


def _plain(value: str) -> str:
    return value.rstrip(".,;:!?)")
