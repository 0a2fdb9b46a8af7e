"""What the model is given to read before a turn is the beginning of what the turn sends."""

from typing import Literal

import pytest

from server.agent.agent_client import TurnOptions
from server.config import LlmSettings
from server.llm.language_model import Finished, LateSystem, TextDelta
from server.wire.frames import TurnSettings
from tests.agent.scene import agent_for, play
from tests.support.scripted_model import ScriptedModel

HISTORY = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello!"},
    {"role": "system", "content": "Be kind.", "_hook": "kind", "_skill": "diary"},
]


@pytest.mark.parametrize(("needed", "configured"), [("native", "auto"), (None, "auto"), ("user", "native")])
async def test_a_prefill_is_how_the_first_call_of_the_turn_begins(
    needed: LateSystem | None, configured: Literal["auto", "native"]
) -> None:
    model = ScriptedModel([[TextDelta("Because."), Finished("stop")]], is_compact=True, late_system=needed)
    agent = agent_for(model, llm=LlmSettings(late_system=configured))
    agent.prefill(HISTORY, "Why?", options=TurnOptions())
    await play(agent, messages=[*HISTORY, {"role": "user", "content": "Why?"}])

    [(messages, question, names)] = model.read
    assert messages == list(model.messages(0))[: len(messages)]
    assert (question, names) == ("Why?", ["alpha", "beta"])


async def test_without_tools_or_planning_no_tool_is_to_be_chosen() -> None:
    model = ScriptedModel(is_compact=True)
    agent_for(model).prefill(HISTORY, "", options=TurnOptions(settings=TurnSettings(enable_tools=False)))
    agent_for(model, planning=False).prefill(HISTORY, "", options=TurnOptions())

    assert [names for _, _, names in model.read] == [[], []]


def test_only_a_model_that_costs_nothing_prefills() -> None:
    assert agent_for(ScriptedModel(is_compact=True)).does_prefill
    assert not agent_for(ScriptedModel()).does_prefill
