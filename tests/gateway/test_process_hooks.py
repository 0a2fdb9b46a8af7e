"""Process hooks of the real server: at its start, when it reads its configuration anew, at its end."""

import asyncio
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from aiohttp import ClientSession

from tests.hooks.stage import CHILDREN
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint
from tests.support.waiting import LIMIT_S, children_of, is_alive, until

pytestmark = pytest.mark.slow


def entry(script: str, *arguments: str, **more: Any) -> dict[str, Any]:
    command = [sys.executable, str(CHILDREN / f"{script}.py"), *arguments]
    return {"enabled": True, "command": command, "intercept": ["approve_tool"], **more}


def hooks(**processes: Mapping[str, Any]) -> dict[str, Any]:
    return {"hooks": {"processes": processes}}


async def stage_of(server: ServerProcess, *, once: str) -> str | None:
    """What /readyz says of the process hooks, once it says it so."""
    async with asyncio.timeout(LIMIT_S), ClientSession() as http:
        while True:
            async with http.get(f"{server.url}/readyz") as answer:
                stages = {stage["name"]: stage for stage in (await answer.json())["stages"]}
            stage = stages.get("process hooks")
            if stage is not None and stage["state"] == once:
                detail: str | None = stage["detail"]
                return detail


def children(server: ServerProcess) -> list[int]:
    """The hooks that run now."""
    return [child.pid for child in children_of(server.pid, str(CHILDREN))]


async def logged(server: ServerProcess, text: str) -> None:
    await until(lambda: text in server.log())


async def test_they_start_with_the_server_are_exchanged_on_sighup_and_end_with_it(
    tmp_path: Path, model: OpenAIServer
) -> None:
    server = ServerProcess(tmp_path, environ=endpoint(model.url), settings=hooks(a=entry("echo"), b=entry("echo")))
    async with server:
        assert await stage_of(server, once="ready") == "2 up"
        before = children(server)

        wanted = hooks(a=entry("echo"), b=entry("echo", priority=1), c=entry("scripted", "hook.hello=exit 1"))
        (tmp_path / "parley.yaml").write_text(yaml.safe_dump(wanted))
        server.signal(signal.SIGHUP)
        assert await stage_of(server, once="missing") == "not up: c"
        await logged(server, "configuration read again: process hooks started c; restarted b")
        await until(lambda: len(set(before) & set(children(server))) == 1)
        after = children(server)
        server.signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.wait) == 0
        assert not any(psutil.pid_exists(pid) for pid in before + after)


async def test_a_policy_that_is_taken_over_is_told_beside_the_hooks(tmp_path: Path, model: OpenAIServer) -> None:
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=hooks(a=entry("echo"))) as server:
        await stage_of(server, once="ready")

        wanted = hooks(a=entry("echo"))
        wanted["hooks"]["pre_tool_use"] = [{"type": "audit_log"}]
        (tmp_path / "parley.yaml").write_text(yaml.safe_dump(wanted))
        server.signal(signal.SIGHUP)

        await logged(server, "configuration read again: process hooks unchanged; tool policy applied")
        server.signal(signal.SIGHUP)
        await logged(server, "configuration read again: process hooks unchanged; tool policy unchanged")


async def test_a_mistake_in_the_configuration_leaves_everything_as_it_is(tmp_path: Path, model: OpenAIServer) -> None:
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=hooks(a=entry("echo"))) as server:
        await stage_of(server, once="ready")
        before = children(server)

        for wrong, why in (
            (hooks(a=entry("echo", transport="http")), 'configure process hook "a": unsupported transport "http"'),
            ({"listen": {"prot": 1}}, "listen.prot: unknown key"),
        ):
            (tmp_path / "parley.yaml").write_text(yaml.safe_dump(wrong))
            server.signal(signal.SIGHUP)
            await logged(server, f"the old configuration stays: {why}")

        assert children(server) == before
        assert server.log().count("correct it and send SIGHUP again") == 2


def test_a_hook_that_is_configured_wrongly_ends_the_start(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, settings=hooks(a=entry("echo", command=[])))

    with pytest.raises(AssertionError, match='parley: configure process hook "a": command is required'):
        server.start()
    assert server.stop() == 2


MUTE = """
import pathlib, sys, time
sys.stdin.readline()
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""
DEAF = """
import json, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
print(json.dumps({"id": json.loads(sys.stdin.readline())["id"], "result": {}}), flush=True)
time.sleep(600)
"""


async def test_a_second_signal_leaves_no_hook_that_is_deaf_to_the_end_of_its_input(
    tmp_path: Path, model: OpenAIServer
) -> None:
    deaf = {"enabled": True, "command": [sys.executable, "-c", DEAF], "intercept": ["before_tool"]}
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=hooks(deaf=deaf)) as server:
        await stage_of(server, once="ready")
        [hook] = children_of(server.pid, "subprocess.Popen")
        family = [hook, *hook.children()]
        server.signal(signal.SIGTERM)
        server.signal(signal.SIGINT)
        code = await asyncio.to_thread(server.wait)

    assert code in (128 + signal.SIGTERM, 128 + signal.SIGINT)
    assert len(family) == 2
    await until(lambda: not any(is_alive(process.pid) for process in family))


async def test_a_second_signal_leaves_no_mcp_server_either_though_it_never_said_a_word(
    tmp_path: Path, model: OpenAIServer
) -> None:
    asked = tmp_path / "asked"
    mute = {"command": sys.executable, "args": ["-c", MUTE, str(asked)]}
    async with ServerProcess(
        tmp_path, environ=endpoint(model.url), settings={"tools": {"mcp": {"mute": mute}}}
    ) as server:
        await until(asked.exists)
        [child] = children_of(server.pid, str(asked))
        server.signal(signal.SIGTERM)
        server.signal(signal.SIGINT)
        await asyncio.to_thread(server.wait)

    await until(lambda: not is_alive(child.pid))
