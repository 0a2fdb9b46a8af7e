"""Tests of a turn that a trigger begins: scripted, simulated and answered by a real server alike."""

from pathlib import Path
from typing import Any

import pytest

from skill_tools.authoring.simulate import play
from skill_tools.testing.tests_files import parse_tests
from skill_tools.testing.tests_report import failure_lines
from skill_tools.testing.tests_runner import SkillTestResult, SkillTestRunner
from skills_engine import HookFacts
from skills_engine.diagnostics import Report
from skills_engine.hooks_config import HooksFile, read_hooks
from tests.skills_engine.folders import entry, make_skill, write_hooks_json
from tests.support.client import Client, client
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

pytestmark = pytest.mark.rule("L1-49")

NAME = entry("name", file="name.md", vars=True, once="conversation")
WELCOME = {"name": "welcome", "file": "welcome.md", "on": "connect"}
AGAIN = {"name": "again", "file": "again.md", "on": "idle", "when": {"turn": {"min": 1}}}
TEXTS = {
    "name.md": "The user is {{user}}.",
    "loan.md": "Text of loan.",
    "welcome.md": "Greet the user.",
    "again.md": "Ask again.",
}


def host(root: Path, *triggers: dict[str, Any], hooks: list[Any] | None = None, name: str = "host") -> Path:
    folder = make_skill(root, name)
    write_hooks_json(folder, {"hooks": [NAME] if hooks is None else hooks, "triggers": list(triggers)})
    for file, content in TEXTS.items():
        (folder / "hooks" / file).write_text(content)
    return folder


def run(text: str, *folders: Path) -> list[SkillTestResult]:
    report = Report("host", "tests/a.yaml")
    tests = parse_tests(f"tests:\n{text}", report)
    assert report.found == []
    files = {folder.name: read_hooks(folder) for folder in folders}
    assert [one.diagnostics for one in files.values()] == [() for _ in files]
    return SkillTestRunner(files).run(tests)


def failures(text: str, *folders: Path) -> list[str]:
    [result] = run(text, *folders)
    assert result.message == ""
    return [line.strip() for failure in result.failures for line in failure_lines(failure)]


def test_the_triggers_text_stands_after_the_hooks_and_no_word_of_the_user_before(tmp_path: Path) -> None:
    test = """
  - name: greets by name
    trigger: welcome
    user_name: Ada
    script: [{answer: Hello Ada.}]
    expect:
      fires: [name, host/welcome]
      reads: [{call: 1, contains: [The user is Ada, Greet the user]}]
      tokens: {max: 9}
"""
    assert failures(test, host(tmp_path, WELCOME)) == []


def test_state_and_history_go_on_from_the_triggers_turn_and_past_one_that_did_not_begin(tmp_path: Path) -> None:
    test = """
  - name: a
    turns:
      - {trigger: welcome, script: [{answer: How can I help?}], expect: {fires: [name, welcome]}}
      - {trigger: welcome, expect: {fires: []}}
      - {user: Hello, expect: {fires: [], reads: [{call: 1, contains: How can I help?, lacks: Greet}]}}
      - {trigger: again, expect: {fires: [again], reads: [{contains: [How can I help?, Hello, Ask again]}]}}
"""
    assert failures(test, host(tmp_path, WELCOME, AGAIN)) == []


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ({"user": ["ada"]}, "user_name: ada"),
        ({"time": {"to": "12:00"}}, "time: '09:00'"),
        ({"language": ["de"]}, "language: de-AT"),
        ({"model": ["local"]}, "model: local"),
        ({"channel": "voice"}, "channel: voice"),
        ({"skills": ["polite"]}, "skills: [polite]"),
        ({"turn": 1}, "history: [{user: hi}]"),
        ({"user_text": ["hi"]}, "history: [{user: hi}, {assistant: hello}]"),
    ],
)
def test_the_triggers_conditions_count(tmp_path: Path, when: dict[str, Any], said: str) -> None:
    folders = (host(tmp_path, AGAIN | {"when": when}), make_skill(tmp_path, "polite"))

    fires = "  - {{name: a, trigger: again, {}expect: {{fires: [{}]}}}}"
    assert failures(fires.format(f"{said}, ", "name, again"), *folders) == []
    assert failures(fires.format("", ""), *folders) == []
    [*_, reason] = failures(fires.format("", "again"), *folders)
    [condition] = when
    told = f"it begins no turn: its condition does not hold: when.{condition}"
    assert reason == f"host/again (after_user_input) stayed out: {told}"


