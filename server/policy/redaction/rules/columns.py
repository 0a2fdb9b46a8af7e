"""Tables whose columns stand under each other with spaces between them, as databases and programs print them."""

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Final, NamedTuple

from server.policy.redaction.chosen import is_chosen
from server.policy.redaction.key_names import Strength, strength_of
from server.policy.redaction.page import Page
from server.policy.redaction.plausible import is_plausible, is_random
from server.policy.redaction.rules.code_values import is_typed
from server.policy.redaction.rules.names import Name
from server.policy.redaction.spans import Span

_CELL: Final = re.compile(r"\S+(?: \S+)*")
_LONGEST_LINE: Final = 400
_MOST_ROWS: Final = 2000
_LEAST_TITLES: Final = 2
_LINES: Final = frozenset("- =+─━|")

Column = tuple[int, int, Strength]
"""Which it is, where it begins, and how strong its title is."""


class Header(NamedTuple):
    columns: list[Column]
    """Those that promise a secret."""
    cells: int


def column_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    text = page.text
    done = 0
    for name in names:
        is_apart = text.startswith("  ", name.end) or text.startswith("  ", max(0, name.start - 2))
        if not is_apart or name.start < done or text[name.end : name.end + 1] not in ("", " ", "\n", "\r"):
            continue
        start = text.rfind("\n", max(0, name.start - _LONGEST_LINE), name.start) + 1
        end = text.find("\n", name.end, name.end + _LONGEST_LINE)
        if end < 0 or end - start > _LONGEST_LINE or "  " in _line_above(text, start):
            continue
        if (header := _header(text[start:end].rstrip())) is not None:
            done = yield from _rows(text, end + 1, header)


def _line_above(text: str, start: int) -> str:
    """In a table it is a row."""
    end = max(0, start - 1)
    return text[text.rfind("\n", max(0, end - _LONGEST_LINE), end) + 1 : end].strip()


def _header(line: str) -> Header | None:
    """A title stands two spaces from the next."""
    titles = list(_CELL.finditer(line))
    if len(titles) < _LEAST_TITLES or any(sign in line for sign in "=|(;:,") or line.lstrip().startswith("-"):
        return None
    strengths = [strength_of(title[0].strip("#* ")) for title in titles]
    if not any(strength in ("password", "strong", "code") for strength in strengths):
        return None
    columns = [
        (at, title.start(), strength)
        for at, (title, strength) in enumerate(zip(titles, strengths, strict=True))
        if strength
    ]
    return Header(columns, len(titles))


def _rows(text: str, at: int, header: Header) -> Generator[Span, None, int]:
    """The lines below, as long as they have several cells."""
    for _ in range(_MOST_ROWS):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)].rstrip()
        if not set(line) <= _LINES:
            cells = list(_CELL.finditer(line))
            if len(cells) < _LEAST_TITLES:
                break
            for column in header.columns:
                if cell := _cell(cells, column, header.cells):
                    yield from _secret(cell, at, column[2])
        elif not line:
            break
        if end < 0:
            break
        at = end + 1
    return at


def _cell(cells: list[re.Match[str]], column: Column, count: int) -> re.Match[str] | None:
    """By its number where no cell is empty, else by where it stands."""
    number, start, _ = column
    if len(cells) == count:
        return cells[number]
    return next((cell for cell in cells if cell.start() == start), None)


def _secret(cell: re.Match[str], at: int, strength: Strength) -> Iterator[Span]:
    bare = cell[0].strip("\"'")
    if strength == "code":
        is_one = is_typed(bare)
    elif strength == "weak":
        is_one = is_random(bare)
    else:
        is_one = is_plausible(bare, is_quoted=True) or is_chosen(bare, is_quoted=True)
    if is_one and not bare.isalpha():
        start = at + cell.start() + cell[0].index(bare)
        yield Span(start, start + len(bare), "table")
