"""Error answers of real servers → the error tree."""

import json
from typing import Any

import pytest

from server.errors import (
    ContextTooLong,
    ImageRefused,
    ModelMissing,
    ProviderAuth,
    ProviderError,
    ProviderProtocol,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnreachable,
    RoleRefused,
    ToolChoiceRefused,
)
from server.llm.endpoint import ModelEndpoint
from server.llm.provider_errors import error_from_answer, error_from_event
from server.openai_client import MAX_RETRY_AFTER_S, Refused, retry_after_s
from tests.support.openai_faults import CONTEXT_OVERFLOWS, ROLE_REFUSALS, bad_key, http_error
from tests.support.openai_script import HttpError

KEY = "sk-very-secret-1234567890"
ENDPOINT = ModelEndpoint(base_url="https://api.example/v1", model="m1", key_source="OPENAI_API_KEY", api_key=KEY)


def of(answer: HttpError, endpoint: ModelEndpoint = ENDPOINT) -> ProviderError:
    body = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
    return error_from_answer(endpoint, None, Refused(answer.status, answer.headers, body.encode()))


def said(status: int, message: str, **more: Any) -> HttpError:
    return HttpError(status=status, body={"error": {"message": message, **more}})


@pytest.mark.parametrize("name", ROLE_REFUSALS)
def test_a_template_that_refuses_roles_is_known_by_its_words(name: str) -> None:
    assert type(of(ROLE_REFUSALS[name])) is RoleRefused


