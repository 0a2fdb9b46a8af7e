"""The tree of a `when`: whether it holds at an injection, and which of its conditions says so (L1-42).

Each node answers twice, `why_not` and `why`, with the path of what alone decides, such as `when.not.channel`, or with
None. Where several decide together, the path is that of the object or list that holds them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from math import inf
from typing import NamedTuple, Protocol

from skills_engine.conditions.text_patterns import LONG_TEXT_BYTES, MAX_WORK, Pattern, Patterns, SearchedText
from skills_engine.conditions.turn_facts import CallFacts, HookFacts, TurnVariables

MAX_SCAN_TURNS = 20
MAX_INJECTION_WORK = 10 * MAX_WORK
MAX_LOOP_WORK = MAX_WORK // 20
"""Limit of what is searched on the event loop for one step of a turn: about 1 ms."""
MAX_LOOKED_AT_BYTES = LONG_TEXT_BYTES // 4
"""Size up to which the event loop finds out whether a text holds patterns at all."""
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class SearchedCall:
    """A tool call whose texts are prepared for patterns once."""

    def __init__(self, call: CallFacts) -> None:
        self.facts = call
        self._arguments: dict[str, SearchedText | None] = {}  # by path

    @cached_property
    def result(self) -> SearchedText:
        return SearchedText(self.facts.result)

    @cached_property
    def all_arguments(self) -> SearchedText:
        return SearchedText(compact_json(self.facts.arguments))

    @cached_property
    def shown(self) -> "SearchedCall":
        """The call with the arguments as the user may see them."""
        if self.facts.concealed_arguments is None:
            return self
        return SearchedCall(replace(self.facts, arguments=self.facts.concealed_arguments))

    def argument(self, path: str) -> SearchedText | None:
        """Return the argument at the path as a text, or None where there is none."""
        if path not in self._arguments:
            value = self._read_argument(path.split("."))
            self._arguments[path] = None if value is None else as_text(value[0])
        return self._arguments[path]

    def value(self, path: str) -> tuple[object, SearchedText | None]:
        """Return the argument and its text, if it is a text, a number or a boolean."""
        found = self._read_argument(path.split("."))
        is_plain = found is not None and isinstance(found[0], str | int | float)
        return (found[0], self.argument(path)) if found is not None and is_plain else (None, None)

    def _read_argument(self, path: Sequence[str]) -> tuple[object] | None:
        value: object = self.facts.arguments
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        return (value,)


class SearchedTurn:
    """The facts of a turn, and the user's words prepared for patterns: they do not change in a turn."""

    def __init__(self, facts: HookFacts) -> None:
        self.facts = facts
        self._texts: list[SearchedText] = []  # of the last user messages asked for so far, the last one first
        self._context: dict[str, SearchedText] = {}

    def last_texts(self, number: int) -> list[SearchedText]:
        """Return so many of the last user messages, the last one first."""
        words = self.facts.user_messages
        while len(self._texts) < min(number, len(words)):
            self._texts.append(SearchedText(words[-1 - len(self._texts)]))
        return self._texts[:number]

    @cached_property
    def last_text(self) -> SearchedText | None:
        return next(iter(self.last_texts(1)), None)

    @cached_property
    def last_reply(self) -> SearchedText | None:
        return None if self.facts.last_reply is None else SearchedText(self.facts.last_reply)

    def context(self, key: str) -> tuple[object, SearchedText | None]:
        """Return a value of the context and its text, if texts may hold it, and it is no list."""
        value = self.facts.context.get(key) if self.facts.may_say_context else None
        if value is None or (isinstance(value, Sequence) and not isinstance(value, str)):
            return None, None
        return value, self._context.setdefault(key, as_text(value))


class SearchLimitError(Exception):
    """The expressions of an injection have more to search than they may."""


class SearchWork:
    """The work of the expressions of one injection, each counted once in each text, wherever it is found there.

    So it depends on expressions and texts only. The first search that is too much ends those of expressions.
    """

    def __init__(self, limit: int = MAX_INJECTION_WORK, *, most: float = inf) -> None:
        """Take the limit, and the most that may be asked for: within it, nothing is counted."""
        self.left = limit
        self._is_counted = most > limit
        self._counted: set[tuple[str, int]] = set()

    def finds(self, patterns: Patterns, text: SearchedText) -> bool:
        """Return whether one of the patterns is found in the text. Raises SearchLimitError."""
        is_out = patterns.grams is not None and text.lacks(patterns.grams)
        if is_out and not self._is_counted:
            return False
        for pattern in patterns.expressions if is_out else patterns.each:
            if pattern.steps:
                self._count(pattern, text)
            if not is_out and text.has(pattern):
                return True
        return False

    def capture(self, expression: Pattern, text: SearchedText) -> str | None:
        """Return what the group of the expression finds in the text. Raises SearchLimitError."""
        self._count(expression, text, "set ")
        return text.capture(expression)

    def _count(self, expression: Pattern, text: SearchedText, purpose: str = "") -> None:
        if not self._is_counted:
            return
        search = purpose + expression.written, id(text)
        if search not in self._counted:
            self._counted.add(search)
            self.left -= expression.steps * text.extent(expression.max_bytes)
        if self.left < 0:
            raise SearchLimitError


