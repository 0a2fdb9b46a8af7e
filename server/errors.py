"""Everything the server raises on purpose.

ServerError                 code                     who can act on it
├── ConfigError             config_invalid           the operator, at start
├── PolicyError             policy_invalid           the author of the policy document
├── StorageError            storage_unavailable      the operator: the database; what was read before stays in force
├── AuthError               not_authenticated        the user: the credential is wrong, or its time is over
│   ├── CredentialExpired   not_authenticated        the user: log in again
│   ├── TooManyAttempts     too_many_attempts        wait `retry_after_s`
│   └── KeysUnavailable     login_unavailable        the operator: the identity provider's keys cannot be had
├── FrameError              frame_* / the code given the client that sent the frame
├── TurnError               the code given           the client: this turn cannot be run
├── Closed                  internal                 none: the client has left
├── ToolError               tool_failed              the model: it reads the text
├── SpeechError             speech_unavailable       none: what was to be said arrives as text, with a notice
│   ├── SpeechUnavailable   speech_unavailable       the operator: an engine is missing, loading, down or refuses
│   ├── SpeechBusy          speech_unavailable       wait: too much is being said or recognised at once
│   └── SpeechTimeout       speech_unavailable       an engine said nothing, or stopped in mid-sentence
└── ProviderError           the code given           the operator (key, address): the turn ends, the session goes on
    ├── ProviderUnreachable provider_unreachable     no connection, connection lost, or a 5xx answer
    ├── ProviderAuth        provider_auth            the key was refused
    ├── ProviderRateLimited provider_rate_limited    wait `retry_after_ms`
    ├── ProviderTimeout     provider_timeout         no first token, or no next one, in time
    ├── ProviderProtocol    provider_protocol        an answer that makes no sense, or a refused request
    │   ├── RoleRefused     provider_protocol        the model's template wants other roles (docs/hooks.md, "Roles")
    │   ├── ImageRefused    provider_protocol        the model sees no pictures
    │   └── ToolChoiceRefused provider_protocol      the model or its server can force no call of a tool
    ├── ContextTooLong      context_overflow         the prompt does not fit the model's context
    ├── ModelMissing        model_missing            no model named and none to be found out
    └── LanguageUnknown     language_unknown         the user: ask in another language, or an operator picks another model

A code never changes; its text may, and never holds a secret.
"""

import asyncio
import logging

logger = logging.getLogger(__name__)


class ServerError(Exception):
    code: str = "internal"


class ConfigError(ServerError):
    """A setting is wrong. The text names the key, its source and what was expected."""

    code = "config_invalid"


class PolicyError(ServerError):
    """A tool policy is wrong. `path` is its JSON path; nothing of the document was taken."""

    code = "policy_invalid"

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class StorageError(ServerError):
    """The database does not serve now; nothing was acknowledged."""

    code = "storage_unavailable"


class AuthError(ServerError):
    """A credential is refused. The text never holds any of it."""

    code = "not_authenticated"
    retry_after_s: float | None = None


class CredentialExpired(AuthError):
    """A credential was good once and has expired: no sign of guessing."""


class TooManyAttempts(AuthError):
    """Wrong credentials came from this address; none is looked at before `retry_after_s`."""

    code = "too_many_attempts"

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class KeysUnavailable(AuthError):
    """The identity provider's keys cannot be had: whether the credential is good cannot be told."""

    code = "login_unavailable"
    retry_after_s = 30.0


class FrameError(ServerError):
    """A frame of the client is wrong; the connection goes on."""

    def __init__(self, code: str, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.path = path


class TurnError(ServerError):
    """A turn cannot be started or go on, for a reason that the client can read."""

    def __init__(self, code: str, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_ms = retry_after_ms


class Closed(ServerError):
    """The connection is gone: the turn that is written to it ends, and what waits for room gives up."""


class ToolError(ServerError):
    """A tool refused or failed; the model reads the text as the tool's result."""

    code = "tool_failed"


class SpeechError(ServerError):
    code = "speech_unavailable"


class SpeechUnavailable(SpeechError):
    """An engine is missing, still loading, broke down or refused."""


class SpeechBusy(SpeechError):
    """An engine's queue is full."""


class SpeechTimeout(SpeechError):
    """An engine said nothing, or stopped in mid-sentence."""


class ProviderError(ServerError):
    """A model call failed. `is_retryable`: the same call may succeed if sent again."""

    code = "provider_protocol"
    is_retryable: bool = False
    retry_after_ms: int | None = None

    def __init__(self, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class ProviderUnreachable(ProviderError):
    code = "provider_unreachable"
    is_retryable = True


class ProviderAuth(ProviderError):
    code = "provider_auth"


class ProviderRateLimited(ProviderError):
    code = "provider_rate_limited"
    is_retryable = True


class ProviderTimeout(ProviderError):
    code = "provider_timeout"
    is_retryable = True


class ProviderProtocol(ProviderError):
    code = "provider_protocol"


class RoleRefused(ProviderProtocol):
    """The endpoint refused the roles or their order, not the content."""


class ImageRefused(ProviderProtocol):
    """The model takes text only; a picture that it could not read is another error."""


class ToolChoiceRefused(ProviderProtocol):
    """The endpoint refused the `tool_choice`, not the content."""


class ContextTooLong(ProviderError):
    """The prompt exceeds the context. `limit_tokens`: its size where the endpoint's message tells it."""

    code = "context_overflow"

    def __init__(self, message: str, *, limit_tokens: int | None = None) -> None:
        super().__init__(message)
        self.limit_tokens = limit_tokens


class ModelMissing(ProviderError):
    code = "model_missing"


class LanguageUnknown(ProviderError):
    code = "language_unknown"


def is_cancelled() -> bool:
    """Return whether a CancelledError is meant for the current task: foreign code may let out one of its own."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def log_failure(task: asyncio.Task[None]) -> None:
    """Log the exception of a task that should end only when it is cancelled."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.critical("%s has failed", task.get_name(), exc_info=error)
