"""The skills of docs/cookbook.md: their own tests pass, and each fires and stays silent where it must."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skill_tools.testing.reload_tests import run_reload_tests
from skills_engine import load_snapshot
from tests.gateway.test_long_wishes import WISHES as LONG_WISHES
from tests.support.client import Client, client
from tests.support.cookbook import hooks_in, write_cookbook
from tests.support.openai_script import Stream, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

TOKENS = {name: f"the-long-token-of-{name}" for name in ("ada", "bob")}
SEARCH = ("search_text", {"pattern": "language"})
NO_FILE = ("read_file", {"path": "no/such/file.md"})
LOOK = ("current_time", {"timezone": "Asia/Tokyo"})


@dataclass
class Turn:
    """A turn in a conversation of its own, or after the one before, and the hooks that its last model call reads."""

    reads: str
    said: str = "Hello"
    script: tuple[Stream, ...] = ()
    language: str | None = None
    goes_on: bool = False
    fields: dict[str, Any] = field(default_factory=dict)


WISHES: list[tuple[str, str | None, list[Turn]]] = [
    ("german-only", None, [Turn("formal-german", language="de-AT"), Turn("", language="en")]),
    (
        "cite-sources",
        None,
        [Turn("cite", script=(calls(SEARCH),)), Turn("", script=(calls(LOOK),)), Turn("")],
    ),
    ("greet-once", "ada", [Turn("greet"), Turn("", goes_on=True), Turn("greet")]),
    ("greet-once", None, [Turn("")]),
    (
        "money-disclaimer",
        None,
        [Turn("no-advice", "Shall I invest?"), Turn("", "And a loan?", goes_on=True), Turn("", "Who is Moneypenny?")],
    ),
    ("brief-on-failure", None, [Turn("say-less", script=(calls(NO_FILE),)), Turn("", script=(calls(LOOK),))]),
    (
        "wrap-up",
        None,
        [Turn("finish", script=(calls(SEARCH), calls(SEARCH))), Turn("", script=(calls(SEARCH),))],
    ),
    ("todays-date", None, [Turn("today")]),
    ("tone-for-ada", "ada", [Turn("friend")]),
    ("tone-for-ada", "bob", [Turn("polite")]),
    (
        "two-wordings",
        None,
        [
            Turn("short"),
            Turn("shorter", fields={"hook_texts": {"two-wordings/short": "At most twelve words."}}),
            Turn("", fields={"hook_texts": {"two-wordings/short": None}}),
        ],
    ),
]


async def play(user: Client, model: OpenAIServer, skill: Path, turns: list[Turn]) -> list[str]:
    read = []
    history: list[dict[str, Any]] = []
    state: dict[str, str] = {}
    for turn in turns:
        if not turn.goes_on:
            history, state = [], {}
        model.queue(*turn.script, text("Yes."))
        await user.send("configure", language=turn.language)
        frames = await user.turn(turn.said, history=history, skills=[skill.name], **state, **turn.fields)
        assert frames[-1]["reason"] == "completed"
        read.append(hooks_in(model.requests[-1].messages, skill))
        history = [*history, {"role": "user", "content": turn.said}, {"role": "assistant", "content": "Yes."}]
        state = {"state": frames[-1]["state"]} if "state" in frames[-1] else {}
    return read


@pytest.mark.slow
async def test_each_wish_fires_and_stays_silent_where_it_must(tmp_path: Path, model: OpenAIServer) -> None:
    cookbook = write_cookbook(tmp_path / "skills")
    settings = {
        "agent": {"planning": False},
        "skills": {"dir": str(cookbook), "edit": False},
        "security": {"tokens": [{"user": name, "token": token} for name, token in TOKENS.items()]},
    }
    found = []
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings) as server:
        for skill, name, turns in WISHES:
            headers = {"Authorization": f"Bearer {TOKENS[name]}"} if name else {}
            async with client(server.ws_url, additional_headers=headers) as user:
                found.append((skill, name, await play(user, model, cookbook / skill, turns)))

    assert found == [(skill, name, [turn.reads for turn in turns]) for skill, name, turns in WISHES]
    long = {wish.skill for wish in LONG_WISHES.values()}
    assert {skill for skill, _, _ in WISHES} | long >= {folder.name for folder in cookbook.iterdir()}


def test_the_tests_of_each_wish_pass(tmp_path: Path) -> None:
    snapshot = load_snapshot(write_cookbook(tmp_path))
    names = [skill.name for skill in snapshot.skills]

    reports = run_reload_tests(snapshot, names, lambda: False)

    assert snapshot.diagnostics == ()
    assert [(name, report.failed, report.diagnostics) for name, report in reports.items()] == [
        (name, 0, ()) for name in names
    ]
    assert len(names) == 32
