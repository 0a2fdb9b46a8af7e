"""skill_tools/studio/skill_trial.py"""

import pytest

from server import config
from server.accounts.principal import Principal
from server.agent.chunks import LLMChunk
from server.errors import TurnError
from server.metrics import Metrics
from server.session.turn_limits import TurnGate
from server.wire import frames as wire
from skill_tools.studio.skill_trial import SkillTrial
from skills_engine import HookState, Signer, SkillsSnapshot
from tests.session.fakes import FakeAgent, Pause, SessionHarness, say

ANNA = Principal("10.0.0.1", is_local=False, user_id="anna", is_logged_in=True, is_operator=True)
SIGNER = Signer([b"k" * 32])
SETTINGS = wire.TurnSettings(voice=False, enable_tools=False, language="de")


class Texts:
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def put(self, *chunks: LLMChunk) -> None:
        self.texts += [chunk.text for chunk in chunks if chunk.text is not None]


async def answered(trial: SkillTrial) -> list[str]:
    out = Texts()
    messages = [wire.Message(role="user", content="Hi")]
    await trial.answer(ANNA, SkillsSnapshot(), messages, out, SETTINGS, HookState())
    return out.texts


async def test_the_answer_is_shown_piece_by_piece_with_the_skills_it_was_given() -> None:
    agent = FakeAgent([say("One.", "Two.")])
    async with SessionHarness(agent) as harness:
        assert await answered(SkillTrial(harness.services, SIGNER)) == ["One.", "Two."]

    [asked] = agent.asked
    assert (asked.messages[-1]["content"], asked.options.settings) == ("Hi", SETTINGS)
    assert asked.is_closed


async def test_a_turn_that_takes_too_long_is_ended() -> None:
    agent = FakeAgent([[Pause()]])
    async with SessionHarness(agent, limits=config.LimitsSettings(max_turn_s=0.05)) as harness:
        with pytest.raises(TurnError, match=r"^the turn ran longer than 0\.05 s and was ended$") as late:
            await answered(SkillTrial(harness.services, SIGNER))

    assert late.value.code == "provider_timeout"
    assert agent.asked[0].is_closed


async def test_a_place_counts_for_its_user_and_is_given_back() -> None:
    async with SessionHarness(FakeAgent(), gate=TurnGate(9, Metrics(), per_user=1)) as harness:
        trial = SkillTrial(harness.services, SIGNER)
        with trial.place(ANNA), pytest.raises(TurnError, match="the most that one user"), trial.place(ANNA):
            pass

        with trial.place(ANNA):
            pass
