"""Puts hooks and built-in prompts into a turn's messages, and takes them out again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from skills_engine.conditions.condition import Moment
from skills_engine.conditions.firing import NotFired, Reason, TurnMemory, group_winners
from skills_engine.conditions.hook_variables import fill
from skills_engine.conditions.turn_facts import CallFacts, HookFacts, HookState, Value, Values
from skills_engine.hook_entries import HookInfo
from skills_engine.token_estimate import estimate_tokens

Message = dict[str, Any]


class Search(NamedTuple):
    """A search that may be made before an injection, which then finds the texts searched.

    It changes nothing else: it may run in a thread, and go on when the turn is over.
    """

    max_work: int
    """The steps × bytes that its expressions may search."""
    run: Callable[[], object]


class VariableChange(NamedTuple):
    """A variable that a hook has changed."""

    hook: HookInfo
    name: str
    before: Value
    value: Value


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
        """Take at most `max_persistent` persistent hooks, by default any number (L1-30).

        Conditions and variables look at `facts`; by default, nothing is known of the turn.
        """
        self.dropped_persistent = 0  # persistent hooks that the cap kept out
        self.not_fired: list[NotFired] = []
        """The hooks that stayed out of the last injection, though it was of their timing, and what was not set."""
        self.changes: list[VariableChange] = []
        """The changes of variables in the turn, in order."""
        self.updated: list[HookInfo] = []
        """The entries that only set variables, and did so, in this order."""
        self.facts = HookFacts() if facts is None else facts
        """Facts of the turn that are known when it starts."""
        self._budget = self.facts.hook_tokens
        self._messages = full_messages
        self.hooks = tuple(hooks)  # pinned: a hot reload counts from the next turn (L1-31)
        self._hooks: dict[str, list[HookInfo]] = {}  # by timing
        self._updates: dict[str, list[HookInfo]] = {}  # by timing
        self._steps: dict[str, int] = {}  # of the expressions, by timing
        self._declared: dict[str, Mapping[str, Value]] = {}  # by skill
        for hook in self.hooks:
            (self._updates if hook.is_update else self._hooks).setdefault(hook.timing, []).append(hook)
            self._steps[hook.timing] = self._steps.get(hook.timing, 0) + hook.search_steps
            if hook.variables:
                self._declared[hook.skill] = hook.variables
        self._always = {  # what needs no decision, ready to be put in
            timing: [(hook, hook.content) for hook in found]
            for timing, found in self._hooks.items()
            if self._budget is None and all(hook.is_plain and not hook.persistent for hook in found)
            if timing != "after_tool_call"
        }
        self._max_persistent = max_persistent
        self._persistent = 0
        self._tokens = 0  # of the hooks that stand in the list; counted where there is a budget
        self._removable: dict[str, list[Message]] = {}  # timing → what `remove` will take out
        self._prompts: dict[int, Message] = {}  # id → prompt; holding it keeps its id from being reused
        self._origins: dict[int, tuple[Message, HookInfo]] = {}  # as above, removed ones included

    @cached_property
    def _memory(self) -> TurnMemory:
        """Memory of the turn, made for the first hook that is to be decided on: many turns have none."""
        return TurnMemory(replace(self.facts, state=self._state_that_counts()), self._declared)

    def _state_that_counts(self) -> HookState:
        """Return the state that came, without texts that no entry sets: an older version may have captured them (L1-50)."""
        if not (came := self.facts.state.variables):
            return self.facts.state
        sets = {(hook.skill, *each) for hook in self.hooks if hook.set is not None for each in hook.set.values}
        kept = dict(came)
        for skill in came.keys() & self._declared.keys():
            others = {n for n, v in came[skill].items() if isinstance(v, str) and (skill, n, v) not in sets}
            kept[skill] = {n: v for n, v in came[skill].items() if n not in others or (skill, n, None) in sets}
        return replace(self.facts.state, variables=kept)

    @property
    def state(self) -> HookState | None:
        """The state for the next turn (L1-45), whatever the end of this one, or None if no hook needs it."""
        is_needed = any(hook.has_memory or hook.variables for hook in self.hooks)
        return self._memory.state(self.hooks) if is_needed else None

    @property
    def variables(self) -> Values:
        """The variables of all skills that differ from their start values, so far."""
        return self._memory.variables.changed

    @property
    def has_withheld_context(self) -> bool:
        """Whether hooks were put in without the context that they hold, as the client may not instruct (L1-56)."""
        is_withheld = self.facts.context and not self.facts.may_say_context
        return bool(is_withheld) and any(hook.holds_context for hook in self.fired)

    @property
    def values(self) -> dict[str, Any]:
        """The context, and the variables of the skills that are on, with their values so far."""
        variables = {skill: {**starts, **self.variables.get(skill, {})} for skill, starts in self._declared.items()}
        return {"context": dict(self.facts.context), "variables": variables}

    @property
    def fired(self) -> list[HookInfo]:
        """The hooks that were put in, in this order, each as often as it was."""
        return [hook for _, hook in self._origins.values()]

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
        self.not_fired = []
        hooks, updates = self._hooks.get(timing, []), self._updates.get(timing)
        if not hooks and not updates:
            return []
        if (chosen := self._always.get(timing)) is None:
            if call is None and tool_name is not None:
                call = CallFacts(name=tool_name)
            moment = self._moment(timing, call, calls, round)
            if updates:
                self._update(updates, moment)
            chosen = self._chosen(hooks, moment)
        removable = self._removable.setdefault(timing, [])
        persistent = []
        for hook, content in chosen:
            message: Message = {"role": hook.role, "content": content}
            self._messages.append(message)
            self._origins[id(message)] = message, hook
            if hook.persistent:
                persistent.append({"name": hook.name, **message, "skill": hook.skill, "timing": hook.timing})
            else:
                removable.append(message)
        return persistent

    def search(self, timing: str, call: CallFacts | None, calls: Sequence[CallFacts], round_number: int) -> Search:
        """Return the search for what the conditions of an injection look at."""
        updates, hooks = self._updates.get(timing, []), self._hooks.get(timing, [])
        if all(hook.when is None and hook.set is None for hook in (*updates, *hooks)):
            return Search(0, list)
        moment = self._moment(timing, call, calls, round_number)
        moment = moment._replace(variables=copy(moment.variables))
        works = moment.max_works([hook.searches for hook in (*updates, *hooks)])
        searching = [hook for hook, work in zip(hooks, works[len(updates) :], strict=True) if work]

        def run() -> None:
            for entries in (updates, searching):
                for hook in [one for one in entries if self._memory.decide(one, moment) is None]:
                    self._memory.apply(hook, moment)

        return Search(sum(works), run)

    def _moment(
        self, timing: str, call: CallFacts | None, calls: Sequence[CallFacts], round_number: int | None
    ) -> Moment:
        return self._memory.moment(timing, call, calls, round_number, steps=self._steps[timing])

    def remove(self, timing: str) -> None:
        """Take this timing's hooks out again; persistent ones stay (L1-12)."""
        messages = self._removable.pop(timing, ())
        if self._budget is not None:
            self._tokens -= sum(estimate_tokens(message["content"]) for message in messages)
        self._take_out(messages)

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
        """Return the hook that this very message came from, also when it has been removed since."""
        entry = self._origins.get(id(message))
        return entry[1] if entry else None

    def _chosen(self, hooks: Iterable[HookInfo], moment: Moment) -> list[tuple[HookInfo, str]]:
        """Return the hooks to put in, in their order, with their texts; of the others, note the reason (L1-41)."""
        willing = []
        for hook in hooks:
            if (no := self._memory.decide(hook, moment)) is not None:
                self.not_fired.append(NotFired(hook, hook.timing, *no))
            elif not hook.persistent or self._has_room(hook):
                willing.append(hook)
        if winners := group_winners(willing):
            for hook in willing:
                if winners.get(hook.full_group or "", hook) is not hook:
                    self._give_up(hook, "group")
            willing = [hook for hook in willing if winners.get(hook.full_group or "", hook) is hook]
        willing.sort(key=lambda hook: hook.priority)  # stable: else as in L1-03
        chosen = [(hook, fill(hook.content, moment, hook.owner) if hook.vars else hook.content) for hook in willing]
        if self._budget is not None:
            chosen = self._within_budget(chosen, self._budget)
        for hook, _ in chosen:
            if hook.once is not None or hook.has_memory:
                self._memory.record(hook)
        for hook, _ in chosen:
            if hook.set is not None:
                self._apply(hook, moment)
        return chosen

    def _update(self, updates: Sequence[HookInfo], moment: Moment) -> None:
        """Decide on all entries that only set variables, then apply those that fire (L1-51)."""
        for hook, no in [(hook, self._memory.decide(hook, moment)) for hook in updates]:
            if no is not None:
                self.not_fired.append(NotFired(hook, hook.timing, *no))
            elif self._apply(hook, moment):
                self._memory.record(hook)
                self.updated.append(hook)

    def _apply(self, hook: HookInfo, moment: Moment) -> bool:
        """Apply what the hook sets; return whether that could be done."""
        before = moment.variables.of(hook.skill)
        if (no := self._memory.apply(hook, moment)) is not None:
            self.not_fired.append(NotFired(hook, hook.timing, *no))
            return False
        after = moment.variables.of(hook.skill)
        self.changes += [
            VariableChange(hook, name, was, after[name]) for name, was in before.items() if was != after[name]
        ]
        return True

    def _within_budget(self, chosen: list[tuple[HookInfo, str]], budget: int) -> list[tuple[HookInfo, str]]:
        """Leave out, while the sum exceeds the budget, of the lowest priority the last in order (L1-47)."""
        self._tokens += sum(estimate_tokens(content) for _, content in chosen)
        left_out = set()
        for index, (hook, content) in sorted(enumerate(chosen), key=lambda item: (item[1][0].priority, -item[0])):
            if self._tokens <= budget:
                break
            self._tokens -= estimate_tokens(content)
            self._give_up(hook, "budget")
            left_out.add(index)
        return [item for index, item in enumerate(chosen) if index not in left_out]

    def _has_room(self, hook: HookInfo) -> bool:
        """Reserve the room of a persistent hook (L1-30)."""
        if self._max_persistent is not None and self._persistent >= self._max_persistent:
            self.dropped_persistent += 1
            self.not_fired.append(NotFired(hook, hook.timing, "persistent"))
            return False
        self._persistent += 1
        return True

    def _give_up(self, hook: HookInfo, reason: Reason) -> None:
        """Keep out a hook that had its room."""
        self._persistent -= hook.persistent
        self.not_fired.append(NotFired(hook, hook.timing, reason))

    def _take_out(self, messages: Sequence[Message]) -> None:
        missing = {id(message) for message in messages}
        index = len(self._messages)
        while missing and index:
            index -= 1
            if id(self._messages[index]) in missing:
                missing.remove(id(self._messages.pop(index)))


def first_call_texts(hooks: Iterable[HookInfo], facts: HookFacts) -> list[str]:
    """Return the texts of the hooks that the planning call of a first turn reads, before the user has said anything."""
    messages: list[Message] = []
    manager = HookManager(messages, hooks, facts=facts)
    manager.inject("after_user_input")
    manager.inject("before_planning")
    return [message["content"] for message in messages]
