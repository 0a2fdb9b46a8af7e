"""Asking a human across replicas: real server processes on one database, and the user's clients at each."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from tests.support.client import Client, client
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.postgres import Postgres
from tests.support.server_process import ServerProcess, endpoint

TOKYO = ("current_time", {"timezone": "Asia/Tokyo"})
USERS = ("anna", "bert")

Replicas = tuple[ServerProcess, ServerProcess]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]


def token(user: str) -> str:
    return f"{user}-token-of-more-than-enough-length-0123456789"


def connected(server: ServerProcess, user: str = "anna") -> AbstractAsyncContextManager[Client]:
    return client(server.ws_url, additional_headers={"Authorization": f"Bearer {token(user)}"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lasting_model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest.fixture
def model(lasting_model: OpenAIServer) -> Iterator[OpenAIServer]:
    """Without requests and answers of the test before."""
    yield lasting_model
    lasting_model.clear()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "postgresql"])
async def replicas(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer
) -> AsyncIterator[Replicas]:
    """Two servers on one database, started once; a test that ends one starts it again."""
    folder = tmp_path_factory.mktemp("replicas")
    approval: dict[str, Any] = {}
    tree: dict[str, Any] = {
        "agent": {"planning": False},
        "security": {"tokens": [{"user": user, "token": token(user)} for user in USERS]},
        "hooks": {"builtins": {"ask_human": {"enabled": True, "config": {"tools": ["*"]}}}, "approval": approval},
    }
    if request.param == "sqlite":
        approval["replicas"] = True
    else:
        tree["storage"] = {"url": request.getfixturevalue("postgres").new_database()}
    environ = {**endpoint(lasting_model.url), "PARLEY_DATA__DIR": str(folder / "shared")}
    async with AsyncExitStack() as stack:
        started = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            server = ServerProcess(folder / name, environ=environ, settings=tree)
            started.append(await stack.enter_async_context(server))
        yield started[0], started[1]


def ends(me: Client) -> list[tuple[bool, str]]:
    return [(frame["approved"], frame["by"]) for frame in me.frames if frame["type"] == "approval_resolved"]


async def test_a_question_is_answered_at_the_other_replica(replicas: Replicas, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("Noon."))
    async with connected(replicas[0]) as asker, connected(replicas[1]) as other, connected(replicas[1], "bert") as bert:
        await asker.chat()
        asked = await asker.until("approval_request")
        seen = await other.until("approval_request")
        await other.send("approval", id=seen["id"], approved=True)
        await asker.until("turn_end")
        await other.until("approval_resolved")
        strange = await bert.pong()

    assert {**seen, **{key: asked[key] for key in ("turn_id", "call_id")}, "timeout_ms": 0} == {
        **asked,
        "timeout_ms": 0,
    }
    assert "turn_id" not in seen
    assert (ends(asker), ends(other)) == ([(True, "other_client")], [(True, "user")])
    assert [frame["is_error"] for frame in asker.frames if frame["type"] == "tool_result"] == [False]
    assert [frame for frame in strange if frame["type"].startswith("approval")] == []


async def test_of_two_answers_at_once_both_clients_are_told_the_same(replicas: Replicas, model: OpenAIServer) -> None:
    async with connected(replicas[0]) as asker, connected(replicas[1]) as other:
        for _ in range(5):
            model.queue(calls(TOKYO), text("Well."))
            await asker.chat()
            asked, seen = await asyncio.gather(asker.until("approval_request"), other.until("approval_request"))
            assert asked["id"] == seen["id"]
            await asyncio.gather(
                other.send("approval", id=seen["id"], approved=True),
                asker.send("approval", id=asked["id"], approved=False),
            )
            await asyncio.gather(asker.until("turn_end"), other.until("approval_resolved"))

            (is_yes_here, by_here), (is_yes_there, by_there) = ends(asker)[-1], ends(other)[-1]
            assert is_yes_here == is_yes_there
            assert {by_here, by_there} == {"user", "other_client"}
            assert (by_there == "user") == is_yes_there
            [*_, result] = [frame for frame in asker.frames if frame["type"] == "tool_result"]
            assert result["is_error"] == (not is_yes_here)


async def test_who_connects_to_the_other_replica_later_is_shown_it_and_its_end(
    replicas: Replicas, model: OpenAIServer
) -> None:
    model.queue(calls(TOKYO))
    async with connected(replicas[0]) as asker:
        await asker.chat()
        asked = await asker.until("approval_request")
        async with connected(replicas[1]) as late:
            seen = await late.until("approval_request")
            await asker.send("interrupt")
            await late.until("approval_resolved")

    assert seen["id"] == asked["id"]
    assert ends(late) == [(False, "cancelled")]


async def test_a_killed_replica_leaves_no_question_open(replicas: Replicas, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO))
    async with connected(replicas[1]) as other:
        async with connected(replicas[0]) as asker:
            await asker.chat()
            await other.until("approval_request")
            replicas[0].signal(signal.SIGKILL)
            await asker.closed()
        await other.until("approval_resolved")

        assert ends(other) == [(False, "disconnect")]
        async with connected(replicas[1]) as late:
            assert [frame for frame in await late.pong() if frame["type"].startswith("approval")] == []
    await asyncio.to_thread(replicas[0].stop)
    await asyncio.to_thread(replicas[0].start)


async def test_a_lost_connection_is_a_no_everywhere(replicas: Replicas, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO))
    async with connected(replicas[1]) as other:
        async with connected(replicas[0]) as asker:
            await asker.chat()
            await other.until("approval_request")
        await other.until("approval_resolved")

    assert ends(other) == [(False, "disconnect")]


@pytest.mark.parametrize("replicas", ["postgresql"], indirect=True)
@pytest.mark.parametrize("away", ["stopped", "frozen"])
async def test_while_the_database_is_away_a_question_is_its_own_replicas_alone(
    replicas: Replicas, postgres: Postgres, model: OpenAIServer, away: str
) -> None:
    leave, come_back = {"stopped": (postgres.stop, postgres.start), "frozen": (postgres.freeze, postgres.thaw)}[away]
    async with connected(replicas[0]) as asker, connected(replicas[1]) as other:
        model.queue(calls(TOKYO), text("Noon."), calls(TOKYO), text("Again."))
        await asker.chat()
        asked, _ = await asyncio.gather(asker.until("approval_request"), other.until("approval_request"))
        await asyncio.to_thread(leave)
        try:
            await asker.send("approval", id=asked["id"], approved=True)
            await asker.until("turn_end")
            await other.until("approval_resolved")
        finally:
            await asyncio.to_thread(come_back)
        assert (ends(asker), ends(other)) == ([(True, "user")], [(False, "disconnect")])

        await asker.chat()
        asked = await asker.until("approval_request")
        assert (await other.until("approval_request"))["id"] == asked["id"]
        await other.send("approval", id=asked["id"], approved=True)
        # until both have heard of its end: whoever connects sooner is shown it once more
        await asyncio.gather(asker.until("turn_end"), other.until("approval_resolved"))
        assert ends(asker)[-1] == (True, "other_client")
