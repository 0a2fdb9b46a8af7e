"""`speak`: a turn that says a text without a model."""

import pytest

from server.wire.frames import SpeechPart
from tests.session.fakes import SOUND, FakeAgent, Frame, Pause, SessionHarness, kinds, say
from tests.session.speech_fakes import CHUNK, FakeRecognizer, FakeSynthesizer, speech

TEXT = "One is **one**. Two is two."


def reader(agent: FakeAgent | None = None, voice: FakeSynthesizer | None = None, **options: object) -> SessionHarness:
    made = speech(FakeRecognizer(), voice or FakeSynthesizer())
    return SessionHarness(agent or FakeAgent([say("Hello.")]), speech=made, **options)  # type: ignore[arg-type]  # as given


def errors(frames: list[Frame]) -> list[tuple[str, str | None]]:
    return [(frame["code"], frame.get("path")) for frame in frames if frame["type"] == "error"]


async def test_a_text_is_said_sentence_by_sentence_without_a_model_and_whether_or_not_replies_are_spoken() -> None:
    agent, voice = FakeAgent([say("Hello.")]), FakeSynthesizer()
    async with reader(agent, voice) as me:
        me.send("configure", voice=False, speaker="ben", speed=2)
        me.send("speak", text=TEXT, id="s1")
        end = await me.until("turn_end")

    start = me.frames[0]
    assert (start["type"], start["turn_id"], start["trigger"], start["skills"]) == ("turn_start", "s1", "speak", [])
    said = [frame for frame in me.frames if frame["type"] == "sentence"]
    assert "".join(frame["text"] for frame in said) == TEXT
    assert [asked for asked, _ in voice.asked] == ["One is one.", "Two is two."]
    assert voice.spoken_as == [("ben", 2.0)] * 2
    assert kinds(me.frames).count(SOUND) == 4
    assert (end["reason"], end["metrics"].get("first_token")) == ("completed", None)
    assert agent.asked == []


async def test_interrupting_stops_the_voice() -> None:
    pause = Pause()
    async with reader(voice=FakeSynthesizer({"One is one.": [CHUNK, pause]})) as me:
        me.send("speak", text=TEXT, id="s1")
        await pause.reached.wait()
        me.send("interrupt", turn_id="s1")
        end = await me.until("turn_end")

    assert (end["turn_id"], end["reason"]) == ("s1", "interrupted")


@pytest.mark.parametrize("next_turn", ["chat", "speak"])
async def test_the_next_turn_ends_it(next_turn: str) -> None:
    pause = Pause()
    async with reader(voice=FakeSynthesizer({"One is one.": [CHUNK, pause]})) as me:
        me.send("speak", text=TEXT, id="s1")
        await pause.reached.wait()
        words = {"text": "Three."} if next_turn == "speak" else {"messages": [{"role": "user", "content": "hi"}]}
        me.send(next_turn, id="t2", **words)
        await me.until("turn_end", 2)

    ends = [(frame["turn_id"], frame["reason"]) for frame in me.frames if frame["type"] == "turn_end"]
    assert ends == [("s1", "interrupted"), ("t2", "completed")]


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (SpeechPart(state="loading"), "the voice is still loading"),
        (SpeechPart(state="missing", reason="switched off"), "switched off"),
    ],
)
async def test_without_a_voice_it_is_refused_and_nothing_begins(part: SpeechPart, reason: str) -> None:
    voice = FakeSynthesizer()
    voice.status = part
    async with reader(voice=voice) as me:
        me.send("speak", text=TEXT)
        error = await me.until("error")

    assert (error["code"], error["message"]) == ("speech_unavailable", f"the text cannot be spoken: {reason}")
    assert kinds(me.frames) == ["error"]


async def test_what_is_wrong_with_it_is_named() -> None:
    async with reader() as me:
        for words in ({"text": ""}, {"text": "x" * 20_001}, {}, {"text": TEXT, "id": "?"}):
            me.send("speak", **words)
        me.send("speak", text=TEXT, id="s1")
        me.send("speak", text=TEXT, id="s1")
        await me.until("turn_end")

    paths = ["$.text", "$.text", "$.text", "$.id"]
    assert errors(me.frames) == [*(("frame_invalid", path) for path in paths), ("turn_id_reused", "$.id")]


async def test_it_counts_as_a_turn() -> None:
    async with reader() as me:
        me.gate.is_draining = True
        me.send("speak", text=TEXT)
        await me.until("error")

    assert errors(me.frames) == [("turn_refused_draining", None)]


async def test_a_text_without_anything_to_say_is_over_at_once() -> None:
    async with reader() as me:
        me.send("speak", text="```\nprint(1)\n```")
        end = await me.until("turn_end")

    assert end["reason"] == "completed"
    assert SOUND not in kinds(me.frames)
