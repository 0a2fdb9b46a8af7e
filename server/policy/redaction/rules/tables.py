"""Tables with a column of secrets: Markdown, CSV, TSV, and what SQL inserts into one."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from server.policy.redaction.chosen import is_chosen
from server.policy.redaction.key_names import Strength, strength_of
from server.policy.redaction.page import Page
from server.policy.redaction.plausible import is_jumbled, is_plausible, is_word
from server.policy.redaction.rules.code_values import is_typed
from server.policy.redaction.rules.names import Name
from server.policy.redaction.rules.password_looks import is_odd_word, looks_chosen
from server.policy.redaction.spans import Span

_TITLE: Final = re.compile(r"[^\n={}<>$\\\[\]]{0,40}")
_PLAIN_TITLE: Final = re.compile(r"[\w .\-/]{0,40}")
_FIELD_OF: Final = {
    sign: re.compile(
        rf"(?:^|(?<={re.escape(sign)}))(?:[ ]*\"(?P<q>(?:[^\"\n]|\"\")*)\"[ ]*|(?P<b>[^{re.escape(sign)}\n]*))(?={re.escape(sign)}|$)"
    )
    for sign in "|\t,;"
}
_CALL: Final = re.compile(r"\w\(|\)[.:]")
_IMPORTS: Final = re.compile(r"\s*(?:from|import|use|using|export)\b")
_DATUM: Final = re.compile(r"\d[\d.:-]*(?:/\w+)?\Z")
"""What rows hold, and no header."""
_MOST_ROWS: Final = 5000
_LONGEST_HEADER: Final = 400
_LONGEST_ROW: Final = 4000
_RULERS: Final = frozenset("|-+: =─│┼━")
_TITLES: Final = ("password", "strong", "code")


class _Header(NamedTuple):
    sign: str
    columns: Mapping[int, Strength]
    """Which of them are secret."""
    cells: int


def table_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    text = page.text
    done = 0
    for name in names:
        if name.start < done or name.strength == "weak":
            continue
        start = text.rfind("\n", 0, name.start) + 1
        end = text.find("\n", name.end)
        if end < 0 or end - start > _LONGEST_HEADER:
            continue
        if (header := _header(text[start:end])) is not None:
            done = yield from _rows(text, end + 1, header)


def _header(line: str) -> _Header | None:
    """Code is none: `login(user, password);`"""
    if _IMPORTS.match(line):
        return None
    for sign in "|\t,;":
        if sign not in line or (sign in ",;" and ("(" in line or ": " in line)):
            continue
        titles = [_plain(cell) for cell in line.split(sign)]
        if not _are_titles(titles, sign):
            continue
        strengths = {at: strength_of(title.partition(" (")[0]) for at, title in enumerate(titles)}
        columns = {at: strength for at, strength in strengths.items() if strength in _TITLES and strength}
        if columns:
            return _Header(sign, columns, len(titles))
    return None


def _are_titles(titles: Sequence[str], sign: str) -> bool:
    """Neither the cells of a row, nor a line of a list or a pattern that goes on below."""
    shape = _PLAIN_TITLE if sign == "," else _TITLE
    if sum(bool(title) for title in titles) < 2 or not all(shape.fullmatch(title) for title in titles):
        return False
    if any(_DATUM.match(title) for title in titles) or (sign == "\t" and not all(titles[1:-1])):
        return False
    return (sign != "," or titles[-1] != "") and (sign != "|" or bool(titles[0]) == bool(titles[-1]))


def _rows(text: str, at: int, header: _Header) -> Generator[Span, None, int]:
    """The lines below a header, as long as they have as many cells; gives where they end."""
    for _ in range(_MOST_ROWS):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)].rstrip("\r")
        if set(line) <= _RULERS:
            if not line:
                break
        elif (cells := _cells(line, header)) is None:
            break
        else:
            yield from _secrets(cells, header, at)
        if end < 0:
            break
        at = end + 1
    return at


def _cells(line: str, header: _Header) -> list[tuple[int, str]] | None:
    """Where each cell begins, and what stands in it; none if this is no row of the table."""
    if header.sign not in line or len(line) > _LONGEST_ROW:
        return None
    cells = [
        (field.start("q"), field["q"]) if field["q"] is not None else (field.start("b"), field["b"])
        for field in _FIELD_OF[header.sign].finditer(line)
    ]
    return cells if len(cells) == header.cells else None


def _secrets(cells: Sequence[tuple[int, str]], header: _Header, at: int) -> Iterator[Span]:
    for column, strength in header.columns.items():
        start, cell = cells[column]
        value = _plain(cell)
        if _is_secret(value, strength):
            start += at + cell.index(value)
            yield Span(start, start + len(value), "table")


def _is_secret(value: str, strength: Strength) -> bool:
    is_number = value.isdigit() and 4 <= len(value) <= 10
    if strength == "code":
        return is_typed(value)
    if _CALL.search(value):
        return is_number
    has_looks = strength == "password" and (
        looks_chosen(value) >= 2 or (" " not in value and (is_word(value) or is_odd_word(value, is_quoted=True)))
    )
    is_one = has_looks or is_jumbled(value) or (not value.isalpha() and is_chosen(value, is_quoted=True))
    return is_number or is_one or is_plausible(value, is_quoted=False)


def _plain(cell: str) -> str:
    return cell.strip().strip("\"'`*").strip()


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
