"""Filters: select the calls that a handler is for."""

import fnmatch
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import regex

from server import config
from server.bounded.fair_share import FairShare, ShareFull
from server.toolguard import Permission

_REGEX: Final = "re:"
_MATCH_LIMIT_S: Final = 0.05
_LIMIT_S: Final = 1.0
"""Time limit of a filter, however many texts a call has."""
_MAX_UNROLLED: Final = 100_000
"""Characters of an expression with its repetitions written out; compiling them holds the interpreter for 0.1 s."""
_LEAST_COUNT: Final = re.compile(r"\{(\d+)")
_LOOSE: Final = re.compile(r"\s+|#[^\n]*\n")
"""Characters that (?x) allows inside of a count."""
_INLINE_CHARS: Final = 65_536
"""Length up to which texts are matched in the event loop, in about a millisecond; longer ones in a thread."""

Matcher = Callable[[str], bool]


class CallFilter:
    """A filter, compiled once. A call fits if it fits every key given, and a key if it fits one of its entries."""

    def __init__(self, wanted: config.PolicyFilter | None, threads: FairShare | None = None) -> None:
        """Compile the filter. Raises ValueError for an invalid regular expression."""
        wanted = wanted or config.PolicyFilter()
        arguments = wanted.arguments or {}
        self._threads = threads or FairShare(1, per_user=1)
        self._is_slow = any(text.startswith(_REGEX) for text in (*(wanted.tools or ()), *arguments.values()))
        self._tools = None if wanted.tools is None else [matcher(glob) for glob in wanted.tools]
        self._permissions = wanted.permissions
        self._arguments = [(path.split("."), matcher(glob)) for path, glob in arguments.items()]
        self._is_open = self._tools is None and self._permissions is None and not self._arguments

    async def fits(self, tool: str, permission: Permission, arguments: Any) -> bool:
        if self._is_open:
            return True
        try:
            if self._is_slow or self._is_long(arguments):
                return await self._threads.in_thread(self._fits, tool, permission, arguments)
            return self._fits(tool, permission, arguments)
        except (RecursionError, ShareFull):  # nested deeper than can be written as JSON, or too much is waiting
            return True  # in doubt a guard watches

    def _is_long(self, arguments: Any) -> bool:
        return any(len(text) > _INLINE_CHARS for path, _ in self._arguments for text in _texts(arguments, path))

    def _fits(self, tool: str, permission: Permission, arguments: Any) -> bool:
        if self._tools is not None and not any(matches(tool) for matches in self._tools):
            return False
        if self._permissions is not None and permission not in self._permissions:
            return False
        by_s = time.monotonic() + _LIMIT_S  # past it a call fits: in doubt a guard watches
        return all(
            any(time.monotonic() > by_s or matches(text) for text in _texts(arguments, path))
            for path, matches in self._arguments
        )


def matcher(pattern: str, *, in_doubt: bool = True) -> Matcher:
    """Compile a glob over the whole text, or with `re:…` a regular expression that is found anywhere.

    in_doubt: whether one that takes too long fits. A filter often decides whom a guard watches: in doubt it
    watches. For the same reason a text is looked through to its end, whatever its length.
    """
    if not pattern.startswith(_REGEX):
        fits = re.compile(fnmatch.translate(pattern)).match  # what fnmatch makes of a glob cannot blow up
        return lambda text: fits(text) is not None
    expression = pattern.removeprefix(_REGEX)
    if max(_unrolled(expression), _unrolled(_LOOSE.sub("", expression))) > _MAX_UNROLLED:
        raise ValueError(f"`{pattern}` repeats too often; use smaller numbers in its {{…}}, or * and +")
    try:
        found = regex.compile(expression)
    except regex.error as error:
        raise ValueError(f"`{pattern}` is not a valid regular expression: {error}") from error

    def search(text: str) -> bool:
        try:
            return found.search(text, timeout=_MATCH_LIMIT_S) is not None
        except TimeoutError:
            return in_doubt

    return search


def _unrolled(expression: str) -> int:
    """Bound the length of an expression with its least repetitions written out, as `regex` compiles it."""
    return len(expression) * math.prod(max(1, int(count)) for count in _LEAST_COUNT.findall(expression))


def _texts(value: Any, path: Sequence[str]) -> Iterator[str]:
    """Yield the texts under `path`; names may be globs, lists are searched."""
    if not path:
        yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, list):
            for item in value:
                yield from _texts(item, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if fnmatch.fnmatchcase(str(key), path[0]):
                yield from _texts(item, path[1:])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, path)
