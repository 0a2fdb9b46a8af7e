"""Puts hooks and built-in prompts into a turn's messages, and takes them out again."""

from collections.abc import Iterable, Sequence
from typing import Any

from skills_engine.conditions.firing import NotFired
from skills_engine.conditions.hook_state import HookState
from skills_engine.conditions.turn_facts import CallFacts, HookFacts
from skills_engine.hook_entries import HookInfo

Message = dict[str, Any]


class HookManager:
    """Changes `full_messages`, the turn's own list, in place; lives as long as the turn.

    Messages that it adds hold `role` and `content` and nothing else (L1-16). They
    are found again by identity, from the end (L1-15), so an equal message of the
    history is never taken for one (L1-13). Others may append to the list, and may
    take out what they added, but must not copy or reorder what stands in it.
    """

    def __init__(
        self,
        full_messages: list[Message],
        hooks: Iterable[HookInfo],
        *,
        max_persistent: int | None = None,
        facts: HookFacts | None = None,
    ) -> None:
        """`max_persistent`: persistent hooks that this turn may inject (L1-30); None = any number.

        `facts`: what conditions and variables look at; None = those of a turn of which nothing is known.
        """
        self.dropped_persistent = 0  # persistent hooks that the cap kept out
        self.not_fired: list[NotFired] = []
        """The hooks that stayed out of the last injection, though it was of their timing."""
        self._facts = HookFacts() if facts is None else facts
        self._messages = full_messages
        self._hooks = tuple(hooks)  # pinned: a hot reload counts from the next turn (L1-31)
        self._max_persistent = max_persistent
        self._persistent = 0
        self._removable: dict[str, list[Message]] = {}  # timing → what `remove` will take out
        self._prompts: dict[int, Message] = {}  # id → prompt; holding it keeps its id from being reused
        self._origins: dict[int, tuple[Message, HookInfo]] = {}  # as above, removed ones included

    @property
    def state(self) -> HookState | None:
        """The state for the next turn (L1-45), whatever the end of this one; None if no hook needs it."""
        return None

    def inject(
        self,
        timing: str,
        *,
        tool_name: str | None = None,
        call: CallFacts | None = None,
        calls: Sequence[CallFacts] = (),
        round: int | None = None,  # noqa: A002  the word of the rules
        **_others: Any,
    ) -> list[dict[str, Any]]:
        """Append every hook of this timing that fires (L1-10, L1-41); return the persistent ones, in order.

        `call` is the one that ran, for after_tool_call; `tool_name`, its name alone, will do where no hook asks for
        more. `calls` is the batch that just finished, for before_each_agent; `round` counts within the loop.
        """
        del calls, round  # no hook asks for them yet
        if tool_name is None and call is not None:
            tool_name = call.name
        self.not_fired = []
        persistent = []
        for hook in self._hooks:
            if hook.timing != timing or not _is_for_tool(hook, tool_name):
                continue
            if not hook.persistent:
                self._removable.setdefault(timing, []).append(self._append(hook))
            elif self._is_full():
                self.dropped_persistent += 1
            else:
                self._persistent += 1
                self._append(hook)
                persistent.append(_as_frame(hook))
        return persistent

    def remove(self, timing: str) -> None:
        """Take this timing's hooks out again; persistent ones stay (L1-12)."""
        self._take_out(self._removable.pop(timing, ()))

    def inject_prompt(self, content: str, role: str = "system") -> Message:
        """Append a built-in prompt; the message returned is its reference (L1-14)."""
        prompt: Message = {"role": role, "content": content}
        self._messages.append(prompt)
        self._prompts[id(prompt)] = prompt
        return prompt

    def remove_prompt(self, msg_ref: Message) -> None:
        """Take out the prompt that `inject_prompt` returned; anything else is left alone."""
        if self._prompts.pop(id(msg_ref), None) is not None:
            self._take_out([msg_ref])

    def origin(self, message: Message) -> HookInfo | None:
        """The hook that this very message came from, also when it has been removed since."""
        entry = self._origins.get(id(message))
        return entry[1] if entry else None

    def _is_full(self) -> bool:
        return self._max_persistent is not None and self._persistent >= self._max_persistent

    def _append(self, hook: HookInfo) -> Message:
        message: Message = {"role": hook.role, "content": hook.content}
        self._messages.append(message)
        self._origins[id(message)] = message, hook
        return message

    def _take_out(self, messages: Sequence[Message]) -> None:
        missing = {id(message) for message in messages}
        index = len(self._messages)
        while missing and index:
            index -= 1
            if id(self._messages[index]) in missing:
                missing.remove(id(self._messages.pop(index)))


def _is_for_tool(hook: HookInfo, tool_name: str | None) -> bool:
    """L1-02: a filter narrows after_tool_call and no other timing."""
    return hook.timing != "after_tool_call" or hook.fits_tool(tool_name)


def _as_frame(hook: HookInfo) -> dict[str, Any]:
    return {
        "name": hook.name,
        "role": hook.role,
        "content": hook.content,
        "skill": hook.skill,
        "timing": hook.timing,
    }
