"""openai-python and openai-agents, as they are installed, against the real server; `make clients` tries four more."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.stock_clients.__main__ import CLIENTS, FEATURES, Client, documented, question, run, servers
from tests.support.realtime_proxy import RealtimeProxy, realtime_proxy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
TRIED = [client for client in CLIENTS if client.package in ("openai", "openai-agents") and not client.is_node]
Results = dict[str, dict[str, dict[str, str]]]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, RealtimeProxy]:
    return asyncio.run(try_all(tmp_path_factory.mktemp("clients")))


async def try_all(folder: Path) -> tuple[Results, RealtimeProxy]:
    question(folder / "question.pcm")
    python = Path(sys.executable)
    async with servers(folder) as (plain, _), realtime_proxy(plain.url) as proxy:
        found = await asyncio.gather(*(run(client, proxy.url, folder, python=python, logs=folder) for client in TRIED))
    return dict(zip((client.name for client in TRIED), found, strict=True)), proxy


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("client", [client.name for client in TRIED])
def test_a_stock_client_works(tried: tuple[Results, RealtimeProxy], client: str, feature: str) -> None:
    results, _ = tried
    expected = "works"
    if feature == "mcp_by_address":
        expected = "refused" if client == "openai-python" else "not tried"

    assert results[client][feature]["result"] == expected, results[client][feature]["detail"]


def test_every_event_that_they_get_is_exactly_of_openais_types(tried: tuple[Results, RealtimeProxy]) -> None:
    _, proxy = tried

    assert proxy.problems == []
    assert proxy.checked > 200


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_the_page_has_an_example_of_each_client(client: Client) -> None:
    """`make clients` runs them all."""
    code = documented(client.name, "http://127.0.0.1:1")

    assert "127.0.0.1:1/v1" in code
    if not client.is_node:
        compile(code, client.name, "exec")
