"""What hears and speaks leaves no id of the machine behind, which onnxruntime makes before it sends anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.speech.worker import SpeechWorker, command_of
from tests.support.waiting import until


def test_voice_detection_tells_nobody_about_the_machine(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from server.speech.vad import SileroModel; SileroModel.load()"]
    told = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}

    subprocess.run(command, env={**told, "HOME": str(tmp_path)}, check=True, timeout=50)

    assert [*tmp_path.rglob("*")] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stt", "tts"])
async def test_ears_and_voice_tell_nobody_about_the_machine(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    worker = SpeechWorker(kind, command_of(kind))

    worker.start()
    await until(lambda: worker.status.state == "ready")
    await worker.aclose()

    assert [*tmp_path.rglob("*")] == []
