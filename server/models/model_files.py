"""The folder of models: the files that are there, those that can be fetched, and the hashes they are pinned to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from server.errors import ServerError

_PART: Final = ".part"  # of a file that is not complete; beside it stands what is known of its source
_SOURCE: Final = _PART + ".source"
_PIN: Final = ".sha256"
_HUB: Final = "https://huggingface.co"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.gguf", re.IGNORECASE)
_PIECE: Final = re.compile(r"-\d{5}-of-\d{5}\.gguf\Z", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"https?://[^\s/?#@\[\]]+/")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class ModelFileError(ServerError):
    """Something is wrong with a file of the folder or with its source; the text says what to do."""

    code = "model_file"


@dataclass(frozen=True, kw_only=True)
class RecommendedModel:
    """A model that calls tools and may be used for any purpose, with the size and SHA-256 of its publisher's file."""

    path: str
    size_bytes: int
    sha256: str
    licence: str
    parameters: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def url(self, environ: Mapping[str, str]) -> str:
        """Return its address; HF_ENDPOINT names a mirror of huggingface.co, as for that site's own tools."""
        return f"{(environ.get('HF_ENDPOINT') or _HUB).rstrip('/')}/{self.path}"


_TABLE: Final = Path(__file__).with_name("recommended.json")
RECOMMENDED: Final = msgspec.json.decode(_TABLE.read_bytes(), type=tuple[RecommendedModel, ...])


def find_model(name: str, table: Sequence[RecommendedModel] = RECOMMENDED) -> RecommendedModel | None:
    """Find a recommended model by its file's name, with or without `.gguf`."""
    file_name = f"{name.lower().removesuffix('.gguf')}.gguf"
    return next((model for model in table if model.name.lower() == file_name), None)


def suggest_model(free_bytes: int) -> str | None:
    """Return the name of the largest model that takes at most a sixth of the memory; larger ones fit, but are slow."""
    fitting = [model for model in RECOMMENDED if 6 * model.size_bytes <= free_bytes]
    return max(fitting, key=lambda model: model.size_bytes).name if fitting else None


def gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB"


def name_of_url(url: str) -> str:
    """Return the name that the file behind an address gets. Raises ModelFileError."""
    if not _ADDRESS.match(url):
        raise ModelFileError(f"{url}: neither a recommended model nor an address that begins with https:// or http://")
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    if not _NAME.fullmatch(name):
        raise ModelFileError(f"{name or url}: the address must end in the name of a GGUF file, such as model.gguf")
    if _PIECE.search(name):
        raise ModelFileError(f"{name} is one piece of a model; choose a model that is one file")
    return name


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """A file of the folder; `size_bytes` is that on the disk, of `total_bytes` where it is not complete."""

    name: str
    size_bytes: int
    total_bytes: int
    sha256: str | None

    @property
    def is_complete(self) -> bool:
        return self.size_bytes == self.total_bytes


class PartSource(Struct, frozen=True):
    """The origin of an incomplete file: only the same version of the same file may be appended to it."""

    url: str = ""
    version: str = ""
    """The server's ETag or date; "" where it gave neither, so that a download begins anew."""
    total_bytes: int = msgspec.field(default=0, name="total")


class ModelFolder:
    """The folder `models` of the data folder. Everything here blocks for a moment; nothing is overwritten."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Return the path of a name, with or without `.gguf`. Raises ModelFileError for what is no name of a model."""
        name = name if name.lower().endswith(".gguf") else f"{name}.gguf"
        if not _NAME.fullmatch(name):
            raise ModelFileError(f"{name[:200]}: not the name of a model; `python -m server.models` lists them")
        return self.folder / name

    def existing(self, name: str) -> Path:
        """Return the path of a complete model. Raises ModelFileError where there is none."""
        path = self.path(name)
        if not path.is_file():
            raise _no_model(path.name)
        return path

    def files(self) -> list[ModelFile]:
        """List complete files and those that are not, by name."""
        files = []
        for path in self.folder.glob("*"):
            name = path.name.removesuffix(_PART)
            if not _NAME.fullmatch(name) or not path.is_file():
                continue
            size = path.stat().st_size
            if name == path.name:
                files.append(ModelFile(name=name, size_bytes=size, total_bytes=size, sha256=self.pin(name)))
            elif total_bytes := self.source(name).total_bytes:
                files.append(ModelFile(name=name, size_bytes=size, total_bytes=total_bytes, sha256=None))
        return sorted(files, key=lambda file: file.name.lower())

    def remove(self, name: str) -> None:
        """Delete a model, or what there is of it; its pin stays. Raises ModelFileError where there is neither."""
        path = self.path(name)
        if not path.exists() and not self.part(name).exists():
            raise _no_model(path.name)
        path.unlink(missing_ok=True)
        self.remove_part(name)

    def part(self, name: str) -> Path:
        """Return the path of the file as long as it is not complete."""
        return self._beside(name, _PART)

    def remove_part(self, name: str) -> None:
        """Delete the incomplete file, if there is one, and what is known of its source."""
        self.part(name).unlink(missing_ok=True)
        self._beside(name, _SOURCE).unlink(missing_ok=True)

    def pin(self, name: str) -> str | None:
        """Return the SHA-256 that the first download of this name had."""
        try:
            pinned = _HASH.match(self._beside(name, _PIN).read_text("utf-8"))
        except (OSError, UnicodeDecodeError):
            return None
        return pinned[0] if pinned else None

    def refuse_existing(self, name: str) -> None:
        if (path := self.path(name)).exists():
            raise ModelFileError(f"{path.name} is there already and is never overwritten; remove it first")

    def complete(self, name: str, sha256: str) -> None:
        """Give the whole file its name, and pin its hash in the form that `sha256sum --check` reads."""
        self.refuse_existing(name)
        path = self.part(name).rename(self.path(name))
        self.remove_part(name)
        self._beside(name, _PIN).write_text(f"{sha256}  {path.name}\n", "utf-8")

    def source(self, name: str) -> PartSource:
        try:
            return msgspec.json.decode(self._beside(name, _SOURCE).read_bytes(), type=PartSource)
        except (OSError, ValueError):
            return PartSource()

    def set_source(self, name: str, source: PartSource) -> None:
        self._beside(name, _SOURCE).write_bytes(msgspec.json.encode(source))

    def _beside(self, name: str, end: str) -> Path:
        path = self.path(name)
        return path.with_name(path.name + end)


def _no_model(name: str) -> ModelFileError:
    return ModelFileError(f"there is no model {name}; `python -m server.models` lists what is there")
