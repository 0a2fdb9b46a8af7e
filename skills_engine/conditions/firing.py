"""Whether a hook fires in an injection, or the reason why not (L1-41)."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from math import inf
from typing import Literal, NamedTuple

from skills_engine.conditions.condition import Moment, SearchedTurn, SearchLimitError, SearchWork
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


_OF_MESSAGE = ("after_user_input", "before_planning")
"""Timings at which only a new message of the user makes updates run (L1-51)."""


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

    def moment(
        self,
        timing: str,
        call: CallFacts | None,
        calls: Sequence[CallFacts],
        round_number: int | None,
        *,
        steps: float = inf,
    ) -> Moment:
        """Return the injection as conditions see it: they see of its facts those of its timing (L1-42).

        `steps`: those of all its expressions, each as often as there are user messages that it searches, if known.
        """
        moment = Moment(self._turn, SearchWork(), variables=self.variables)
        match timing:
            case "after_tool_call":
                moment = moment._replace(call=call, calls=() if call is None else (call,), round=round_number)
            case "before_each_agent":
                moment = moment._replace(calls=calls, round=round_number)
            case "before_first_agent":
                moment = moment._replace(round=1)
        said, others = moment.texts()
        most = steps * max(text.size for text in (*said, *others)) * max(1, len(moment.calls))
        return moment._replace(work=SearchWork(most=most))

    def decide(self, hook: HookInfo, moment: Moment) -> tuple[Reason, str] | None:
        """Return None if the hook fires, but for room, group and budget, else what says no, and the condition's path."""
        if not hook.enabled:
            return "enabled", ""
        if hook.timing == "after_tool_call" and not hook.fits_tool(moment.call.name if moment.call else None):
            return "tool_filter", ""
        if hook.is_plain:
            return None
        if hook.requires_tools and not self._has(hook.requires_tools):
            return "requires_tools", ""
        if hook.is_update and hook.timing in _OF_MESSAGE and not self._turn.facts.is_new_message:
            return "no_message", ""
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
            path = None if hook.when is None else hook.when.why_not(moment)
        except SearchLimitError:
            return "search_limit", ""
        return None if path is None else ("when", path)

    def apply(self, hook: HookInfo, moment: Moment) -> tuple[Reason, str] | None:
        """Apply its whole `set` to the moment's variables and return None, or what says no (L1-51)."""
        if hook.set is None:
            return None
        values: dict[str, Value] = {}
        try:
            for name, change in hook.set.changes:
                if (value := change(moment.variables.value(hook.skill, name), moment)) is None:
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
            if (turn := self._last.get((hook.skill, hook.name))) is not None
        ]
        return self._before.next(fired, self.variables.changed)

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
    """Return for each group the hook of the highest priority, of equal ones the first (L1-46, L1-57)."""
    best: dict[str, HookInfo] = {}
    for hook in hooks:
        if (group := hook.full_group) is not None and (group not in best or hook.priority > best[group].priority):
            best[group] = hook
    return best
