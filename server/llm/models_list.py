"""What an endpoint says of its models: bytes of `/models` (and llama.cpp's `/props`) → a `Listing`. No I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_SIZE_KEYS = (
    "max_model_len",  # vLLM
    "context_length",  # OpenRouter, Together
    "max_context_length",  # LM Studio, Mistral
    "context_window",  # Groq
    "max_input_tokens",
)
_MAX_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The names that an endpoint lists, in its order, and the context of those that say."""

    names: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    is_llama_cpp: bool = False

    def context_tokens(self, model: str | None) -> int | None:
        return self.sizes.get(model or "")

    def described(self) -> str:
        if not self.names:
            return "lists no models"
        more = f" and {len(self.names) - _MAX_NAMED} more" if len(self.names) > _MAX_NAMED else ""
        return f"has {', '.join(self.names[:_MAX_NAMED])}{more}"


def pick_model(listing: Listing) -> str | None:
    """The only model there is to talk to; embedding models, which LM Studio always lists, do not talk."""
    talking = [name for name in listing.names if "embed" not in name.lower()]
    return talking[0] if len(talking) == 1 else None


def read_listing(body: bytes) -> Listing:
    """Raises ValueError where it is no list of models; an entry that makes no sense is left out."""
    parsed = json.loads(body)
    entries = parsed.get("data") if isinstance(parsed, dict) else parsed
    if not isinstance(entries, list):
        raise ValueError("no list of models")
    known = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return Listing(
        names=tuple(entry["id"] for entry in known),
        sizes={entry["id"]: size for entry in known if (size := _size(entry)) is not None},
        is_llama_cpp=any(entry.get("owned_by") == "llamacpp" for entry in known),
    )


def read_props(listing: Listing, body: bytes) -> Listing:
    """llama.cpp's real context of one slot, in place of the one that the model was trained with."""
    parsed = json.loads(body)
    settings = parsed.get("default_generation_settings") if isinstance(parsed, dict) else None
    size = settings.get("n_ctx") if isinstance(settings, dict) else None
    if not isinstance(size, int) or size <= 0:
        return listing
    return replace(listing, sizes=dict.fromkeys(listing.names, size))


def _size(entry: Mapping[str, Any]) -> int | None:
    meta = entry.get("meta")
    inner = meta if isinstance(meta, dict) else {}
    for value in [*(entry.get(key) for key in _SIZE_KEYS), inner.get("n_ctx"), inner.get("n_ctx_train")]:
        if isinstance(value, int) and value > 0:
            return value
    return None
