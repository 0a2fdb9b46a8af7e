"""Handlers of the operator's own in a turn's policy: whatever they do, a guard's slip lets nothing through, and a call
that ran keeps its result."""

from pathlib import Path
from typing import Any

import pytest

from server.hooks.policy.policy import TurnPolicy
from server.hooks.types import Invocation
from tests.hooks.policy.test_policy import LS, Sink, denied, outcome, policy_of

HEAD = "from server.hooks.policy.types import HookAction, HookResult\n"


def own(folder: Path, stage: str, code: str, *, sink: Sink | None = None, **more: Any) -> TurnPolicy:
    """A policy with `code` as the handler `mine` at `stage`, before what else stands there."""
    (folder / "mine.py").write_text(HEAD + code)
    tree = more.pop("tree", {})
    return policy_of({**tree, stage: [{"type": "mine"}, *tree.get(stage, [])]}, sink, custom_dir=folder, **more)


@pytest.mark.parametrize(
    "answer",
    [
        "HookResult(action='deny', message='no')",
        "HookResult(action=False)",
        "HookResult(action=None)",
        "HookResult(action=HookAction.MODIFY)",
        "HookResult(action=HookAction.MODIFY_RESULT, modified_result='no')",
        "HookResult(action=HookAction.DENY, message=42)",
        "False",
    ],
)
async def test_a_guard_whose_answer_is_not_understood_refuses(
    tmp_path: Path, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    policy = own(tmp_path, "pre_tool_use", f"async def pre_execute(ctx):\n    return {answer}\n")

    assert "(mine gave " in denied(await policy.before(LS))
    assert "the policy handler mine gave" in caplog.text


@pytest.mark.parametrize(
    "code",
    [
        "    a = []\n    a.append(a)\n    return HookResult(action=HookAction.MODIFY_RESULT, modified_result=a)\n",
        "    return HookResult(action=HookAction.MODIFY_RESULT, modified_result={(1, 2): 3})\n",
        "    return HookResult(action=HookAction.DENY, message='too late')\n",
        "    return False\n",
    ],
)
async def test_an_odd_answer_after_the_call_leaves_its_result(tmp_path: Path, code: str) -> None:
    sink = Sink()
    tree = {"post_tool_use": [{"type": "audit_log"}]}
    policy = own(tmp_path, "post_tool_use", f"def post_execute(ctx):\n{code}", sink=sink, tree=tree)
    given = outcome()

    assert await policy.after(LS, given) is given
    assert [entry.outcome for entry in sink.entries] == ["ran"]


async def test_changed_arguments_are_those_that_run(tmp_path: Path) -> None:
    code = "    return HookResult(action=HookAction.MODIFY, modified_args={**ctx.arguments, 'cwd': '/srv'})\n"
    policy = own(tmp_path, "pre_tool_use", f"def pre_execute(ctx):\n{code}")

    step = await policy.before(LS)

    assert isinstance(step, Invocation)
    assert step.arguments == {"command": "ls", "cwd": "/srv"}
