"""The header of a GGUF file: what has to be known of a model before it is loaded. Blocking; reads the first MiB."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MAGIC: Final = b"GGUF"

_MAX_BYTES: Final = 1 << 20
_MAX_ITEMS: Final = 4096  # of an array that is kept; a vocabulary has more
_SCALARS: Final = dict(enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?"))) | {10: "<Q", 11: "<q", 12: "<d"}
_STRING: Final = 8
_ARRAY: Final = 9
_CACHE_BYTES: Final = 2  # of one number in the context's memory


class NotAModel(ValueError):
    """A file that is no language model, or none that can be read; the text is for people."""


@dataclass(frozen=True, kw_only=True)
class ModelHeader:
    """The shape of a model, as far as its memory depends on it."""

    architecture: str
    trained_tokens: int
    """The longest context that it has been trained for."""
    token_bytes: int
    """Memory that one token of context takes. Too much for models whose layers forget: they need less."""


def read_header(path: Path) -> ModelHeader:
    """Read the header. Raises OSError, and NotAModel where it does not describe a language model."""
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES)
    if not data.startswith(MAGIC):
        raise NotAModel(f"{path.name} is not a GGUF file")
    entries = dict(_entries(data))
    kind = entries.get("general.architecture")

    def number(key: str, default: int = 0) -> int:
        value = entries.get(f"{kind}.{key}", default)
        return int(max(value) if isinstance(value, list) else value)

    try:
        per_head = number("embedding_length") // number("attention.head_count", 1)
        widths = number("attention.key_length", per_head) + number("attention.value_length", per_head)
        heads = entries.get(f"{kind}.attention.head_count_kv", number("attention.head_count"))
        all_heads = sum(heads) if isinstance(heads, list) else heads * number("block_count")
        header = ModelHeader(
            architecture=str(kind),
            trained_tokens=number("context_length"),
            token_bytes=_CACHE_BYTES * all_heads * widths,
        )
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise NotAModel(f"the header of {path.name} makes no sense; is the file complete?") from error
    if header.trained_tokens <= 0 or header.token_bytes <= 0:
        raise NotAModel(f"{path.name} holds no language model ({kind or 'unknown architecture'})")
    return header


def _entries(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield keys and values up to the vocabulary, or to where the data ends or makes no sense."""
    try:
        version, _tensors, count = struct.unpack_from("<IQQ", data, len(MAGIC))
        if version < 2:
            return
        at = len(MAGIC) + 20
        for _ in range(count):
            key, at = _value(data, at, _STRING)
            if key.startswith("tokenizer."):
                return
            [kind] = struct.unpack_from("<I", data, at)
            value, at = _value(data, at + 4, kind)
            yield key, value
    except (struct.error, KeyError, UnicodeDecodeError):
        return


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """Return the value and the place behind it. Raises struct.error and KeyError for what cannot be read."""
    if kind == _STRING:
        [length] = struct.unpack_from("<Q", data, at)
        [text] = struct.unpack_from(f"{min(length, _MAX_BYTES)}s", data, at + 8)
        return text.decode(), at + 8 + length
    if kind == _ARRAY:
        item, count = struct.unpack_from("<IQ", data, at)
        if count > _MAX_ITEMS or item == _ARRAY:
            raise KeyError(item)
        at += 12
        items = []
        for _ in range(count):
            value, at = _value(data, at, item)
            items.append(value)
        return items, at
    form = _SCALARS[kind]
    [value] = struct.unpack_from(form, data, at)
    return value, at + struct.calcsize(form)
