"""server/session/nudges.py: when a client is asked for a turn, and what its answer may be. The clock is virtual."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from server.session.nudges import Nudges
from server.wire.frames import ServerFrame
from skills_engine import HookFacts, Skill, SkillsSnapshot, TriggerInfo
from skills_engine.conditions.when_entry import read_when
from skills_engine.diagnostics import Report
from tests.session.asking import DONE, Client, in_virtual_time, question
from tests.session.fakes import FakeAgent, Frame, Pause, SessionHarness, say
from tests.session.speech_fakes import FakeRecognizer
from tests.session.talk import Talk
from tests.support.approvals import memory_broker
from tests.support.virtual_loop import VirtualLoop

pytestmark = pytest.mark.rule("L1-49")


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run the test in virtual time."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        in_virtual_time(test(**arguments))

    return run


def trigger(on: Any = "idle", name: str = "", **changed: Any) -> TriggerInfo:
    when = changed.pop("when", None)
    condition = None if when is None else read_when(when, "$", Report("", ""))
    name = name or on
    fields = {"content": f"Text of {name}.", "when": condition, "beforehand": None} | changed
    return TriggerInfo(name=name, file="x.md", on=on, skill="host", **fields)


def snapshot(*triggers: TriggerInfo) -> SkillsSnapshot:
    return SkillsSnapshot((Skill("host", "Hosts.", Path(), "host", triggers=triggers),))


def harness(*triggers: TriggerInfo, **options: Any) -> SessionHarness:
    return SessionHarness(options.pop("agent", FakeAgent([say("Hello.")])), snapshot=snapshot(*triggers), **options)


async def nudges(client: SessionHarness) -> list[str]:
    """The names of all that were sent until now."""
    await client.flushed()
    return [frame["name"] for frame in client.frames if frame["type"] == "nudge"]


def answer(client: SessionHarness, nudge: Frame, *history: Frame, **fields: Any) -> None:
    client.send("chat", nudge=nudge["id"], messages=list(history), **fields)


@virtual
async def test_a_connection_that_asks_for_nudges_is_greeted_once() -> None:
    async with harness(trigger("connect"), trigger("connect", "second")) as client:
        client.session.greet()
        assert await nudges(client) == []

        client.send("configure", nudges=True)
        client.send("configure", nudges=False)
        client.send("configure", nudges=True)

        assert await nudges(client) == ["connect"]


@virtual
async def test_the_text_stands_last_and_lives_for_its_turn() -> None:
    agent = FakeAgent([say("Good morning.")])
    async with harness(trigger("connect"), agent=agent) as client:
        client.send("configure", nudges=True)
        answer(client, await client.until("nudge"), id="t1")
        end = await client.until("turn_end")
        client.chat("hi", history=[{"role": "assistant", "content": "Good morning."}])
        await client.until("turn_end", 2)

    [start, _] = [frame for frame in client.frames if frame["type"] == "turn_start"]
    assert (start["trigger"], start["turn_id"], end["reason"]) == ("nudge", "t1", "completed")
    assert agent.asked[0].messages == []
    assert [(hook.content, hook.role, hook.timing) for hook in agent.asked[0].hooks] == [
        ("Text of connect.", "system", "after_user_input")
    ]
    assert agent.asked[1].hooks == []


@virtual
async def test_a_silence_is_broken_max_times_until_the_user_does_something() -> None:
    async with harness(trigger(after_s=20, max=2)) as client:
        client.send("configure", nudges=True)
        await asyncio.sleep(19.9)
        assert len(await nudges(client)) == 0
        await asyncio.sleep(0.2)
        assert len(await nudges(client)) == 1
        await asyncio.sleep(100)
        assert len(await nudges(client)) == 2

        client.send("interrupt")
        await asyncio.sleep(19.9)
        assert len(await nudges(client)) == 2
        await asyncio.sleep(0.2)
        assert len(await nudges(client)) == 3


@virtual
async def test_silence_counts_from_the_configure_that_asks_for_nudges() -> None:
    async with harness(trigger(after_s=4)) as client:
        await asyncio.sleep(60)
        client.send("configure", nudges=True)
        await asyncio.sleep(3.9)
        assert await nudges(client) == []
        await asyncio.sleep(0.2)
        assert await nudges(client) == ["idle"]


@virtual
async def test_a_trigger_saved_in_a_long_silence_fires_in_time_after_the_users_next_message() -> None:
    async with harness() as client:
        client.send("configure", nudges=True)
        await asyncio.sleep(60)
        client.snapshot = snapshot(trigger(after_s=4))
        client.session.send_skills(client.snapshot)
        client.chat()
        await client.until("turn_end")

        await asyncio.sleep(5.1)  # the turn was still running when its silence was first looked for
        assert await nudges(client) == ["idle"]


class SlowSession:
    """Silent for ever; its clock goes 0.1 ms a second slow, and on by 0.3 ms while it is read."""

    may_be_nudged = True
    silent_since_s = 0.0

    def __init__(self, *triggers: TriggerInfo) -> None:
        self._triggers = triggers
        self._read = 0
        self.sent_at: list[float] = []

    def now_s(self) -> float:
        self._read += 1
        return asyncio.get_running_loop().time() * 0.9999 + self._read * 0.0003

    def send(self, frame: ServerFrame) -> None:
        self.sent_at.append(asyncio.get_running_loop().time())

    def triggers(self) -> tuple[TriggerInfo, ...]:
        return self._triggers

    def trigger_facts(self, nudge_id: str) -> HookFacts:
        return HookFacts()


@virtual
async def test_a_timer_that_is_a_little_early_is_set_anew_for_the_rest() -> None:
    session = SlowSession(trigger(after_s=4, max=5))
    nudged = Nudges(session, session.now_s)
    nudged.switch(is_on=True)

    await asyncio.sleep(21)

    nudged.close()
    assert session.sent_at == pytest.approx([4, 8, 12, 16, 20], abs=0.1)


@virtual
async def test_a_configuration_sent_again_leaves_the_open_nudge_and_the_silence() -> None:
    async with harness(trigger("connect"), trigger(after_s=4)) as client:
        client.send("configure", nudges=True)
        greeting = await client.until("nudge")
        await asyncio.sleep(3)
        client.send("configure", nudges=True)
        answer(client, greeting)
        await client.until("turn_end")

        await asyncio.sleep(4.1)
        assert await nudges(client) == ["connect", "idle"]


@virtual
async def test_silence_counts_from_the_end_of_the_reply() -> None:
    pause = Pause()
    async with harness(trigger(after_s=20), agent=FakeAgent([[pause, *say("Well.")]])) as client:
        client.send("configure", nudges=True)
        await asyncio.sleep(5)
        client.chat()
        await asyncio.sleep(90)
        assert await nudges(client) == []
        pause.resume.set()
        await client.until("turn_end")

        await asyncio.sleep(19.5)
        assert await nudges(client) == []
        await asyncio.sleep(1.6)
        assert await nudges(client) == ["idle"]


@virtual
async def test_silence_counts_from_the_end_of_the_replys_sound() -> None:
    agent = FakeAgent([say(*(f"This is sentence {number}. " for number in range(20)))])
    async with Talk(agent=agent, snapshot=snapshot(trigger(after_s=20))) as client:
        client.send("configure", nudges=True)
        client.chat()
        await client.until("turn_end")
        ms = sum(frame["duration_ms"] for frame in client.frames if frame["type"] == "sentence_end")
        assert ms > 2000

        await asyncio.sleep(19 + ms / 1000)
        assert await nudges(client) == []
        await asyncio.sleep(2)
        assert await nudges(client) == ["idle"]


@virtual
async def test_speech_voids_the_open_nudge_and_silence_counts_from_its_end() -> None:
    async with Talk(FakeRecognizer(""), snapshot=snapshot(trigger(after_s=20))) as client:
        client.send("configure", nudges=True, voice=False)
        await asyncio.sleep(20.1)
        nudge = await client.until("nudge")
        await client.utter()
        spoken_s = asyncio.get_running_loop().time()
        answer(client, nudge)

        assert (await client.until("error"))["code"] == "nudge_unknown"
        await client.until("nudge", 2)
        assert 19 <= asyncio.get_running_loop().time() - spoken_s < 21


@virtual
async def test_an_answer_to_somebody_who_speaks_now_is_refused() -> None:
    async with Talk(snapshot=snapshot(trigger("connect"))) as client:
        client.send("configure", nudges=True)
        nudge = await client.until("nudge")
        await client.voice(0.2)
        answer(client, nudge)

        assert (await client.until("error"))["code"] == "nudge_unknown"
        assert "turn_start" not in client.kinds()


@virtual
async def test_an_open_question_keeps_nudges_back() -> None:
    broker = memory_broker()
    asker = Client([question(), DONE], broker=broker)
    async with asker, harness(trigger(after_s=20), approvals=broker) as client:
        client.session.greet()
        client.send("configure", nudges=True)
        asker.chat()
        request = await asker.asked()
        await asyncio.sleep(60)
        assert await nudges(client) == []

        asker.answer(request["id"])
        await asyncio.sleep(19)
        assert await nudges(client) == []
        await asyncio.sleep(2.1)
        assert await nudges(client) == ["idle"]


@virtual
async def test_a_server_that_stops_nudges_nobody() -> None:
    async with harness(trigger(after_s=20)) as client:
        client.send("configure", nudges=True)
        client.gate.is_draining = True
        await asyncio.sleep(60)

        assert await nudges(client) == []


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda client, nudge: nudge.update(id="other"), id="another id"),
        pytest.param(lambda client, nudge: client.send("approval", id="a", approved=True), id="the user acted"),
        pytest.param(lambda client, nudge: client.send("configure", nudges=False), id="switched off"),
        pytest.param(lambda client, nudge: setattr(client, "skipped_s", 60.0), id="a minute has passed"),
        pytest.param(lambda client, nudge: answer(client, dict(nudge)), id="answered already"),
    ],
)
@virtual
async def test_a_nudge_serves_once_for_a_minute_until_the_users_next_word(
    spoil: Callable[[SessionHarness, Frame], None],
) -> None:
    async with harness(trigger("connect")) as client:
        client.send("configure", nudges=True)
        nudge = dict(await client.until("nudge"))
        spoil(client, nudge)
        before = sum(frame["type"] == "turn_start" for frame in await client.flushed())
        answer(client, nudge)
        error = await client.until("error")

        assert (error["code"], error["path"]) == ("nudge_unknown", "$.nudge")
        assert "turn_id" not in error
        assert sum(frame["type"] == "turn_start" for frame in await client.flushed()) == before


@virtual
async def test_a_nudge_is_good_for_59_seconds() -> None:
    async with harness(trigger("connect")) as client:
        client.send("configure", nudges=True)
        nudge = await client.until("nudge")
        await asyncio.sleep(59)
        answer(client, nudge)

        assert (await client.until("turn_end"))["reason"] == "completed"


@virtual
async def test_conditions_about_the_conversation_are_asked_when_it_has_come() -> None:
    greeting = trigger("connect", when={"user_text": ["hello"]})
    hello, hi = ({"role": "user", "content": text} for text in ("hello", "hi"))
    async with harness(greeting) as client:
        client.send("configure", nudges=True)
        answer(client, await client.until("nudge"), hello, hi)
        error = await client.until("error")

        assert error["code"] == "nudge_unknown"
        assert "when.user_text" in error["message"]


@virtual
async def test_conditions_that_are_known_keep_the_nudge_back_until_they_hold() -> None:
    wanted = read_when({"language": ["de"]}, "$", Report("", ""))
    async with harness(trigger(after_s=20, beforehand=wanted)) as client:
        client.send("configure", nudges=True)
        await asyncio.sleep(100)
        assert await nudges(client) == []

        client.send("configure", language="de-CH")
        await asyncio.sleep(1)
        assert await nudges(client) == ["idle"]


@virtual
async def test_the_channel_is_voice_while_the_microphone_is_on() -> None:
    async with Talk(snapshot=snapshot(trigger("connect"), trigger(after_s=20))) as client:
        client.send("configure", nudges=True)
        answer(client, await client.until("nudge"))
        await client.until("turn_end")
        await asyncio.sleep(25)
        nudge = await client.until("nudge", 2)
        await client.silence(0.2)
        answer(client, nudge)
        await client.until("turn_end", 2)

    assert [asked.options.facts.channel for asked in client.agent.asked] == ["text", "voice"]


@virtual
async def test_without_nudges_or_triggers_there_is_no_timer() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with harness(trigger()) as unasked, harness(trigger("connect")) as without_idle:
        unasked.session.greet()
        without_idle.send("configure", nudges=True)
        await unasked.flushed()
        await without_idle.flushed()

        assert timers(loop) == 0

        unasked.send("configure", nudges=True)
        assert timers(loop) == 1
        unasked.session.hang_up()
        assert timers(loop) == 0


def timers(loop: VirtualLoop) -> int:
    return sum(not handle.cancelled() for handle in loop._scheduled)  # type: ignore[attr-defined]  # asyncio has no other way


@virtual
async def test_the_skills_of_a_client_say_what_may_nudge_it() -> None:
    async with harness(trigger("connect"), trigger()) as client:
        client.session.greet()
        ready = await client.until("ready")

    assert ready["skills"][0]["triggers"] == [{"name": "connect", "on": "connect"}, {"name": "idle", "on": "idle"}]


@virtual
async def test_a_skill_that_is_off_nudges_nobody() -> None:
    async with harness(trigger("connect"), trigger()) as client:
        client.send("configure", nudges=True, skills=[])
        await asyncio.sleep(60)

        assert await nudges(client) == []


@virtual
@pytest.mark.rule("L1-53")
async def test_a_chance_is_drawn_once_a_silence_and_the_answer_keeps_the_draw() -> None:
    half = read_when({"chance": 0.5}, "$", Report("", ""))
    nudged = 0
    for _ in range(20):
        async with harness(trigger(after_s=20, when={"chance": 0.5}, beforehand=half)) as client:
            client.send("configure", nudges=True)
            await asyncio.sleep(21)
            if await nudges(client):
                nudged += 1
                answer(client, await client.until("nudge"))
                assert (await client.until("turn_end"))["reason"] == "completed"
            else:
                await asyncio.sleep(300)
                assert await nudges(client) == []

    assert 0 < nudged < 20


@virtual
@pytest.mark.rule("L1-56")
async def test_what_the_application_says_decides_on_a_nudge() -> None:
    pro = read_when({"context": {"plan": "pro"}}, "$", Report("", ""))
    async with harness(trigger("connect", when={"context": {"plan": "pro"}}, beforehand=pro)) as client:
        client.send("configure", context={"plan": "free"}, nudges=True)
        assert await nudges(client) == []
    async with harness(trigger("connect", when={"context": {"plan": "pro"}}, beforehand=pro)) as client:
        client.send("configure", context={"plan": "pro"}, nudges=True)
        answer(client, await client.until("nudge"))
        assert (await client.until("turn_end"))["reason"] == "completed"
