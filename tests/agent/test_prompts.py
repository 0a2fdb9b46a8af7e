"""The built-in prompts."""

import pytest

from server.agent.agent_client import AgentClient, TurnOptions
from server.agent.prompts import COMPACT, FULL, PromptSet, system_prompt
from server.config import AgentSettings, LlmSettings, ToolsSettings
from server.tools.executor import ToolExecutor
from server.tools.registry import ToolRegistry
from server.wire.frames import TurnSettings
from tests.agent.scene import agent_for
from tests.support.scripted_model import ScriptedModel


def test_the_system_prompt_names_catalogue_and_language_behind_who_speaks() -> None:
    prompt = system_prompt(FULL, TurnSettings(voice=False, language="de"), override=None, catalog="- diary: writes")

    assert prompt == (
        f"{FULL.system}\n\n- diary: writes\n\nThe user speaks and wants to hear this language (BCP 47): de"
    )
    told = system_prompt(
        FULL, TurnSettings(voice=False, language="de", instructions="Rhyme."), override=None, catalog="- diary: writes"
    )
    assert told == f"{prompt}\n\nRhyme."


def test_only_a_reply_that_is_spoken_is_asked_to_be_short() -> None:
    written, spoken = (
        system_prompt(FULL, TurnSettings(voice=voice), override=None, catalog="") for voice in (False, True)
    )

    assert spoken == f"{written} {FULL.spoken}"
    assert "read aloud" in spoken
    assert not {"short", "voice", "aloud"} & set(written.split())


@pytest.mark.parametrize("override", ["Be a pirate.", ""])
def test_the_operator_s_system_prompt_replaces_the_built_in_one(override: str) -> None:
    assert system_prompt(FULL, TurnSettings(), override=override, catalog="") == override


def test_the_agent_builds_the_system_prompt_of_its_options() -> None:
    agent = agent_for(ScriptedModel())

    assert agent.system_prompt(
        TurnOptions(settings=TurnSettings(language="de", instructions="Rhyme."), catalog="- diary")
    ) == system_prompt(
        FULL, TurnSettings(language="de", instructions="Rhyme."), override="You are a test.", catalog="- diary"
    )


def test_a_compact_model_gets_the_short_prompts_and_a_small_catalogue() -> None:
    full, compact = agent_for(ScriptedModel()), agent_for(ScriptedModel(is_compact=True))

    assert (full.prompts, full.catalog_budget_tokens) == (FULL, 2000)
    assert (compact.prompts, compact.catalog_budget_tokens) == (COMPACT, 100)


@pytest.mark.parametrize(("is_compact", "prompts"), [(False, FULL), (True, COMPACT)])
def test_without_one_of_the_operator_s_the_model_s_own_prompt_is_used(is_compact: bool, prompts: PromptSet) -> None:
    model = ScriptedModel(is_compact=is_compact)
    executor = ToolExecutor(ToolRegistry([]), ToolsSettings())
    agent = AgentClient(model, executor, config=AgentSettings(), llm=LlmSettings())

    assert agent.system_prompt(TurnOptions()) == f"{prompts.system} {prompts.spoken}".rstrip()


@pytest.mark.parametrize("prompts", [FULL, COMPACT])
def test_every_prompt_says_something_and_none_has_blank_ends(prompts: PromptSet) -> None:
    written = [
        prompts.system,
        prompts.planning_prompt(["alpha"]),
        prompts.first_step_prompt(""),
        prompts.first_step_prompt("Wait."),
        prompts.agent_loop,
        prompts.last_step,
    ]

    assert all(written)
    assert written == [text.strip() for text in written]


def test_the_planning_prompt_names_the_tag_and_the_tools() -> None:
    prompt = FULL.planning_prompt(["alpha", "beta"])

    assert "<need_tool>" in prompt
    assert "(alpha, beta)" in prompt


def test_what_was_said_is_quoted_in_one_line_braces_included() -> None:
    prompt = FULL.first_step_prompt(" Let {me}\n look. ")

    assert prompt == f"{FULL.first_step} You have already told the user: “Let {{me}} look.” Do not repeat it."
    assert FULL.first_step_prompt(" \n") == FULL.first_step
