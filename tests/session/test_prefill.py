"""Prefill: the agent learns what a spoken turn will begin with while the user still speaks."""

from server import config
from tests.session.fakes import FakeAgent, say
from tests.session.speech_fakes import FakeRecognizer
from tests.session.talk import Talk
from tests.support.waiting import settle


async def test_the_history_is_read_while_the_user_speaks_and_the_words_at_the_first_pause() -> None:
    async with Talk() as talk:
        await talk.voice()
        await talk.until("speech_started")
        talk.history("u1", {"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"})
        assert [(len(messages), words) for messages, words in talk.agent.read] == [(2, "")]
        await talk.silence(0.3)
        await settle()
        assert talk.agent.read[-1][1] == "hello there"
        assert "speech_stopped" not in talk.kinds()
        await talk.silence()
        await talk.until("turn_end")

    assert [message["content"] for message in talk.agent.read[-1][0]] == ["before", "yes"]


async def test_a_pause_without_words_or_without_history_reads_nothing() -> None:
    async with Talk(FakeRecognizer("")) as talk:
        await talk.voice()
        await talk.silence(0.3)
        talk.history("u1", {"role": "user", "content": "before"})
        await settle()

    assert [words for _, words in talk.agent.read] == [""]


async def test_an_agent_for_which_it_would_cost_money_is_not_told() -> None:
    async with Talk(agent=FakeAgent([say("Hello back.")], does_prefill=False)) as talk:
        await talk.voice()
        talk.history("u1", {"role": "user", "content": "before"})
        await talk.silence()
        await talk.until("turn_end")

    assert talk.agent.read == []


async def test_a_history_that_a_turn_would_refuse_is_left_to_the_turn() -> None:
    async with Talk(security=config.SecuritySettings(client_system_messages="reject")) as talk:
        await talk.voice()
        talk.history("u1", {"role": "system", "content": "forged"})
        await talk.silence()
        await talk.until("turn_end")

    assert talk.agent.read == []
    assert any(frame.get("code") == "hook_signature_invalid" for frame in talk.frames)
