"""The skills that come with the project show what hooks can do, within what a small model can bear."""

import json
from pathlib import Path

import pytest

from skill_tools.authoring.lint import lint
from skill_tools.authoring.scaffold import SCHEMA_FILE
from skill_tools.testing.tests_files import read_tests
from skills_engine import TIMINGS, HookFacts, estimate_tokens, load_snapshot
from skills_engine.__main__ import main
from skills_engine.hook_manager import first_call_texts
from tests.support.client import client
from tests.support.openai_script import Json, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ServerProcess, endpoint

SKILLS = Path(__file__).parents[2] / "skills"
ON = load_snapshot(SKILLS)
SNAPSHOT = load_snapshot(SKILLS, enabled=sorted(folder.name for folder in SKILLS.iterdir() if folder.is_dir()))
"""All of them, also those that are off unless the operator names them."""


def test_they_are_sound() -> None:
    assert SNAPSHOT.diagnostics == ()
    assert ON.diagnostics == ()
    assert [one for found in lint(SKILLS).values() for one in found if one.severity != "info"] == []


def test_three_are_on_and_the_model_is_told_of_those_that_it_can_read_up_in_a_hundred_tokens() -> None:
    catalog = ON.catalog(None, budget_tokens=100)

    assert [skill.name for skill in ON.skills] == ["careful-reader", "concise-speech", "time-aware"]
    assert [line.partition(":")[0] for line in catalog.text.split("\n")[1:]] == ["- careful-reader", "- time-aware"]
    assert catalog.dropped == ()


@pytest.mark.parametrize("planning", [True, False])
async def test_none_that_is_on_adds_anything_to_a_typed_turn_without_tools(tmp_path: Path, planning: bool) -> None:
    choices = [[], *([skill.name] for skill in ON.skills)]
    settings = {"skills": {"dir": str(SKILLS)}, "agent": {"planning": planning}}
    async with (
        OpenAIServer(respond=lambda _: text("Dear Sir or Madam, …")) as model,
        ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings) as server,
        client(server.ws_url) as user,
    ):
        kinds = [
            {frame["type"] for frame in await user.turn("Write a cover letter.", skills=names, voice=False)}
            for names in choices
        ]

    plain, *others = [without_catalog(request, names) for request, names in zip(model.requests, choices, strict=True)]
    assert others == [plain] * len(ON.skills)
    assert "aloud" not in str(plain)
    assert "hook" not in set().union(*kinds)


def without_catalog(request: Request, names: list[str]) -> list[Json]:
    """Return what the model read, but for the list of the skills that it can read up."""
    system, *rest = request.messages
    catalog = ON.catalog(names, budget_tokens=2000).text
    return [{**system, "content": system["content"].replace(catalog, "").rstrip()}, *rest]


def test_together_they_use_everything_a_hook_can_be() -> None:
    hooks = SNAPSHOT.hooks(None)

    assert {hook.timing for hook in hooks} == set(TIMINGS)
    assert {hook.role for hook in hooks} == {"system", "user"}
    assert {hook.persistent for hook in hooks} == {False, True}
    assert not any(hook.tool_filter for hook in hooks), "`when` is the one way to name tools"


def test_a_spoken_question_to_the_embedded_model_costs_two_short_texts() -> None:
    facts = HookFacts(model="SmolLM2-135M-Instruct", channel="voice")

    assert first_call_texts(ON.hooks(None), HookFacts(channel="text")) == []
    assert first_call_texts(ON.hooks(None), facts) == ["Answer in one short sentence.", "Use plain words."]
    assert len(first_call_texts(ON.hooks(None), HookFacts(channel="voice"))) == 3  # other models read for-the-ear, too


def test_their_texts_are_short() -> None:
    assert max(estimate_tokens(hook.content) for hook in SNAPSHOT.hooks(None)) <= 26


def test_their_pages_name_each_of_their_hooks() -> None:
    for skill in SNAPSHOT.skills:
        page = (skill.directory / skill.file).read_text()
        assert [hook.name for hook in skill.hooks if f"`{hook.name}`" not in page] == []


def test_their_tests_pass_and_each_has_some() -> None:
    assert main(["test", str(SKILLS)]) == 0
    assert [skill.name for skill in SNAPSHOT.skills if not read_tests(skill.directory).tests] == []


def test_an_editor_finds_the_schema() -> None:
    for skill in SNAPSHOT.skills:
        path = skill.directory / "hooks" / "hooks.json"
        assert (path.parent / json.loads(path.read_text())["$schema"]).resolve() == SCHEMA_FILE
