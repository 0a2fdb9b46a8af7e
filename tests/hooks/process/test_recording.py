"""server/hooks/recording.py: a hook's traffic in a file, and back."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from hook_tools.replay import Exchange, RecordingUnusable, read_recording
from server.hooks.process.recording import Recording
from server.subprocesses.lines import Overlong


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_what_is_sent_read_and_complained_of_is_written_down_in_order(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recording = Recording(path, "weather", ["python3", "weather.py"])
    recording.add("out", b'{"id":1}\n')
    recording.add("in", bytearray('{"id":1,"result":{"city":"Zürich"}}'.encode()))
    recording.add("err", b"oh \xff")
    recording.add("in", Overlong(b"xxxx"))
    recording.close()
    recording.close()

    head, *entries = written(path)
    assert (head["hook"], head["command"]) == ("weather", ["python3", "weather.py"])
    assert [(entry["direction"], entry["line"]) for entry in entries] == [
        ("out", '{"id":1}'),
        ("in", '{"id":1,"result":{"city":"Zürich"}}'),
        ("err", "oh \ufffd"),
        ("in", "xxxx…"),
    ]
    assert all(entry["ms"] >= 0 for entry in entries)


def test_a_recording_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    Recording(path, "x", []).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_recording_stops_at_its_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "traffic.jsonl"
    recording = Recording(path, "x", [], max_bytes=500)
    for _ in range(100):
        recording.add("out", b"x" * 50)
    recording.close()

    assert path.stat().st_size <= 500
    assert caplog.messages == [f"the recording {path} is not complete: the file is full, or its disk too slow"]


def test_lives_are_appended_and_read_back_with_their_replies(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    for _ in range(2):
        recording = Recording(path, "weather", ["x"])
        recording.add("out", b'{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{}}\n')
        recording.add("out", b'{"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"turn_end"}}\n')
        recording.add("in", b"debug")
        recording.add("in", b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}')
        recording.add("err", b"fine")
        recording.close()

    lives = read_recording(path)
    assert [life.hook for life in lives] == ["weather", "weather"]
    hello, event = lives[1].exchanges
    assert hello.ms is not None
    assert (hello.method, hello.id, hello.reply) == (
        "hook.hello",
        1,
        {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}},
    )
    assert event == Exchange(method="hook.event", params={"Kind": "turn_end"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an empty recording"),
        ("hello\n", "line 1: not a JSON object"),
        ('{"ms": 1, "direction": "out", "line": "{}"}\n', "line 1: not a line of a recording"),
        ('{"hook": "x", "command": []}\n{"direction": "up"}\n', "line 2: not a line of a recording"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "traffic.jsonl"
    path.write_text(text)

    with pytest.raises(RecordingUnusable, match=words):
        read_recording(path)
