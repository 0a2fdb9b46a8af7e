"""The same conversations through the agent: a scripted model, real tools, a process hook that refuses."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given

from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.errors import ToolError
from server.llm.language_model import Finished, Message, ModelInfo, ToolCall
from server.wire.frames import TurnSettings
from skills_engine import CallFacts, HookFacts, HookInfo, HookState
from tests.agent.scene import agent_for, tool, traces
from tests.hooks.fakes import at, layers_of
from tests.model.condition_scenarios import TOOLS, SkillFile, TurnScript, conversations
from tests.model.condition_turns import WITHOUT_OCCASION, Conversation, foresee
from tests.model.profile import examples
from tests.support.scripted_model import ScriptedModel, Step, say
from tests.support.virtual_loop import VirtualLoop

_HOOK_TEXT = re.compile(r"(books|diary) \d: ")


class NamedModel(ScriptedModel):
    """Answers by script under the name and from the place that the facts say."""

    def __init__(self, script: TurnScript) -> None:
        super().__init__(_answers(script))
        self._facts = script.facts

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name=self._facts.model, host="here", location="local" if self._facts.is_local else "cloud")


def _answers(script: TurnScript) -> Iterator[Sequence[Step]]:
    if script.facts.tools and script.planning:
        yield say("<need_tool>a moment" if script.needs_tools else "done")
    if _uses_tools(script):
        for batch in script.batches:
            calls = (ToolCall(call.arguments["at"], call.name, json.dumps(call.arguments)) for call in batch)
            yield [*calls, Finished("tool_calls")]
    yield say("done")


def _uses_tools(script: TurnScript) -> bool:
    return bool(script.facts.tools) and (script.needs_tools or not script.planning)


def marked(script: TurnScript) -> TurnScript:
    """Let each call say in its arguments which it is."""
    batches = tuple(
        tuple(
            replace(call, arguments={**call.arguments, "at": f"{number}-{place}"}) for place, call in enumerate(batch)
        )
        for number, batch in enumerate(script.batches)
    )
    return replace(script, batches=batches)


@dataclass
class Played:
    chunks: list[LLMChunk]
    model: NamedModel

    def reads(self) -> list[list[tuple[str, str]]]:
        return [
            [(m["role"], m["content"]) for m in request.messages if _HOOK_TEXT.match(str(m["content"]))]
            for request in self.model.requests
        ]

    def state(self) -> HookState | None:
        [record] = [chunk.hook_record for chunk in self.chunks if chunk.hook_record]
        return record.state()

    def results(self) -> Mapping[str, str]:
        """What the model reads of each call."""
        last: Sequence[Message] = self.model.requests[-1].messages
        return {m["tool_call_id"]: m["content"] for m in last if m["role"] == "tool"}


def rewritten(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the process hook makes of the arguments of some calls."""
    return {**arguments, "query": "refund"} if arguments["id"] == 42 else dict(arguments)


def play_really(script: TurnScript, hooks: Sequence[HookInfo], facts: HookFacts) -> Played:
    calls = {call.arguments["at"]: call for batch in script.batches for call in batch}

    async def run(arguments: dict[str, Any]) -> str:
        call = calls[arguments["at"]]
        if call.status == "error":
            raise ToolError(call.result)
        return call.result

    def judge(params: dict[str, Any]) -> Mapping[str, Any]:
        if calls[params["arguments"]["at"]].status == "refused":
            return {"action": "deny_tool", "reason": "no"}
        arguments = rewritten(params["arguments"])
        return {"action": "modify", "call": {"tool": params["tool"], "arguments": arguments}}

    model = NamedModel(script)
    options = TurnOptions(
        settings=TurnSettings(trace=True),
        facts=facts,
        max_persistent=script.max_persistent,
        layers=layers_of(at("before_tool", judge)),
    )
    agent = agent_for(
        model,
        [tool(name, run) for name in facts.tools or TOOLS],
        planning=script.planning,
        max_rounds=max(1, len(script.batches)),
    )
    question = [{"role": "user", "content": script.said}]

    async def play() -> list[LLMChunk]:
        async with aclosing(agent.chat_stream(question, hooks, bool(script.facts.tools), options=options)) as stream:
            return [chunk async for chunk in stream]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        chunks = runner.run(play())
    return Played(chunks, model)


def as_it_went(script: TurnScript, results: Mapping[str, str]) -> TurnScript:
    """The script with what the calls came to: the arguments that ran, errors for tools that are not there."""

    def went(call: CallFacts) -> CallFacts:
        result = results[call.arguments["at"]]
        if call.status == "refused":
            return replace(call, result=result)
        if call.name not in script.facts.tools:
            return replace(call, status="error", result=result)
        return replace(call, result=result, arguments=rewritten(call.arguments))

    return replace(script, batches=tuple(tuple(map(went, batch)) for batch in script.batches))


@pytest.mark.soak
@pytest.mark.rule("L1-41", "L1-42", "L1-44", "L1-46", "L1-47", "L1-48")
@examples(2000)
@given(conversations)
def test_a_real_turn_puts_in_what_the_rules_say(conversation: tuple[tuple[SkillFile, ...], list[TurnScript]]) -> None:
    files, turns = conversation
    talk = Conversation.begin(files)

    for script in map(marked, turns):
        hooks, facts, model = talk.start(script)

        played = play_really(script, hooks, facts)

        expected = foresee(as_it_went(script, played.results()) if _uses_tools(script) else script, model)
        assert played.reads() == expected.reads
        frames = [chunk.hook for chunk in played.chunks if chunk.hook]
        assert [(frame["skill"], frame["name"], frame["content"]) for frame in frames] == expected.persistent
        told = [one for _, data in traces(played.chunks, "not_fired") for one in data["hooks"]]
        named = {
            ((one["skill"], one["hook"]), one["code"], one.get("path") or "", one["fired"])
            for one in told
            if one["code"] not in WITHOUT_OCCASION
        }
        assert named == expected.silent
        assert len(told) == len({(one["skill"], one["hook"], one["code"], one.get("path")) for one in told})
        assert {hook.key for hook in model.hooks} == {(one["skill"], one["hook"]) for one in told} | {
            *expected.fired,
            *expected.updated,
        }
        talk.end(played.state(), expected.state)
