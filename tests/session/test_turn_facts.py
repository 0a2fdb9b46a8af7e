"""Facts of a turn that hooks ask for: from the client's frames to the agent."""

from pathlib import Path
from typing import Any

import pytest

from server.agent.chunks import HookRecord, LLMChunk
from server.config import SecuritySettings
from skills_engine import HookFacts, HookInfo, HookState, Skill, SkillsSnapshot
from tests.session.fakes import SIGNER, FakeAgent, Pause, SessionHarness, say
from tests.session.talk import Talk

ASKS = SkillsSnapshot(
    (
        Skill(
            "tutor",
            "",
            Path(),
            "tutor",
            hooks=(
                HookInfo("h", "h.md", "after_user_input", "system", False, "Text.", "tutor", variables={"score": 0}),
            ),
        ),
    )
)
HELLO = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]


def facts_of(agent: FakeAgent, turn: int = -1) -> HookFacts:
    return agent.asked[turn].options.facts


async def turn(client: SessionHarness, *messages: Any, **fields: Any) -> None:
    over = sum(frame["type"] == "turn_end" for frame in client.frames)
    client.send("chat", messages=list(messages) or [{"role": "user", "content": "hi"}], **fields)
    await client.until("turn_end", over + 1)


@pytest.mark.rule("L1-56")
async def test_the_context_of_a_turn_is_laid_over_that_of_the_connection() -> None:
    agent = FakeAgent([say("Hi.")] * 3)
    async with SessionHarness(agent, snapshot=ASKS) as client:
        client.send("configure", context={"plan": "pro", "age": 3})
        await turn(client, context={"age": None, "tags": ["a"]})
        await turn(client)
        client.send("configure", context={"ok": True})
        await turn(client)

    contexts = [facts_of(agent, number).context for number in range(3)]
    assert contexts == [{"plan": "pro", "tags": ["a"]}, {"plan": "pro", "age": 3}, {"ok": True}]


@pytest.mark.rule("L1-56")
@pytest.mark.parametrize(
    ("context", "path"),
    [
        ({f"k{number}": 1 for number in range(10_000)}, "$.context"),
        ({"plan": "x" * 201}, "$.context"),
        ({"plan": {"a": 1}}, "$.context"),
        ({"a-b": 1}, "$.context"),
        ({"tags": ["x"] * 17}, "$.context"),
    ],
)
async def test_a_wrong_context_is_refused_with_its_path(context: Any, path: str) -> None:
    async with SessionHarness(FakeAgent([say("Hi.")]), snapshot=ASKS) as client:
        client.send("configure", context=context)
        error = await client.until("error")

    assert error["code"] == "frame_invalid"
    assert error["path"].startswith(path)


@pytest.mark.rule("L1-56")
async def test_the_contexts_of_connection_and_turn_have_32_keys_together() -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent, snapshot=ASKS) as client:
        client.send("configure", context={f"a{number}": 1 for number in range(32)})
        client.send("chat", messages=[{"role": "user", "content": "hi"}], context={"b": 1})
        error = await client.until("error")
        await turn(client, context={"b": 1, "a0": None})

    assert (error["code"], error["path"]) == ("frame_invalid", "$.context")
    assert [len(facts_of(agent, number).context) for number in range(len(agent.asked))] == [32]


@pytest.mark.rule("L1-56")
async def test_a_spoken_turn_whose_context_has_too_many_keys_is_refused() -> None:
    agent = FakeAgent([])
    async with Talk(agent=agent, snapshot=ASKS) as talk:
        talk.send("configure", context={f"a{number}": 1 for number in range(32)})
        await talk.voice()
        utterance = (await talk.until("speech_started"))["utterance"]
        talk.send("history", utterance=utterance, messages=[], context={"b": 1})
        await talk.silence()
        error = await talk.until("error")

    assert (error["code"], error["path"]) == ("frame_invalid", "$.context")


@pytest.mark.rule("L1-56")
async def test_the_time_zone_of_the_context_is_the_clock_of_hooks() -> None:
    agent = FakeAgent([say("Hi.")] * 2)
    async with SessionHarness(agent, snapshot=ASKS) as client:
        await turn(client, context={"timezone": "Asia/Tokyo"})
        await turn(client, context={"timezone": "../etc/passwd"})

    assert str(facts_of(agent, 0).started_at.tzinfo) == "Asia/Tokyo"
    [notice] = (frame for frame in client.frames if frame["type"] == "notice")
    assert notice["code"] == "timezone_unknown"
    assert '"../etc/passwd"' in notice["message"]


@pytest.mark.rule("L1-56")
async def test_context_stays_out_of_texts_for_clients_that_may_not_instruct() -> None:
    agent = FakeAgent([say("Hi.")])
    security = SecuritySettings(client_instructions="deny")
    async with SessionHarness(agent, snapshot=ASKS, security=security) as client:
        await turn(client, context={"plan": "pro"})

    assert (facts_of(agent).context, facts_of(agent).may_say_context) == ({"plan": "pro"}, False)


