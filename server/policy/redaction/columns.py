"""Columns of tables in texts whose heading promises a secret: drawn with bars, separated by commas, tabs or spaces."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.secret_names import SecretNames
from server.policy.redaction.secret_values import SecretValues
from server.policy.redaction.spans import Span

_CELL: Final = re.compile(r"[^|│┃,;\t\s]+(?: [^|│┃,;\t\s]+)*")
_RULER: Final = re.compile(r"[\s|+:=─│┼┃-]+")
_BARS: Final = re.compile(r"[|│┃,;]")
_NO_HEADING: Final = re.compile(r"[=:\"'(){}]|\d")
_LONGEST_LINE: Final = 400


class SecretColumns:
    """Rule of tables: keywords lead to a heading, and that to the cells below it."""

    def __init__(self, names: SecretNames, values: SecretValues) -> None:
        self._names = names
        self._values = values

    def find(self, text: str, at: int, end: int) -> Iterator[Span]:
        """Yield the cells below the heading in whose line the keyword at `at` stands.

        An empty span says how far the table goes: no other heading stands in it.
        """
        low = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1
        high = text.find("\n", at, min(end, at + _LONGEST_LINE))
        if high < 0:
            return
        heading = text[low:high]
        titles = [] if _NO_HEADING.search(heading) else _CELL.findall(heading)
        promises = [self._names.promise(title) for title in titles]
        if len(titles) < 2 or not any(promise not in (None, "key") for promise in promises):
            yield Span(high, high, "")
            return
        is_sure = _BARS.search(heading) is not None  # with spaces alone it may be anything
        while 0 < high < end:
            start, high = high + 1, text.find("\n", high + 1, end)
            line_end = high if high >= 0 else end
            cells = list(_CELL.finditer(text, start, min(line_end, start + _LONGEST_LINE)))
            if len(cells) == len(titles):
                for cell, promise in zip(cells, promises, strict=True):
                    if promise not in (None, "key") and self._values.is_secret(cell[0], promise, is_sure=is_sure):
                        yield Span(cell.start(), cell.end(), "column")
            elif not _RULER.fullmatch(text, start, line_end):
                break
            yield Span(line_end, line_end, "")
