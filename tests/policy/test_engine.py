"""server/policy/engine.py: the stages in their order, what each outcome becomes, and who learns of it."""

import asyncio
import logging
import re
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from server.approval.asking import Answer, AskHuman, text_for_model
from server.bounded.fair_share import Share, turn_share
from server.config import HooksSettings
from server.errors import ConfigError
from server.policy.confirmation_handler import ConfirmationSettings, DangerJudge, DangerousConfirmation
from server.policy.document import document_of
from server.policy.engine import PolicyEngine, TurnPolicy
from server.policy.hook_types import HookContext, HookType
from server.policy.scan_handler import MAX_CHARS, WITHHELD, SecretScanner
from server.storage.audit_entry import AuditEntry
from server.toolguard import Permission
from server.toolguard.danger.danger_table import SAFE, DangerVerdict
from server.tools.tool_calls import MAX_EDITS, ToolInvocation, ToolOutcome, TurnFacts
from tests.hooks.fakes import FakeHuman
from tests.support import policy_document
from tests.support.waiting import settle

FACTS = TurnFacts(session_id="s", turn_id="t", user_id="anna", address="192.0.2.1")
DOCS = Path(__file__).parents[2] / "docs" / "policy.md"
CUSTOM = Path(__file__).parent / "custom_handlers"
SECRET = "ghp_" + "NlJBNclzN0yvGBZ4RbZ61O1ZkWhGOzArM568"
# seed 003 §4.1, and the stage that it leaves out
SEED: dict[str, Any] = {**policy_document.SEED["hooks"], "tool_skip": [{"type": "audit_log"}]}


@dataclass
class Sink:
    entries: list[AuditEntry] = field(default_factory=list)

    def append(self, entry: AuditEntry) -> None:
        self.entries.append(entry)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(entry.phase, entry.outcome, entry.handler) for entry in self.entries]


def book_of(tree: dict[str, Any], sink: Sink, **hooks: Any) -> PolicyEngine:
    return PolicyEngine(lambda _user: document_of(tree), sink.append, HooksSettings(**{"custom_dir": CUSTOM} | hooks))


def policy_of(tree: dict[str, Any], sink: Sink | None = None, ask: AskHuman | None = None, **hooks: Any) -> TurnPolicy:
    policy = book_of(tree, sink or Sink(), **hooks).for_turn(FACTS, ask)
    assert policy is not None
    return policy


def test_the_policy_of_a_keys_turns_is_its_makers() -> None:
    denying = document_of({"pre_tool_use": [{"type": "dangerous_confirmation"}]})
    engine = PolicyEngine(lambda user: denying if user == "anna" else document_of({}), Sink().append, HooksSettings())

    assert engine.for_turn(replace(FACTS, user_id="anna/visitor"), None) is not None
    assert engine.for_turn(replace(FACTS, user_id="bert/anna"), None) is None


def call(name: str = "shell", permission: Permission = "WRITE", **arguments: Any) -> ToolInvocation:
    return ToolInvocation(id="c1", name=name, arguments=arguments, permission=permission)


RM = call(command="rm -rf /")
LS = call(command="ls")


def outcome(content: str = "fine", **more: Any) -> ToolOutcome:
    return ToolOutcome(id="c1", name="shell", content=content, **more)


def human(*answers: Answer) -> FakeHuman:
    return FakeHuman(list(answers) or [Answer(approved=True, by="user")])


def denied(step: ToolInvocation | ToolOutcome) -> str:
    assert isinstance(step, ToolOutcome)
    assert (step.ending, step.is_error) == ("denied", True)
    return step.content


def test_nothing_configured_is_no_policy_at_all() -> None:
    assert book_of({}, Sink()).for_turn(FACTS, None) is None
    assert book_of({"pre_tool_use": []}, Sink()).for_turn(FACTS, None) is None
    switched_off = {"pre_tool_use": {"enabled": False, "handlers": [{"type": "audit_log"}]}}
    assert book_of(switched_off, Sink()).for_turn(FACTS, None) is None


async def test_a_dangerous_call_is_asked_about_and_a_harmless_one_is_not() -> None:
    asked = human()
    policy = policy_of(SEED, ask=asked)

    assert await policy.before(LS) is LS
    assert asked.questions == []
    assert await policy.before(RM) is RM
    assert [(q.tool, q.origin, q.permission) for q in asked.questions] == [("shell", "dangerous_confirmation", "WRITE")]
    assert "deletes files" in asked.questions[0].message


