"""Handlers of the operator's own in a turn's policy: whatever they do, a guard's slip lets nothing through, and a call
that ran keeps its result."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.approval.asking import Answer, Question
from server.config import HookDefaults
from server.policy.engine import TurnPolicy
from tests.policy.test_engine import FACTS, LS, SECRET, Sink, book_of, call, denied, human, outcome, policy_of

HEAD = "from server.hooks.policy.types import HookAction, HookResult\nfrom server.hooks.types import Question\n"
QUESTION = "Question(tool=ctx.tool_name, arguments=ctx.arguments, message='', origin='mine')"


def own(folder: Path, stage: str, code: str, *, sink: Sink | None = None, **more: Any) -> TurnPolicy:
    """A policy with `code` as the handler `mine` at `stage`, before what else stands there."""
    (folder / "mine.py").write_text(HEAD + code)
    tree = more.pop("tree", {})
    return policy_of({**tree, stage: [{"type": "mine"}, *tree.get(stage, [])]}, sink, custom_dir=folder, **more)


async def test_a_guard_whose_answer_is_not_understood_refuses(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    answer = "HookResult(action='deny', message='no')"
    policy = own(tmp_path, "pre_tool_use", f"async def pre_execute(ctx):\n    return {answer}\n")

    assert "(mine gave " in denied(await policy.before(LS))
    policy = own(tmp_path, "post_tool_use", f"async def post_execute(ctx):\n    return {answer}\n")
    assert await policy.after(LS, given := outcome()) is given
    assert "the policy handler mine gave" in caplog.text


async def test_changed_arguments_run_and_a_handler_remembers_the_calls_of_one_user_only(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        f"{HEAD}class Handler:\n    def __init__(self, config):\n        self.seen = []\n"
        "    def pre_execute(self, ctx):\n        self.seen.append(ctx.user_id)\n"
        "        return HookResult(action=HookAction.MODIFY, modified_args={'seen': self.seen})\n"
    )
    book = book_of({"pre_tool_use": [{"type": "mine"}]}, Sink(), custom_dir=tmp_path)
    of_key = ("anna/visitor", ["anna", "anna", "anna"])  # the policy and its memory are the maker's
    for user, seen in (("anna", ["anna"]), ("bert", ["bert"]), ("anna", ["anna", "anna"]), of_key):
        policy = book.for_turn(replace(FACTS, user_id=user), None)
        assert policy is not None
        assert await policy.before(LS) == replace(LS, arguments={"seen": seen})


async def test_what_a_handler_changes_in_place_counts_for_nobody(tmp_path: Path) -> None:
    code = (
        "def pre_execute(ctx):\n"
        "    ctx.arguments['argv'].append('/home')\n    ctx.shown_arguments['argv'].append('/tmp')\n"
        "def post_execute(ctx):\n    ctx.arguments.clear()\n    ctx.shown_arguments.clear()\n"
    )
    asked, sink = human(), Sink()
    tree: dict[str, Any] = {
        "pre_tool_use": [{"type": "dangerous_confirmation"}],
        "post_tool_use": [{"type": "mine"}, {"type": "audit_log"}],
    }
    policy = own(tmp_path, "pre_tool_use", code, sink=sink, ask=asked, tree=tree)
    given = call(argv=["rm", "-rf", "/srv"])

    step = await policy.before(given)
    await policy.after(given, outcome())

    assert step is given
    assert (
        given.arguments == asked.questions[0].arguments == sink.entries[0].arguments == {"argv": ["rm", "-rf", "/srv"]}
    )


@pytest.mark.parametrize("arguments", ["ctx.arguments", "ctx.shown_arguments", "{**ctx.arguments, 'quiet': True}"])
async def test_what_a_handler_asks_shows_no_secrets(tmp_path: Path, arguments: str) -> None:
    question = f"Question(tool='shell', arguments={arguments}, message=f'Run {{ctx.arguments}}?', origin='mine')"
    asked = human()
    policy = own(
        tmp_path, "pre_tool_use", f"async def pre_execute(ctx):\n    await ctx.ask.ask({question})\n", ask=asked
    )
    given = call(command=f"login {SECRET}", password="Regenschirm#88")

    assert await policy.before(given) is given
    shown, changed = asked.questions[0], {"quiet": True} if "quiet" in arguments else {}

    assert shown.message == "Run {'command': 'login [REDACTED]', 'password': '[REDACTED]'}?"
    assert shown.arguments == {"command": "login [REDACTED]", "password": "[REDACTED]", **changed}
    assert shown.real_arguments == {**given.arguments, **changed}


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("sys.exit('usage: mine FILE')", "SystemExit"),
        ("raise asyncio.CancelledError", "CancelledError"),
        ("raise type('Odd', (BaseException,), {})", "Odd"),
        ("raise StopIteration", "RuntimeError"),
    ],
)
async def test_whatever_a_handler_raises_ends_neither_server_nor_turn(
    tmp_path: Path, kind: str, code: str, told: str
) -> None:
    method = f"{kind} pre_execute(ctx):\n    {code}\n{kind} post_execute(ctx):\n    {code}\n"
    tree = {"post_tool_use": [{"type": "mine"}]}
    policy = own(tmp_path, "pre_tool_use", f"import asyncio, sys\n{method}", tree=tree)
    given = outcome()

    assert f"mine failed: {told}" in denied(await policy.before(LS))
    assert await policy.after(LS, given) is given


@pytest.mark.parametrize("length", [0, 5000])
async def test_the_log_tells_where_a_handler_failed_without_the_secrets_it_quotes(
    tmp_path: Path, length: int, caplog: pytest.LogCaptureFixture
) -> None:
    code = f"def pre_execute(ctx):\n    raise ValueError(f'odd: {{ctx.arguments}}' + ' x' * {length})\n"

    denied(await own(tmp_path, "pre_tool_use", code).before(call(command=f"login {SECRET}", password="Regenschirm#88")))

    assert "mine.py" in caplog.text
    assert "ValueError: odd: {'command': 'login [REDACTED]', 'password': '[REDACTED]'}" in caplog.text
    assert SECRET not in caplog.text


async def test_a_turn_that_is_stopped_stops_its_handler(tmp_path: Path) -> None:
    is_asked = asyncio.Event()

    class Thinking:
        async def ask(self, _question: Question) -> Answer:
            is_asked.set()
            return await asyncio.Future[Answer]()

    code = f"async def pre_execute(ctx):\n    await ctx.ask.ask({QUESTION})\n"
    turn = asyncio.create_task(own(tmp_path, "pre_tool_use", code, ask=Thinking()).before(LS))
    await is_asked.wait()

    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


@pytest.mark.parametrize("slip", [f"raise ValueError('no {SECRET} here')", "sys.exit(2)"])
async def test_a_handler_that_cannot_be_built_refuses_and_the_log_tells_why_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, slip: str
) -> None:
    code = f"import sys\nclass Handler:\n    def __init__(self, config):\n        {slip}\n    def pre_execute(self, ctx): ...\n"

    assert "could not be checked" in denied(await own(tmp_path, "pre_tool_use", code).before(LS))

    assert "cannot be set up" in caplog.text
    assert "in __init__" in caplog.text
    assert SECRET not in caplog.text


async def test_a_handler_that_does_not_answer_in_time_refuses(tmp_path: Path) -> None:
    code = "import asyncio\nasync def pre_execute(ctx):\n    await asyncio.Event().wait()\n"
    policy = own(tmp_path, "pre_tool_use", code, defaults=HookDefaults(interceptor_timeout_ms=10))

    assert "took longer than 0.01 s" in denied(await policy.before(LS))
