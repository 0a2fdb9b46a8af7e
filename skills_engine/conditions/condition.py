"""The tree of a `when`: whether it holds at an injection, and which of its conditions says so (L1-42).

Each node answers twice, `why_not` and `why`, with the path of what alone decides, such as `when.not.channel`, or with
None. Where several decide together, the path is that of the object or list that holds them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple, Protocol

from skills_engine.conditions.text_patterns import LONG_TEXT_BYTES, MAX_WORK, Pattern, Patterns, SearchedText
from skills_engine.conditions.turn_facts import CallFacts, HookFacts

MAX_SCAN_TURNS = 20
MAX_INJECTION_WORK = 10 * MAX_WORK
MAX_LOOP_WORK = MAX_WORK // 20
"""Limit of what is searched on the event loop for one step of a turn: about 1 ms."""
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
    def sizes(self) -> tuple[int, int]:
        """The bytes of result and arguments."""
        return self.result.size, SearchedText(_compact_json(self.facts.arguments)).size

    def argument(self, path: str) -> SearchedText | None:
        """Return the argument at the path as a text, or None where there is none."""
        if path not in self._arguments:
            self._arguments[path] = self._read_argument(path.split("."))
        return self._arguments[path]

    def _read_argument(self, path: Sequence[str]) -> SearchedText | None:
        value: object = self.facts.arguments
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        return SearchedText(value if isinstance(value, str) else _compact_json(value))


class SearchedTurn:
    """The facts of a turn, and the user's words prepared for patterns: they do not change in a turn."""

    def __init__(self, facts: HookFacts) -> None:
        self.facts = facts
        self._texts: list[SearchedText] = []  # of the last user messages asked for so far, the last one first

    def last_texts(self, number: int) -> list[SearchedText]:
        """Return so many of the last user messages, the last one first."""
        words = self.facts.user_messages
        while len(self._texts) < min(number, len(words)):
            self._texts.append(SearchedText(words[-1 - len(self._texts)]))
        return self._texts[:number]


class SearchLimitError(Exception):
    """The expressions of an injection have more to search than they may."""


class SearchWork:
    """The work of the expressions of one injection, each counted once in each text, wherever it is found there.

    So it depends on expressions and texts only. The first search that is too much ends those of expressions.
    """

    def __init__(self, limit: int = MAX_INJECTION_WORK) -> None:
        self.left = limit
        self._counted: set[tuple[str, int]] = set()

    def finds(self, patterns: Patterns, text: SearchedText) -> bool:
        """Return whether one of the patterns is found in the text. Raises SearchLimitError."""
        for pattern in patterns.each:
            if pattern.steps:
                self._count(pattern, text)
            if text.has(pattern):
                return True
        return False

    def _count(self, expression: Pattern, text: SearchedText) -> None:
        search = expression.written, id(text)
        if search not in self._counted:
            self._counted.add(search)
            self.left -= expression.steps * len(text.beginning(expression.max_bytes))
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

    def max_work(self, conditions: Iterable["Condition"]) -> int:
        """Return what the conditions' expressions search at most; a long text counts as all that an injection may."""
        said = [text.size for text in self.turn.last_texts(MAX_SCAN_TURNS)]
        in_calls = [size for call in self.calls for size in call.sizes]
        if max([0, *said, *in_calls]) > LONG_TEXT_BYTES:
            return MAX_INJECTION_WORK
        sizes = [sum(in_calls), *(sum(said[:last]) for last in range(1, MAX_SCAN_TURNS + 1))]
        return sum(steps * sizes[last] for condition in conditions for last, steps in condition.searches)


class Node(Protocol):
    def why_not(self, moment: Moment) -> str | None: ...

    def why(self, moment: Moment) -> str | None: ...


@dataclass(frozen=True)
class Condition:
    """A `when` that was read without error. Equal if written alike."""

    source: str
    root: Node = field(compare=False, repr=False)
    searches: Sequence[tuple[int, int]] = field(default=(), compare=False, repr=False)
    """Number of user messages (0: tool calls) and steps of the search for each list of patterns."""

    def why_not(self, moment: Moment) -> str | None:
        """Return None if it holds, else the path of what says no."""
        return self.root.why_not(moment)


class Leaf:
    def __init__(self, path: str, test: Callable[[Moment], bool]) -> None:
        self._path = path
        self._test = test

    def why_not(self, moment: Moment) -> str | None:
        return None if self._test(moment) else self._path

    def why(self, moment: Moment) -> str | None:
        return self._path if self._test(moment) else None


class CallLeaf:
    """A leaf about a tool call, one of those that the moment is about."""

    def __init__(self, path: str, test: Callable[[SearchedCall, Moment], bool]) -> None:
        self.path = path
        self.test = test

    def fitting(self, calls: Iterable[SearchedCall], moment: Moment) -> list[SearchedCall]:
        return [call for call in calls if self.test(call, moment)]

    def why(self, moment: Moment) -> str | None:
        return self.path if self.fitting(moment.calls, moment) else None


class AllOf:
    """An object, or the list of `all`. Of its leaves about tool calls, all must hold of one call."""

    def __init__(self, path: str, parts: Sequence[Node | CallLeaf]) -> None:
        self._path = path
        self._parts = parts

    def why(self, moment: Moment) -> str | None:
        if len(self._parts) == 1:
            return self._parts[0].why(moment)
        return self._path if self.why_not(moment) is None else None

    def why_not(self, moment: Moment) -> str | None:
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


def _compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
