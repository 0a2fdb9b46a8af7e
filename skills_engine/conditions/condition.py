"""The tree of a `when`: whether it holds at an injection, and which of its conditions says so (L1-42).

Each node answers with the path of what alone decides, such as `when.not.channel`. Where several decide together, the
path is that of the object or list that holds them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import Any, Final, NamedTuple, Protocol

from skills_engine.conditions.text_patterns import LONG_TEXT_BYTES, MAX_WORK, Pattern, Patterns, SearchedText
from skills_engine.conditions.turn_facts import CallFacts, HookFacts, TurnVariables, compact_json

MAX_SCAN_TURNS = 20
MAX_INJECTION_WORK = 10 * MAX_WORK
MAX_LOOP_WORK = MAX_WORK // 20
"""Limit of what is searched on the event loop for one step of a turn: about 1 ms."""
MAX_LOOKED_AT_BYTES = LONG_TEXT_BYTES // 4
"""Size up to which the event loop finds out whether a text holds patterns at all."""
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class SearchedTurn:
    """The facts of a turn, and its texts prepared for patterns, each once."""

    def __init__(self, facts: HookFacts) -> None:
        self.facts = facts
        self._searched: dict[str, SearchedText] = {}
        self._arguments: dict[
            tuple[int, str], tuple[CallFacts, SearchedText | None]
        ] = {}  # by id of the call, and path

    def searched(self, text: str) -> SearchedText:
        found = self._searched.get(text)
        if found is None:
            found = self._searched[text] = SearchedText(text)
        return found

    def argument(self, call: CallFacts, path: str) -> SearchedText | None:
        """Return the argument at the path as a text, or None where there is none."""
        key = id(call), path
        if key not in self._arguments:
            found = argument(call.arguments, path)
            self._arguments[key] = call, None if found is ABSENT else self.searched(text_of(found))
        return self._arguments[key][1]

    def last_texts(self, number: int) -> Sequence[str]:
        """Return so many of the last user messages, the last one first."""
        return self.facts.user_messages[: -number - 1 : -1]


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
        if not self._is_counted:
            return not text.lacks(patterns.grams) and patterns.are_found_in(text)
        for pattern in patterns.each:
            if pattern.steps:
                self._count(pattern, text)
            if text.has(pattern):
                return True
        return False

    def capture(self, expression: Pattern, text: SearchedText) -> str | None:
        """Return what the group of the expression finds in the text. Raises SearchLimitError."""
        self._count(expression, text, "set ")
        return text.capture(expression)

    def _count(self, expression: Pattern, text: SearchedText, purpose: str = "") -> None:
        search = purpose + expression.written, id(text)
        if self._is_counted and search not in self._counted:
            self._counted.add(search)
            self.left -= expression.steps * len(text.beginning(expression.max_bytes))
        if self.left < 0:
            raise SearchLimitError


class Moment(NamedTuple):
    """One injection, as conditions see it."""

    turn: SearchedTurn
    work: SearchWork
    call: CallFacts | None = None
    """The tool call after which the injection comes, if there is one."""
    calls: Sequence[CallFacts] = ()
    """The calls that conditions ask about: this call, or the batch just finished."""
    round: int | None = None
    """Round of the agent's loop, or None outside it."""
    variables: TurnVariables = TurnVariables({}, {})

    def finds(self, patterns: Patterns, *texts: str) -> bool:
        """Return whether one of the patterns is found in one of the texts. Raises SearchLimitError."""
        return any(self.work.finds(patterns, self.turn.searched(text)) for text in texts)

    def texts(self) -> tuple[list[SearchedText], list[SearchedText]]:
        """Return the texts that may be searched: what the user said, the last first, and all others."""
        said = [self.turn.searched(text) for text in self.turn.last_texts(MAX_SCAN_TURNS)]
        in_calls = (text for call in self.calls for text in (call.result, compact_json(call.arguments)))
        return said, [self.turn.searched(text) for text in (self.turn.facts.last_reply or "", *in_calls)]

    def max_works(self, hooks: Sequence[Sequence["TextSearch"]]) -> list[int]:
        """Return what the searches of each hook may search; a long text counts as all that an injection may."""
        said, others = self.texts()
        if max(text.size for text in (*said, *others)) > LONG_TEXT_BYTES:
            return [MAX_INJECTION_WORK] * len(hooks)
        return [
            sum(
                search.steps * text.size
                for search in searches
                for text in (said[: search.last] if search.last else others)
                if text.size > MAX_LOOKED_AT_BYTES or not text.lacks(search.grams)
            )
            for searches in hooks
        ]


