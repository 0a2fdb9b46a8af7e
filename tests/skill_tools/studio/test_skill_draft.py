"""skill_tools/studio/skill_draft.py: a wish becomes a hook with tests, unsaved."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from server.accounts.principal import Principal
from server.llm.language_model import ModelInfo
from skill_tools.authoring.scaffold import new_skill
from skill_tools.studio.skill_draft import DraftRequest, write_drafts
from skill_tools.studio.skill_files import EditError
from skill_tools.studio.skill_trial import SkillTrial
from skills_engine import Signer
from tests.gateway.rest.conftest import Client
from tests.session.fakes import FakeAgent, SessionHarness
from tests.skill_tools.studio.wishes import NIGHT_TESTS, WISHES, draft, hook
from tests.support.openai_script import Gate, HttpError, Stream, Text, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.waiting import LIMIT_S

CALM = "/api/skills/calm"
LOCAL = Principal("127.0.0.1", is_local=True, is_operator=True)
NIGHT_DRAFT = WISHES["Speak softly at night."][-1]


@pytest.fixture
def calm(tmp_path: Path) -> Path:
    """To be named before the server, which reads the skills when it starts."""
    return new_skill("calm", tmp_path / "skills", text="Be calm.")


async def described(server: Parley, wish: str, **more: Any) -> list[dict[str, Any]]:
    async with (
        ClientSession() as http,
        http.post(f"{server.url}{CALM}/describe", json={"wish": wish, **more}) as answer,
    ):
        assert answer.status == 200, await answer.text()
        return [json.loads(line) async for line in answer.content]


def contents(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in folder.rglob("*") if path.is_file()}


async def test_each_of_twenty_wishes_becomes_a_hook_that_lints_and_passes_its_tests_within_three_drafts(
    calm: Path, server: Parley, model: OpenAIServer
) -> None:
    before = contents(calm.parent)
    right_at = Counter[int]()
    for wish, replies in WISHES.items():
        for reply in replies:
            model.say(reply)
        *steps, end = await described(server, wish)

        assert end == {"end": {"code": "completed"}}
        assert [step["draft"] for step in steps] == list(range(1, len(replies) + 1)), (wish, steps)
        assert all(step["problems"] for step in steps[:-1]), wish
        last = steps[-1]
        assert (last["problems"], last["is_linted"], last["passed"]) == ([], True, last["tests"]), (wish, steps)
        right_at[len(steps)] += 1

    assert right_at == {1: 6, 2: 12, 3: 2}
    assert contents(calm.parent) == before


async def test_the_model_is_told_what_is_wrong_and_mends_it(calm: Path, server: Parley, model: OpenAIServer) -> None:
    replies = WISHES["Warn when money comes up."]
    for reply in replies:
        model.say(reply)
    steps = await described(server, "Warn when money comes up.")

    first, second, third = model.requests
    assert "before the assistant's model" in str(first.messages[0]["content"])
    assert "- user_text: One is in the user's last message" in str(first.messages[0]["content"])
    assert "hint.md" in str(first.messages[-1]["content"]), "the hooks.json that it is for"
    assert "keywords" in second.messages[-1]["content"]
    assert "test “warns of loans” fails" in third.messages[-1]["content"]
    assert [step["is_linted"] for step in steps[:3]] == [False, False, True], "a word without its ending"
    files = steps[2]["files"]
    assert files["hooks/money.md"] == "Say that this is no advice.\n"
    assert files["tests/money.yaml"].startswith("tests:\n- name: warns of loans\n")
    [hook_] = steps[2]["hooks"]
    assert (hook_["name"], hook_["file"]) == ("money", "money.md")


async def test_a_third_draft_that_is_wrong_is_shown_with_what_is_wrong(
    calm: Path, server: Parley, model: OpenAIServer
) -> None:
    wrong = draft(hook("night", "Softly.", when={"time": {"from": "22:00"}}), tests=NIGHT_TESTS)
    for _ in range(3):
        model.say(wrong)
    *steps, end = await described(server, "Softly at night")

    assert (len(steps), end["end"]["code"]) == (3, "completed")
    assert (steps[-1]["passed"], steps[-1]["tests"]) == (2, 3)
    assert "hooks/night.md" in steps[-1]["files"]


BAD = {
    "no JSON": ("I cannot do that.", "not JSON"),
    "half of it": (NIGHT_DRAFT[:200], "not JSON"),
    "a list": ("[1]", "Expected `object`"),
    "brackets without end": ("{" + '"a":[' * 9000, "not JSON"),
    "a path as a name": (draft(hook("../../night", "x"), tests=NIGHT_TESTS), "a hook has a `name`"),
    "a path as a file": (draft(hook("night", "x", file="../../etc/passwd"), tests=NIGHT_TESTS), "a hook has a `name`"),
    "files of its own": (json.dumps({"files": {"tests/hint.yaml": None}, "hooks": [hook("a", "b")]}), "unknown field"),
    "a name that is taken": (draft(hook("hint", "x"), tests=NIGHT_TESTS), "already"),
    "two of one name": (draft(hook("night", "x"), hook("night", "y"), tests=NIGHT_TESTS), "already"),
    "no text": (draft(hook("night", " "), tests=NIGHT_TESTS), "the text of night is empty"),
    "tests that ask a model": (
        draft(hook("night", "x"), tests=[{"name": "a", "user": "b", "ask": {}}] * 3),
        "scripted",
    ),
    "two tests": (draft(hook("night", "x"), tests=NIGHT_TESTS[:2]), "length >= 3"),
    "half a surrogate": (draft(hook("night", "x"), tests=NIGHT_TESTS).replace('"x"', '"\\ud800"'), "not JSON"),
}


@pytest.mark.parametrize("case", BAD)
async def test_what_cannot_be_used_is_told_to_the_model_and_changes_nothing(
    calm: Path, server: Parley, model: OpenAIServer, case: str
) -> None:
    before, around = contents(calm.parent), set(calm.parents[1].iterdir())
    reply, problem = BAD[case]
    for _ in range(3):
        model.say(reply)
    *steps, end = await described(server, "Softly at night")

    assert [(step["draft"], step["files"]) for step in steps] == [(1, {}), (2, {}), (3, {})]
    assert all(problem in step["problems"][0] for step in steps), steps
    assert end["end"]["code"] == "draft_invalid"
    assert contents(calm.parent) == before
    assert set(calm.parents[1].iterdir()) == around


async def test_a_test_of_a_draft_that_calls_a_deleting_tool_runs_nothing(
    calm: Path, server: Parley, model: OpenAIServer
) -> None:
    script = [
        {"need_tools": "I delete it."},
        {"calls": [{"tool": "delete_file", "arguments": {"path": str(calm / "SKILL.md")}, "result": "gone"}]},
        {"answer": "Gone."},
    ]
    tests = [{**test, "script": script} for test in NIGHT_TESTS]
    model.say(draft(hook("night", "Softly.", when={"time": {"from": "22:00", "to": "06:00"}}), tests=tests))
    [step, _] = await described(server, "Softly at night")

    assert (step["passed"], step["problems"]) == (3, [])
    assert (calm / "SKILL.md").exists()


async def test_a_reply_without_end_a_silent_model_and_a_failing_one_end_with_an_error(
    calm: Path, server: Parley, model: OpenAIServer
) -> None:
    model.queue(Stream(steps=[Text("x" * 8192)] * 9))
    [end] = await described(server, "Softly at night")
    assert end["end"]["code"] == "draft_too_long"

    model.queue(HttpError(status=401, body="no"))
    [end] = await described(server, "Softly at night")
    assert end["end"]["code"].startswith("provider_")


async def test_one_draft_at_a_time_which_takes_the_place_of_a_turn_and_ends_with_its_client(
    tmp_path: Path, calm: Path, model: OpenAIServer
) -> None:
    gate = Gate()
    model.queue(text("{", gate, "}"))
    async with parley(tmp_path, model.url, {"limits": {"turns": 1}}) as server, ClientSession() as http:
        waiting = asyncio.create_task(described(server, "Softly at night"))
        request = await model.request(0)
        async with http.post(f"{server.url}{CALM}/describe", json={"wish": "And this"}) as busy:
            assert (busy.status, (await busy.json())["error"]["code"]) == (429, "draft_busy")
        async with http.post(f"{server.url}{CALM}/try", json={"text": "Hi"}) as full:
            assert (full.status, (await full.json())["error"]["code"]) == (429, "too_many_turns")

        waiting.cancel()
        async with asyncio.timeout(LIMIT_S):
            await request.ended.wait()
        assert request.closed_early
        model.say(NIGHT_DRAFT)
        async with asyncio.timeout(LIMIT_S):
            status = 429  # until the server has seen that the client left
            while status == 429:
                async with http.post(f"{server.url}{CALM}/describe", json={"wish": "Softly"}) as again:
                    status = again.status
        assert status == 200


async def test_a_wish_is_needed_and_a_skill(calm: Path, operator: Client) -> None:
    refused = await operator.post(f"{CALM}/describe", {"wish": " "})
    assert (refused.status, refused.code) == (400, "body_invalid")
    unknown = await operator.post("/api/skills/none/describe", {"wish": "x"})
    assert unknown.status == 404


async def test_the_included_model_is_not_asked(calm: Path) -> None:
    agent = FakeAgent()
    included = ModelInfo(name="SmolLM2", host="this machine", location="local", is_included=True)
    async with SessionHarness(agent) as harness:
        trial = SkillTrial(replace(harness.services, model=lambda: included), Signer([b"k" * 32]))
        with pytest.raises(EditError, match="choose a larger one") as refused:
            await write_drafts(trial, LOCAL, calm, DraftRequest(wish="x"), [].append)  # type: ignore[arg-type]

    assert (refused.value.code, agent.asked) == ("model_too_small", [])


async def test_only_operators_describe(calm: Path, anna: Client) -> None:
    assert (await anna.post(f"{CALM}/describe", {"wish": "x"})).status == 403


async def test_texts_and_tests_of_a_draft_replace_nothing(calm: Path, server: Parley, model: OpenAIServer) -> None:
    for path in ("tests/night.yaml", "hooks/night.md"):
        (calm / path).write_text("tests: []\n")
    model.say(NIGHT_DRAFT)
    model.say(NIGHT_DRAFT.replace("night", "late"))
    (calm / "tests" / "late.yaml").write_text("tests: []\n")
    taken, free, _ = await described(server, "Softly at night")

    assert (taken["hooks"], "already" in taken["problems"][0]) == ([], True)
    assert sorted(free["files"]) == ["hooks/late.md", "tests/late2.yaml"]


async def test_a_variable_that_is_there_keeps_its_start_value(calm: Path, server: Parley, model: OpenAIServer) -> None:
    document = {"hooks": [], "variables": {"score": 5}}
    counted = {"name": "counts", "user": "Hi", "expect": {"variables": {"score": 6}}}
    count = {"name": "count", "timing": "after_user_input", "set": {"score": {"add": 1}}}
    model.say(json.dumps({"hooks": [count], "variables": {"score": 0, "more": 1}, "tests": [counted] * 3}))
    [step, _] = await described(server, "Count", files={"hooks/hooks.json": json.dumps(document)})

    assert (step["variables"], step["passed"]) == ({"more": 1}, 3), step


@pytest.mark.parametrize("document", ["[]", '{"hooks": {}}', "{", '{"hooks": [], "variables": 1}', "[" * 100_000])
async def test_a_skill_without_a_place_for_a_hook_is_told_so(calm: Path, server: Parley, document: str) -> None:
    [end] = await described(server, "Softly", files={"hooks/hooks.json": document})
    assert end["end"]["code"] == "draft_invalid"
