"""server/hooks/process/process_settings.py: what the settings of a process hook come to, and what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from server.config import HooksSettings, ProcessHookSettings
from server.errors import ConfigError
from server.hooks.process.process_settings import enabled_hooks, event_hint, gate_stages, hello_modes, sent_stages

COMMAND = ["python3", "hook.py"]


def hook(**settings: Any) -> ProcessHookSettings:
    return ProcessHookSettings(**{"enabled": True, "command": COMMAND, "intercept": ["before_tool"], **settings})


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"transport": "http", "command": []}, 'unsupported transport "http"'),
        ({"command": [], "observe": ["x"]}, "command is required"),
        ({"command": [""]}, "command is required"),
        ({"observe": ["agent.*"], "intercept": ["x"]}, 'unsupported observe event "agent.*"'),
        ({"intercept": ["before_tool", "Before_LLM"]}, 'unsupported intercept "Before_LLM"'),
        ({"intercept": []}, "no hook modes enabled"),
        ({"event_kinds": "number"}, "event_kinds: number needs event_method: hook.event"),
        ({"intercept": [""]}, "no hook modes enabled"),
    ],
)
def test_a_wrong_entry_is_named_in_the_words_of_the_reference(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        enabled_hooks(HooksSettings(processes={"guard": hook(**settings)}))

    assert str(caught.value).startswith(f'configure process hook "guard": {problem}')


@pytest.mark.parametrize(
    ("settings", "choices"),
    [
        ({"transport": "http"}, "stdio"),
        ({"command": []}, '["python3", "my_hook.py"]'),
        ({"observe": ["tool_exec_ended"]}, 'did you mean "tool_exec_end"?'),
        ({"observe": ["x"]}, "* for all, and agent.turn.start, agent.turn.end"),
        ({"intercept": ["befor_tool"]}, "before_llm, after_llm, before_tool"),
        ({"intercept": []}, "before_llm, after_llm, before_tool"),
    ],
)
def test_a_wrong_entry_is_told_what_could_stand_there(settings: dict[str, Any], choices: str) -> None:
    with pytest.raises(ConfigError) as caught:
        enabled_hooks(HooksSettings(processes={"guard": hook(**settings)}))

    assert choices in str(caught.value)


def test_what_is_not_enabled_is_not_looked_at() -> None:
    wrong = hook(transport="http")

    assert enabled_hooks(HooksSettings(processes={"x": hook(enabled=False, transport="http")})) == {}
    assert enabled_hooks(HooksSettings(enabled=False, processes={"x": wrong})) == {}


def test_an_empty_transport_is_stdio() -> None:
    assert list(enabled_hooks(HooksSettings(processes={"x": hook(transport="")}))) == ["x"]


def test_lower_priority_is_asked_first_then_names_count_byte_by_byte() -> None:
    hooks = {"b": hook(), "é": hook(), "a": hook(priority=1), "z": hook(priority=-1), "B": hook()}

    assert list(enabled_hooks(HooksSettings(processes=hooks))) == ["z", "B", "b", "é", "a"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"observe": ["*"], "intercept": ["approve_tool", "after_tool", "before_llm"]}, "observe llm tool approve"),
        ({"intercept": ["after_llm"]}, "llm"),
        ({"intercept": ["before_tool"]}, "tool"),
        ({"observe": ["turn_end"], "intercept": []}, "observe"),
        ({"intercept": ["approve_tool"]}, "approve"),
    ],
)
def test_modes_follow_from_what_is_configured(settings: dict[str, Any], expected: str) -> None:
    assert hello_modes(hook(**settings)) == expected.split()


def test_only_configured_stages_are_sent_unless_pairs_are_asked_for() -> None:
    assert sent_stages(hook(intercept=["before_tool", ""])) == {"before_tool"}
    assert sent_stages(hook(intercept=["after_llm", "approve_tool"], pair_stages=True)) == {
        "before_llm",
        "after_llm",
        "approve_tool",
    }


def test_approvers_are_gates_and_so_is_all_of_a_closed_hook() -> None:
    assert gate_stages(hook(intercept=["approve_tool", "before_tool"])) == ["approve_tool"]
    assert gate_stages(hook(intercept=["approve_tool", "before_tool"], on_error="closed")) == [
        "before_tool",
        "approve_tool",
    ]
    assert gate_stages(hook(intercept=["before_tool"])) == []


@pytest.mark.parametrize(
    ("text", "settings", "is_hinted"),
    [
        ('if method == "hook.event": print(params["Kind"])', {}, True),
        ('if method in ("hook.event", "hook.runtime_event"): pass', {}, False),
        ('if method == "hook.before_tool": pass', {}, False),
        ('if method == "hook.event": pass', {"event_method": "hook.event"}, False),
        ('if method == "hook.event": pass', {"observe": []}, False),
    ],
)
def test_a_hook_that_knows_only_the_events_of_old_is_told_what_to_set(
    tmp_path: Path, text: str, settings: dict[str, Any], is_hinted: bool
) -> None:
    (tmp_path / "old.py").write_text(text)

    hint = event_hint(hook(**{"command": ["python3", "old.py"], "dir": tmp_path, "observe": ["*"], **settings}))

    assert (hint is not None) is is_hinted
    assert hint is None or ("event_method: hook.event" in hint and "event_kinds: number" in hint)


def test_a_program_that_cannot_be_read_gives_no_hint(tmp_path: Path) -> None:
    command = [str(tmp_path), "/dev/zero", "no\0path", "x" * 5000]

    assert event_hint(hook(command=command, observe=["*"])) is None
