"""Lists below a heading that names passwords: `Passwörter Oma`, and lines such as `Ziggo: ziggo4anneke` under it."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.password_looks import TOKEN, looks_chosen, trimmed
from server.policy.redaction.spans import Span

ANCHORS: Final = (
    "passwords",
    "passcodes",
    "passwörter",
    "kennwörter",
    "zugangsdaten",
    "mots de passe",
    "contraseñas",
    "senhas",
    "wachtwoorden",
    "hasła",
    "пароли",
    "salasanat",
    "lösenorden",
    "parolalar",
    "şifreler",
    "logins:",
    "my logins",
)
_HEADING: Final = re.compile(r"[^\n\x00:=,;(){}\[\]\"'`<>.!?]{0,40}")
_REST: Final = re.compile(r"[^\n\x00:=;{}\[\]\"'`<>!?.]{0,60}:?[ \t]*\r?\n(?:[ \t=~-]{0,80}\r?\n)?")
_ENTRY: Final = re.compile(
    rf"[ \t]{{0,8}}(?:[-*•·–] ?|\d{{1,2}}[.)] )?(?P<label>[^\W_][^\n:=]{{1,40}})(?:[:：]| [–—-]|\t)[ \t]+(?P<s>{TOKEN}{{4,64}})[^\n]{{0,80}}(?:\r?\n|\Z)"
)
_POLICY: Final = re.compile(
    r"rotat|length|länge|minim|maxim|polic|richtlinie|expir|ablauf|complex|history|stor|owner|hash|algorithm|format|chang|version|reset|rules?\b|hint",
    re.IGNORECASE,
)
"""Of entries that say how passwords are made and kept."""
_LINE: Final = re.compile(r"[^\n\x00]{0,200}(?:\r?\n|\Z)")
_MOST: Final = 40
_GAP: Final = 2
"""Lines in a row that are no entry, after which the list is over."""


def headed_spans(page: Page) -> Iterator[Span]:
    text = page.text
    for word in page.held.intersection(ANCHORS):
        for at in page.occurrences(word):
            start = text.rfind("\n", max(0, at - 48), at) + 1
            rest = _REST.match(text, at + len(word))
            if rest is not None and _HEADING.fullmatch(text, start, at):
                yield from _entries(text, rest.end())


def _entries(text: str, at: int) -> Iterator[Span]:
    missed = 0
    for _ in range(_MOST):
        entry = _ENTRY.match(text, at)
        if entry is not None:
            value = trimmed(entry["s"])
            if looks_chosen(value) >= 2 and _POLICY.search(entry["label"]) is None:
                yield Span(entry.start("s"), entry.start("s") + len(value), "listed")
        missed = 0 if entry is not None else missed + 1
        line = _LINE.match(text, at)
        if missed > _GAP or line is None or line.end() == at:
            return
        at = line.end()
