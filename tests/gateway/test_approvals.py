"""Asking a human over real sockets: the whole server, a hook that asks, and clients that answer or do not."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.support.client import Client, Frame, client, kinds
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

TOKYO = ("current_time", {"timezone": "Asia/Tokyo"})
PARIS = ("current_time", {"timezone": "Europe/Paris"})
ROME = ("current_time", {"timezone": "Europe/Rome"})


def settings(**ask_human: Any) -> dict[str, Any]:
    """Every tool is asked about."""
    hook = {"enabled": True, "config": {"tools": ["*"], **ask_human}}
    return {"agent": {"planning": False}, "hooks": {"builtins": {"ask_human": hook}}}


@pytest.fixture
async def asking(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[Parley]:
    async with parley(tmp_path, model.url, settings()) as running:
        yield running


def results(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame["type"] == "tool_result"]


def resolved(frames: list[Frame]) -> list[tuple[bool, str]]:
    return [(frame["approved"], frame["by"]) for frame in frames if frame["type"] == "approval_resolved"]


async def answer(me: Client, *, approved: bool = True, **fields: Any) -> Frame:
    """Wait for the next question and answer it."""
    request = await me.until("approval_request")
    await me.send("approval", id=request["id"], approved=approved, **fields)
    return request


async def test_a_tool_runs_when_its_human_says_yes(asking: Parley, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("Noon."))
    async with client(asking.ws_url) as me:
        await me.chat(id="t1")
        request = await answer(me)
        await me.until("turn_end")

    assert (request["turn_id"], request["tool"], request["origin"]) == ("t1", "current_time", "ask_human")
    assert request["arguments"] == TOKYO[1]
    assert (request["permission"], request["message"]) == ("READ", "May I use current_time?")
    assert resolved(me.frames) == [(True, "user")]
    [result] = results(me.frames)
    assert not result["is_error"]
    assert "arguments" not in result
    assert "ending" not in result  # it ran


async def test_a_refused_tool_does_not_run_and_the_model_reads_why(asking: Parley, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("Then not."))
    async with client(asking.ws_url) as me:
        await me.chat()
        await answer(me, approved=False, reason="I know what time it is")
        end = await me.until("turn_end")

    [result] = results(me.frames)
    assert result["is_error"]
    assert result["ending"] == "denied"
    assert "I know what time it is" in result["content"]
    assert result["content"] in [message["content"] for message in model.requests[1].messages]
    assert end["reason"] == "completed"


async def test_silence_is_a_no_that_is_no_refusal(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("Later."))
    async with parley(tmp_path, model.url, settings(timeout_s=0.05)) as server, client(server.ws_url) as me:
        frames = await me.turn()

    assert resolved(frames) == [(False, "timeout")]
    assert "Nobody answered" in results(frames)[0]["content"]


async def test_calls_of_one_batch_are_asked_about_in_their_order(asking: Parley, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO, PARIS, ROME), text("Two of three."))
    async with client(asking.ws_url) as me:
        await me.chat()
        asked = [await answer(me, approved=number != 1) for number in range(3)]
        await me.until("turn_end")

    assert [request["arguments"] for request in asked] == [TOKYO[1], PARIS[1], ROME[1]]
    order = [kind for kind in kinds(me.frames) if kind.startswith("approval")]
    assert order == ["approval_request", "approval_resolved"] * 3
    assert [result["is_error"] for result in results(me.frames)] == [False, True, False]


async def test_edited_arguments_run_and_are_shown(asking: Parley, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("In Paris it is noon."))
    async with client(asking.ws_url) as me:
        await me.chat()
        await answer(me, arguments=PARIS[1])
        await me.until("turn_end")

    [result] = results(me.frames)
    assert result["arguments"] == PARIS[1]
    assert "Paris" in result["content"]


async def test_edited_arguments_pass_the_tools_schema(asking: Parley, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("Hm."))
    async with client(asking.ws_url) as me:
        await me.chat()
        await answer(me, arguments={"timezone": 7})
        await me.until("turn_end")

    [result] = results(me.frames)
    assert result["is_error"]
    assert "timezone" in result["content"]


async def test_the_first_answer_of_a_users_clients_counts(asking: Parley, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("Noon."))
    async with client(asking.ws_url) as desktop, client(asking.ws_url) as phone:
        await desktop.chat(id="t1")
        request = await answer(phone)
        await desktop.until("turn_end")
        await desktop.send("approval", id=request["id"], approved=False)
        late = await desktop.pong()
        await phone.pong()

    assert resolved(desktop.frames) == [(True, "other_client")]
    assert resolved(phone.frames) == [(True, "user")]
    assert not [frame for frame in phone.frames if "turn_id" in frame]
    assert [frame["code"] for frame in late] == ["approval_unknown"]


async def test_a_lost_connection_is_a_no_and_the_tool_never_runs(asking: Parley, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO))
    async with client(asking.ws_url) as phone:
        async with client(asking.ws_url) as desktop:
            await desktop.chat()
            request = await phone.until("approval_request")
            desktop.socket.transport.abort()
        told = await phone.until("approval_resolved")
        await phone.send("approval", id=request["id"], approved=True)
        late = await phone.pong()

    assert (told["id"], told["approved"], told["by"]) == (request["id"], False, "disconnect")
    assert [frame["code"] for frame in late] == ["approval_unknown"]
    assert len(model.requests) == 1


@pytest.mark.parametrize("ending", ["interrupt", "chat"])
async def test_a_cut_closes_the_question_before_the_turn_ends(asking: Parley, model: OpenAIServer, ending: str) -> None:
    model.queue(calls(TOKYO), text("Hello."))
    async with client(asking.ws_url) as me:
        await me.chat(id="t1")
        request = await me.until("approval_request")
        if ending == "chat":
            await me.chat(id="t2")
        else:
            await me.send("interrupt")
        await me.until("turn_end")
        await me.send("approval", id=request["id"], approved=True)
        await me.pong()

    first = [frame for frame in me.frames if frame.get("turn_id") == "t1"]
    assert kinds(first)[-4:] == ["approval_request", "approval_resolved", "tool_result", "turn_end"]
    assert resolved(first) == [(False, "cancelled")]


async def test_what_is_remembered_for_good_is_not_asked_until_it_is_revoked(
    asking: Parley, model: OpenAIServer
) -> None:
    model.queue(*[calls(TOKYO), text("Noon.")] * 3)
    async with client(asking.ws_url) as first:
        await first.chat()
        await answer(first, remember="always")
        await first.until("turn_end")
    async with client(asking.ws_url) as second, ClientSession(asking.url) as http:
        frames = await second.turn()
        async with http.get("/api/approvals") as listed:
            [kept] = (await listed.json())["approvals"]
        async with http.delete(f"/api/approvals/{kept['id']}", json={}) as gone:
            assert gone.status == 200
        await second.chat()
        await answer(second, approved=False)
        await second.until("turn_end")

    assert resolved(frames) == [(True, "remembered")]
    assert "approval_request" not in kinds(frames)
    assert (kept["tool"], kept["origin"]) == ("current_time", "ask_human")
    assert not results(frames)[0]["is_error"]