@pytest.mark.rule("L1-52")
async def test_the_reply_before_and_attachments_are_known() -> None:
    agent = FakeAgent([say("Hi.")])
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": "look"}, picture, {"type": "text", "text": 'Document "a.txt":\n\nsecret'}]
    async with SessionHarness(agent, snapshot=ASKS) as client:
        await turn(client, *HELLO, {"role": "user", "content": parts})

    facts = facts_of(agent)
    assert (facts.last_reply, facts.attachments) == ("Hello.", frozenset({"image", "document"}))
    assert facts.user_messages == ("hi", "look")


@pytest.mark.rule("L1-52")
async def test_a_message_that_ends_a_running_reply_has_interrupted_it() -> None:
    pause = Pause()
    agent = FakeAgent([[pause], say("Yes?"), say("So.")])
    async with SessionHarness(agent, snapshot=ASKS) as client:
        client.chat(id="t1")
        await pause.reached.wait()
        client.chat("go on", history=HELLO, id="t2")
        await client.until("turn_end", 2)
        await turn(client, *HELLO, *HELLO, {"role": "user", "content": "more"}, id="t3")

    assert [facts_of(agent, number).interrupted for number in range(3)] == [False, True, False]


@pytest.mark.rule("L1-52")
@pytest.mark.parametrize(("text", "interrupted"), [("hi", False), ("edited", False), ("hi again", True)])
async def test_a_message_that_goes_back_has_interrupted_nothing(text: str, interrupted: bool) -> None:
    agent = FakeAgent([[Pause()], say("Yes?")])
    async with SessionHarness(agent, snapshot=ASKS) as client:
        client.chat()
        await client.until("turn_start")
        client.send("interrupt")
        await client.until("turn_end")
        client.chat(text, history=HELLO if interrupted else [])
        await client.until("turn_end", 2)

    assert facts_of(agent).interrupted is interrupted


def made(state: HookState) -> LLMChunk:
    return LLMChunk(hook_record=HookRecord(lambda: state, tuple))


@pytest.mark.rule("L1-50")
@pytest.mark.parametrize(
    ("history", "text", "came", "turn_of_state"),
    [
        (HELLO, "go on", HookState(2), 3),
        ([], "hi", HookState(2), 2),
        ([], "another", HookState(2), 2),
        (HELLO, "go on", HookState(1), 1),
        ([{"role": "user", "content": "ho"}], "go on", HookState(2), 2),
    ],
)
async def test_a_message_typed_into_a_reply_keeps_what_its_turn_remembers(
    history: list[Any], text: str, came: HookState, turn_of_state: int
) -> None:
    pause = Pause()
    agent = FakeAgent([[made(HookState(3)), pause], say("So.")])
    async with SessionHarness(agent, snapshot=ASKS) as client:
        client.chat(state=HookState(2).signed(SIGNER))
        await pause.reached.wait()
        client.chat(text, history=history, state=came.signed(SIGNER))
        await client.until("turn_end", 2)

    assert facts_of(agent).state == HookState(turn_of_state)


@pytest.mark.rule("L1-56")
async def test_the_context_of_a_spoken_turn_comes_with_its_history() -> None:
    agent = FakeAgent([say("So.")])
    async with Talk(agent=agent, snapshot=ASKS) as talk:
        talk.send("configure", context={"plan": "pro"})
        await talk.voice()
        utterance = (await talk.until("speech_started"))["utterance"]
        talk.send("history", utterance=utterance, messages=[], context={"age": 3, "timezone": "Mars/Base"})
        await talk.silence()
        await talk.until("turn_end")

    assert facts_of(agent).context == {"plan": "pro", "age": 3, "timezone": "Mars/Base"}
    assert [frame["code"] for frame in talk.frames if frame["type"] == "notice"] == ["timezone_unknown"]


@pytest.mark.rule("L1-50")
async def test_words_spoken_into_a_reply_keep_what_its_turn_remembers() -> None:
    pause = Pause()
    agent = FakeAgent([[made(HookState(1)), pause], say("So.")])
    async with Talk(agent=agent, snapshot=ASKS) as talk:
        talk.chat()
        await pause.reached.wait()
        await talk.voice()
        talk.history((await talk.until("speech_started"))["utterance"], *HELLO)
        await talk.silence()
        await talk.until("turn_end", 2)

    assert facts_of(agent).state == HookState(1)


@pytest.mark.rule("L1-51", "L1-53")
async def test_a_turn_that_goes_on_has_no_new_message_and_keeps_the_draw() -> None:
    agent = FakeAgent([say("Hi.")] * 3)
    call = {"id": "c", "type": "function", "function": {"name": "paint", "arguments": "{}"}}
    going_on = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    async with SessionHarness(agent, snapshot=ASKS) as client:
        await turn(client)
        await turn(client, *going_on)
        await turn(client)

    first, second, third = (facts_of(agent, number) for number in range(3))
    assert [each.is_new_message for each in (first, second, third)] == [True, False, True]
    assert first.seed == second.seed != third.seed


@pytest.mark.rule("L1-51")
async def test_a_response_to_an_unchanged_history_has_no_new_message() -> None:
    agent = FakeAgent([say("Hi.")] * 2)
    async with SessionHarness(agent, snapshot=ASKS) as client:
        await turn(client)
        client.send("respond", messages=[{"role": "user", "content": "hi"}])
        await client.until("turn_end", 2)

    assert [facts_of(agent, number).is_new_message for number in range(2)] == [True, False]
