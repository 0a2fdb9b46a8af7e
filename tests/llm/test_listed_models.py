"""Which models an endpoint lists, when it is asked, and which of them is picked."""

import asyncio
import json
from typing import Any

import pytest

from server.errors import ModelMissing, ProviderUnreachable
from server.llm.endpoint import Discovery, Listing, ModelEndpoint, pick_model, read_listing, read_props
from server.openai_client import Refused, Unreachable
from tests.support.virtual_loop import VirtualLoop


class Models:
    """An endpoint whose models come and go; None: it is down."""

    def __init__(self, *names: str) -> None:
        self.names: tuple[str, ...] | None = names
        self.refusal: Refused | None = None
        self.asked = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def get(self, path: str) -> bytes:
        self.asked += 1
        await self.answers.wait()
        if self.refusal is not None:
            raise self.refusal
        if self.names is None:
            raise Unreachable("refused")
        return json.dumps({"data": [{"id": name, "max_model_len": 4096} for name in self.names]}).encode()


def discovery(listing: Models, *, pause_s: float = 0.0) -> Discovery:
    return Discovery(ModelEndpoint(base_url="http://127.0.0.1:1/v1"), listing.get, pause_s=pause_s)


async def test_a_model_that_is_loaded_later_is_found_then_and_nobody_asks_again() -> None:
    listing = Models()
    found = discovery(listing)
    with pytest.raises(ModelMissing, match="lists no models"):
        await found.model()

    listing.names = ("qwen3",)
    assert await found.model() == "qwen3"
    asked = listing.asked
    assert await found.context_tokens() == 4096
    assert listing.asked == asked


async def test_an_endpoint_that_goes_away_is_known_by_what_it_has_said_last() -> None:
    listing = Models("a", "b")
    found = discovery(listing)
    with pytest.raises(ModelMissing, match="has a, b"):
        await found.model()

    listing.names = None
    with pytest.raises(ModelMissing, match="has a, b"):
        await found.model()


def test_an_endpoint_that_says_when_is_asked_again_then_and_no_earlier() -> None:
    listing = Models("qwen3")
    listing.refusal = Refused(429, {"Retry-After": "20"}, b"")

    async def run() -> None:
        found = discovery(listing)
        for wait_s in (0, 19, 0.9):
            await asyncio.sleep(wait_s)
            with pytest.raises(ModelMissing):
                await found.model()
        assert listing.asked == 1
        listing.refusal = None
        await asyncio.sleep(0.2)
        assert await found.model() == "qwen3"

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())


async def test_between_two_tries_callers_do_not_wait_again() -> None:
    listing = Models()
    listing.names = None
    found = discovery(listing, pause_s=600)

    for _ in range(3):
        with pytest.raises(ProviderUnreachable, match="is it running"):
            await found.model()
    assert listing.asked == 1


async def test_what_an_endpoint_did_not_tell_at_first_nobody_waits_for_again() -> None:
    listing = Models()
    listing.names = None
    found = Discovery(ModelEndpoint(base_url="http://127.0.0.1:1/v1", model="qwen3"), listing.get, pause_s=0.0)
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
    listing = Models("qwen3")
    listing.answers.clear()
    found = discovery(listing)
    first, second = (asyncio.create_task(found.model()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    listing.answers.set()

    assert await second == "qwen3"
    assert listing.asked == 1


async def test_closing_gives_the_question_up() -> None:
    listing = Models("qwen3")
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
        await Discovery(ModelEndpoint(base_url="http://127.0.0.1:1/v1"), get).model()


def listing_of(*entries: Any) -> Listing:
    return read_listing(json.dumps({"data": list(entries)}).encode())


@pytest.mark.parametrize(
    "entry",
    [
        {"max_model_len": 4096},
        {"context_length": 4096},
        {"max_context_length": 4096},
        {"context_window": 4096},
        {"meta": {"n_ctx_train": 4096}},
        {"meta": {"n_ctx": 4096, "n_ctx_train": 131072}},
        {"context_length": None, "max_model_len": 4096},
    ],
)
def test_the_context_is_found_under_each_servers_name(entry: dict[str, Any]) -> None:
    assert listing_of({"id": "m", **entry}).context_tokens("m") == 4096


def test_a_server_that_does_not_say_gives_none() -> None:
    assert listing_of({"id": "m"}).context_tokens("m") is None
    assert listing_of({"id": "m", "context_length": "many"}).context_tokens("m") is None
    assert listing_of({"id": "m", "context_length": 9}).context_tokens("other") is None


def test_llama_cpps_own_slot_stands_over_what_the_model_was_trained_with() -> None:
    trained = listing_of({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}})

    assert trained.is_llama_cpp
    assert read_props(trained, b'{"default_generation_settings":{"n_ctx":4096}}').context_tokens("m") == 4096
    assert read_props(trained, b"{}").context_tokens("m") == 131072


@pytest.mark.parametrize(
    ("names", "picked"),
    [(["a"], "a"), (["a", "b"], None), ([], None), (["qwen3-8b", "text-embedding-nomic-embed-text-v1.5"], "qwen3-8b")],
)
def test_the_only_model_that_talks_is_picked(names: list[str], picked: str | None) -> None:
    assert pick_model(Listing(names=tuple(names))) == picked


def test_a_long_list_is_described_in_short() -> None:
    assert Listing().described() == "lists no models"
    assert Listing(names=tuple(f"m{n}" for n in range(13))).described().endswith("m9 and 3 more")


@pytest.mark.parametrize("body", [b"not json", b"7", b'{"data": {}}', b"null"])
def test_what_is_no_list_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_listing(body)


def test_entries_without_sense_are_left_out_and_a_bare_list_is_read() -> None:
    assert read_listing(b'[{"id": "a"}, 7, {"id": 5}, {}]').names == ("a",)
