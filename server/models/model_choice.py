"""The operator's choice of the model for the whole server: its forms, and the file in the data folder that keeps it."""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from server.errors import ConfigError

FILE_NAME: Final = "model.json"
_MAX_BYTES: Final = 16 << 10

ModelName = Annotated[str, Meta(min_length=1, max_length=256)]


class EmbeddedChoice(Struct, frozen=True, tag_field="kind", tag="embedded", forbid_unknown_fields=True):
    """The model that is included."""


class EndpointAddress(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An OpenAI-compatible address. The key is sent there, and nowhere else."""

    base_url: Annotated[str, Meta(max_length=2048)]
    api_key: Annotated[str, Meta(max_length=4096, pattern=r"^[!-~]+$")] | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(url := self.base_url.strip().rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable():
            raise ValueError("base_url must be a URL such as http://127.0.0.1:8000/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("base_url is shown to operators: leave out name, password and query, use api_key")
        force_setattr(self, "base_url", url)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"


class EndpointChoice(EndpointAddress, frozen=True, kw_only=True, tag_field="kind", tag="endpoint"):
    """A model behind an OpenAI-compatible address."""

    model: ModelName


class FileChoice(Struct, frozen=True, tag_field="kind", tag="file", forbid_unknown_fields=True):
    """A GGUF file of the data folder, by its name there."""

    name: Annotated[str, Meta(pattern=r"^[^/\\.][^/\\]*$", max_length=256)]


ModelChoice = EmbeddedChoice | EndpointChoice | FileChoice


def without_key(choice: ModelChoice) -> ModelChoice:
    """Return the choice as it may be shown, and as it is compared: whatever its key."""
    return msgspec.structs.replace(choice, api_key=None) if isinstance(choice, EndpointChoice) else choice


def load_choice(data_dir: Path) -> ModelChoice | None:
    """Read the choice; None if there is none. Raises ConfigError for a file that makes no sense."""
    path = data_dir / FILE_NAME
    try:
        with path.open("rb") as file:
            body = file.read(_MAX_BYTES + 1)
        if len(body) > _MAX_BYTES:
            raise ValueError("it is too large")
        choice: ModelChoice = msgspec.json.decode(body, type=ModelChoice)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); it holds the choice of the model") from error
    except ValueError:  # its text may quote a key
        raise ConfigError(
            f"{path}: not a choice of a model; delete the file, start the server and choose again"
        ) from None
    return choice


def save_choice(data_dir: Path, choice: ModelChoice) -> None:
    """Write the choice in place of the one before, readable by its owner alone. Blocks; raises OSError."""
    number, draft = tempfile.mkstemp(prefix=f".{FILE_NAME}-", dir=data_dir)  # made with mode 0600
    try:
        with os.fdopen(number, "wb") as file:
            file.write(msgspec.json.encode(choice))
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(data_dir / FILE_NAME)
    except BaseException:
        Path(draft).unlink()
        raise
