"""`python -m skills_engine test --server`: a model is asked through a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skills_engine.__main__ import main
from tests.skills_engine.folders import entry, make_skill
from tests.support.openai_faults import http_error
from tests.support.openai_script import Answer, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.parley import Parley, parley

pytestmark = pytest.mark.slow

TESTS = """
tests:
  - name: stays brief
    user: Why is the sky blue?
    history: [{user: hi}, {assistant: hello}]
    ask: {samples: 2}
    expect: {reply: {max_words: 3}}
    compare: {without: [brief]}
"""


def brief_when_told(request: Request) -> Answer:
    is_told = any("Text of brief." in str(content) for content in request.contents)
    return text("Scattered light." if is_told else "Air scatters blue light more than it scatters red light.")


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Parley, OpenAIServer]]:
    skill = make_skill(folder / "skills", "tutor", entry("brief"))
    make_skill(folder / "skills", "other", entry("other"))
    (skill / "tests").mkdir(exist_ok=True)
    (skill / "tests" / "a.yaml").write_text(TESTS)
    async with (
        OpenAIServer(respond=brief_when_told) as model,
        parley(folder, model.url, {"agent": {"planning": False}}) as server,
    ):
        yield server, model


async def run(*arguments: object) -> int:
    return await asyncio.to_thread(main, ["test", *map(str, arguments)])


async def test_the_model_is_asked_with_and_without_the_hook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(tmp_path) as (server, model):
        assert await run(tmp_path / "skills" / "tutor", "--server", server.url) == 0

    assert [line.strip() for line in capsys.readouterr().out.splitlines()][:4] == [
        f"{tmp_path}/skills/tutor/tests/a.yaml:3: passed: stays brief",
        "2 of 2 as expected (100%), 2 words on average",
        "without brief: 0 of 2 as expected (0%), 10 words on average",
        "",
    ]
    contents = model.requests[0].contents
    assert contents[1:4] == ["hi", "hello", "Why is the sky blue?"]
    assert not any("Text of other." in str(content) for content in contents), "a skill that the test does not name"


async def test_wordings_are_compared_with_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "long.md").write_text("Speak at length.")
    async with serving(tmp_path) as (server, _):
        variants = f"brief.md,{tmp_path / 'long.md'}"
        assert await run(tmp_path / "skills" / "tutor", "--server", server.url, "--variants", variants) == 0

    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()[1:]] == [["100%", "4"], ["0%", "5"]]


async def test_a_server_that_does_not_have_the_skill_cannot_run_its_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serving(tmp_path) as (server, _):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "skills" / "tutor").rename(tmp_path / "elsewhere" / "mentor")
        assert await run(tmp_path / "elsewhere", "--server", server.url) == 2

    assert "the server has no skill mentor: its skills.dir must be the folder that is tested" in capsys.readouterr().out


async def test_a_turn_that_fails_cannot_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(tmp_path) as (server, model):
        model.respond = lambda _request: http_error(401)
        assert await run(tmp_path / "skills" / "tutor", "--server", server.url) == 2

    assert "could not be run: stays brief" in capsys.readouterr().out


async def test_the_same_model_judges_without_skills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def respond(request: Request) -> Answer:
        is_judge = any("You judge an answer" in str(content) for content in request.contents)
        return (
            text('{"verdict": "no", "reason": "It says nothing of waves."}') if is_judge else brief_when_told(request)
        )

    test = "tests:\n  - {name: a, user: why, ask: {samples: 1}, expect: {reply: {judge: names waves}}}\n"
    async with serving(tmp_path) as (server, model):
        model.respond = respond
        (tmp_path / "skills" / "tutor" / "tests" / "a.yaml").write_text(test)
        assert await run(tmp_path / "skills" / "tutor", "--server", server.url) == 1

    assert "judge of answer 1: no: It says nothing of waves." in capsys.readouterr().out
    judging = model.requests[-1]
    assert not any("Text of brief." in str(content) for content in judging.contents)
