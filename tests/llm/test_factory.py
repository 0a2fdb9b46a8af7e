"""Which model answers."""

import pytest

from server.config import Llm
from server.errors import ConfigError
from server.llm.client import OpenAICompatible
from server.llm.embedded import EmbeddedModel
from server.llm.factory import create_model, unheard_model


@pytest.mark.parametrize(
    ("config", "environ", "kind"),
    [
        (Llm(), {}, EmbeddedModel),
        (Llm(), {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, EmbeddedModel),
        (Llm(), {"OPENAI_MODEL": "m"}, EmbeddedModel),
        (Llm(), {"OPENAI_API_KEY": "k"}, OpenAICompatible),
        (Llm(), {"OPENAI_BASE_URL": "http://a/v1"}, OpenAICompatible),
        (Llm(base_url="http://a/v1"), {}, OpenAICompatible),
        (Llm(provider="embedded"), {"OPENAI_API_KEY": "k"}, EmbeddedModel),
        (Llm(provider="openai"), {}, OpenAICompatible),
    ],
)
def test_auto_goes_by_what_is_named(config: Llm, environ: dict[str, str], kind: type[object]) -> None:
    assert type(create_model(config, environ)) is kind


@pytest.mark.parametrize(
    ("config", "environ", "source"),
    [(Llm(), {"OPENAI_MODEL": "m"}, "OPENAI_MODEL"), (Llm(model="m"), {"OPENAI_MODEL": "other"}, "llm.model")],
)
def test_who_names_a_model_and_nowhere_to_ask_for_it_is_told(config: Llm, environ: dict[str, str], source: str) -> None:
    assert unheard_model(config, environ) == (
        f"{source} names m, but the embedded model answers: set OPENAI_API_KEY or OPENAI_BASE_URL, too"
    )


@pytest.mark.parametrize(
    ("config", "environ"),
    [
        (Llm(), {}),
        (Llm(), {"OPENAI_MODEL": "m", "OPENAI_API_KEY": "k"}),
        (Llm(provider="openai", model="m"), {}),
        (Llm(provider="embedded"), {"OPENAI_MODEL": "m"}),
    ],
)
def test_nobody_else_is(config: Llm, environ: dict[str, str]) -> None:
    assert unheard_model(config, environ) is None


def test_a_wrong_address_is_said_before_anything_starts() -> None:
    with pytest.raises(ConfigError):
        create_model(Llm(base_url="nowhere"), {})
