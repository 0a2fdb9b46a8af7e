"""What one model call answers, event by event."""

from server.agent.chunks import LLMChunk, NoticeGiven
from server.agent.reply import ModelReply, TagReader
from server.llm.language_model import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage


def read(reply: ModelReply, *events: ModelEvent) -> list[str | LLMChunk]:
    """All that comes of them, and of the end."""
    found: list[str | LLMChunk] = []
    for text, aside in (*map(reply.read, events), reply.end()):
        found += [*aside, text] if text else aside
    return found


def test_where_nothing_came_the_reply_is_empty() -> None:
    reply = ModelReply()

    assert read(reply) == []
    assert (reply.content, reply.calls, reply.finish_reason) == ("", (), "stop")
    assert (reply.usage, reply.has_reasoning) == (None, False)


def test_the_end_of_a_call_tells_what_it_cost_and_why_it_ended() -> None:
    reply, usage = ModelReply(), Usage(10, 2)

    assert read(reply, Finished("tool_calls", usage)) == [LLMChunk(usage=usage)]
    assert (reply.finish_reason, reply.usage) == ("tool_calls", usage)


def test_a_reply_that_was_cut_off_is_told_of() -> None:
    text = "the model's reply was cut off at its token limit"

    assert read(ModelReply(), Finished("length", Usage()))[1:] == [
        LLMChunk(notice=NoticeGiven("reply_cut", "warning", text))
    ]


def test_reasoning_is_told_apart_wherever_it_comes_from() -> None:
    fed, tagged, unclosed = ModelReply(), ModelReply(), ModelReply()

    assert read(fed, ReasoningDelta("Hm."), TextDelta("Noon.")) == [LLMChunk(reasoning="Hm."), "Noon."]
    assert read(tagged, TextDelta("<think>Hm.</think>Noon.")) == [LLMChunk(reasoning="Hm."), "Noon."]
    assert read(unclosed, TextDelta("<think>Hm"), TextDelta(".</thi")) == [
        LLMChunk(reasoning="Hm"),
        LLMChunk(reasoning="."),
        LLMChunk(reasoning="</thi"),
    ]
    assert fed.has_reasoning
    assert tagged.has_reasoning
    assert unclosed.has_reasoning


def test_calls_are_kept_in_their_order() -> None:
    reply = ModelReply()
    calls = (ToolCall("c1", "alpha", "{}"), ToolCall("c2", "beta", "{}"))

    assert read(reply, *calls) == []
    assert reply.calls == calls


def test_what_a_head_held_back_comes_at_the_end() -> None:
    head = TagReader()

    assert read(ModelReply(head), TextDelta("<need_tool>Wait."), TextDelta("</need_")) == ["Wait.", "</need_"]
    assert head.tag == "need_tool"


def test_what_looks_like_a_thought_and_is_none_comes_at_the_end_behind_the_head() -> None:
    assert read(ModelReply(TagReader()), TextDelta("<thi")) == ["<thi"]
    assert read(ModelReply(), TextDelta("<thi")) == ["<thi"]
