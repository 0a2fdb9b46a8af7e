"""hook_tools/replay.py: what has changed since a recording."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hook_tools.replay import Exchange, RecordedProcess, Replayed, compare, read_recording, replay
from hook_tools.trial import Plan, Trial
from server import config
from server.hooks.process.recording import Recording
from tests.hooks.serving import CHILDREN


def result(value: Any) -> dict[str, Any]:
    return {"result": value}


@pytest.mark.parametrize(
    ("was", "now", "differences"),
    [
        (result({"a": 1}), result({"a": 1}), []),
        (result({"a": {"b": [1, 2]}}), result({"a": {"b": [1, 3]}}), ["result.a.b[1] was 2, is 3"]),
        (result({"a": 1}), result({}), ["result.a is gone; it was 1"]),
        (result({}), result({"a": 1}), ["result.a is new: 1"]),
        (result([1]), result([1, 2]), ["result was [1], is [1, 2]"]),
        (None, {"none": "no reply"}, []),
        (None, result({}), ['there was no reply; now: {"result": {}}']),
        (result({}), {"none": "no reply within 5000 ms"}, ["no reply within 5000 ms"]),
        ({"error": {"message": "a"}}, {"error": {"message": "b"}}, []),
        ({"error": {"message": "a"}}, result({}), ["there was an error; now: {}"]),
        (result({}), {"error": {"message": "b"}}, ["now an error: b"]),
    ],
)
def test_replies_are_compared_key_by_key(was: Any, now: dict[str, Any], differences: list[str]) -> None:
    assert compare(Exchange(method="hook.before_tool", params={}, id=1, reply=was), now) == differences


def test_a_reply_that_differs_everywhere_is_cut() -> None:
    was = Exchange(method="x", params={}, id=1, reply=result({f"k{n:02}": 1 for n in range(30)}))

    assert compare(was, result({}))[-1] == "and 10 more"


async def recorded(path: Path, *answers: str) -> list[RecordedProcess]:
    hook = hook_with(*answers)
    recording = Recording(path, "scripted", hook.command)
    await Trial(Plan(name="scripted", hook=hook), os.environ, show=lambda _: None, on_line=recording.add).run()
    recording.close()
    return read_recording(path)


def hook_with(*answers: str) -> config.ProcessHookSettings:
    command = [sys.executable, str(CHILDREN / "scripted.py"), *answers]
    return config.ProcessHookSettings(command=command, intercept=["before_tool"], observe=["*"])


async def test_a_recording_of_a_trial_is_replayed_call_by_call(tmp_path: Path) -> None:
    processes = await recorded(tmp_path / "a.jsonl", 'hook.before_tool={"action": "continue"}')
    same, other = list[Replayed](), list[Replayed]()
    unchanged, changed = (hook_with(f'hook.before_tool={{"action": "{action}"}}') for action in ("continue", "modify"))
    await replay(processes, unchanged, os.environ, wait_s=5, show=same.append)
    await replay(processes, changed, os.environ, wait_s=5, show=other.append)

    assert [call.method for call in same] == ["hook.hello"] + 8 * ["hook.before_tool"]
    assert not any(call.differences for call in same)
    assert other[1].differences == ['result.action was "continue", is "modify"']
