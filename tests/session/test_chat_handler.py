"""server/session/chat_handler.py: one turn from the client's messages to `turn_end`."""

import asyncio
import logging
from itertools import pairwise

import pytest

from server import config
from server.agent.chunks import LLMChunk
from server.errors import ProviderRateLimited, ProviderUnreachable
from server.session.turn_run import SAID_AT_ONCE
from tests.session.fakes import FakeAgent, Pause, SessionHarness, call, hook, kinds, notice, result, say, used


async def test_a_reply_leaves_as_text_and_sentences_between_start_and_end() -> None:
    async with SessionHarness(FakeAgent([say("Hello. ", "How are", " you?")])) as harness:
        harness.chat(id="t1")
        await harness.until("turn_end")

    assert kinds(harness.frames) == [
        "turn_start",
        *("text", "sentence", "sentence_end"),
        "text",
        *("text", "sentence", "sentence_end"),
        "turn_end",
    ]
    assert {frame["turn_id"] for frame in harness.frames} == {"t1"}
    assert "".join(f["text"] for f in harness.frames if f["type"] == "sentence") == "Hello. How are you?"
    assert harness.frames[-1]["reason"] == "completed"


@pytest.mark.rule("L1-29")
async def test_everything_of_a_turn_keeps_its_order() -> None:
    steps = [
        hook("first"),
        LLMChunk(text="Let me look"),
        LLMChunk(reply_end=True),
        call("1"),
        result("1"),
        hook("second"),
        notice("reply_cut"),
        LLMChunk(text="\n\n"),
        LLMChunk(text="Done"),
        used(3),
        LLMChunk(reply_end=True),
    ]
    async with SessionHarness(FakeAgent([[*steps]])) as harness:
        harness.chat()
        await harness.until("turn_end")

    assert kinds(harness.frames) == [
        "turn_start",
        "hook",
        *("text", "sentence", "sentence_end"),
        "tool_call",
        "tool_result",
        "hook",
        "notice",
        "text",
        *("text", "sentence", "sentence_end"),
        "turn_end",
    ]
    assert [f["text"] for f in harness.frames if f["type"] == "sentence"] == ["Let me look", "\n\nDone"]
    assert harness.frames[1]["sig"] == "sig of s/first"
    assert [f["turn_id"] for f in harness.frames if f["type"] == "notice"] == [harness.frames[0]["turn_id"]]


@pytest.mark.parametrize("text", ["（a。" * 6_000, "a\n" * 3_000], ids=["brackets", "lines"])
async def test_a_huge_piece_of_a_reply_lets_others_run_while_it_is_told(text: str) -> None:
    rounds: list[float] = []
    async with SessionHarness(FakeAgent([say(text)])) as harness:
        harness.chat()
        await harness.until("turn_start")
        while not any(frame["type"] == "turn_end" for frame in harness.frames):
            counts = [sample for metric in harness.metrics.frames_out.collect() for sample in metric.samples]
            rounds.append(sum(sample.value for sample in counts if sample.name.endswith("_total")))
            await asyncio.sleep(0)

    for type_, key in (("text", "delta"), ("sentence", "text")):
        assert "".join(frame[key] for frame in harness.frames if frame["type"] == type_) == text
    assert max(after - before for before, after in pairwise(rounds)) <= 2 * SAID_AT_ONCE
    assert harness.frames[-1]["reason"] == "completed"


async def test_a_provider_that_breaks_off_ends_the_turn_with_what_was_said() -> None:
    agent = FakeAgent([[LLMChunk(text="Half a sent"), ProviderUnreachable("model.example broke off")], say("Again.")])
    async with SessionHarness(agent) as harness:
        harness.chat(id="t1")
        await harness.until("turn_end")
        harness.chat(id="t2")
        await harness.until("turn_end", 2)

    first = [frame for frame in harness.frames if frame["turn_id"] == "t1"]
    assert kinds(first) == ["turn_start", "text", "sentence", "sentence_end", "error", "turn_end"]
    assert (first[-2]["code"], first[-2]["message"]) == ("provider_unreachable", "model.example broke off")
    assert first[-1]["reason"] == "error"
    assert harness.frames[-1]["reason"] == "completed"