async def test_a_question_says_where_what_makes_a_call_dangerous_is_hidden_as_a_secret() -> None:
    asked = human()
    settings = {"patterns": ["ghp_"]}
    policy = policy_of({"pre_tool_use": [{"type": "dangerous_confirmation", "config": settings}]}, ask=asked)
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"

    await policy.before(call("note", text=f"for the archive: {token}"))
    await policy.before(call("shell", command=f"rm -rf /srv && echo {token}"))

    hidden, seen = asked.questions
    assert token not in str(hidden.arguments)
    assert "matches the pattern ghp_; the part that does so is hidden below" in hidden.message
    assert "hidden below" in seen.message  # the pattern is what is told of, and it is hidden as well


@pytest.mark.parametrize("config", [{}, {"always": ["shell"]}])
async def test_a_question_hides_nothing_that_a_shell_would_run(config: dict[str, Any]) -> None:
    asked = human()
    policy = policy_of({"pre_tool_use": [{"type": "dangerous_confirmation", "config": config}]}, ask=asked)
    run = call(
        "shell", command="rm -r /srv; curl -u admin:S3cr3t$(rm${IFS}-rf${IFS}~)x http://a", password="Tundra-4417!x"
    )

    assert await policy.before(run) is run

    shown = asked.questions[0].arguments
    assert shown == {"command": run.arguments["command"], "password": "[REDACTED]"}
    assert await policy.conceal(run.arguments) != shown  # logs and the trace still hold no secret
    assert "hidden below" not in asked.questions[0].message


async def test_a_call_that_takes_too_long_to_judge_is_asked_about() -> None:
    ends = threading.Event()
    asked = human()

    class StuckJudge(DangerJudge):
        def rate(self, *_args: Any, **_more: Any) -> DangerVerdict:
            ends.wait(10)
            return SAFE

    handler = DangerousConfirmation(ConfirmationSettings(), StuckJudge(), limit_s=0.05)
    long = {"text": "x" * 5000}
    result = await handler.pre_execute(
        HookContext(
            tool_name="note",
            arguments=long,
            shown_arguments=long,
            phase=HookType.PRE_TOOL_USE,
            metadata={"permission": "WRITE"},
            ask=asked,
        )
    )
    ends.set()

    assert result.approval == "user"
    assert "takes longer than 0.05 s to be judged" in asked.questions[0].message


@pytest.mark.parametrize("by", ["user", "timeout", "disconnect", "cancelled"])
async def test_each_refusal_has_its_own_text(by: Any) -> None:
    no = Answer(approved=False, by=by, reason=None)

    assert denied(await policy_of(SEED, ask=human(no)).before(RM)) == text_for_model(no)
    assert "nobody can be asked" in denied(await policy_of(SEED).before(RM))


async def test_the_lists_of_tools_and_patterns_of_ones_own_count() -> None:
    asked = human()
    settings = {"always": ["clock*"], "never": ["sandbox_*"], "patterns": ["Projekt X", r"re:order \d+"]}
    policy = policy_of({"pre_tool_use": [{"type": "dangerous_confirmation", "config": settings}]}, ask=asked)

    await policy.before(call("sandbox_shell", command="rm -rf /"))
    assert asked.questions == []
    await policy.before(call("clock", "READ"))
    await policy.before(call("note", text="about projekt x"))
    await policy.before(call("note", text="order 66"))
    assert len(asked.questions) == 3


@pytest.mark.parametrize(("unknown", "questions"), [("allow", 0), ("ask", 1)])
async def test_a_call_that_nothing_is_known_of_is_asked_about_where_configured(unknown: str, questions: int) -> None:
    asked = human()
    entry = {"type": "dangerous_confirmation", "config": {"unknown": unknown}}
    policy = policy_of({"pre_tool_use": [entry]}, ask=asked)

    for given in (call("frobnicate_widget", color="red"), LS, call("read_file", "READ", path="a")):
        assert await policy.before(given) is given
    assert [(question.tool, "covered by no rule" in question.message) for question in asked.questions] == [
        ("frobnicate_widget", True)
    ] * questions


@pytest.mark.parametrize(
    ("given", "destructive", "is_asked"),
    [
        (call("paint_widget", color="red"), True, True),
        (call("paint_widget", color="red"), None, False),
        (call("delete_widget", id="7"), None, True),
        (call("delete_widget", id="7"), False, False),
        (RM, False, True),
        (call("query", sql="DROP TABLE users"), False, True),
    ],
)
async def test_a_trusted_servers_word_spares_the_tools_name_but_no_command(
    given: ToolInvocation, destructive: bool | None, is_asked: bool
) -> None:
    asked = human()
    policy = policy_of({"pre_tool_use": [{"type": "dangerous_confirmation"}]}, ask=asked)

    await policy.before(replace(given, destructive=destructive))

    assert bool(asked.questions) is is_asked


