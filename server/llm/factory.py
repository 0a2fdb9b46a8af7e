"""Which model answers: the settings' choice, or the one that needs none."""

from collections.abc import Mapping

from server.config import LlmSettings
from server.llm.client import OpenAICompatible
from server.llm.embedded import EmbeddedModel
from server.llm.endpoint import endpoint_of, is_endpoint_named


def create_model(config: LlmSettings, environ: Mapping[str, str]) -> OpenAICompatible | EmbeddedModel:
    """`llm.provider`; `auto` is an endpoint where one, or a key, is named, else the embedded model.

    Has no effects. Raises ConfigError for a base URL that is none.
    """
    is_endpoint = config.provider == "openai" or (config.provider == "auto" and is_endpoint_named(config, environ))
    return OpenAICompatible(endpoint_of(config, environ)) if is_endpoint else EmbeddedModel(config)


def unheard_model(config: LlmSettings, environ: Mapping[str, str]) -> str | None:
    """A sentence for the operator who names a model, and neither an endpoint nor a key: the embedded one answers."""
    source, name = ("llm.model", config.model) if config.model else ("OPENAI_MODEL", environ.get("OPENAI_MODEL"))
    if not name or config.provider != "auto" or is_endpoint_named(config, environ):
        return None
    return f"{source} names {name}, but the embedded model answers: set OPENAI_API_KEY or OPENAI_BASE_URL, too"
