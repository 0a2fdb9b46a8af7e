"""Turns that a client sends again, after a server has begun them on a connection that broke."""

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tests.support.client import Client, client
from tests.support.openai_script import HangBeforeHeaders, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

COUNTER = """
import json, pathlib, sys

TOOL = {"type": "function", "function": {"name": "count", "parameters": {"type": "object", "properties": {}}}}
for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message["method"] == "hook.before_llm":
        result = {"request": {"tools": [TOOL]}}
    elif message["method"] == "hook.before_tool":
        with pathlib.Path(__file__).with_name("runs").open("a") as runs:
            runs.write("x")
        result = {"action": "respond", "result": {"for_llm": "counted"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def counting(folder: Path, model: OpenAIServer) -> AbstractAsyncContextManager[Parley]:
    """A server with a tool that leaves a mark in a file for each time it runs."""
    (folder / "counter.py").write_text(COUNTER)
    command = [sys.executable, str(folder / "counter.py")]
    hook = {"enabled": True, "command": command, "intercept": ["before_llm", "before_tool"]}
    settings = {"hooks": {"processes": {"counter": hook}}, "agent": {"planning": False}}
    return parley(folder, model.url, settings)


async def break_off(server: Parley, model: OpenAIServer) -> None:
    """Begin turn t1, and lose the connection when its tool has run."""
    model.queue(calls(("count", {})), HangBeforeHeaders())
    async with client(server.ws_url) as user:
        await user.chat("Count.", id="t1")
        await user.until("tool_result")
        user.socket.transport.abort()


async def answer_to(user: Client, **fields: Any) -> str:
    """Send turn t1 and return what answers it: the error's code, or how the turn ended."""
    await user.chat("Count.", id="t1", **fields)
    frame = await user.until("error", "turn_end")
    return str(frame.get("code") or frame["reason"])


async def test_a_turn_that_is_sent_again_after_its_connection_broke_runs_its_tool_once(
    tmp_path: Path, model: OpenAIServer
) -> None:
    async with counting(tmp_path, model) as server:
        await break_off(server, model)
        model.queue(calls(("count", {})), text("Counted."))
        async with client(server.ws_url) as user:
            answer = await answer_to(user, resend=True)
            model.clear()
            model.queue(text("You are welcome."))
            next_turn = await user.turn("Thanks.", id="t2")

    assert (answer, (tmp_path / "runs").read_text()) == ("turn_id_reused", "x")
    assert next_turn[-1]["reason"] == "completed"


async def test_without_resend_an_id_belongs_to_its_connection(tmp_path: Path, model: OpenAIServer) -> None:
    async with counting(tmp_path, model) as server:
        await break_off(server, model)
        model.queue(calls(("count", {})), text("Counted."))
        async with client(server.ws_url) as user:
            answers = [await answer_to(user), await answer_to(user)]

    assert answers == ["completed", "turn_id_reused"]
    assert (tmp_path / "runs").read_text() == "xx"


async def test_a_turn_that_never_began_is_started_when_it_is_sent_again(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(calls(("count", {})), text("Counted."))
    async with counting(tmp_path, model) as server, client(server.ws_url) as user:
        answer = await answer_to(user, resend=True)

    assert (answer, (tmp_path / "runs").read_text()) == ("completed", "x")
