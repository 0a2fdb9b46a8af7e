"""Settings and environment → an endpoint."""

import pytest

from server.config import LlmSettings, Secret
from server.errors import ConfigError
from server.llm.endpoint import ModelEndpoint, endpoint_named_by, endpoint_of


def test_the_settings_stand_over_the_environment() -> None:
    environ = {"OPENAI_BASE_URL": "http://env/v1", "OPENAI_API_KEY": "env-key", "OPENAI_MODEL": "env-model"}
    config = LlmSettings(base_url="http://config/v1/", api_key=Secret("config-key"), model="config-model")

    from_environ, from_config = endpoint_of(LlmSettings(), environ), endpoint_of(config, environ)

    assert (from_environ.base_url, from_environ.api_key, from_environ.model) == (
        "http://env/v1",
        "env-key",
        "env-model",
    )
    assert from_environ.key_source == "OPENAI_API_KEY"
    assert (from_config.base_url, from_config.api_key, from_config.model) == (
        "http://config/v1",
        "config-key",
        "config-model",
    )
    assert from_config.key_source == "llm.api_key"


def test_a_key_alone_means_openai() -> None:
    endpoint = endpoint_of(LlmSettings(), {"OPENAI_API_KEY": "k"})

    assert endpoint.is_openai
    assert endpoint.host == "api.openai.com"
    assert endpoint.location == "cloud"


def test_empty_variables_count_as_absent() -> None:
    environ = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "OPENAI_MODEL": ""}

    assert not endpoint_named_by(LlmSettings(), environ)
    assert endpoint_of(LlmSettings(), environ).model is None
    assert endpoint_of(LlmSettings(), environ).key_source is None


def test_a_key_shows_itself_to_nobody() -> None:
    assert "secret" not in repr(ModelEndpoint(base_url="http://a/v1", api_key="secret"))


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://a/v1", "http://", "not a url"])
def test_a_base_url_that_is_none_names_the_setting(url: str) -> None:
    with pytest.raises(ConfigError, match=r"llm\.base_url"):
        endpoint_of(LlmSettings(base_url=url), {})
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        endpoint_of(LlmSettings(), {"OPENAI_BASE_URL": url})


@pytest.mark.parametrize(
    ("url", "location", "is_loopback"),
    [
        ("http://localhost:11434/v1", "local", True),
        ("http://127.0.0.1:8000/v1", "local", True),
        ("http://[::1]:8000/v1", "local", True),
        ("http://192.168.1.5/v1", "local", False),
        ("http://gpu-box:8000/v1", "local", False),
        ("http://studio.local/v1", "local", False),
        ("http://host.docker.internal/v1", "local", False),
        ("https://api.openai.com/v1", "cloud", False),
        ("https://8.8.8.8/v1", "cloud", False),
        ("https://user:pw@api.example.com/v1", "cloud", False),
    ],
)
def test_local_is_this_machine_and_the_private_network(url: str, location: str, is_loopback: bool) -> None:
    endpoint = ModelEndpoint(base_url=url)

    assert (endpoint.location, endpoint.is_loopback) == (location, is_loopback)
    assert "@" not in endpoint.host
