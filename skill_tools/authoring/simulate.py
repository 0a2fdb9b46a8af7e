"""One turn played without a model: what each of its calls would read, and why other hooks stay out."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server.agent.costs import CallCost, CostMeter, HookName, PromptPart
from skill_tools.testing.scripted_turn import PlayedTurn, ReadMessage, TurnScript, play_conversation
from skill_tools.testing.tests_format import CallSpec, StepSpec
from skill_tools.testing.tests_runner import NOT_SET
from skills_engine.conditions.turn_facts import HookFacts
from skills_engine.hook_entries import BUILTIN_TOOLS, TIMINGS, HookInfo
from skills_engine.trigger_entries import TriggerInfo
from skills_engine.turn_sequence import SilentHook


@dataclass
class HookCost:
    """Cost of one hook in several calls."""

    hook: HookName
    tokens: int = 0
    cached_tokens: int = 0
    """Tokens of these in the part that a prompt cache would have."""
    lost_calls: int = 0
    """The calls in which it kept a cache from tokens that were the same."""
    lost_tokens: int = 0


def play(
    hooks: Sequence[HookInfo],
    *,
    texts: Sequence[str] = ("(the user's message)",),
    rounds: Sequence[Sequence[CallSpec]] = (),
    tools: bool = True,
    facts: HookFacts | None = None,
    trigger: TriggerInfo | None = None,
) -> PlayedTurn:
    """Play turns as `play_turns` does, and return the last one."""
    return play_turns(hooks, texts=texts, rounds=rounds, tools=tools, facts=facts, trigger=trigger)[-1]


def play_turns(
    hooks: Sequence[HookInfo],
    *,
    texts: Sequence[str],
    rounds: Sequence[Sequence[CallSpec]] = (),
    tools: bool = True,
    facts: HookFacts | None = None,
    trigger: TriggerInfo | None = None,
) -> list[PlayedTurn]:
    """Play a turn for each of `texts`, then that of the `trigger` if there is one.

    Each goes on with history and state of the one before. `rounds`: the calls of the model in each round of each turn,
    after which it answers; none = it needs no tools. The turns have the tools of `facts`, those that are called, and the
    built-in ones.
    """
    facts = HookFacts() if facts is None else facts
    called = {call.tool or "" for batch in rounds for call in batch}
    facts = replace(facts, tools=facts.tools | {*called, *BUILTIN_TOOLS} if tools else frozenset())
    script = [*(StepSpec(calls=list(batch)) for batch in rounds), StepSpec(answer="")]
    beginnings: list[str | TriggerInfo] = [*texts, *([trigger] if trigger else [])]
    turns = [TurnScript(hooks, beginning, script, facts) for beginning in beginnings]
    start = PlayedTurn(state=facts.state)
    return list(play_conversation(turns, start)) or [start]


def render(played: PlayedTurn) -> str:
    """Write the turn for a terminal: injected messages are marked with + and say where they come from."""
    blocks = []
    for number, call in enumerate(played.calls, start=1):
        blocks.append("\n".join([f"call {number}: {call.title}", *map(_render_message, call.messages)]))
    if played.changes:
        lines = (
            f"set: {c.hook.skill}/{c.name} = {json.dumps(c.value, ensure_ascii=False)} ({c.hook.name})"
            for c in played.changes
        )
        blocks.append("\n".join(lines))
    if played.silent:
        blocks.append("\n".join(map(_render_silent, played.silent)))
    return "\n\n".join(blocks)


def render_costs(hooks: Sequence[HookInfo], replay: Callable[[Sequence[HookInfo]], Sequence[PlayedTurn]]) -> str:
    """Write for a terminal what each hook costs, and how one that costs the cache would not; `replay` plays the turns."""
    turns = replay(hooks)
    costs = _call_costs(turns)
    lines = ["cost in tokens, estimated by script, text in parentheses as printed"]
    if len(turns) == 1:
        lines += [f"    call {number}: {_render_cost(cost, number)}" for number, cost in enumerate(costs, start=1)]
    for cost in hook_costs(costs):
        lines.append(f"    {_render_hook_cost(cost, len(costs) - 1)}")
        if cost.lost_calls:
            remedies = [
                name
                for name, changes in _REMEDIES.items()
                if _is_remedied(cost, _call_costs(replay([_changed(hook, cost, changes) for hook in hooks])))
            ]
            lines.append(f"        it would not with: {', '.join(remedies) or 'no other timing'}")
    return "\n".join(lines)


_REMEDIES: Mapping[str, Mapping[str, Any]] = {
    **{timing: {"timing": timing} for timing in TIMINGS},
    "persistent: true": {"persistent": True},
    "vars: false": {"vars": False},
}
"""Changes of a hook that may spare the cache."""


def _changed(hook: HookInfo, cost: HookCost, changes: Mapping[str, Any]) -> HookInfo:
    return replace(hook, **changes) if (hook.skill, hook.name) == cost.hook else hook


def _is_remedied(before: HookCost, calls: Sequence[CallCost]) -> bool:
    """Return whether the hook is still read, and neither it nor another one costs the cache more than before."""
    costs = {cost.hook: cost for cost in hook_costs(calls)}
    is_read = before.hook in costs and costs[before.hook].tokens > 0
    return (
        is_read
        and sum(cost.lost_tokens for cost in costs.values()) < before.lost_tokens
        and not costs[before.hook].lost_calls
    )


def _call_costs(turns: Sequence[PlayedTurn]) -> list[CallCost]:
    meter = CostMeter()
    return [meter.measure(list(map(_prompt_part, call.messages))) for turn in turns for call in turn.calls]


def hook_costs(calls: Iterable[CallCost]) -> list[HookCost]:
    """Return what each hook cost in all of the calls, the dearest first."""
    costs: dict[HookName, HookCost] = {}
    for call in calls:
        for hook, tokens in call.hooks:
            costs.setdefault(hook, HookCost(hook)).tokens += tokens
        for hook, tokens in () if call.common is None else call.common.hooks:
            costs[hook].cached_tokens += tokens
        if call.common is not None and call.common.ended_by is not None and call.common.lost_tokens:
            cost = costs.setdefault(call.common.ended_by, HookCost(call.common.ended_by))
            cost.lost_calls += 1
            cost.lost_tokens += call.common.lost_tokens
    return sorted(costs.values(), key=lambda cost: (-cost.tokens, cost.hook))


def _prompt_part(message: ReadMessage) -> PromptPart:
    hook = message.hook
    return PromptPart(message.role, message.text, None if hook is None else HookName(hook.skill, hook.name))


def _render_cost(cost: CallCost, number: int) -> str:
    text = f"{sum(tokens for _, tokens in cost.hooks)} of {cost.tokens} are of hooks"
    if (common := cost.common) is None:
        return text
    text += f"; the first {common.tokens} ({common.share:.0%}) are the same as in call {number - 1}"
    if common.ended_by is None:
        return text
    lost = f", without which {common.lost_tokens} more would be the same" if common.lost_tokens else ""
    return f"{text}, up to {common.ended_by}{lost}"


def _render_hook_cost(cost: HookCost, compared: int) -> str:
    text = f"{cost.hook}: {cost.tokens - cost.cached_tokens} read anew, {cost.cached_tokens} from a cache"
    if cost.lost_calls:
        text += f"; costs the cache {cost.lost_tokens} in {cost.lost_calls} of {compared} calls"
    return text


def _render_silent(silent: SilentHook) -> str:
    hook = silent.hook
    what = "not set" if silent.code in NOT_SET else "not fired at other times" if silent.has_fired else "not fired"
    return f"{what}: {hook.skill}/{hook.name} ({hook.timing}): {silent.reason}"


def _render_message(message: ReadMessage) -> str:
    if (hook := message.hook) is None:
        return f"    {message.role:<10}{message.text}"
    lasting = ", persistent" if hook.persistent else ""
    mark = f"[{hook.skill}/{hook.name}, {hook.timing}{lasting}]"
    return f"  + {message.role:<10}{mark} {json.dumps(message.text, ensure_ascii=False)}"
