"""`python -m server.models` as its user meets it, up to a server that answers with the model that was fetched."""

import asyncio
import hashlib
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from clients.models import main
from server.llm.embedded_process import model_path
from server.models.model_choice import EmbeddedChoice, FileChoice, load_choice
from tests.support.client import client
from tests.support.file_server import Fault, file_server
from tests.support.gguf_files import CALLS_TOOLS, copy_with_template, header
from tests.support.server_process import ROOT, ServerProcess

BODY = header() + b"\0" * 2_000_000
HASH = hashlib.sha256(BODY).hexdigest()


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PARLEY_DATA__DIR": str(tmp_path / "data"), **more}


async def begin(tmp_path: Path, *arguments: str, **more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.models", *arguments),
        cwd=ROOT,
        env=environ(tmp_path, **more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def run(tmp_path: Path, *arguments: str, **more: str) -> tuple[int | None, str, str]:
    process = await begin(tmp_path, *arguments, **more)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def put(tmp_path: Path, name: str, body: bytes = BODY) -> Path:
    path = tmp_path / "data" / "models" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


@pytest.mark.asyncio
async def test_a_model_is_fetched_chosen_answers_and_is_deleted(tmp_path: Path) -> None:
    weights = tmp_path / "weights.gguf"
    copy_with_template(model_path(), weights, CALLS_TOOLS)
    async with file_server(weights.read_bytes()) as files:
        code, out, _ = await run(tmp_path, "get", files.url)
        assert code == 0
        assert "downloading 100 % of 0.10 GB\nchecking " in out
        assert f"SHA-256 {hashlib.sha256(files.body).hexdigest()} (computed and pinned)" in out

    code, out, _ = await run(tmp_path, "use", "model")
    assert (code, out) == (0, "from the next start of the server on, model.gguf (llama) answers\n")
    async with ServerProcess(tmp_path, settings={"llm": {"max_tokens": 16}}) as server:
        await asyncio.to_thread(server.wait_for_line, "model: model at this machine (no key needed)")
        async with client(server.ws_url) as me:
            frames = await me.turn("Say hello to me, please.")
            assert frames[-1]["reason"] == "completed"
            assert "".join(frame["delta"] for frame in frames if frame["type"] == "text").strip()

    code, _, err = await run(tmp_path, "rm", "model")
    assert (code, err) == (1, "parley: model.gguf is the model that answers; `use embedded` or another one first\n")
    assert (await run(tmp_path, "use", "embedded"))[0] == 0
    assert (await run(tmp_path, "rm", "model"))[0] == 0
    assert [path.name for path in (tmp_path / "data" / "models").iterdir()] == ["model.gguf.sha256"]


@pytest.mark.asyncio
async def test_after_ctrl_c_the_same_command_continues(tmp_path: Path) -> None:
    async with file_server(BODY) as files:
        files.faults = [Fault(cut_after=1_000_000, is_silent=True)]
        process = await begin(tmp_path, "get", files.url)
        assert process.stdout is not None
        while not re.search(rb" 4\d %", line := await process.stdout.readline()):
            assert line
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        assert process.returncode == 130
        assert err == b"\nstopped; what has come is kept, and the same command continues\n"

        code, out, _ = await run(tmp_path, "get", files.url, "--sha256", HASH.upper())
        assert (code, f"SHA-256 {HASH} (as given)" in out) == (0, True)
        assert "range" in files.requests[1]


@pytest.mark.asyncio
async def test_a_recommended_model_comes_from_its_publisher_or_the_mirror_in_the_size_it_states(tmp_path: Path) -> None:
    async with file_server(BODY) as files:
        mirror = files.url.partition("/org")[0]
        code, _, err = await run(tmp_path, "get", "qwen3-0.6b-q8_0", HF_ENDPOINT=mirror)

    assert files.requests[0]["path"] == "/Qwen/Qwen3-0.6B-GGUF/resolve/main/Qwen3-0.6B-Q8_0.gguf"
    assert (code, f"has a file of {len(BODY)} bytes, not of 639446688" in err) == (1, True)


@pytest.mark.asyncio
async def test_a_wrong_hash_fails_and_leaves_nothing(tmp_path: Path) -> None:
    async with file_server(BODY) as files:
        code, _, err = await run(tmp_path, "get", files.url, "--sha256", "0" * 64)

    assert (code, f"the SHA-256 of model.gguf is {HASH}, not the one given" in err) == (1, True)
    assert list((tmp_path / "data" / "models").iterdir()) == []


def test_the_list_has_what_is_there_and_what_can_be_fetched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], environ(tmp_path)) == 0
    assert f"no models in {tmp_path}/data/models yet" in capsys.readouterr().out

    put(tmp_path, "mine.gguf")
    put(tmp_path, "Qwen3-0.6B-Q8_0.gguf")
    put(tmp_path, "late.gguf.part")
    put(tmp_path, "late.gguf.part.source", b'{"url": "http://a/late.gguf", "version": "", "total": 4000000}')
    assert main(["use", "mine"], environ(tmp_path)) == 0
    capsys.readouterr()
    assert main(["list"], environ(tmp_path)) == 0
    out = capsys.readouterr().out

    assert "* mine.gguf  0.00 GB  SHA-256 not pinned\n" in out
    assert "  late.gguf  0.00 GB of 0.00 GB: not complete, `get` continues\n" in out
    assert out.count("Qwen3-0.6B") == 1
    assert "Apache-2.0  https://huggingface.co/Qwen/Qwen3-8B-GGUF/resolve/main/Qwen3-8B-Q4_K_M.gguf\n" in out


def test_a_model_that_was_changed_after_its_download_is_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "mine.gguf")
    put(tmp_path, "mine.gguf.sha256", b"0" * 64 + b"  mine.gguf\n")

    assert main(["use", "mine"], environ(tmp_path)) == 1
    assert f"mine.gguf has changed: its SHA-256 is {HASH}, pinned is {'0' * 64}" in capsys.readouterr().err
    assert load_choice(tmp_path / "data") is None


def test_a_choice_that_a_setting_overrides_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "mine.gguf")

    assert main(["use", "mine.gguf"], environ(tmp_path, OPENAI_BASE_URL="http://a/v1")) == 0
    assert "but OPENAI_BASE_URL is set and goes before this choice" in capsys.readouterr().out
    assert load_choice(tmp_path / "data") == FileChoice("mine.gguf")
    assert main(["use", "embedded"], environ(tmp_path)) == 0
    assert load_choice(tmp_path / "data") == EmbeddedChoice()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["use", "gone"], 1, "there is no model gone.gguf; `python -m server.models` lists what is there"),
        (["use", "broken"], 1, "broken.gguf is not a GGUF file"),
        (["rm", "gone"], 1, "there is no model gone.gguf"),
        (["rm", "../secret"], 1, "not the name of a model"),
        (["get", "qwen"], 1, "qwen: neither a recommended model nor an address"),
        (["--config", "gone.yaml", "list"], 2, "gone.yaml"),
    ],
)
def test_a_mistake_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    put(tmp_path, "broken.gguf", b"no")

    assert main(arguments, environ(tmp_path)) == code
    assert message in capsys.readouterr().err


def test_a_hash_that_is_none_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["get", "x", "--sha256", "12"], environ(tmp_path))
    assert "a SHA-256 has 64 digits" in capsys.readouterr().err
