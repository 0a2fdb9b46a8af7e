"""The order of frames, whatever an agent yields and whenever a client cuts in."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from server.agent.chunks import LLMChunk
from server.errors import ProviderTimeout, SpeechTimeout
from server.speech.service import SpeechService
from tests.model.profile import examples
from tests.session.fakes import (
    SOUND,
    FakeAgent,
    Frame,
    SessionHarness,
    Step,
    Yield,
    call,
    hook,
    notice,
    result,
    trace,
    used,
)
from tests.session.speech_fakes import CHUNK, FakeSynthesizer, speech
from tests.support.turn_orders import TurnOrders

TEXTS = st.sampled_from(["Hello. ", "Well", "! ", "你好。", "\n\n", "```py\n", "a.b", " and so on", "1. "])


@st.composite
def replies(draw: st.DrawFn) -> list[Step]:
    """What an agent may yield in one turn; tool calls are followed by their results, unless it fails."""
    steps: list[Step] = []
    for number in range(draw(st.integers(0, 6))):
        match draw(st.sampled_from(["text", "tools", "hook", "notice", "trace"])):
            case "text":
                steps += [LLMChunk(model_request=True), *(LLMChunk(text=t) for t in draw(st.lists(TEXTS, max_size=5)))]
                steps += [used(2), LLMChunk(reply_end=True)]
            case "tools":
                ids = [f"{number}.{i}" for i in range(draw(st.integers(1, 3)))]
                steps += [*(call(id_) for id_ in ids), *(result(id_) for id_ in ids)]
            case "hook":
                steps.append(hook())
            case "notice":
                steps.append(notice())
            case "trace":
                steps += [trace(), LLMChunk(reasoning="hm")]
    for at in draw(st.lists(st.integers(0, len(steps)), max_size=5)):
        steps.insert(at, Yield())
    failure = draw(st.sampled_from([None, None, None, ProviderTimeout("late"), RuntimeError("defect")]))
    if failure is not None:
        steps.insert(draw(st.integers(0, len(steps))), failure)
    return steps


ACTIONS = st.lists(
    st.sampled_from(["chat", "chat", "interrupt", "ping", "malformed", "trace on", "wait", "wait", "wait long"]),
    min_size=1,
    max_size=15,
)


@examples(1500)
@given(st.lists(replies(), min_size=1, max_size=6), ACTIONS, st.booleans())
def test_frames_keep_the_order_of_the_protocol(
    turns: list[list[Step]], actions: Sequence[str], has_voice: bool
) -> None:
    voice = FakeSynthesizer({"Well!": [SpeechTimeout("late")], "你好。": [CHUNK, SpeechTimeout("late")], "a.b": []})
    frames = asyncio.run(play(turns, actions, speech(None, voice) if has_voice else None))

    check_turns(frames)
    for turn_id in {frame["turn_id"] for frame in frames if "turn_id" in frame}:
        check_turn([frame for frame in frames if frame.get("turn_id") == turn_id])
    answered = Counter(frame["type"] for frame in frames)
    assert answered["pong"] == actions.count("ping")
    assert sum(f.get("code") == "frame_malformed" for f in frames) == actions.count("malformed")
    assert voice.open == 0


async def play(turns: list[list[Step]], actions: Sequence[str], heard: SpeechService | None) -> list[Frame]:
    async with SessionHarness(FakeAgent(turns), speech=heard) as harness:
        for action in actions:
            match action:
                case "chat":
                    harness.chat()
                case "interrupt" | "ping":
                    harness.send(action)
                case "malformed":
                    harness.session.receive_text(b"{")
                case "trace on":
                    harness.send("configure", trace=True)
                case "wait" | "wait long":
                    for _ in range(3 if action == "wait" else 30):
                        await asyncio.sleep(0)
        await harness.session.aclose()
        harness.outbox.finish(1000, "")
        assert harness._writer is not None
        await harness._writer
        return harness.frames


def check_turns(frames: list[Frame]) -> None:
    """Each in the order of the protocol, one at a time; sound only where a sentence says so."""
    orders = TurnOrders()
    has_sound = False
    for frame in frames:
        if frame["type"] == SOUND:
            assert has_sound, "sound is that of an open sentence"
            frame = {"type": "binary"}
        has_sound = frame["audio"] is not None if frame["type"] == "sentence" else has_sound
        assert (fault := orders.fault(frame)) is None, fault
    assert orders.running is None


def check_turn(frames: list[Frame]) -> None:
    sentences = [frame for frame in frames if frame["type"] == "sentence"]
    assert [s["index"] for s in sentences] == list(range(len(sentences)))
    assert [f["index"] for f in frames if f["type"] == "sentence_end"] == list(range(len(sentences)))
    shown = "".join(frame["delta"] for frame in frames if frame["type"] == "text")
    said = "".join(sentence["text"] for sentence in sentences)
    if frames[-1]["reason"] == "interrupted":
        assert shown.startswith(said)
    else:
        assert said == shown
    errors = [frame for frame in frames if frame["type"] == "error"]
    assert len(errors) == (frames[-1]["reason"] == "error")
