"""Names of fields: those of the API's beta and misspelled ones are refused with the cure, other unknown ones ignored."""

import logging
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from server.errors import FrameError

logger = logging.getLogger(__name__)

MAX_UNKNOWN: Final = 64
"""Unknown fields of one event that are looked at."""
_MAX_LOGGED: Final = 256
_logged: set[str] = set()  # names that this process has logged, at most _MAX_LOGGED
_NO_EFFECT: Final = ("type", "object", "status", "parallel_tool_calls", "reasoning")
"""Fields of the API that mean nothing where no struct has them."""
_BETA_PLACES: Final = {
    "modalities": ("output_modalities",),
    "max_response_output_tokens": ("max_output_tokens",),
    "voice": ("audio", "output", "voice"),
    "speed": ("audio", "output", "speed"),
    "output_audio_format": ("audio", "output", "format"),
    "input_audio_format": ("audio", "input", "format"),
    "input_audio_transcription": ("audio", "input", "transcription"),
    "input_audio_noise_reduction": ("audio", "input", "noise_reduction"),
    "turn_detection": ("audio", "input", "turn_detection"),
}
"""Places that the fields of a session or a response in the API's beta have today."""
_BETA_FORMATS: Final = {
    "pcm16": {"type": "audio/pcm", "rate": 24_000},
    "g711_ulaw": {"type": "audio/pcmu"},
    "g711_alaw": {"type": "audio/pcma"},
}


def check_names(given: Any, read: Any, *, at: str) -> None:
    """Compare plain data with the struct that was made of it. Raises FrameError (`unknown_parameter`)."""
    for path, name, value, struct in islice(_unknown(given, read, at), MAX_UNKNOWN):
        known = struct.__struct_fields__
        if name in _BETA_PLACES and "output_modalities" in known:
            cure = msgspec.json.encode(modern_session({name: value})).decode()
            text = f"`{path}` is of the beta of this API; send {cure[:300]} in its place"
            raise FrameError("unknown_parameter", text, path=path)
        if meant := next((each for each in known if _is_misspelled(name, each)), None):
            raise FrameError("unknown_parameter", f"there is no `{path}`; is `{meant}` meant?", path=path)
        field = f"{type(struct).__name__}.{name[:100]}"  # a name may have the length of an event
        if len(_logged) < _MAX_LOGGED and field not in _logged:
            _logged.add(field)
            logger.info("a client sends %s, which is unknown here and ignored", field)


def _unknown(given: Any, read: Any, at: str) -> Iterator[tuple[str, str, Any, Struct]]:
    """Yield path, name and value of each field that its struct does not have, with the struct."""
    if isinstance(given, list) and isinstance(read, list):
        for index, (item, struct) in enumerate(zip(given, read, strict=True)):
            yield from _unknown(item, struct, f"{at}[{index}]")
    if not isinstance(given, Mapping) or not isinstance(read, Struct):
        return
    for name, value in given.items():
        path = f"{at}.{name[:100]}".removeprefix(".")
        if name in read.__struct_fields__:
            yield from _unknown(value, getattr(read, name), path)
        elif name not in _NO_EFFECT:
            yield path, name, value, read


def _is_misspelled(name: str, known: str) -> bool:
    """Return whether one letter is wrong, missing, too many, or at the wrong place, or the name is in camelCase."""
    name, known = (each[:100].lower().replace("_", "") for each in (name, known))
    size = max(len(name), len(known))
    if size < 4 or abs(len(name) - len(known)) > 1:
        return False
    blocks = SequenceMatcher(None, name, known, autojunk=False).get_matching_blocks()
    return size - sum(block.size for block in blocks) <= 1


def modern_session(session: Mapping[str, Any]) -> dict[str, Any]:
    """Return a session of the beta's flat shape as `session.update` takes it; other fields stay as they are."""
    modern: dict[str, Any] = {}
    for name, value in session.items():
        *parents, last = _BETA_PLACES.get(name, (name,))
        place = modern
        for parent in parents:
            inner = place.setdefault(parent, {})
            place = inner if isinstance(inner, dict) else {}
        place[last] = _BETA_FORMATS.get(value, value) if last == "format" and isinstance(value, str) else value
    if isinstance(modern.get("output_modalities"), list):  # the words of what is said came beside it
        modern["output_modalities"] = [name for name in ("audio", "text") if name in modern["output_modalities"]][:1]
    return modern
