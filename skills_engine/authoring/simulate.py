"""One turn played without a model: what each of its calls would read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from skills_engine.conditions.turn_facts import CallFacts
from skills_engine.hook_entries import HookInfo
from skills_engine.hook_manager import HookManager, Message
from skills_engine.turn_sequence import TurnSequence


@dataclass(frozen=True)
class Line:
    role: str
    text: str
    hook: HookInfo | None


@dataclass(frozen=True)
class Call:
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Silent:
    hook: HookInfo
    why: str


@dataclass(frozen=True)
class Play:
    calls: tuple[Call, ...]
    not_fired: tuple[Silent, ...]


class _Turn:
    def __init__(self, hooks: Sequence[HookInfo], text: str) -> None:
        self.messages: list[Message] = [
            {"role": "system", "content": "(the system prompt and the catalogue)"},
            {"role": "user", "content": text},
        ]
        self.hooks = HookManager(self.messages, hooks)
        self.sequence = TurnSequence(self.hooks)
        self.calls: list[Call] = []

    def call(self, title: str) -> None:
        lines = (Line(m["role"], m["content"], self.hooks.origin(m)) for m in self.messages)
        self.calls.append(Call(title, tuple(lines)))

    def run_tools(self, tools: Sequence[str]) -> None:
        self.messages.append({"role": "assistant", "content": f"(calls {', '.join(tools)})"})
        self.messages.extend({"role": "tool", "content": f"(result of {tool})"} for tool in tools)
        self.sequence.end_batch([CallFacts(name=tool) for tool in tools])


def play(
    hooks: Sequence[HookInfo],
    *,
    text: str = "(the user's message)",
    rounds: Sequence[Sequence[str]] = (),
    tools: bool = True,
) -> Play:
    """`rounds`: the tools that the model calls in each round, after which it answers; none = it needs no tools."""
    turn = _Turn(hooks, text)
    turn.sequence.start()
    if not tools:
        turn.call("the only call: tools are off")
    else:
        _plan(turn)
        if rounds:
            _loop(turn, rounds)
    fired = {id(line.hook) for call in turn.calls for line in call.lines}
    silent = (hook for hook in hooks if id(hook) not in fired)
    return Play(tuple(turn.calls), tuple(Silent(hook, _why(hook, rounds, tools=tools)) for hook in silent))


def _plan(turn: _Turn) -> None:
    turn.sequence.begin_planning("(the planning prompt)")
    turn.call("planning")
    turn.sequence.end_planning()


def _loop(turn: _Turn, rounds: Sequence[Sequence[str]]) -> None:
    for number, tools in enumerate([*rounds, ()], start=1):
        turn.sequence.begin_round("(the first step prompt)" if number == 1 else "(the agent loop prompt)")
        turn.call(f"round {number}")
        if tools:
            turn.run_tools(tools)
        turn.sequence.end_round()


def _why(hook: HookInfo, rounds: Sequence[Sequence[str]], *, tools: bool) -> str:
    if not tools:
        return "tools are off"
    if not rounds:
        return "the model needed no tools"
    called = dict.fromkeys(tool for batch in rounds for tool in batch)
    return f"it is for {', '.join(sorted(hook.tool_filter or ())) or 'no tool'}; the model called {', '.join(called)}"


def render(result: Play) -> str:
    """For a terminal: injected messages are marked with + and say where they come from."""
    blocks = []
    for number, call in enumerate(result.calls, start=1):
        blocks.append("\n".join([f"call {number}: {call.title}", *map(_render_line, call.lines)]))
    if result.not_fired:
        blocks.append("\n".join(map(_render_silent, result.not_fired)))
    return "\n\n".join(blocks)


def _render_silent(silent: Silent) -> str:
    hook = silent.hook
    return f"not fired: {hook.skill}/{hook.name} ({hook.timing}): {silent.why}"


def _render_line(line: Line) -> str:
    if line.hook is None:
        return f"    {line.role:<10}{line.text}"
    lasting = ", persistent" if line.hook.persistent else ""
    mark = f"[{line.hook.skill}/{line.hook.name}, {line.hook.timing}{lasting}]"
    return f"  + {line.role:<10}{mark} {json.dumps(line.text, ensure_ascii=False)}"