async def test_the_operators_own_danger_table_goes_over_the_built_in_one(tmp_path: Path) -> None:
    table, asked = tmp_path / "danger.toml", human()
    [example] = re.findall(r"```toml\n(# danger.toml\n.*?)```", DOCS.read_text(), re.DOTALL)
    table.write_text(example)
    policy = policy_of({"pre_tool_use": [{"type": "dangerous_confirmation"}]}, ask=asked, danger_table=table)

    for given in (call("ignite_engine"), call(command="deployctl restart prod1"), call(command="deployctl status")):
        await policy.before(given)

    assert ["starts a machine" in q.message or "restarts production" in q.message for q in asked.questions] == [
        True
    ] * 2


async def test_the_operators_own_secrets_table_goes_over_the_built_in_one(tmp_path: Path) -> None:
    table = tmp_path / "secrets.toml"
    [example] = re.findall(r"```toml\n(# secrets.toml\n.*?)```", DOCS.read_text(), re.DOTALL)
    table.write_text(example)
    text = "doorword: Regenschirm#88 and acme-live-4f9k2m7q8w3e5r6t, password: Lampenschirm#77"

    clean = await policy_of(SEED, secrets_table=table).after(LS, outcome(text))
    plain = await policy_of(SEED).after(LS, outcome(text))

    assert clean.content == "doorword: [REDACTED] and [REDACTED], password: [REDACTED]"
    assert plain.content == text.replace("Lampenschirm#77", "[REDACTED]")


@pytest.mark.parametrize("key", ["danger_table", "secrets_table"])
def test_a_mistake_in_a_table_of_ones_own_is_told_before_anything_starts(tmp_path: Path, key: str) -> None:
    (tmp_path / "own.toml").write_text("[nonsense]\n")

    with pytest.raises(ConfigError, match=r"own\.toml"):
        book_of({}, Sink(), **{key: tmp_path / "own.toml"}).check_config(document_of({}))


async def test_edited_arguments_pass_the_others_again_and_the_same_question_is_not_asked_twice() -> None:
    edit = Answer(approved=True, by="user", arguments={"command": "rm -rf prod"})
    asked = human(edit)
    stages = {"pre_tool_use": [{"type": "no_prod"}, {"type": "dangerous_confirmation"}]}

    assert denied(await policy_of(stages, ask=asked).before(RM)) == "Not in production."
    assert len(asked.questions) == 1

    fine = human(replace(edit, arguments={"command": "rm -rf ./build"}))
    step = await policy_of(stages, ask=fine).before(RM)
    assert isinstance(step, ToolInvocation)
    assert step.arguments == {"command": "rm -rf ./build"}
    assert len(fine.questions) == 1


async def test_edits_without_end_end() -> None:
    stages = {"pre_tool_use": [{"type": "dangerous_confirmation"}, {"type": "dangerous_confirmation"}]}
    turncoat = human(*(Answer(approved=True, by="user", arguments={"command": f"rm {n}"}) for n in range(99)))

    assert "changed too often" in denied(await policy_of(stages, ask=turncoat).before(RM))
    assert len(turncoat.questions) == MAX_EDITS + 1


async def test_the_audit_log_tells_the_whole_story() -> None:
    sink = Sink()
    policy = policy_of(SEED, sink, human(Answer(approved=True, by="voice"), Answer(approved=False, by="timeout")))

    await policy.before(RM)
    await policy.after(RM, outcome(f"done {SECRET}", duration_ms=12.5))
    refusal = await policy.before(RM)
    assert isinstance(refusal, ToolOutcome)
    await policy.after(RM, refusal)
    await policy.after(LS, outcome("shell failed: OSError", ending="failed", is_error=True))

    assert sink.told == [
        ("pre_tool_use", "called", "audit_log"),
        ("pre_tool_use", "approved", "dangerous_confirmation"),
        ("post_tool_use", "ran", "audit_log"),
        ("pre_tool_use", "called", "audit_log"),
        ("pre_tool_use", "denied", "dangerous_confirmation"),
        ("tool_skip", "denied", "audit_log"),
        ("tool_error", "failed", "audit_log"),
    ]
    assert [entry.approval for entry in sink.entries] == ["", "voice", "", "", "timeout", "", ""]
    ran = sink.entries[2]
    assert (ran.user, ran.session, ran.turn, ran.call, ran.tool) == ("anna", "s", "t", "c1", "shell")
    assert (ran.address, ran.duration_ms, ran.details) == ("192.0.2.1", 12.5, {"redacted": {"github_token": 1}})
    assert SECRET not in str(sink.entries)
    assert "OSError" in sink.entries[-1].result


