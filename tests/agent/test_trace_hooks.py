"""What the inspector is told of process hooks."""

import pytest

from server.agent.chunks import LLMChunk
from server.errors import ProviderUnreachable
from server.tools.tool_calls import TurnAborted
from tests.agent.hooked import saying, shouting, with_hooks
from tests.agent.scene import QUESTION, agent_for, listed, play, traces
from tests.hooks.fakes import hook
from tests.support.scripted_model import ScriptedModel, say


async def test_the_trace_shows_what_each_hook_changed_and_messages_it_wrote() -> None:
    model = ScriptedModel([say("Hello.")])
    options = with_hooks(hook("adder", before_llm=saying("psst"), after_llm=shouting), trace=True)

    chunks = await play(agent_for(model), enable_tools=False, options=options)

    rewritten, answered = [data for _, data in traces(chunks, "hook_changed")]
    assert (rewritten["hook"], rewritten["stage"], rewritten["call"]) == ("adder", "before_llm", 1)
    assert rewritten["changes"]["messages"] == [{"index": 2, "after": {"role": "user", "content": "psst"}}]
    assert answered["changes"] == {"content": {"before": "Hello.", "after": "HELLO."}}
    written = [m for _, data in traces(chunks, "messages") for m in data["messages"] if m["content"] == "psst"]
    assert [message["origin"] for message in written] == [{"kind": "process_hook"}]


async def test_the_trace_shows_which_hook_ended_the_turn() -> None:
    options = with_hooks(hook("judge", before_llm={"action": "abort_turn", "reason": "enough"}), trace=True)
    chunks: list[LLMChunk] = []
    stream = agent_for(ScriptedModel()).chat_stream(QUESTION, [], False, options=options)

    with pytest.raises(TurnAborted):
        while True:
            chunks.append(await anext(stream))

    [(_, data)] = traces(chunks, "hook_changed")
    assert (data["hook"], data["action"], data["changes"]) == ("judge", "abort_turn", {"reason": {"after": "enough"}})


async def test_a_message_that_a_hook_wrote_is_shown_once_however_often_the_call_is_tried() -> None:
    model = ScriptedModel([[ProviderUnreachable("gone", retry_after_ms=1)], say("Hello.")])
    options = with_hooks(hook(before_llm=saying("psst")), trace=True)

    chunks = await play(agent_for(model), enable_tools=False, options=options)

    assert [message["content"] for message in listed(chunks)] == ["You are a test.", "What time is it?", "psst"]
    assert [data["messages"] for _, data in traces(chunks, "model_call")] == [["m0", "m1", "m2"]] * 2
