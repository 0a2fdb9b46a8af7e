"""An executor with hooks and a policy around two tools that count."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from server import config
from server.hooks.layers import TurnHooks, TurnLayers
from server.llm.language_model import ToolCall, ToolSpec
from server.toolguard import Permission
from server.tools.executor import ToolExecutor
from server.tools.registry import Run, Tool, ToolRegistry
from server.tools.tool_calls import ToolInvocation, ToolOutcome
from tests.hooks.fakes import FakeHook

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


async def count(arguments: dict[str, Any]) -> str:
    return f"n is {arguments['n']}"


def tool(name: str, run: Run = count, permission: Permission = "WRITE") -> Tool:
    return Tool(spec=ToolSpec(name=name, description="", parameters=SCHEMA), run=run, permission=permission)


def executor_for(layers: TurnLayers, *tools: Tool, parallel: Any = "auto") -> ToolExecutor:
    """With the tools `count` and `other`, if none are given."""
    registry = ToolRegistry(tools or (tool("count"), tool("other")))
    settings = config.ToolsSettings(max_result_bytes=300, parallel=parallel)
    return ToolExecutor(registry, settings, hooks=TurnHooks(layers))


def call(n: Any = 1, call_id: str = "c1", name: str = "count") -> ToolCall:
    return ToolCall(call_id, name, json.dumps({"n": n}))


async def batch(executor: ToolExecutor, *calls: ToolCall) -> list[ToolOutcome]:
    return [outcome async for outcome in executor.run_batch(calls)]


@dataclass
class FakePolicy:
    """Writes down what it is asked; `judge` decides."""

    judge: Callable[[ToolInvocation], ToolInvocation | ToolOutcome] = lambda call: call
    before_calls: list[ToolInvocation] = field(default_factory=list)
    after_calls: list[tuple[ToolInvocation, ToolOutcome]] = field(default_factory=list)

    async def before(self, call: ToolInvocation) -> ToolInvocation | ToolOutcome:
        self.before_calls.append(call)
        return self.judge(call)

    async def after(self, call: ToolInvocation, outcome: ToolOutcome) -> ToolOutcome:
        self.after_calls.append((call, outcome))
        return replace(outcome, content=outcome.content.replace("secret", "[redacted]"))

    async def conceal(self, value: Any) -> Any:
        text = json.dumps(value)
        return json.loads(text.replace("secret", "…")) if "secret" in text else value


def observer(*kinds: str) -> FakeHook:
    return FakeHook(settings=config.ProcessHookSettings(observe=list(kinds)))


def events(channel: FakeHook) -> list[tuple[str, Any]]:
    return [(params["kind"], params["payload"]) for _, params in channel.told]