async def test_an_audit_log_that_stands_behind_tells_what_a_human_answered_too() -> None:
    sink = Sink()
    tree = {"pre_tool_use": [{"type": "dangerous_confirmation"}, {"type": "audit_log"}]}
    policy = policy_of(tree, sink, human(Answer(approved=True, by="voice"), Answer(approved=False, by="timeout")))

    await policy.before(RM)
    await policy.before(RM)

    assert [(entry.outcome, entry.handler, entry.approval) for entry in sink.entries] == [
        ("approved", "dangerous_confirmation", "voice"),
        ("called", "audit_log", ""),
        ("denied", "dangerous_confirmation", "timeout"),
    ]


async def test_a_redaction_reaches_model_and_user_and_leaves_the_rest() -> None:
    given = outcome(f'{{"n": 1, "token": "{SECRET}"}}', for_user=f"see {SECRET}", is_handled=True)

    clean = await policy_of(SEED).after(LS, given)

    assert clean.content == '{"n": 1, "token": "[REDACTED]"}'
    assert clean.for_user == "see [REDACTED]"
    assert clean == replace(given, content=clean.content, for_user=clean.for_user)
    assert await policy_of(SEED).after(LS, fine := outcome("fine")) is fine


@pytest.mark.parametrize("ending", ["ran", "answered", "failed", "denied", "skipped"])
async def test_whatever_became_of_a_call_its_text_is_scanned(ending: Any) -> None:
    clean = await policy_of({"post_tool_use": [{"type": "security_scan"}]}).after(LS, outcome(SECRET, ending=ending))

    assert clean.content == "[REDACTED]"


async def test_the_scan_comes_before_those_who_look_wherever_it_stands() -> None:
    sink = Sink()
    stages = {"post_tool_use": [{"type": "audit_log"}, {"type": "security_scan"}, {"type": "shout"}]}

    clean = await policy_of(stages, sink).after(LS, outcome(f"a password: {SECRET}"))

    assert SECRET not in str(sink.entries)
    assert clean.content.startswith("A PASSWORD")


async def test_what_cannot_be_scanned_is_withheld(caplog: pytest.LogCaptureFixture) -> None:
    class Unreadable(str):
        __slots__ = ()

        def __len__(self) -> int:
            raise RuntimeError("no")

    sink = Sink()
    given = outcome("x", for_user="y")
    object.__setattr__(given, "content", Unreadable(SECRET))

    clean = await policy_of(SEED, sink).after(LS, given)

    assert (clean.content, clean.for_user, clean.is_error) == (WITHHELD, "", True)
    assert sink.entries[0].details == {"redacted": {"withheld": 1}}
    assert SECRET not in caplog.text


async def test_what_takes_too_long_to_scan_is_withheld_or_refused_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.toolguard.scans.LIMIT_S", 0.02)
    sink, slow, why = Sink(), "密码:" * 50_000, "scanning it for secrets took longer than 0.02 s"
    denying = policy_of({"pre_tool_use": [{"type": "security_scan", "config": {"arguments": "deny"}}]})

    clean = await policy_of(SEED, sink).after(LS, outcome(slow))
    shown = await policy_of(SEED).conceal({"text": slow})
    refused = denied(await denying.before(call("send", text=slow)))

    assert (clean.content, clean.for_user, clean.is_error) == (f"[The result was withheld: {why}.]", "", True)
    assert sink.entries[0].details == {"redacted": {"withheld": 1}}
    assert shown == {"withheld": why}
    assert f"(security_scan: {why})" in refused


@pytest.mark.slow
async def test_one_users_slow_scans_hold_up_nobody_elses() -> None:
    """Eight results of a mebibyte take 16 s together; somebody else's waits for none of them."""
    engine = book_of(SEED, Sink())
    policy = engine.for_turn(FACTS, None)
    assert policy is not None
    engine.load_rules(frozenset({"security_scan"}))
    turn_share.set(Share("greedy"))
    greedy = [asyncio.create_task(policy.after(LS, outcome("密码:" * 340_000))) for _ in range(8)]
    await settle()

    turn_share.set(Share("bystander"))
    for _ in range(10):
        await policy.after(LS, outcome("INFO session 12 of anna, 17 ms\n" * 200))
    ended = sum(task.done() for task in greedy)
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)

    assert ended < 8


