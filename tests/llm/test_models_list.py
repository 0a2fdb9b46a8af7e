"""What endpoints say of their models."""

import json
from typing import Any

import pytest

from server.llm.models_list import Listing, pick_model, read_listing, read_props


def listing(*entries: Any) -> Listing:
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
    assert listing({"id": "m", **entry}).context_tokens("m") == 4096


def test_a_server_that_does_not_say_gives_none() -> None:
    assert listing({"id": "m"}).context_tokens("m") is None
    assert listing({"id": "m", "context_length": "many"}).context_tokens("m") is None
    assert listing({"id": "m", "context_length": 9}).context_tokens("other") is None


def test_llama_cpps_own_slot_stands_over_what_the_model_was_trained_with() -> None:
    trained = listing({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}})

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
