"""The names that handlers import and the commands that people run; they stay, wherever the code behind them moves."""

import subprocess
import sys

import pytest

import server.hooks.policy.types
import server.hooks.types
from server.approval.asking import Answer, Question
from server.policy.hook_types import HookAction, HookContext, HookResult, HookType

HANDLER_NAMES = ["ALLOW", "CONTINUE", "HookAction", "HookContext", "HookResult", "HookType"]
HOOK_NAMES = [
    "LOCAL_USER",
    "Abort",
    "Answer",
    "AnsweredBy",
    "ApproverVerdict",
    "AskHuman",
    "Deny",
    "Ending",
    "LlmAnswer",
    "LlmCall",
    "Permission",
    "Question",
    "Remember",
    "Respond",
    "StageContext",
    "ToolAnswer",
    "ToolCall",
    "ToolInvocation",
    "ToolOutcome",
    "ToolPolicy",
    "ToolRan",
    "ToolSpec",
    "TurnAborted",
    "TurnFacts",
]
COMMANDS = ["server.hooks", "server.storage", "server.talk"]


def test_custom_handlers_import_their_types_from_one_module() -> None:
    given = server.hooks.policy.types

    assert sorted(given.__all__) == sorted(HANDLER_NAMES)
    assert (given.HookAction, given.HookContext, given.HookResult, given.HookType) == (
        HookAction,
        HookContext,
        HookResult,
        HookType,
    )


def test_the_vocabulary_of_the_hook_layers_stays_importable() -> None:
    given = server.hooks.types

    assert sorted(given.__all__) == sorted(HOOK_NAMES)
    assert (given.Answer, given.Question) == (Answer, Question)
    assert all(hasattr(given, name) for name in HOOK_NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_can_be_run(command: str) -> None:
    done = subprocess.run([sys.executable, "-m", command, "--help"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert f"python -m {command}" in done.stdout
