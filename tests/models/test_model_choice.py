"""Which model answers."""

from pathlib import Path

import msgspec
import pytest

from server.config import LlmSettings
from server.errors import ConfigError
from server.llm.client import OpenAICompatible
from server.llm.embedded import EmbeddedModel
from server.llm.endpoint import model_named_by
from server.models.file_model import FileModel
from server.models.model_choice import EmbeddedChoice, EndpointChoice, FileChoice, ModelChoice, load_choice, save_choice
from server.models.model_host import create_model, unused_model_warning


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


CHOSEN = EndpointChoice(base_url="http://127.0.0.1:11434/v1/", model="qwen3:8b", api_key="sk-chosen")


def test_without_settings_the_chosen_endpoint_answers_with_its_own_key() -> None:
    environ = {"OPENAI_MODEL": "other", "OPENAI_ORG_ID": "org"}

    model = create_model(LlmSettings(), environ, CHOSEN)

    assert (model.info.name, model.info.host, model.info.key_source) == (
        "qwen3:8b",
        "127.0.0.1:11434",
        "the model picker",
    )


@pytest.mark.parametrize(
    ("config", "environ", "decided_by"),
    [
        (LlmSettings(provider="embedded"), {}, "llm.provider"),
        (LlmSettings(base_url="http://configured/v1"), {"OPENAI_API_KEY": "k"}, "llm.base_url"),
        (LlmSettings(), {"OPENAI_BASE_URL": "http://configured/v1"}, "OPENAI_BASE_URL"),
        (LlmSettings(), {"OPENAI_API_KEY": "k"}, "OPENAI_API_KEY"),
    ],
)
def test_settings_and_environment_override_the_choice(
    config: LlmSettings, environ: dict[str, str], decided_by: str
) -> None:
    assert create_model(config, environ, CHOSEN).info.host != "127.0.0.1:11434"
    assert model_named_by(config, environ) == decided_by


def test_the_chosen_file_is_that_of_the_folder_of_models(tmp_path: Path) -> None:
    model = create_model(LlmSettings(), {}, FileChoice("small.gguf"), models_dir=tmp_path)

    assert type(model) is FileModel
    assert model.info.name == "small"


@pytest.mark.parametrize("choice", [EmbeddedChoice(), CHOSEN, FileChoice("qwen3-4b-q4_k_m.gguf")])
def test_a_choice_is_kept_where_only_its_owner_reads_it(tmp_path: Path, choice: ModelChoice) -> None:
    save_choice(tmp_path, EmbeddedChoice())

    save_choice(tmp_path, choice)

    assert load_choice(tmp_path) == choice
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [("model.json", 0o600)]


def test_nothing_chosen_is_no_choice(tmp_path: Path) -> None:
    assert load_choice(tmp_path) is None


@pytest.mark.parametrize("body", ['{"kind": "endpoint", "api_key": "sk-secret"}', "", '{"kind": "else"}', " " * 20_000])
def test_a_file_that_holds_no_choice_is_named_and_its_key_is_not(tmp_path: Path, body: str) -> None:
    (tmp_path / "model.json").write_text(body)

    with pytest.raises(ConfigError, match=r"model\.json: not a choice of a model; delete the file") as caught:
        load_choice(tmp_path)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "base_url",
    [
        "nowhere",
        "ftp://a/v1",
        "http://anna:password@a/v1",
        "http://a/v1?key=1",
        "http://a/v1#top",
        "http://a/\x1b[2J",
        "http://[1/v1",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_not_taken(base_url: str) -> None:
    with pytest.raises(ValueError, match=r"base_url|Invalid IPv6 URL"):
        EndpointChoice(base_url=base_url, model="m")


@pytest.mark.parametrize("name", ["../secret", "a/b", ".hidden", ""])
def test_a_file_is_named_without_its_folder(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"kind": "file", "name": name}, ModelChoice)


def test_a_key_of_a_choice_shows_itself_to_nobody() -> None:
    assert "sk-chosen" not in repr(CHOSEN)