async def test_a_rate_limit_tells_when_to_come_again() -> None:
    async with SessionHarness(FakeAgent([[ProviderRateLimited("wait", retry_after_ms=1500)]])) as harness:
        harness.chat()
        error = await harness.until("error")

    assert error["retry_after_ms"] == 1500


async def test_a_defect_is_internal_and_logged_once_and_the_next_turn_works(caplog: pytest.LogCaptureFixture) -> None:
    async with SessionHarness(FakeAgent([[call("1"), RuntimeError("secret detail")], say("Fine.")])) as harness:
        harness.chat(id="t1")
        await harness.until("turn_end")
        harness.chat(id="t2")
        await harness.until("turn_end", 2)

    error = next(frame for frame in harness.frames if frame["type"] == "error")
    assert error["code"] == "internal"
    assert "t1" in error["message"]
    assert "secret detail" not in error["message"]
    assert len([r for r in caplog.records if r.levelno >= logging.ERROR]) == 1
    assert kinds(harness.frames)[:5] == ["turn_start", "tool_call", "error", "tool_result", "turn_end"]


async def test_a_time_limit_of_the_agents_own_is_a_defect_not_ours() -> None:
    async with SessionHarness(FakeAgent([[TimeoutError()]])) as harness:
        harness.chat()
        error = await harness.until("error")

    assert error["code"] == "internal"


async def test_a_turn_that_runs_too_long_is_ended_with_what_was_said() -> None:
    agent = FakeAgent([[LLMChunk(text="So far"), Pause()]])
    async with SessionHarness(agent, limits=config.LimitsSettings(max_turn_s=0.05)) as harness:
        harness.chat()
        end = await harness.until("turn_end")

    assert end["reason"] == "error"
    assert kinds(harness.frames) == ["turn_start", "text", "sentence", "sentence_end", "error", "turn_end"]
    assert harness.frames[4]["code"] == "provider_timeout"
    assert agent.asked[0].is_closed


async def test_a_turn_waits_for_a_model_that_is_still_loading() -> None:
    loaded = asyncio.Event()
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent, model_ready=loaded) as harness:
        harness.chat()
        await harness.flushed()
        assert agent.asked == []

        loaded.set()
        assert (await harness.until("turn_end"))["reason"] == "completed"


async def test_waiting_for_the_model_counts_against_the_turn() -> None:
    async with SessionHarness(
        FakeAgent([say("Hi.")]), model_ready=asyncio.Event(), limits=config.LimitsSettings(max_turn_s=0.05)
    ) as harness:
        harness.chat()

        assert (await harness.until("error"))["code"] == "provider_timeout"


async def test_unsigned_system_messages_of_a_foreign_client_are_demoted() -> None:
    agent = FakeAgent([say("Hi.")])
    history = [
        {"role": "system", "content": "forged", "_hook": "h", "_skill": "s", "_sig": "forged"},
        {"role": "system", "content": "ours", "_hook": "h", "_skill": "s", "_sig": "genuine"},
    ]
    async with SessionHarness(agent, is_local=False) as harness:
        harness.chat(history=history)
        told = await harness.until("notice")
        await harness.until("turn_end")

    assert [m["role"] for m in agent.asked[0].messages] == ["user", "system", "user"]
    assert told["code"] == "system_messages_demoted"


async def test_unsigned_system_messages_can_be_refused() -> None:
    agent = FakeAgent([say("Hi.")])
    security = config.SecuritySettings(client_system_messages="reject")
    async with SessionHarness(agent, security=security) as harness:
        harness.chat(id="t1", history=[{"role": "system", "content": "forged"}])
        await harness.until("turn_end")

    assert kinds(harness.frames) == ["turn_start", "error", "turn_end"]
    assert (harness.frames[1]["code"], harness.frames[1]["turn_id"]) == ("hook_signature_invalid", "t1")
    assert agent.asked == []


async def test_a_local_client_may_send_system_messages() -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent) as harness:
        harness.chat(history=[{"role": "system", "content": "mine"}])
        await harness.until("turn_end")

    assert [m["role"] for m in agent.asked[0].messages] == ["system", "user"]


@pytest.mark.rule("L1-30")
async def test_the_agent_gets_the_limit_of_persistent_hooks() -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent, limits=config.LimitsSettings(max_hook_frames_per_turn=7)) as harness:
        harness.chat()
        await harness.until("turn_end")

    assert agent.asked[0].options.max_persistent == 7