class Moment(NamedTuple):
    """One injection, as conditions see it."""

    turn: SearchedTurn
    work: SearchWork
    call: SearchedCall | None = None
    """The tool call after which the injection comes, if there is one."""
    calls: Sequence[SearchedCall] = ()
    """The calls that conditions ask about: this call, or the batch just finished."""
    round: int | None = None
    """Round of the agent's loop, or None outside it."""
    variables: TurnVariables = TurnVariables({}, {})
    has_words: bool = True
    """Whether the user has said something new, for an entry with `set`."""

    def work_of(self, searching: Sequence["Searching"]) -> list[int]:
        """Return what the expressions of each search at most; a long text counts as all that an injection may."""
        said, other = self.texts()
        if max([0, *(text.size for text in (*said, *other))]) > LONG_TEXT_BYTES:
            return [MAX_INJECTION_WORK] * len(searching)
        works = []
        for one in searching:
            work = 0
            for search in one.searches:
                for text in said[: search.last] if search.last else other:
                    if text.size > MAX_LOOKED_AT_BYTES or search.grams is None or not text.lacks(search.grams):
                        work += search.steps * text.size
            works.append(work)
        return works

    def texts(self) -> tuple[list[SearchedText], list[SearchedText]]:
        """Return the texts that may be searched: what the user said, the last first, and all others."""
        other = [text for call in self.calls for text in (call.result, call.all_arguments)]
        other += [self.turn.last_reply] if self.turn.last_reply else []
        return self.turn.last_texts(MAX_SCAN_TURNS), other


class TextSearch(NamedTuple):
    """A search for one list of patterns with expressions."""

    last: int
    """Number of user messages, the last ones; 0: other texts."""
    expressions: Sequence[Pattern]
    steps: int
    grams: frozenset[str] | None = None
    """Runs of characters of which one is in each text where something is found, if such are known."""


class Searching(Protocol):
    """A hook, of whose conditions and changes the expressions search texts."""

    @property
    def searches(self) -> Sequence[TextSearch]: ...


class Node(Protocol):
    def why_not(self, moment: Moment) -> str | None: ...

    def why(self, moment: Moment) -> str | None: ...


@dataclass(frozen=True)
class Condition:
    """A `when` that was read without error. Equal if written alike."""

    source: str
    root: Node = field(compare=False, repr=False)
    searches: Sequence[TextSearch] = field(default=(), compare=False, repr=False)

    def why_not(self, moment: Moment) -> str | None:
        """Return None if it holds, else the path of what says no."""
        return self.root.why_not(moment)


class Leaf:
    def __init__(self, path: str, test: Callable[[Moment], bool]) -> None:
        self.path = path
        self.test = test

    def why_not(self, moment: Moment) -> str | None:
        return None if self.test(moment) else self.path

    def why(self, moment: Moment) -> str | None:
        return self.path if self.test(moment) else None


class CallLeaf:
    """A leaf about a tool call, one of those that the moment is about."""

    def __init__(self, path: str, test: Callable[[SearchedCall, Moment], bool]) -> None:
        self.path = path
        self.test = test

    def fitting(self, calls: Sequence[SearchedCall], moment: Moment) -> Sequence[SearchedCall]:
        if len(calls) == 1:
            return calls if self.test(calls[0], moment) else ()
        return [call for call in calls if self.test(call, moment)]

    def why(self, moment: Moment) -> str | None:
        return self.path if self.fitting(moment.calls, moment) else None


class AllOf:
    """An object, or the list of `all`. Of its leaves about tool calls, all must hold of one call."""

    def __init__(self, path: str, parts: Sequence[Node | CallLeaf]) -> None:
        self._path = path
        self._parts = parts
        plain = [(part.path, part.test) for part in parts if isinstance(part, Leaf)]
        self._leaves = plain if len(plain) == len(parts) else None

    def why(self, moment: Moment) -> str | None:
        if len(self._parts) == 1:
            return self._parts[0].why(moment)
        return self._path if self.why_not(moment) is None else None

    def why_not(self, moment: Moment) -> str | None:
        if self._leaves is not None:  # as most often: with no call for each of them
            return next((path for path, test in self._leaves if not test(moment)), None)
        calls: Sequence[SearchedCall] = moment.calls
        for part in self._parts:
            if isinstance(part, CallLeaf):
                calls = part.fitting(calls, moment)
                if not calls:
                    return part.path
            elif (path := part.why_not(moment)) is not None:
                return path
        return None


class AnyOf:
    """The list of `any`."""

    def __init__(self, path: str, parts: Sequence[Node]) -> None:
        self._path = path
        self._parts = parts

    def why_not(self, moment: Moment) -> str | None:
        if self.why(moment) is not None:
            return None
        return self._parts[0].why_not(moment) if len(self._parts) == 1 else self._path

    def why(self, moment: Moment) -> str | None:
        return next((path for part in self._parts if (path := part.why(moment)) is not None), None)


class Not:
    def __init__(self, part: Node) -> None:
        self._part = part

    def why_not(self, moment: Moment) -> str | None:
        return self._part.why(moment)

    def why(self, moment: Moment) -> str | None:
        return self._part.why_not(moment)


def is_in_span(now: datetime, start: str, end: str, days: Sequence[str] | None) -> bool:
    """Return whether the clock is in the span; one that passes midnight counts for the day on which it began."""
    clock = f"{now:%H:%M}"
    is_after_midnight = clock < end < start
    if not (start == end or start <= clock < end or is_after_midnight or end < start <= clock):
        return False
    began = now - timedelta(days=1) if is_after_midnight else now
    return days is None or DAYS[began.weekday()] in days


def as_text(value: object) -> SearchedText:
    return SearchedText(value if isinstance(value, str) else compact_json(value))


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
