"""An answer has the `ref` of the frame that it answers, and no other frame has one."""

import json
from typing import Any

import pytest

from server.accounts.principal import Principal
from tests.session.fakes import FakeAgent, Pause, SessionHarness, say
from tests.session.speech_fakes import speech

HISTORY = [{"role": "user", "content": "hi"}]
VISITOR = Principal("127.0.0.1", is_local=False, is_operator=False)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"type": "speak", "text": "Hello."}, "speech_unavailable"),
        ({"type": "speech_start"}, "not_push_to_talk"),
        ({"type": "speech_end"}, "no_utterance"),
        ({"type": "speech_cancel"}, "no_utterance"),
        ({"type": "approval", "id": "none", "approved": True}, "approval_unknown"),
        ({"type": "tool_output", "id": "none", "content": ""}, "tool_output_unknown"),
        ({"type": "configure", "trace": True}, "trace_not_allowed"),
        ({"type": "configure", "instructions": "Be brief."}, "instructions_not_allowed"),
        ({"type": "chat", "messages": HISTORY, "state": "forged"}, "state_invalid"),
        ({"type": "chat", "messages": HISTORY, "nudge": "none"}, "nudge_unknown"),
        ({"type": "chat", "messages": HISTORY, "hook_texts": {"a/b": "c"}}, "frame_invalid"),
        ({"type": "chat", "messages": []}, "frame_invalid"),
        ({"type": "nonsense"}, "frame_type_unknown"),
        ({"type": "ping", "t": [1]}, "frame_invalid"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["type"],
)
async def test_what_answers_a_frame_has_its_ref(frame: dict[str, Any], code: str) -> None:
    async with SessionHarness(FakeAgent([say("Hi.")]), principal=VISITOR) as harness:
        harness.session.receive_text(json.dumps({"ref": "r1", **frame}).encode())
        harness.session.receive_text(json.dumps(frame).encode())
        frames = await harness.flushed()

    assert [answer.get("ref") for answer in frames if answer.get("code") == code] == ["r1", None]
    assert sum("ref" in each for each in frames) == 1, "what follows from a frame has no ref"


@pytest.mark.parametrize("is_draining", [True, False])
async def test_a_turn_that_is_refused_names_its_frame(*, is_draining: bool) -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause]])) as harness:
        harness.chat(id="t1")
        await pause.reached.wait()
        harness.gate.is_draining = is_draining
        harness.chat(id="t2" if is_draining else "t1", ref="again")
        error = await harness.until("error")

    assert (error["code"], error["ref"]) == ("turn_refused_draining" if is_draining else "turn_id_reused", "again")


async def test_that_nobody_speaks_is_said_to_the_frame_that_asked_when_its_sound_has_been_judged() -> None:
    async with SessionHarness(FakeAgent([]), speech=speech()) as harness:
        harness.session.receive_binary(bytes(4000))
        harness.send("speech_end", ref="key up")
        notice = await harness.until("notice")

    assert (notice["code"], notice["ref"]) == ("no_utterance", "key up")


@pytest.mark.parametrize("data", [b'{"ref": "r1"', b'{"type": "ping", "t": 1, "ref": 5}', b'["r1"]'])
async def test_a_ref_that_cannot_be_read_is_left_out(data: bytes) -> None:
    async with SessionHarness(FakeAgent([])) as harness:
        harness.session.receive_text(data)
        error = await harness.until("error")

    assert "ref" not in error


async def test_a_ref_is_at_most_64_characters_long() -> None:
    async with SessionHarness(FakeAgent([])) as harness:
        harness.send("speech_end", ref="x" * 64)
        harness.send("speech_end", ref="x" * 65)
        notice, error = await harness.until("notice"), await harness.until("error")

    assert notice["ref"] == "x" * 64
    assert (error["code"], error["path"], "ref" in error) == ("frame_invalid", "$.ref", False)
