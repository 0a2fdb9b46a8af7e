"""Error answers as real servers send them, collected from their sources and issue trackers."""

from tests.support.openai_script import HttpError, Json


def http_error(status: int, message: str = "", *, retry_after: str | None = None) -> HttpError:
    """An error with OpenAI's body; `retry_after` is the header's value: seconds or a date."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    body = {"error": {"message": message or f"status {status}", "type": "error", "code": None}}
    return HttpError(status=status, body=body, headers=headers)


def bad_key(key: str = "sk-bad") -> HttpError:
    """OpenAI repeats a part of the key in its answer: it must not get further."""
    message = f"Incorrect API key provided: {key}. You can find your API key at https://example."
    body = {"error": {"message": message, "code": "invalid_api_key", "type": "x", "param": None}}
    return HttpError(status=401, body=body)


def _vllm(message: str) -> HttpError:
    body: Json = {"object": "error", "message": message, "type": "BadRequestError", "code": 400}
    return HttpError(status=400, body=body)


def _llama_cpp(status: int, message: str, kind: str, **more: int) -> HttpError:
    return HttpError(status=status, body={"error": {"code": status, "message": message, "type": kind, **more}})


ROLE_REFUSALS: dict[str, HttpError] = {
    "qwen on vllm": _vllm("System message must be at the beginning."),
    "gemma on vllm": _vllm("System role not supported"),
    "mistral on vllm": _vllm("Conversation roles must alternate user/assistant/user/assistant/... "),
    "mistral, newer": _vllm(
        "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
    ),
    "vllm, newer envelope": HttpError(
        status=400,
        body={
            "error": {
                "message": "System message must be at the beginning. None",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        },
    ),
    "qwen on llama.cpp": _llama_cpp(
        500,
        "\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n"
        "...first %}↵            {{- raise_exception('System message must be at the beginnin...\n"
        "Error: Jinja Exception: System message must be at the beginning.",
        "server_error",
    ),
    "gemma on llama.cpp": _llama_cpp(
        500,
        "Error: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
        "server_error",
    ),
    "lm studio": HttpError(
        status=400,
        body={
            "error": 'Error rendering prompt with jinja template: "Error: Only user and assistant '
            'roles are supported!".'
        },
    ),
}

CONTEXT_OVERFLOWS: dict[str, tuple[HttpError, int | None]] = {
    "openai": (
        HttpError(
            status=400,
            body={
                "error": {
                    "message": "This model's maximum context length is 8192 tokens. However, your "
                    "messages resulted in 10240 tokens. Please reduce the length of the messages.",
                    "type": "invalid_request_error",
                    "param": "messages",
                    "code": "context_length_exceeded",
                }
            },
        ),
        8192,
    ),
    "openai, newer": (
        HttpError(
            status=400,
            body={
                "error": {
                    "message": "Input tokens exceed the configured limit of 272000 tokens. Your "
                    "messages resulted in 300010 tokens. Please reduce the length of the messages.",
                    "type": "invalid_request_error",
                    "param": "messages",
                    "code": "context_length_exceeded",
                }
            },
        ),
        272000,
    ),
    "vllm": (
        _vllm(
            "This model's maximum context length is 4096 tokens. However, you requested 5000 "
            "tokens (4500 in the messages, 500 in the completion). Please reduce the length of "
            "the messages or completion."
        ),
        4096,
    ),
    "vllm, newer": (
        _vllm(
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096. "
            "Make sure that `max_model_len` is no smaller than the number of text tokens."
        ),
        4096,
    ),
    "llama.cpp": (
        _llama_cpp(
            400,
            "the request exceeds the available context size. try increasing the context size or enable context shift",
            "exceed_context_size_error",
            n_prompt_tokens=8000,
            n_ctx=2048,
        ),
        2048,
    ),
    "llama.cpp, newer": (
        _llama_cpp(
            400,
            "request (8000 tokens) exceeds the available context size (2048 tokens), try increasing it",
            "exceed_context_size_error",
            n_prompt_tokens=8000,
            n_ctx=2048,
        ),
        2048,
    ),
    "says no number": (http_error(400, "context length exceeded: prompt is too long"), None),
}
