"""The order in which a turn injects and removes (docs/hooks.md, "The turn"). The same for turns with and without a model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skills_engine.conditions.condition import MAX_LOOP_WORK
from skills_engine.conditions.firing import NotFired
from skills_engine.conditions.turn_facts import CallFacts, HookState
from skills_engine.diagnostics import did_you_mean
from skills_engine.hook_entries import HookInfo
from skills_engine.hook_manager import HookManager, Message, Search

HookFrame = dict[str, Any]
"""A persistent hook as `HookManager.inject` returns it."""


_REASONS = {
    "enabled": "it is switched off: enabled is false",
    "tool_filter": "tool_filter names none of: {}",
    "requires_tools": "the turn has not all of the tools that it requires: {}",
    "once": "once a {}: it has fired already",
    "cooldown": "cooldown: after it fired, it stays out for this many turns: {}",
    "when": "its condition does not hold: {}",
    "group": "another hook of the group {} was put in",
    "budget": "there was no room for it in skills.hook_tokens",
    "search_limit": "expressions have more to search than one injection may",
    "persistent": "the turn's limit of persistent hooks was reached",
    "no_message": "there is no new message of the user",
    "set": "nothing was set: nothing was found for {}",
    "variables_full": "nothing was set: the skill's variables would take more than 4 KiB, or the state more than 16",
    "no_start": "not reached: the turn ended before hooks were put in",
    "no_planning": "not reached: no planning round",
    "no_loop": "not reached: no agent loop",
    "no_tool": "no tool ran",
    "skill_off": "the skill is switched off",
    "no_turn": "it begins no turn: its condition does not hold: {}",
    "not_empty": "it begins no turn: clients answer connect only in an empty conversation",
}
"""The reasons by their codes, which pages translate."""


@dataclass(frozen=True)
class SilentHook:
    """A hook that stayed out, with the code of the reason and what fills it in."""

    hook: HookInfo
    code: str
    detail: str = ""
    has_fired: bool = False
    """Whether another injection of the turn put it in."""

    @property
    def reason(self) -> str:
        return _REASONS[self.code].format(self.detail)

    @property
    def path(self) -> str:
        """Path of the condition that failed, such as `when.not.channel`; "" where the reason is not a condition."""
        return self.detail if self.code in ("when", "no_turn", "set") else ""

    def facts(self) -> dict[str, Any]:
        """Return what is known of it, as traces and previews show it."""
        hook = {"skill": self.hook.skill, "hook": self.hook.name, "timing": self.hook.timing}
        why = {"reason": self.reason, "code": self.code, "detail": self.detail, "fired": self.has_fired}
        return hook | why | ({"path": self.path} if self.path else {})


class TurnSequence:
    """Drives a HookManager through one turn, without I/O: `start`, then the only call, or `begin_planning` and the loop.

    Each step that injects returns the persistent hooks, in order; what it put into the list stands at its end.
    """

    def __init__(self, hooks: HookManager) -> None:
        self.prompt: Message | None = None
        """The built-in prompt that stands in the list."""
        self._hooks = hooks
        self._round = 0
        self._batch: Sequence[CallFacts] = ()  # of the round before
        self._tools_ran: dict[str, None] = {}
        self._reached: set[str] = set()
        self._not_fired: dict[tuple[int, str, str], NotFired] = {}  # by id of the hook, reason and path

    @property
    def state(self) -> HookState | None:
        return self._hooks.state

    def start(self) -> list[HookFrame]:
        return self._inject("after_user_input")

    def begin_planning(self, prompt: str) -> list[HookFrame]:
        persistent = self._inject("before_planning")
        self.prompt = self._hooks.inject_prompt(prompt)
        return persistent

    def end_planning(self) -> None:
        self._remove_prompt()
        self._hooks.remove("before_planning")

    def begin_round(self, prompt: str) -> list[HookFrame]:
        """Begin the next round of the loop; `prompt` is its step prompt (L1-25)."""
        self._round += 1
        self._hooks.remove("before_each_agent")
        persistent = self._inject("before_each_agent", calls=self._batch, round=self._round)
        if self._round == 1:
            persistent += self._inject("before_first_agent")
        self.prompt = self._hooks.inject_prompt(prompt)
        return persistent

    def end_batch(self, calls: Sequence[CallFacts]) -> list[HookFrame]:
        """Follow the batch of this round, whose calls and results stand in the list (L1-26, L1-28).

        Before the first round: a batch that the turn before has left to the client (L1-34).
        """
        self._batch = calls
        self._tools_ran |= dict.fromkeys(call.name for call in calls)
        self._hooks.remove("after_tool_call")
        persistent: list[HookFrame] = []
        for call in calls:
            persistent += self._inject("after_tool_call", call=call, round=max(self._round, 1))
        return persistent

    def end_round(self) -> None:
        self._remove_prompt()

    def end_loop(self) -> None:
        self._hooks.remove("before_first_agent")
        self._hooks.remove("after_tool_call")

    def searches(self, *timings: str, calls: Sequence[CallFacts] = ()) -> Iterator[Callable[[], object]]:
        """Yield what is to be done in threads before the next step, of these timings, because it may take long.

        `calls`: the batch that the step follows.
        """
        searches: list[Search] = []
        for timing in timings:
            if timing == "after_tool_call":
                searches += (self._hooks.search(timing, call, (), max(self._round, 1)) for call in calls)
            else:
                searches.append(self._hooks.search(timing, None, self._batch, self._round + 1))
        if sum(search.max_work for search in searches) > MAX_LOOP_WORK:
            yield from (search.run for search in searches if search.max_work)

    def silent_hooks(self) -> list[SilentHook]:
        """Return why hooks of the turn have stayed out so far: each reason of a hook once, the first one first."""
        fired = {id(hook) for hook in (*self._hooks.fired, *self._hooks.updated)}
        found: dict[int, list[SilentHook]] = {id(hook): [] for hook in self._hooks.hooks}
        for (key, reason, _), out in self._not_fired.items():
            found[key].append(SilentHook(out.hook, reason, _detail(out), key in fired))
        for hook in self._hooks.hooks:
            if not found[id(hook)] and id(hook) not in fired:
                found[id(hook)].append(self._without_occasion(hook))
        return [silent for silent_hooks in found.values() for silent in silent_hooks]

    def _inject(self, timing: str, **facts: Any) -> list[HookFrame]:
        persistent = self._hooks.inject(timing, **facts)
        self._reached.add(timing)
        for one in self._hooks.not_fired:
            if one.reason != "tool_filter":  # which says nothing about the calls that it is for
                self._not_fired.setdefault((id(one.hook), one.reason, one.path), one)
        return persistent

    def _without_occasion(self, hook: HookInfo) -> SilentHook:
        if hook.timing in self._reached:
            names = ", ".join(self._tools_ran)
            hints = (did_you_mean(name, self._tools_ran, cutoff=0.8) for name in sorted(hook.tool_filter or ()))
            return SilentHook(hook, "tool_filter", names + next(filter(None, hints), ""))
        if hook.timing == "before_planning":
            return SilentHook(hook, "no_planning")
        return SilentHook(hook, "no_tool" if self._round else "no_loop")

    def _remove_prompt(self) -> None:
        if self.prompt is not None:
            self._hooks.remove_prompt(self.prompt)
            self.prompt = None


def _detail(said: NotFired) -> str:
    hook = said.hook
    match said.reason:
        case "requires_tools":
            return ", ".join(hook.requires_tools)
        case "once":
            return hook.once or ""
        case "cooldown":
            return str(hook.cooldown)
        case "group":
            return hook.group or ""
    return said.path