def test_what_is_expected_of_a_turn_that_did_not_begin_is_said_to_be_missing(tmp_path: Path) -> None:
    test = "  - {name: a, trigger: again, expect: {fires: [name], reads: [{call: 1, contains: x}, {lacks: y}], tokens: {max: 0}}}"

    assert failures(test, host(tmp_path, AGAIN)) == [
        "fires",
        "was                                                       expected",
        "(nothing)                                                 host/name",
        "host/name (after_user_input) stayed out: there was no turn",
        "reads",
        "was                                                       expected",
        "no call                                                   call 1",
        "host/again (after_user_input) stayed out: it begins no turn: its condition does not hold: when.turn",
    ]


def test_a_conversation_that_has_begun_is_not_greeted(tmp_path: Path) -> None:
    test = "  - {name: a, history: [{assistant: Hello}], trigger: welcome, expect: {fires: [welcome]}}"

    [*_, reason] = failures(test, host(tmp_path, WELCOME))
    assert reason.endswith("it begins no turn: clients answer connect only in an empty conversation")


def test_a_trigger_that_several_skills_have_is_that_of_the_tests_own(tmp_path: Path) -> None:
    test = "  - {name: a, trigger: welcome, skills: [polite, host], expect: {fires: [host/welcome]}}"

    polite = host(tmp_path, WELCOME, hooks=[], name="polite")
    assert failures(test, polite, host(tmp_path, WELCOME, hooks=[])) == []


def test_an_unknown_trigger_is_named(tmp_path: Path) -> None:
    [missing] = run("  - {name: a, trigger: welcom}", host(tmp_path, WELCOME))
    [of_another] = run("  - {name: a, trigger: polite/welcome}", host(tmp_path, WELCOME))
    [none] = run("  - {name: a, trigger: welcome}", host(tmp_path))

    assert missing.message == "no trigger is called welcom (did you mean welcome?)"
    assert (of_another.outcome, none.outcome) == ("error", "error")
    assert none.message == "no trigger is called welcome; there are: none"


@pytest.mark.parametrize(
    ("test", "mistake"),
    [
        ("{name: a, user: x, trigger: b}", "line 1: begins a turn without the user: remove it, or `user`"),
        ("{name: a, trigger: b, turns: [{user: x}]}", "line 1: belongs into one of the `turns`"),
        ("{name: a, trigger: b, ask: {}, expect: {reply: {}}}", "line 1: is for scripted tests: remove it, or `ask`"),
    ],
)
def test_a_trigger_beside_what_it_excludes_is_a_mistake(test: str, mistake: str) -> None:
    report = Report("host", "tests/a.yaml")

    assert parse_tests(f"tests: [{test}]", report) == []
    assert [(one.path, one.message) for one in report.found] == [("$.tests[0].trigger", mistake)]


HISTORIES: tuple[list[str], ...] = (["hello", "and a loan?"], ["hello"], [])


def read_by_a_test(found: HooksFile, history: list[str]) -> list[str]:
    """Return what the first call of the simulated turn reads of its conversation and its hooks; [] without a turn."""
    [trigger] = found.triggers
    played = play(found.hooks, texts=history, trigger=trigger, facts=HookFacts(skills=frozenset({"host"})))
    return [message.text for call in played.calls[:1] for message in call.messages if not message.is_stand_in]


async def read_by_a_model(user: Client, model: OpenAIServer, history: list[str]) -> list[str]:
    """Return the same of a real turn, which answers the server's nudge."""
    await user.send("configure", nudges=True)
    nudge = await user.until("nudge")
    await user.send("chat", nudge=nudge["id"], messages=[{"role": "user", "content": words} for words in history])
    frame = await user.until("turn_end", "error")
    if frame["type"] == "error":
        return []
    return [str(message["content"]) for message in model.requests[-1].messages[1:-1]]  # between the server's prompts


@pytest.mark.slow
async def test_a_real_turn_reads_what_the_simulated_and_the_tested_one_read(tmp_path: Path) -> None:
    loan = entry("loan", when={"user_text": ["loan"]})
    again = AGAIN | {"after_s": 1, "when": {"turn": {"min": 1}, "not": {"channel": "voice"}}}
    found = read_hooks(host(tmp_path / "skills", again, hooks=[loan]))
    settings = {"skills": {"dir": str(tmp_path / "skills"), "edit": False}}
    read = []
    async with OpenAIServer() as model, parley(tmp_path, model.url, settings) as server:
        for history in HISTORIES:
            model.queue(text("Yes."))
            async with client(server.ws_url) as user:
                read.append(await read_by_a_model(user, model, history))

    assert read == [[*HISTORIES[0], "Text of loan.", "Ask again."], [*HISTORIES[1], "Ask again."], []]
    assert read == [read_by_a_test(found, history) for history in HISTORIES]
    for history, expected in zip(HISTORIES, (["loan", "again"], ["again"], []), strict=True):
        said = ", ".join(f"{{user: {words}}}" for words in history)
        test = f"  - {{name: a, trigger: again, history: [{said}], expect: {{fires: [{', '.join(expected)}]}}}}"
        assert failures(test, tmp_path / "skills" / "host") == []
