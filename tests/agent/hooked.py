"""Process hooks around a turn, as most tests of them need them."""

from collections.abc import Callable, Mapping
from typing import Any

from server.agent.agent_client import TurnOptions
from server.wire.frames import TurnSettings
from tests.hooks.fakes import FakeHook, layers_of

PLANNED = "<need_tool>Let me look."


def with_hooks(*hooks: FakeHook, trace: bool = False, **more: Any) -> TurnOptions:
    return TurnOptions(settings=TurnSettings(trace=trace), layers=layers_of(*hooks, **more))


def adding(*names: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    def add(params: dict[str, Any]) -> Mapping[str, Any]:
        tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
        return {"action": "modify", "request": {"tools": [*params["tools"], *tools]}}

    return add


def saying(text: str, *, role: str = "user") -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """A before_llm that adds a message at the end."""
    return lambda params: {"request": {"messages": [*params["messages"], {"role": role, "content": text}]}}


def shouting(params: dict[str, Any]) -> Mapping[str, Any]:
    return {"response": {"response": {"content": params["response"]["content"].upper()}}}