async def test_a_result_that_is_too_long_to_be_scanned_is_cut_before_any_half_secret() -> None:
    text = "x " * (MAX_CHARS // 2 - 10) + SECRET + " y" * 100

    clean, _ = await SecretScanner().scan_text(text)

    assert SECRET[:12] not in clean
    assert "more than can be scanned" in clean


async def test_arguments_are_shown_without_their_secrets_and_run_with_them() -> None:
    asked = human()
    policy = policy_of(SEED, ask=asked)
    given = call(command=f"rm x; login {SECRET}")

    assert await policy.before(given) is given
    shown = await policy.conceal(given.arguments)

    assert shown == {"command": "rm x; login [REDACTED]"}
    assert asked.questions[0].arguments == shown
    assert asked.questions[0].real_arguments is given.arguments
    assert await policy.conceal(given.arguments) is shown
    assert await policy.conceal(LS.arguments) is LS.arguments


async def test_a_scan_can_refuse_calls_that_carry_secrets() -> None:
    policy = policy_of({"pre_tool_use": [{"type": "security_scan", "config": {"arguments": "deny"}}]})

    text = denied(await policy.before(call("send", text=SECRET)))

    assert "github_token" in text
    assert SECRET not in text
    assert await policy.before(LS) is LS


async def test_a_turn_keeps_the_policy_it_began_with() -> None:
    tree: dict[str, Any] = {"pre_tool_use": [{"type": "no_prod", "config": {"word": "live"}}]}
    book = book_of(tree, Sink())
    before = book.for_turn(FACTS, None)
    tree.clear()

    assert before is not None
    assert denied(await before.before(call(env="live"))) == "Not in production."
    assert book.for_turn(FACTS, None) is None


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ({"pre_tool_use": [{"type": "audit"}]}, "hooks.pre_tool_use.handlers[0].type: there is no handler `audit`"),
        (
            {"pre_tool_use": [{"type": "audit_log", "filter": {"arguments": {"a": "re:("}}}]},
            "hooks.pre_tool_use.handlers[0].filter.arguments: `re:(` is not a valid regular expression",
        ),
    ],
)
def test_a_mistake_in_parley_yaml_is_told_before_anything_starts(tree: dict[str, Any], told: str) -> None:
    book = book_of(tree, Sink())

    with pytest.raises(ConfigError) as caught:
        book.check_config(document_of(tree))

    assert told in str(caught.value)


def test_a_handler_of_ones_own_stands_where_it_has_a_method() -> None:
    kinds = {kind.name: kind for kind in book_of({}, Sink()).custom_specs}

    assert set(kinds) == {"no_prod", "shout"}
    assert kinds["no_prod"].description == "Refuses calls that name production."
    assert kinds["no_prod"].stages == ("pre_tool_use",)
    assert kinds["shout"].stages == ("post_tool_use",)
    with pytest.raises(ConfigError, match="`no_prod` does not work at tool_skip, only at pre_tool_use"):
        book_of({}, Sink()).check_config(document_of({"tool_skip": [{"type": "no_prod"}]}))


def test_a_folder_that_cannot_be_trusted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"hooks\.custom_dir"):
        book_of({}, Sink(), custom_dir=tmp_path / "none")
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigError, match="is writable by everybody"):
        book_of({}, Sink(), custom_dir=tmp_path)


def test_the_log_tells_why_a_file_cannot_be_loaded_without_the_secrets_it_quotes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bad.py").write_text(
        f"login = 'postgres://app:{SECRET}@db/shop'\nraise RuntimeError(f'no {{login}}')\n"
    )
    (tmp_path / "script.py").write_text("import sys\ndef pre_execute(ctx): ...\nsys.exit(0)\n")
    (tmp_path / "audit_log.py").write_text("def pre_execute(ctx): ...")
    for name in ("empty.py", "Bad-Name.py"):
        (tmp_path / name).write_text("")

    with caplog.at_level(logging.WARNING):
        assert book_of({}, Sink(), custom_dir=tmp_path).custom_specs == ()

    assert all(path.name in caplog.text for path in tmp_path.glob("*.py"))
    assert "RuntimeError: no postgres://app:[REDACTED]@db/shop" in caplog.text
    assert SECRET not in caplog.text
