"""Tables with a column of secrets: Markdown, CSV, TSV, and what SQL inserts into one."""

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Final

from server.hooks.policy.redaction.chosen import is_chosen
from server.hooks.policy.redaction.key_names import strength_of
from server.hooks.policy.redaction.page import Page
from server.hooks.policy.redaction.plausible import is_plausible
from server.hooks.policy.redaction.rules.names import Name
from server.hooks.policy.redaction.spans import Span

_CELL: Final = re.compile(r"[\w .\-/]{0,40}")


_MOST_ROWS: Final = 5000
_LONGEST_HEADER: Final = 400
_PARTS_CELLS: Final = frozenset("|\t,;\r\n")


def table_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    text = page.text
    done = 0
    for name in names:
        if (
            name.start < done
            or name.strength == "weak"
            or text[name.end : name.end + 4].lstrip(" \"'")[:1] not in _PARTS_CELLS
        ):
            continue
        start = text.rfind("\n", 0, name.start) + 1
        end = text.find("\n", name.end)
        if end < 0 or end - start > _LONGEST_HEADER:
            continue
        if (header := _header(text[start:end])) is not None:
            done = yield from _rows(text, end + 1, header)


def _rows(text: str, at: int, header: tuple[str, list[int], int]) -> Generator[Span, None, int]:
    """The lines below a header, as long as they have as many cells; gives where they end."""
    sign, columns, count = header
    for _ in range(_MOST_ROWS):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if line.count(sign) + 1 == count and line.strip():
            yield from _cells(line.split(sign), columns, at)
        elif not line or not set(line.strip()) <= set("|-+: ="):
            break
        if end < 0:
            break
        at = end + 1
    return at


def _header(line: str) -> tuple[str, list[int], int] | None:
    if "(" in line or "=" in line:
        return None  # code
    for sign in ("|", "\t", ",", ";"):
        if sign not in line:
            continue
        cells = line.split(sign)
        if sum(not cell.isspace() and cell != "" for cell in cells) < 2 or not all(
            _CELL.fullmatch(cell.strip().strip("\"'")) for cell in cells
        ):
            continue
        columns = [
            i
            for i, cell in enumerate(cells)
            if strength_of(cell.strip().strip("\"'")) in ("password", "strong", "code")
        ]
        if columns:
            return sign, columns, len(cells)
    return None


def _cells(cells: list[str], columns: list[int], at: int) -> Iterator[Span]:
    starts = [at]
    for cell in cells:
        starts.append(starts[-1] + len(cell) + 1)
    for column in columns:
        cell = cells[column]
        value = cell.strip().strip("\"'")
        is_one = is_plausible(value, is_quoted=False) or (not value.isalpha() and is_chosen(value, is_quoted=True))
        if is_one or (value.isdigit() and 4 <= len(value) <= 8):
            start = starts[column] + cell.index(value)
            yield Span(start, start + len(value), "table")


ANCHORS: Final = ("insert into",)
_INSERT: Final = re.compile(r"\((?P<c>[^()]{1,800})\)\s*VALUES\s*(?=\()", re.IGNORECASE)
_ROW: Final = re.compile(r"\(((?:'(?:[^'\\]|''|\\.){0,2000}'|[^'()]){1,8000})\)\s*,?\s*")
_FIELD: Final = re.compile(r"\s*(?:[NE]?'((?:[^'\\]|''|\\.){0,2000})'|([^,']{0,200}))(?:,|\Z)")


def insert_spans(page: Page) -> Iterator[Span]:
    """`INSERT INTO users (name, password) VALUES ('anna', '…'), …`"""
    text = page.text
    for at in page.occurrences(ANCHORS[0]) if page.held.intersection(ANCHORS) else ():
        insert = _INSERT.search(text, at, at + 1200)
        if insert is None:
            continue
        titles = [title.strip(' `"[]\r\n\t') for title in insert["c"].split(",")]
        columns = {index for index, title in enumerate(titles) if strength_of(title) in ("password", "strong")}
        place = insert.end()
        while columns and (row := _ROW.match(text, place)):
            for index, field in enumerate(_FIELD.finditer(text, row.start(1), row.end(1))):
                if index in columns and field[1] and is_plausible(field[1], is_quoted=True):
                    yield Span(field.start(1), field.end(1), "table")
            place = row.end()
