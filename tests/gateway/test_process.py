"""server/app.py and server/__main__.py: the real process, from its first line to its exit code."""

import asyncio
import json
import logging
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import ClientSession

from server import __version__
from server.__main__ import main
from tests.support.client import client
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

NO_PLANNING = {"agent": {"planning": False}}


async def test_it_listens_says_so_answers_and_ends_on_sigterm(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(text("Hello ", "there."))
    environ = {**endpoint(model.url), "PARLEY_LOG__FORMAT": "auto"}
    async with ServerProcess(tmp_path, environ=environ, settings=NO_PLANNING) as server:
        assert server.lines == [f"listening on {server.url}"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.url)
        async with client(server.ws_url) as me:
            host = model.url.split("/")[2]
            known = {"name": "scripted", "host": host, "location": "local", "languages": []}
            assert me.frames[0]["model"] == known
            assert (await me.turn(id="t1"))[-1]["reason"] == "completed"
            server.signal(signal.SIGTERM)
            assert await me.closed() == 1001
        assert await asyncio.to_thread(server.wait) == 0
        await asyncio.to_thread(server.wait_for_line, "data: ")

    assert server.lines[1:] == [
        f"model: scripted at {model.url.split('/')[2]} (from OPENAI_API_KEY)",
        f"data: {tmp_path / 'data'}",
    ]
    lines = [json.loads(line) for line in server.log().splitlines()]
    [ended] = [line for line in lines if line.get("turn") == "t1"]
    assert (ended["level"], ended["session"]) == ("info", me.frames[0]["session_id"])
    assert "completed" in ended["message"]
    assert "test-key" not in server.log()
    assert "there" not in server.log()
    assert (tmp_path / "data" / "secret").stat().st_mode & 0o777 == 0o600


async def test_it_lets_a_running_turn_end_and_a_second_signal_ends_it_at_once(
    tmp_path: Path, model: OpenAIServer
) -> None:
    model.queue(text("On and ", Gate(), "on."))
    process = ServerProcess(tmp_path, environ=endpoint(model.url), settings=NO_PLANNING)
    async with process as server, client(server.ws_url) as me:
        await me.chat()
        await me.until("text")
        server.signal(signal.SIGINT)
        async with ClientSession() as http:
            await drained(http, server.url)
        server.signal(signal.SIGINT)
        assert await asyncio.to_thread(server.wait) == 128 + signal.SIGINT


async def drained(http: ClientSession, url: str) -> None:
    async with asyncio.timeout(30):
        while True:
            async with http.get(f"{url}/readyz") as answer:
                if (await answer.json())["draining"]:
                    return


# what keeps it from starting


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """As of somebody with an empty home and an endpoint; the log set up meanwhile is taken down again."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield {
        "HOME": str(tmp_path),
        "PARLEY_DATA__DIR": str(tmp_path / "data"),
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }
    root.handlers[:] = handlers
    root.setLevel(level)


Capture = pytest.CaptureFixture[str]


def test_a_wrong_setting_is_one_line_that_names_it(tmp_path: Path, environ: dict[str, str], capsys: Capture) -> None:
    file = tmp_path / "parley.yaml"
    file.write_text("listen: {prot: 1}\n")

    assert main(["--config", str(file)], environ) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("parley: listen.prot: unknown key")
    assert err.count("\n") == 1


def test_a_port_that_is_taken_is_said_with_the_cure(environ: dict[str, str], capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["--port", str(taken.getsockname()[1])], environ) == 2

    error = capsys.readouterr().err
    assert "the port is taken" in error
    assert "--port" in error
    assert "Traceback" not in error


def test_it_does_not_open_itself_to_others_without_a_word(environ: dict[str, str], capsys: Capture) -> None:
    assert main(["--host", "0.0.0.0", "--port", "0"], environ) == 2
    assert "security.auth: none" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_is_a_port(port: str, environ: dict[str, str], capsys: Capture) -> None:
    assert main([f"--port={port}"], environ) == 2
    assert "--port" in capsys.readouterr().err


def test_a_key_file_that_holds_nonsense_is_said(tmp_path: Path, environ: dict[str, str], capsys: Capture) -> None:
    (tmp_path / "secret").write_text("short\n")

    assert main(["--port", "0"], {**environ, "PARLEY_SECURITY__SECRET_FILE": str(tmp_path / "secret")}) == 2
    error = capsys.readouterr().err
    assert "security.secret_file" in error
    assert "short\n" not in error


def test_a_certificate_that_cannot_be_read_is_said(tmp_path: Path, environ: dict[str, str], capsys: Capture) -> None:
    tls = {"PARLEY_LISTEN__TLS__CERT": str(tmp_path / "no.pem"), "PARLEY_LISTEN__TLS__KEY": str(tmp_path / "no.pem")}

    assert main(["--port", "0"], {**environ, **tls}) == 2
    assert "listen.tls" in capsys.readouterr().err


def test_version_and_help(environ: dict[str, str], capsys: Capture) -> None:
    for flag, word in (("--version", f"parley {__version__}\n"), ("--help", "PARLEY_LOG__LEVEL")):
        with pytest.raises(SystemExit) as ended:
            main([flag], environ)
        assert ended.value.code == 0
        assert word in capsys.readouterr().out
