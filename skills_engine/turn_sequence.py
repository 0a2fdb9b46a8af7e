"""The order in which a turn injects and removes (docs/hooks.md, "The turn"). The same for turns with and without a model."""

from collections.abc import Sequence
from typing import Any

from skills_engine.conditions.turn_facts import CallFacts
from skills_engine.hook_manager import HookManager, Message

HookFrame = dict[str, Any]
"""A persistent hook as `HookManager.inject` returns it."""


class TurnSequence:
    """Drives a HookManager through one turn, without I/O: `start`, then the only call, or `plan` and the loop's rounds.

    Each step that injects returns the persistent hooks, in order; what it put into the list stands at its end.
    """

    def __init__(self, hooks: HookManager) -> None:
        self._hooks = hooks
        self._round = 0
        self._batch: Sequence[CallFacts] = ()  # of the round before
        self._prompt: Message | None = None  # the one built-in prompt that stands in the list

    def start(self) -> list[HookFrame]:
        return self._hooks.inject("after_user_input")

    def begin_planning(self, prompt: str) -> list[HookFrame]:
        persistent = self._hooks.inject("before_planning")
        self._prompt = self._hooks.inject_prompt(prompt)
        return persistent

    def end_planning(self) -> None:
        self._remove_prompt()
        self._hooks.remove("before_planning")

    def begin_round(self, prompt: str) -> list[HookFrame]:
        """Begin the next round of the loop; `prompt` is its step prompt (L1-25)."""
        self._round += 1
        self._hooks.remove("before_each_agent")
        persistent = self._hooks.inject("before_each_agent", calls=self._batch, round=self._round)
        if self._round == 1:
            persistent += self._hooks.inject("before_first_agent", round=1)
        self._prompt = self._hooks.inject_prompt(prompt)
        return persistent

    def end_batch(self, calls: Sequence[CallFacts]) -> list[HookFrame]:
        """Follow the batch of this round, whose calls and results stand in the list (L1-26, L1-28)."""
        self._batch = calls
        self._hooks.remove("after_tool_call")
        persistent: list[HookFrame] = []
        for call in calls:
            persistent += self._hooks.inject("after_tool_call", tool_name=call.name, call=call, round=self._round)
        return persistent

    def end_round(self) -> None:
        self._remove_prompt()

    def end_loop(self) -> None:
        self._hooks.remove("before_first_agent")
        self._hooks.remove("after_tool_call")

    def _remove_prompt(self) -> None:
        if self._prompt is not None:
            self._hooks.remove_prompt(self._prompt)
            self._prompt = None
