"""server/llm/discovery.py; how endpoints answer, tests/llm/test_client.py tries"""

import asyncio
import json

import pytest

from server.errors import ModelMissing, ProviderUnreachable
from server.llm.discovery import Discovery
from server.llm.endpoint import Endpoint
from server.openai_client import Unreachable


class Listing:
    """An endpoint whose models come and go; None: it is down."""

    def __init__(self, *names: str) -> None:
        self.names: tuple[str, ...] | None = names
        self.asked = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def get(self, path: str) -> bytes:
        self.asked += 1
        await self.answers.wait()
        if self.names is None:
            raise Unreachable("refused")
        return json.dumps({"data": [{"id": name, "max_model_len": 4096} for name in self.names]}).encode()


def discovery(listing: Listing, *, pause_s: float = 0.0) -> Discovery:
    return Discovery(Endpoint(base_url="http://127.0.0.1:1/v1"), listing.get, pause_s=pause_s)


async def test_a_model_that_is_loaded_later_is_found_then_and_nobody_asks_again() -> None:
    listing = Listing()
    found = discovery(listing)
    with pytest.raises(ModelMissing, match="lists no models"):
        await found.model()

    listing.names = ("qwen3",)
    assert await found.model() == "qwen3"
    asked = listing.asked
    assert await found.context_tokens() == 4096
    assert listing.asked == asked


async def test_an_endpoint_that_goes_away_is_known_by_what_it_has_said_last() -> None:
    listing = Listing("a", "b")
    found = discovery(listing)
    with pytest.raises(ModelMissing, match="has a, b"):
        await found.model()

    listing.names = None
    with pytest.raises(ModelMissing, match="has a, b"):
        await found.model()


async def test_between_two_tries_callers_do_not_wait_again() -> None:
    listing = Listing()
    listing.names = None
    found = discovery(listing, pause_s=600)

    for _ in range(3):
        with pytest.raises(ProviderUnreachable, match="is it running"):
            await found.model()
    assert listing.asked == 1


async def test_what_an_endpoint_did_not_tell_at_first_nobody_waits_for_again() -> None:
    listing = Listing()
    listing.names = None
    found = Discovery(Endpoint(base_url="http://127.0.0.1:1/v1", model="qwen3"), listing.get, pause_s=0.0)
    assert await found.context_tokens() is None

    listing.names = ("qwen3",)
    listing.answers.clear()
    async with asyncio.timeout(1):
        assert await found.context_tokens() is None
    listing.answers.set()
    while await found.context_tokens() is None:  # noqa: ASYNC110  it is being asked meanwhile
        await asyncio.sleep(0)

    assert await found.context_tokens() == 4096
    assert listing.asked == 2


async def test_who_gives_up_waiting_leaves_the_question_to_others() -> None:
    listing = Listing("qwen3")
    listing.answers.clear()
    found = discovery(listing)
    first, second = (asyncio.create_task(found.model()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    listing.answers.set()

    assert await second == "qwen3"
    assert listing.asked == 1


async def test_closing_gives_the_question_up() -> None:
    listing = Listing("qwen3")
    listing.answers.clear()
    found = discovery(listing)
    found.begin()
    await asyncio.sleep(0)

    await found.aclose()

    assert {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()


async def test_a_listing_nested_too_deep_lists_no_models() -> None:
    async def get(path: str) -> bytes:
        return b"[" * 200_000

    with pytest.raises(ModelMissing, match="lists no models"):
        await Discovery(Endpoint(base_url="http://127.0.0.1:1/v1"), get).model()
