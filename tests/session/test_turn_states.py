"""The state of hooks on its way through a session: in with a turn, out with its end."""

from pathlib import Path
from typing import Any

import pytest

from server.agent.chunks import HookRecord, LLMChunk, TraceEvent
from server.errors import ProviderUnreachable
from server.tools.tool_calls import TurnAborted
from skills_engine import HookInfo, HookState, Skill, SkillsSnapshot
from skills_engine.conditions.turn_facts import MAX_STATE_BYTES, Firing
from tests.session.fakes import SIGNER, FakeAgent, Frame, Pause, SessionHarness, Step, say
from tests.session.talk import Talk

pytestmark = pytest.mark.rule("L1-45")

FIRED = HookState(7, (Firing("tutor", "greet", 7, None),))


def snapshot(*, cooldown: int | None) -> SkillsSnapshot:
    greet = HookInfo("greet", "g.md", "after_user_input", "system", False, "Greet.", "tutor", cooldown=cooldown)
    return SkillsSnapshot((Skill("tutor", "", Path(), "tutor", hooks=(greet,)),))


REMEMBERS = snapshot(cooldown=3)


def state_of(frames: list[Frame]) -> HookState | None:
    """Read the state of the last `turn_end`."""
    text = [frame for frame in frames if frame["type"] == "turn_end"][-1].get("state")
    return None if text is None else HookState.read(text, SIGNER)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ([say("Hi.")], "completed"),
        ([ProviderUnreachable("gone")], "error"),
        ([RuntimeError("a bug")], "error"),
        ([TurnAborted("no")], "aborted"),
        ([TurnAborted("no", rollback=True)], "aborted"),
    ],
)
async def test_every_end_of_a_turn_has_the_state_after_it(end: list[Any], reason: str) -> None:
    steps: list[Step] = end[0] if isinstance(end[0], list) else end
    async with SessionHarness(FakeAgent([steps]), snapshot=REMEMBERS) as client:
        client.chat(state=HookState(4).signed(SIGNER))
        assert (await client.until("turn_end"))["reason"] == reason

    assert state_of(client.frames) == HookState(5)


async def test_a_turn_that_is_cut_has_the_state_of_what_was_put_in() -> None:
    pause = Pause()
    not_fired = TraceEvent("not_fired", {"hooks": ["late"]})
    record = LLMChunk(hook_record=HookRecord(state=lambda: FIRED, not_fired=lambda: [not_fired]))
    async with SessionHarness(FakeAgent([[record, pause]]), snapshot=REMEMBERS) as client:
        client.send("configure", trace=True)
        client.chat()
        await pause.reached.wait()
        client.send("interrupt")
        await client.until("turn_end")

    assert state_of(client.frames) == FIRED
    assert [frame["data"] for frame in client.frames if frame["type"] == "trace"] == [not_fired.data]


async def test_a_turn_that_is_cut_before_the_model_is_there_counts() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause]]), snapshot=REMEMBERS) as client:
        client.chat(state=HookState(4).signed(SIGNER))
        client.send("interrupt")
        await client.until("turn_end")

    assert state_of(client.frames) == HookState(5)


@pytest.mark.rule("L1-41")
async def test_a_turn_that_is_cut_before_the_model_is_there_names_why_no_hook_fired() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause], [pause]]), snapshot=REMEMBERS) as client:
        client.chat()
        client.send("interrupt")
        await client.until("turn_end")
        client.send("configure", trace=True)
        for skills in (["tutor"], []):
            client.chat(skills=skills)
            client.send("interrupt")
            await client.until("turn_end")

    told = [frame["data"]["hooks"] for frame in client.frames if frame.get("event") == "not_fired"]
    assert [[(one["hook"], one["code"]) for one in hooks] for hooks in told] == [
        [("greet", "no_start")],
        [("greet", "skill_off")],
    ]


async def test_without_a_hook_that_remembers_nothing_is_to_be_kept() -> None:
    async with SessionHarness(FakeAgent([say("Hi.")]), snapshot=snapshot(cooldown=None)) as client:
        client.chat(state=FIRED.signed(SIGNER))
        await client.until("turn_end")
        client.chat(skills=[])
        await client.until("turn_end")

    assert "notice" not in [frame["type"] for frame in client.frames]
    assert [frame.get("state") for frame in client.frames if frame["type"] == "turn_end"] == [None, None]


@pytest.mark.parametrize("forged", ["", "v1.000000000000.x [7,[]]", "ä" * MAX_STATE_BYTES])
async def test_a_state_that_is_not_ours_is_told_and_counts_as_none(forged: str) -> None:
    async with SessionHarness(FakeAgent([say("Hi.")]), snapshot=REMEMBERS) as client:
        client.chat(id="t1", state=forged)
        await client.until("turn_end")

    types = [frame["type"] for frame in client.frames]
    [notice] = [frame for frame in client.frames if frame["type"] == "notice"]
    assert types.index("turn_start") < types.index("notice")
    assert (notice["code"], notice["turn_id"]) == ("state_invalid", "t1")
    assert state_of(client.frames) == HookState(1)


async def test_a_spoken_turn_goes_on_from_the_state_of_its_history() -> None:
    async with Talk(snapshot=REMEMBERS) as talk:
        await talk.voice()
        talk.send("history", utterance="u1", messages=[], state=FIRED.signed(SIGNER))
        await talk.silence()
        await talk.until("turn_end")

    assert state_of(talk.frames) == HookState(8, FIRED.firings)
    assert talk.agent.asked[0].options.facts.state == FIRED


async def test_a_spoken_turn_that_a_chat_overtakes_has_the_state_that_the_chat_came_with() -> None:
    async with Talk(snapshot=REMEMBERS) as talk:
        await talk.utter()
        announced = (await talk.until("transcript"))["turn_id"]
        talk.chat(state=HookState(4).signed(SIGNER))
        end = await talk.until("turn_end")

    assert end["turn_id"] == announced
    assert HookState.read(end["state"], SIGNER) == HookState(5)


async def test_a_spoken_turn_that_a_speak_overtakes_leaves_the_memory_of_hooks_as_it_was() -> None:
    async with Talk(snapshot=REMEMBERS) as talk:
        await talk.utter()
        await talk.until("transcript")
        talk.send("speak", text="Hi.")
        end = await talk.until("turn_end")

    assert "state" not in end
