"""Whether a hook fires in an injection, or the reason why not (L1-41)."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from math import inf
from typing import Literal, NamedTuple

from skills_engine.conditions.condition import Moment, SearchedCall, SearchedTurn, SearchLimitError, SearchWork
from skills_engine.conditions.turn_facts import CallFacts, Firing, HookFacts, HookState, TurnVariables, Value, Values
from skills_engine.hook_entries import HookInfo

Reason = Literal[
    "enabled",
    "tool_filter",
    "requires_tools",
    "once",
    "cooldown",
    "when",
    "search_limit",
    "persistent",
    "group",
    "budget",
    "no_message",
    "set",
    "variables_full",
]
"""Reason that first kept a hook (or what it sets) out: a key of it, a limit (L1-30, L1-43, L1-50), or `skills.hook_tokens`."""


class NotFired(NamedTuple):
    """A hook that stayed out of an injection of its timing."""

    hook: HookInfo
    timing: str
    reason: Reason
    path: str = ""
    """Path of the condition that failed, such as `when.not.channel`; "" where the reason is not `when`."""


class TurnMemory:
    """Knows the variables and which hooks fired: in this turn, and by the state that came in the turns before."""

    def __init__(self, facts: HookFacts, declared: Values) -> None:
        self.variables = TurnVariables(declared, facts.state.variables)
        self._turn = SearchedTurn(facts)
        self._before = facts.state
        self._now = facts.state.turn + 1
        self._last = {(firing.skill, firing.hook): firing.turn for firing in facts.state.firings}
        self._injected: set[tuple[str, str]] = set()
        self._has_tools: dict[tuple[str, ...], bool] = {}
        self._calls: dict[int, SearchedCall] = {}  # id → call; holding it keeps its id from being reused

    def moment(
        self,
        timing: str,
        call: CallFacts | None,
        calls: Iterable[CallFacts],
        round_number: int | None,
        *,
        steps: float = inf,
    ) -> Moment:
        """Return the injection as conditions see it: they see of its facts those of its timing (L1-42).

        `steps`: those of all its expressions, if they are known.
        """
        moment = self._moment(timing, call, calls, round_number)
        said, other = moment.texts()
        most = steps * max([1, *(text.size for text in (*said, *other))]) * max(1, len(moment.calls))
        return moment._replace(work=SearchWork(most=most))

    def _moment(
        self, timing: str, call: CallFacts | None, calls: Iterable[CallFacts], round_number: int | None
    ) -> Moment:
        moment = Moment(self._turn, SearchWork(), variables=self.variables)
        match timing:
            case "after_tool_call" if call is not None:
                searched = self._searched(call)
                return moment._replace(call=searched, calls=(searched,), round=round_number)
            case "after_tool_call":
                return moment._replace(round=round_number)
            case "before_each_agent":
                return moment._replace(calls=tuple(map(self._searched, calls)), round=round_number)
            case "before_first_agent":
                return moment._replace(round=1)
        return moment

    def decide(self, hook: HookInfo, moment: Moment) -> tuple[Reason, str] | None:
        """Return None if the hook fires, but for room, group and budget, else what says no, and the condition's path."""
        if not hook.enabled:
            return "enabled", ""
        if (
            hook.tool_filter is not None
            and hook.timing == "after_tool_call"
            and not hook.fits_tool(moment.call.facts.name if moment.call else None)
        ):
            return "tool_filter", ""
        if hook.is_plain:
            return None
        if hook.requires_tools and not self._has(hook.requires_tools):
            return "requires_tools", ""
        if hook.set is not None and not self._turn.facts.is_new_message:
            if hook.is_update and hook.timing in ("after_user_input", "before_planning"):
                return "no_message", ""
            moment = moment._replace(has_words=False)
        is_for_once = hook.once == "turn" or (hook.once == "conversation" and hook.is_update)
        if is_for_once and (hook.skill, hook.name) in self._injected:
            return "once", ""
        if hook.has_memory and (turn := self._earlier_turn(hook)) is not None:
            if self._is_sticky(hook, turn):
                return None
            if hook.once == "conversation":
                return "once", ""
            if self._now <= turn + hook.memory_turns:
                return "cooldown", ""
        try:
            path = None if hook.when is None else hook.when.root.why_not(moment)
        except SearchLimitError:
            return "search_limit", ""
        return None if path is None else ("when", path)

    def apply(self, hook: HookInfo, moment: Moment) -> tuple[Reason, str] | None:
        """Apply its whole `set` to the moment's variables and return None, or what says no (L1-51)."""
        if hook.set is None:
            return None
        moment = moment._replace(has_words=self._turn.facts.is_new_message)
        values: dict[str, Value] = {}
        try:
            for name, change in hook.set.changes:
                before = moment.variables.value(hook.skill, name)
                value = None if before is None else change(before, moment, hook.owner)
                if value is None:
                    return "set", f"set.{name}"
                values[name] = value
        except SearchLimitError:
            return "search_limit", ""
        return None if moment.variables.write(hook.skill, values) else ("variables_full", "")

    def record(self, hook: HookInfo) -> None:
        """Remember that the hook was put in."""
        self._injected.add((hook.skill, hook.name))
        if hook.has_memory:
            turn = self._earlier_turn(hook)
            if turn is None or not self._is_sticky(hook, turn):
                self._last[hook.skill, hook.name] = self._now

    def state(self, hooks: Iterable[HookInfo]) -> HookState:
        """Return the state for the next turn (L1-45); `hooks` are those of this turn."""
        fired = [
            Firing(hook.skill, hook.name, turn, None if hook.once == "conversation" else turn + hook.memory_turns)
            for hook in hooks
            if hook.has_memory and (turn := self._last.get((hook.skill, hook.name))) is not None
        ]
        return self._before.next(fired, self.variables.changed)

    def _searched(self, call: CallFacts) -> SearchedCall:
        return self._calls.setdefault(id(call), SearchedCall(call))

    def _has(self, patterns: tuple[str, ...]) -> bool:
        if patterns not in self._has_tools:
            tools = self._turn.facts.tools
            self._has_tools[patterns] = all(
                name in tools or any(fnmatchcase(tool, name) for tool in tools) for name in patterns
            )
        return self._has_tools[patterns]

    def _earlier_turn(self, hook: HookInfo) -> int | None:
        """Return the turn before this one in which it last fired of itself; None also where that is this turn."""
        turn = self._last.get((hook.skill, hook.name))
        return None if turn == self._now else turn

    def _is_sticky(self, hook: HookInfo, turn: int) -> bool:
        return hook.sticky is not None and self._now <= turn + hook.sticky


def group_winners(hooks: Iterable[HookInfo]) -> dict[str, HookInfo]:
    """Return for each group the hook of the highest priority, of equal ones the first (L1-46)."""
    best: dict[str, HookInfo] = {}
    for hook in hooks:
        if hook.group is not None and (hook.group not in best or hook.priority > best[hook.group].priority):
            best[hook.group] = hook
    return best
