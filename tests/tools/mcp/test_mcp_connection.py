"""Connections to real MCP servers: their tools, and what becomes of them when the server does not behave."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from server.config import McpServerSettings
from server.errors import ToolError
from server.subprocesses.lines import MAX_LINE_BYTES, MAX_PARTS
from server.tools.mcp.mcp_connection import MAX_CALLS
from server.tools.mcp.transports import MAX_ENTRIES
from tests.support.mcp_server import PNG
from tests.support.waiting import children_of
from tests.tools.mcp_scene import Scene, connected, official, says, scripted, with_results


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def child_of_ours() -> psutil.Process:
    [child] = children_of(os.getpid(), "tests.support.mcp_raw")
    return child


class Waker(logging.Handler):
    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene

    def emit(self, record: logging.LogRecord) -> None:
        self._scene.wake()


@asynccontextmanager
async def http_server(port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.mcp_server", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


# --- what a server gives ------------------------------------------------------------------------------------------


async def test_the_tools_of_a_server_over_stdio_can_be_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with connected(official(env={"GREETING": "hello"}, permissions={"add": "READ"})) as scene:
        assert scene.tools["s__add"].permission == "READ"
        assert scene.tools["s__die"].permission == "EXTERNAL"
        assert scene.tools["s__add"].explain_misfit({"a": 1}) == "'b' is a required property"
        assert (await scene.call("s__add", a=1, b=2)).for_llm == "3"

        failed = await scene.call("s__fail", text="no")
        assert (failed.is_error, "fail" in failed.for_llm) == (True, True)

        assert (await scene.call("s__variable", name="GREETING")).for_llm == "hello"
        assert (await scene.call("s__variable", name="OPENAI_API_KEY")).for_llm == "(not set)"

        picture = await scene.call("s__picture")
        assert picture.for_llm == "here it is\n[image]"
        assert picture.media[0].startswith("data:image/png;base64,")
        assert len(picture.media[0]) > len(PNG)

        await scene.call("s__grow", name="new")
        await scene.until(lambda: "s__new" in scene.tools)
        assert (await scene.call("s__new")).for_llm == "new"


async def test_the_tools_of_a_server_over_http_can_be_called_and_it_may_go_and_come_back() -> None:
    port = free_port()
    settings = McpServerSettings(url=f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k"})
    async with connected(settings, waits=False, heartbeat_s=0.2) as scene:
        await scene.until(lambda: scene.notices == ["mcp_server_lost"])
        async with http_server(port):
            await scene.until(lambda: "s__add" in scene.tools and len(scene.notices) == 2)
            assert (await scene.call("s__add", a=1, b=2)).for_llm == "3"
            await scene.call("s__grow", name="new")
            await scene.until(lambda: "s__new" in scene.tools)

            with pytest.raises(ToolError, match="was lost during the call"):
                await scene.call("s__die")
            await scene.until(lambda: not scene.tools)
        async with http_server(port):
            await scene.until(lambda: "s__add" in scene.tools and len(scene.notices) == 4)
            assert (await scene.call("s__add", a=2, b=2)).for_llm == "4"
            assert scene.notices == ["mcp_server_lost", "mcp_server_back"] * 2


async def test_a_server_of_an_older_protocol_is_understood() -> None:
    async with connected(scripted(with_results(a=says("hi")))) as scene:
        assert (await scene.call("s__a")).for_llm == "hi"
        assert scene.notices == []


async def test_a_change_of_the_list_is_followed_in_the_older_protocol_too(tmp_path: Path) -> None:
    changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    async with connected(scripted(with_results(a={"raw": changed}))) as scene:
        before = scene.tools["s__a"]
        call = asyncio.create_task(scene.call("s__a"))

        await scene.until(lambda: scene.tools.get("s__a") not in (None, before))

        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


# --- what a server does wrong -------------------------------------------------------------------------------------


async def test_a_server_that_dies_in_mid_call_costs_the_call_and_comes_back() -> None:
    script = with_results(die="exit", ok=says("fine"))
    async with connected(scripted(script)) as scene:
        old = scene.tools["s__ok"]

        with pytest.raises(ToolError, match="the MCP server s was lost during the call"):
            await scene.call("s__die")

        await scene.until(lambda: scene.notices == ["mcp_server_lost", "mcp_server_back"])
        assert (await scene.call("s__ok")).for_llm == "fine"
        assert await old.run({})  # a turn that still has the tool of before is served by the server of now


async def test_a_tool_of_a_server_that_is_gone_says_so() -> None:
    async with connected(scripted(with_results(ok=says("fine")))) as scene:
        tool = scene.tools["s__ok"]

    with pytest.raises(ToolError, match="the MCP server s is not available at the moment"):
        await tool.run({})


async def test_a_server_killed_from_outside_comes_back() -> None:
    script = with_results(where={"spawn": 0}, ok=says("fine"))
    async with connected(scripted(script)) as scene:
        child = child_of_ours()
        os.kill(child.pid, signal.SIGKILL)

        await scene.until(lambda: scene.notices == ["mcp_server_lost", "mcp_server_back"])
        assert (await scene.call("s__ok")).for_llm == "fine"


async def test_a_call_that_hangs_is_given_up_at_once_and_costs_no_other() -> None:
    async with connected(scripted(with_results(hang="hang", ok=says("fine")))) as scene:
        hanging = asyncio.create_task(scene.call("s__hang"))
        assert (await scene.call("s__ok")).for_llm == "fine"

        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging

        assert (await scene.call("s__ok")).for_llm == "fine"
        assert scene.notices == []


async def test_so_many_calls_wait_for_a_server_and_no_more() -> None:
    async with connected(scripted(with_results(hang="hang"))) as scene:
        waiting = [asyncio.create_task(scene.call("s__hang")) for _ in range(MAX_CALLS)]
        await asyncio.sleep(0)

        with pytest.raises(ToolError, match=f"busy with {MAX_CALLS} calls"):
            await scene.call("s__hang")

        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_server_that_does_not_read_cannot_hold_a_call_that_is_given_up() -> None:
    script = with_results(hang="hang")
    async with connected(scripted(script)) as scene:
        child = child_of_ours()
        child.suspend()
        calls = [asyncio.create_task(scene.call("s__hang", text="x" * 200_000)) for _ in range(4)]
        await asyncio.sleep(0)

        for call in calls:
            call.cancel()
        async with asyncio.timeout(20):
            await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({"error": {"code": -32602, "message": "no such\ntool"}}, "refused the call: no such tool"),
        ({"error": {"code": -32000, "message": "out of paper"}}, "refused the call: out of paper"),
        ({"content": "text"}, "something that is not a tool result"),
        ({}, "something that is not a tool result"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_an_error_for_the_model(result: object, problem: str) -> None:
    async with connected(scripted(with_results(odd=result))) as scene:
        with pytest.raises(ToolError, match=problem):
            await scene.call("s__odd")


async def test_garbage_between_the_lines_is_read_over(caplog: pytest.LogCaptureFixture) -> None:
    script = with_results(ok=says("fine"))
    script["before"] = ["starting …", "", "{", "[1]", '"x"', "\x00\x01", '{"jsonrpc":"2.0"}', "[" * 5000]
    async with connected(scripted(script)) as scene:
        assert (await scene.call("s__ok")).for_llm == "fine"

    assert "MCP server s printed a line that is not a JSON-RPC message: b'starting" in caplog.text


@pytest.mark.parametrize("result", [{"long": MAX_LINE_BYTES}, {"parts": MAX_PARTS}])
async def test_a_line_beyond_the_limit_costs_its_call_only(result: object) -> None:
    async with connected(scripted(with_results(long=result, ok=says("fine")))) as scene:
        call = asyncio.create_task(scene.call("s__long"))

        assert (await scene.call("s__ok")).for_llm == "fine"
        assert not call.done()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert (await scene.call("s__ok")).for_llm == "fine"


async def test_of_a_result_in_thousands_of_pieces_the_first_are_read() -> None:
    pieces = [{"type": "text", "text": str(number)} for number in range(3000)]
    async with connected(scripted(with_results(many={"content": pieces}))) as scene:
        assert (await scene.call("s__many")).for_llm.splitlines() == [str(number) for number in range(MAX_ENTRIES)]


MODERN = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}


@pytest.mark.parametrize("era", [{}, {"discover": MODERN}], ids=["2025-06-18", "2026-07-28"])
async def test_a_result_without_its_type_and_with_blocks_of_unknown_kinds_keeps_the_rest(
    era: dict[str, object],
) -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "hologram", "data": "AA"}, {"type": "markdown", "text": "*b*"}]
    async with connected(scripted({**with_results(odd={"content": blocks}), **era})) as scene:
        assert (await scene.call("s__odd")).for_llm == "a\n[hologram, not shown]\n*b*"


@pytest.mark.parametrize("era", [{}, {"discover": MODERN}], ids=["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": ["text"], "text": "b"}, "b"),
        ({"type": {"of": "text"}}, "[{'of': 'text'}, not shown]"),
        ({"type": "image"}, "[image, not shown]"),
        ({"type": "text", "text": 5}, "[text, not shown]"),
        ({"text": "b"}, "b"),
        ("b", "b"),
        (None, "[None, not shown]"),
    ],
    ids=repr,
)
async def test_a_malformed_block_costs_itself_only(block: object, shown: str, era: dict[str, object]) -> None:
    blocks = [{"type": "text", "text": "a"}, block, {"type": "text", "text": "c"}]
    async with connected(scripted({**with_results(odd={"content": blocks}), **era})) as scene:
        assert (await scene.call("s__odd")).for_llm == f"a\n{shown}\nc"


@pytest.mark.parametrize("era", [{}, {"discover": {**MODERN, "instructions": 5}}], ids=["2025-06-18", "2026-07-28"])
async def test_a_malformed_tool_or_malformed_instructions_cost_no_other_tool(era: dict[str, object]) -> None:
    schema = {"type": "object"}
    tools = [
        {"name": "good", "inputSchema": schema},
        {"name": "new", "inputSchema": schema, "execution": {"taskSupport": "preferred"}},
        {"name": "titled", "inputSchema": schema, "title": 5},
        {"name": 5, "inputSchema": schema},
        {"name": "bare"},
        "tool",
    ]
    async with connected(scripted({"tools": tools, "instructions": ["Call good."], **era})) as scene:
        assert [*scene.tools] == ["s__good", "s__new", "s__titled"]


async def test_the_log_names_the_option_that_takes_the_instructions(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="server.tools.mcp.mcp_connection")
    async with connected(scripted({**with_results(a=says("a")), "instructions": "Call a."})):
        assert "instructions, which tools.mcp.s.instructions puts into the system prompt" in caplog.text


async def test_what_a_server_says_about_its_tools_is_taken_where_the_operator_asks_for_it() -> None:
    script = {**with_results(a=says("a")), "instructions": "Call a first.\u202e"}
    async with connected(scripted(script)) as unasked, connected(scripted(script, instructions=True)) as asked:
        assert unasked.instructions == ""
        assert asked.instructions == "How to use the tools whose names begin with s__:\nCall a first."


async def test_a_long_line_within_the_limit_arrives_whole() -> None:
    async with connected(scripted(with_results(long={"long": 3_000_000}))) as scene:
        assert len((await scene.call("s__long")).for_llm) == 3_000_000


@pytest.mark.parametrize(
    "settings",
    [
        McpServerSettings(command="no-such-program-anywhere"),
        McpServerSettings(command=sys.executable, args=["-c", "print('bye')"]),
        McpServerSettings(command=sys.executable, args=["-c", "pass"], dir=Path("/no/such/folder")),
        McpServerSettings(url="http://127.0.0.1:9/mcp"),
        McpServerSettings(url="http://no-such-host.invalid/mcp"),
    ],
    ids=["no program", "ends at once", "no folder", "refused", "unknown host"],
)
async def test_a_server_that_cannot_be_had_is_told_once_and_tried_again(
    settings: McpServerSettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "server.tools.mcp.mcp_connection")
    async with connected(settings, waits=False) as scene:
        waker = Waker(scene)
        logging.getLogger("server.tools.mcp.mcp_connection").addHandler(waker)
        await scene.until(lambda: "still lost" in caplog.text)
        logging.getLogger("server.tools.mcp.mcp_connection").removeHandler(waker)

    assert scene.notices == ["mcp_server_lost"]


async def test_nothing_of_a_server_is_left_not_even_what_left_its_group() -> None:
    async with connected(scripted(with_results(start={"spawn": 600}))) as scene:
        grandchild = psutil.Process(int((await scene.call("s__start")).for_llm))
        child = child_of_ours()
        assert grandchild.is_running()

    assert not child.is_running()
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE


async def test_deaths_leave_no_descriptor_no_process_and_no_task_behind() -> None:
    async with connected(scripted(with_results(die="exit"))) as scene:
        before: tuple[int, int] | None = None
        for number in range(12):
            with pytest.raises(ToolError):
                await scene.call("s__die")
            await scene.until(lambda: scene.notices[2 * number + 1 :] == ["mcp_server_back"])  # noqa: B023  # awaited here
            child_of_ours()  # there is one, and only one
            after = psutil.Process().num_fds(), len(asyncio.all_tasks())
            before = before or after
            assert after == before


async def test_a_flood_of_requests_makes_no_flood_of_tasks() -> None:
    async with connected(scripted(with_results(flood="flood", ok=says("fine")))) as scene:
        assert (await scene.call("s__ok")).for_llm == "fine"
        flooding = asyncio.create_task(scene.call("s__flood"))

        answer = await scene.call("s__ok")

        assert answer.for_llm == "fine"
        assert len(asyncio.all_tasks()) < 100
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)


async def test_a_server_that_does_not_want_to_end_is_killed() -> None:
    async with connected(scripted(with_results(deaf="deaf"))) as scene:
        child = child_of_ours()
        call = asyncio.create_task(scene.call("s__deaf"))
        await asyncio.sleep(0)

    with pytest.raises(ToolError):
        await call
    assert not child.is_running()
