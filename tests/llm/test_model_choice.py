"""Which model answers."""

import pytest

from server.config import LlmSettings
from server.errors import ConfigError
from server.llm.client import OpenAICompatible
from server.llm.embedded import EmbeddedModel, create_model, unused_model_warning


@pytest.mark.parametrize(
    ("config", "environ", "kind"),
    [
        (LlmSettings(), {}, EmbeddedModel),
        (LlmSettings(), {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, EmbeddedModel),
        (LlmSettings(), {"OPENAI_MODEL": "m"}, EmbeddedModel),
        (LlmSettings(), {"OPENAI_API_KEY": "k"}, OpenAICompatible),
        (LlmSettings(), {"OPENAI_BASE_URL": "http://a/v1"}, OpenAICompatible),
        (LlmSettings(base_url="http://a/v1"), {}, OpenAICompatible),
        (LlmSettings(provider="embedded"), {"OPENAI_API_KEY": "k"}, EmbeddedModel),
        (LlmSettings(provider="openai"), {}, OpenAICompatible),
    ],
)
def test_auto_goes_by_what_is_named(config: LlmSettings, environ: dict[str, str], kind: type[object]) -> None:
    assert type(create_model(config, environ)) is kind


@pytest.mark.parametrize(
    ("config", "environ", "source"),
    [
        (LlmSettings(), {"OPENAI_MODEL": "m"}, "OPENAI_MODEL"),
        (LlmSettings(model="m"), {"OPENAI_MODEL": "other"}, "llm.model"),
    ],
)
def test_who_names_a_model_and_nowhere_to_ask_for_it_is_told(
    config: LlmSettings, environ: dict[str, str], source: str
) -> None:
    assert unused_model_warning(config, environ) == (
        f"{source} names m, but the embedded model answers: set OPENAI_API_KEY or OPENAI_BASE_URL, too"
    )


@pytest.mark.parametrize(
    ("config", "environ"),
    [
        (LlmSettings(), {}),
        (LlmSettings(), {"OPENAI_MODEL": "m", "OPENAI_API_KEY": "k"}),
        (LlmSettings(provider="openai", model="m"), {}),
        (LlmSettings(provider="embedded"), {"OPENAI_MODEL": "m"}),
    ],
)
def test_nobody_else_is(config: LlmSettings, environ: dict[str, str]) -> None:
    assert unused_model_warning(config, environ) is None


def test_a_wrong_address_is_said_before_anything_starts() -> None:
    with pytest.raises(ConfigError):
        create_model(LlmSettings(base_url="nowhere"), {})
