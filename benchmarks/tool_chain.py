"""What the chain costs a tool call: everything around the tool's own code, nothing configured and with a hook."""

import time
from typing import Any

from benchmarks.figures import Figure, figure
from server import config
from server.hooks.builtin_hooks import BuiltinHook
from server.hooks.layers import NO_LAYERS, HookLayers, TurnHooks, TurnLayers
from server.hooks.stages import StageContext, ToolRan
from server.llm.language_model import ToolCall, ToolSpec
from server.tools.executor import ToolExecutor
from server.tools.registry import Tool, ToolRegistry
from server.tools.tool_calls import ToolInvocation, TurnFacts

GOAL_US = 30
_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_FACTS = TurnFacts(session_id="s", turn_id="t")
_CALL = ToolCall("c1", "echo", '{"text": "hello"}')


class _Idle:
    """A hook in this process that is asked at both stages and changes nothing."""

    async def before_tool(self, call: ToolInvocation, at: StageContext) -> None: ...

    async def after_tool(self, ran: ToolRan, at: StageContext) -> None: ...


async def measure(*, is_quick: bool) -> list[Figure]:
    rounds = 2000 if is_quick else 20_000
    with HookLayers(config.HooksSettings()).for_turn(_FACTS) as layers:
        assert layers is NO_LAYERS, "nothing is configured"
    idle = BuiltinHook("idle", _Idle())
    empty = TurnHooks(TurnLayers(facts=_FACTS))  # as turns have it where there is but a store of media
    hooked = TurnHooks(TurnLayers(facts=_FACTS, hooks=[idle]))
    return [
        figure("chain per tool call, no hooks", "µs", await _chain(empty, rounds), goal_p50=GOAL_US),
        figure("chain per tool call, one in-process hook at two stages", "µs", await _chain(hooked, rounds)),
        figure("batch of one call, no hooks", "µs", await _batch(rounds)),
    ]


async def _echo(arguments: dict[str, Any]) -> str:
    return str(arguments["text"])


def _executor(hooks: TurnHooks | None) -> ToolExecutor:
    tool = Tool(spec=ToolSpec(name="echo", description="", parameters=_SCHEMA), run=_echo)
    return ToolExecutor(ToolRegistry([tool]), config.ToolsSettings(), hooks=hooks)


async def _chain(hooks: TurnHooks | None, rounds: int) -> list[float]:
    """Through the chain, minus the tool alone, in one interleaved run."""
    executor = _executor(hooks)
    samples = []
    for _ in range(rounds):
        started_ns = time.perf_counter_ns()
        await _echo({"text": "hello"})
        bare_ns = time.perf_counter_ns()
        await executor.run(_CALL)
        ended_ns = time.perf_counter_ns()
        samples.append((ended_ns - bare_ns - (bare_ns - started_ns)) / 1000)
    return samples


async def _batch(rounds: int) -> list[float]:
    executor = _executor(None)
    samples = []
    for _ in range(rounds):
        started_ns = time.perf_counter_ns()
        async for _ in executor.run_batch([_CALL]):
            pass
        samples.append((time.perf_counter_ns() - started_ns) / 1000)
    return samples