class TextSearch(NamedTuple):
    """The expressions of one list of patterns, or of a `set`, and the texts in which they are searched."""

    last: int
    """Number of user messages, the last ones; 0: other texts."""
    expressions: Sequence[Pattern]
    steps: int
    grams: frozenset[str] | None = None
    """The grams of the patterns."""


Verdict = tuple[bool, str]
"""Whether a node holds, and the path of what decides that."""


class Node(Protocol):
    def verdict(self, moment: Moment) -> Verdict: ...


@dataclass(frozen=True)
class Condition:
    """A `when` that was read without error. Equal if written alike."""

    source: str
    root: Node = field(compare=False, repr=False)
    searches: Sequence[TextSearch] = field(default=(), compare=False, repr=False)

    def why_not(self, moment: Moment) -> str | None:
        """Return None if it holds, else the path of what says no."""
        holds, path = self.root.verdict(moment)
        return None if holds else path


@dataclass(frozen=True)
class Leaf:
    path: str
    test: Callable[[Moment], bool]

    def verdict(self, moment: Moment) -> Verdict:
        return self.test(moment), self.path


@dataclass(frozen=True)
class CallLeaf:
    """A leaf about a tool call, one of those that the moment is about."""

    path: str
    test: Callable[[CallFacts, Moment], bool]


@dataclass(frozen=True)
class AllOf:
    """An object, or the list of `all`. Of its leaves about tool calls, all must hold of one call."""

    path: str
    parts: Sequence[Node | CallLeaf]

    def verdict(self, moment: Moment) -> Verdict:
        calls, path = moment.calls, self.path
        for part in self.parts:
            if isinstance(part, CallLeaf):
                calls = [call for call in calls if part.test(call, moment)]
                holds, path = bool(calls), part.path
            else:
                holds, path = part.verdict(moment)
            if not holds:
                return False, path
        return True, path if len(self.parts) == 1 else self.path


@dataclass(frozen=True)
class AnyOf:
    """The list of `any`."""

    path: str
    parts: Sequence[Node]

    def verdict(self, moment: Moment) -> Verdict:
        path = self.path
        for part in self.parts:
            holds, path = part.verdict(moment)
            if holds:
                return True, path
        return False, path if len(self.parts) == 1 else self.path


@dataclass(frozen=True)
class Not:
    part: Node

    def verdict(self, moment: Moment) -> Verdict:
        holds, path = self.part.verdict(moment)
        return not holds, path


def is_in_span(now: datetime, start: str, end: str, days: Sequence[str] | None) -> bool:
    """Return whether the clock is in the span; one that passes midnight counts for the day on which it began."""
    clock = f"{now:%H:%M}"
    is_after_midnight = clock < end < start
    if not (start == end or start <= clock < end or is_after_midnight or end < start <= clock):
        return False
    began = now - timedelta(days=1) if is_after_midnight else now
    return days is None or DAYS[began.weekday()] in days


ABSENT: Final = object()


def argument(arguments: Mapping[str, Any], path: str) -> object:
    """Return what stands at the path, whose dots lead inwards; ABSENT where nothing does."""
    value: object = arguments
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return ABSENT
        value = value[key]
    return value


def text_of(value: object) -> str:
    return value if isinstance(value, str) else compact_json(value)
