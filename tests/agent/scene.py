"""One turn on a scripted model: what goes in, and what came out of it as short tuples."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any

from server.agent.agent_client import AgentClient, TurnOptions
from server.agent.chunks import LLMChunk, NoticeGiven
from server.config import AgentSettings, LlmSettings, ToolsSettings
from server.llm.language_model import LanguageModel, Message, ToolSpec
from server.tools.executor import ToolExecutor
from server.tools.registry import Run, Tool, ToolRegistry
from skills_engine import HookInfo
from skills_engine.conditions.when_entry import read_when
from skills_engine.diagnostics import Report
from skills_engine.hook_entries import Role, Timing

QUESTION: list[Message] = [{"role": "user", "content": "What time is it?"}]
SYSTEM = ("system", "You are a test.")
USER = ("user", "What time is it?")


def hook(
    timing: Timing,
    name: str | None = None,
    *,
    role: Role = "system",
    persistent: bool = False,
    tool_filter: Iterable[str] | None = None,
    skill: str = "diary",
    when: object = None,
) -> HookInfo:
    """A hook whose content is its name in brackets; without a name, its timing's."""
    name = name or timing
    return HookInfo(
        name=name,
        file=f"{name}.md",
        timing=timing,
        role=role,
        persistent=persistent,
        content=f"[{name}]",
        skill=skill,
        tool_filter=None if tool_filter is None else frozenset(tool_filter),
        when=None if when is None else read_when(when, "$.when", Report(skill, "")),
    )


def tool(name: str, run: Run | None = None) -> Tool:
    """A tool that takes any object and answers with its own name."""

    async def answer(arguments: dict[str, Any]) -> str:
        return f"{name} ran"

    spec = ToolSpec(name=name, description=f"the tool {name}", parameters={"type": "object"})
    return Tool(spec=spec, run=run or answer, permission="READ")


def agent_for(
    model: LanguageModel,
    tools: Sequence[Tool] | None = None,
    *,
    planning: bool = True,
    max_rounds: int = 8,
    system_prompt: str = SYSTEM[1],
    llm: LlmSettings | None = None,
) -> AgentClient:
    """With the tools `alpha` and `beta`, if none are given."""
    registry = ToolRegistry([tool("alpha"), tool("beta")] if tools is None else tools)
    settings = AgentSettings(planning=planning, max_rounds=max_rounds, system_prompt=system_prompt)
    executor = ToolExecutor(registry, ToolsSettings(timeout_s=5))
    return AgentClient(model, executor, config=settings, llm=llm or LlmSettings(late_system="native"))


async def play(
    agent: AgentClient,
    hooks: Sequence[HookInfo] = (),
    *,
    messages: Sequence[Message] = QUESTION,
    enable_tools: bool = True,
    options: TurnOptions | None = None,
) -> list[LLMChunk]:
    """Every chunk of one turn but its hook record, which is for its end."""
    stream = agent.chat_stream(messages, hooks, enable_tools, options=options)
    async with aclosing(stream):
        return [chunk async for chunk in stream if chunk.hook_record is None]


def told(chunks: Iterable[LLMChunk]) -> list[tuple[Any, ...]]:
    """The chunks in their order, one tuple each: which field is set, and what of it counts."""
    return [_told(chunk) for chunk in chunks]


def _told(chunk: LLMChunk) -> tuple[Any, ...]:
    match chunk:
        case LLMChunk(text=str(text)):
            return "text", text
        case LLMChunk(reasoning=str(text)):
            return "reasoning", text
        case LLMChunk(hook=dict(fired)):
            return "hook", fired["name"]
        case LLMChunk(tool_call=call) if call:
            return "tool_call", call.id, call.name, call.arguments
        case LLMChunk(tool_result=result) if result:
            return "tool_result", result.id, result.content
        case LLMChunk(notice=notice) if notice:
            return "notice", notice.code
        case LLMChunk(trace=trace) if trace:
            return "trace", trace.event
        case LLMChunk(usage=usage) if usage:
            return ("usage",)
        case LLMChunk(reply_end=True):
            return ("reply_end",)
        case LLMChunk(model_request=True):
            return ("model_request",)
    raise AssertionError(f"nothing is set in {chunk}")


def texts(chunks: Iterable[LLMChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if chunk.text is not None)


def given(chunks: Iterable[LLMChunk]) -> list[NoticeGiven]:
    return [chunk.notice for chunk in chunks if chunk.notice]


def notices(chunks: Iterable[LLMChunk]) -> list[str]:
    """Their codes."""
    return [notice.code for notice in given(chunks)]


def traces(chunks: Iterable[LLMChunk], *events: str) -> list[tuple[str, dict[str, Any]]]:
    """(event, data) of the trace chunks, all or those of these events."""
    found = [(c.trace.event, c.trace.data) for c in chunks if c.trace]
    return [(event, data) for event, data in found if not events or event in events]


def listed(chunks: list[LLMChunk]) -> list[dict[str, Any]]:
    """The messages of all `messages` events, in order."""
    return [message for _, data in traces(chunks, "messages") for message in data["messages"]]


async def until(is_so: Callable[[], bool]) -> None:
    """Let other tasks run until it is so, and a little longer, so that they come to rest."""
    for _ in range(1000):
        if is_so():
            break
        await asyncio.sleep(0)
    else:
        raise AssertionError("it never came to that")
    for _ in range(5):
        await asyncio.sleep(0)