@pytest.mark.parametrize(
    "answer",
    [
        said(400, "Invalid content type. image_url is only supported by certain models."),
        said(500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        said(400, "Qwen/Qwen3-8B is not a multimodal model"),
        said(400, "At most 0 image(s) may be provided in one prompt."),
        said(404, "No endpoints found that support image input"),
        said(422, "Failed to deserialize: messages[1]: unknown variant `image_url`, expected `text` at line 1"),
        said(400, "'messages.1' : for 'role:user' messages[1].content must be a string"),
        said(500, "Failed to create new sequence: this model is missing data required for image input"),
        said(400, "Model does not support images. Please use a model that does."),
        HttpError(status=400, body={"error": "this model does not support image input"}),
    ],
)
def test_a_model_that_takes_no_images_is_known_by_its_words(answer: HttpError) -> None:
    assert type(of(answer)) is ImageRefused


@pytest.mark.parametrize(
    "answer",
    [
        said(400, "Could not process image"),
        said(400, "Invalid image data: the image is larger than 20 MB"),
        said(400, "You uploaded an unsupported image. Please make sure your image is valid."),
        said(401, "this key does not support image input"),
    ],
)
def test_one_image_that_is_refused_makes_no_model_blind(answer: HttpError) -> None:
    assert type(of(answer)) is not ImageRefused


@pytest.mark.parametrize(
    "answer",
    [
        said(400, "deepseek-reasoner does not support this tool_choice"),
        said(400, "Invalid value for 'tool_choice': Tool choice 'required' is not supported.", param="tool_choice"),
        said(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        said(422, "tool_choice: Input should be 'auto' or 'none'"),
    ],
)
def test_a_choice_of_tools_that_is_refused_is_known_by_its_words(answer: HttpError) -> None:
    assert type(of(answer)) is ToolChoiceRefused


@pytest.mark.parametrize("name", CONTEXT_OVERFLOWS)
def test_a_prompt_that_is_too_long_tells_the_limit(name: str) -> None:
    answer, limit_tokens = CONTEXT_OVERFLOWS[name]
    error = of(answer)

    assert isinstance(error, ContextTooLong)
    assert error.limit_tokens == limit_tokens


@pytest.mark.parametrize(
    ("text", "limit_tokens"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576),
        ("... the model is loaded with context length of only 4096 tokens", 4096),
    ],
)
def test_other_ways_to_say_the_limit(text: str, limit_tokens: int) -> None:
    error = of(said(400, text))

    assert isinstance(error, ContextTooLong)
    assert error.limit_tokens == limit_tokens


@pytest.mark.parametrize(
    ("answer", "kind", "is_retryable"),
    [
        (http_error(401), ProviderAuth, False),
        (http_error(403), ProviderAuth, False),
        (http_error(402, "no credit"), ProviderAuth, False),
        (http_error(404), ProviderProtocol, False),
        (http_error(405), ProviderProtocol, False),
        (said(404, "The model `m1` does not exist", code="model_not_found"), ModelMissing, False),
        (said(400, "model 'm1' not found"), ModelMissing, False),
        (http_error(408), ProviderTimeout, True),
        (http_error(413), ContextTooLong, False),
        (http_error(429, "slow down"), ProviderRateLimited, True),
        (said(429, "You exceeded your current quota", code="insufficient_quota"), ProviderRateLimited, False),
        (http_error(500, "boom"), ProviderUnreachable, True),
        (http_error(503, "loading"), ProviderUnreachable, True),
        (http_error(504), ProviderTimeout, True),
        (http_error(400, "temperature must be below 2"), ProviderProtocol, False),
        (HttpError(status=502, body="<html><h1>Bad Gateway</h1></html>"), ProviderUnreachable, True),
        (HttpError(status=418), ProviderProtocol, False),
    ],
)
def test_each_status_has_its_error(answer: HttpError, kind: type[ProviderError], is_retryable: bool) -> None:
    error = of(answer)

    assert type(error) is kind
    assert error.is_retryable is is_retryable
    assert "api.example" in str(error)


@pytest.mark.parametrize("status", [404, 405])
def test_an_address_without_chat_completions_is_told_where_it_is_set(status: int) -> None:
    assert str(of(http_error(status))).endswith(f"(HTTP {status}): check llm.base_url; it usually ends in /v1")


def test_a_refused_key_is_named_by_its_source_and_never_shown() -> None:
    error = of(bad_key(KEY))

    assert "OPENAI_API_KEY" in str(error)
    assert KEY not in str(error)


@pytest.mark.parametrize("text", [f"bad key {KEY}", "bad key sk-other9876543", "Authorization: Bearer abcdef"])
def test_no_key_gets_through_what_an_endpoint_says(text: str) -> None:
    shown = str(of(http_error(400, text)))

    assert "sk-" not in shown
    assert "abcdef" not in shown


def test_a_page_of_text_is_shown_in_one_short_line() -> None:
    shown = str(of(http_error(400, "line\n" * 1000)))

    assert "\n" not in shown
    assert len(shown) < 500


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "2"}, 2),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "30", "retry-after": "9"}, 0.03),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:10 GMT"}, 7),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0),
        ({"Retry-After": "99999999"}, MAX_RETRY_AFTER_S),
        ({"Retry-After": "soon"}, None),
        ({"retry-after-ms": "x"}, None),
        ({"retry-after-ms": "nan"}, 0),
        ({}, None),
    ],
)
def test_retry_after_in_each_of_its_forms(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers, now_s=3.0) == wait_s


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "boom"}, ProviderUnreachable),
        ("boom", ProviderUnreachable),
        ({"message": "slow down", "code": 429}, ProviderRateLimited),
        ({"message": "System message must be at the beginning."}, RoleRefused),
        ({"message": "the model's context length is 5 tokens"}, ContextTooLong),
    ],
)
def test_an_error_inside_a_stream_counts_like_a_status(error: Any, kind: type[ProviderError]) -> None:
    assert type(error_from_event(ENDPOINT, None, error)) is kind


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b'[{"error":{"message":"x"}}]', b"\xff\xfe", b'{"error":null}'])
def test_no_body_is_too_odd(body: bytes) -> None:
    assert isinstance(error_from_answer(ENDPOINT, None, Refused(400, {}, body)), ProviderProtocol)


def test_half_a_character_in_an_error_can_be_sent_on() -> None:
    str(error_from_event(ENDPOINT, None, {"message": "broken \ud83d", "code": 500})).encode()
