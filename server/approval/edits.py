"""Arguments that a human is shown, and those that come back edited: which secrets stay hidden, and how they return. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from server.approval.asking import Question
from server.approval.remembered import canonical_json
from server.toolguard import REDACTED

_NOTHING: Final = object()
"""Sentinel for the shown value where nothing was shown."""

_DATA: Final = re.compile(r"[\w+/][\w.+/=:@,!#-]*")
"""Texts in which no shell, template or program reads anything but letters: they may stay hidden from who approves."""


class MaskLeftOver(ValueError):
    """An edit holds a redaction whose secret cannot be told. The text says what a human can do about it."""

    def __init__(self) -> None:
        super().__init__(
            f"{REDACTED} stands for a secret, but after this edit it is not clear which one: leave every "
            f"{REDACTED} of a text and the word before it unchanged, or write the value itself"
        )


def approvable(shown: Any, real: Any) -> Any:
    """Return what a question shows: `shown`, with everything in full that is more than data.

    A hidden `$(…)`, `;`, line end or space could run unseen. So can what cannot be told from the texts around it, and
    what could not be scanned.
    """
    if shown is real:
        return real
    if isinstance(shown, str) and isinstance(real, str):
        pieces = shown.split(REDACTED)
        if (secrets := _secrets(pieces, real) if len(pieces) > 1 else None) is None:
            return real
        parts = [REDACTED if _DATA.fullmatch(secret) else secret for secret in secrets]
        return "".join(part for pair in zip(pieces, [*parts, ""], strict=True) for part in pair)
    if isinstance(shown, dict) and isinstance(real, dict):
        names = _names(shown, real)
        if len(names) == len(shown) == len(real):
            return {approvable(key, names[key]): approvable(shown[key], real[names[key]]) for key in shown}
    elif isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        return [approvable(one, other) for one, other in zip(shown, real, strict=True)]
    return shown if shown == REDACTED and isinstance(real, int | float) else real


def edited_arguments(question: Question, arguments: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the arguments to run instead, as a human sent them back, or None if nothing was changed.

    Raises MaskLeftOver, and RecursionError for what is nested too deep.
    """
    if arguments is None:
        return None
    shown = question.arguments
    real = shown if question.real_arguments is None else question.real_arguments
    given, as_shown, as_real = canonical_json(arguments), canonical_json(shown), canonical_json(real)
    if given in (as_shown, as_real):
        return None
    if as_shown == as_real:
        return arguments
    edited: dict[str, Any] = unmask(arguments, shown, real)
    return edited if canonical_json(edited) != as_real else None


def unmask(edited: Any, shown: Any, real: Any) -> Any:
    """Return `edited` with what the human left as it was shown put back to what it really is.

    A redaction that stands where it stood, in a text whose others are all there
    too, gives its secret back. Raises MaskLeftOver for any other: it must not run
    in a secret's stead.
    """
    if isinstance(edited, str):
        return _text(edited, shown, real)
    if isinstance(edited, dict) and edited:
        return _object(edited, shown, real)
    if isinstance(edited, list) and edited:
        return _list(edited, shown, real)
    return real if type(edited) is type(shown) and edited == shown else edited


def _text(edited: str, shown: Any, real: Any) -> Any:
    if edited == shown:
        return real
    if REDACTED not in edited:
        return edited
    if isinstance(shown, str) and isinstance(real, str):
        if shown == real and edited.count(REDACTED) <= shown.count(REDACTED):
            return edited  # the word itself, as it stands in the real text
        if (restored := _restored(edited, shown, real)) is not None:
            return restored
    raise MaskLeftOver


def _object(edited: dict[str, Any], shown: Any, real: Any) -> dict[str, Any]:
    names = _names(shown, real) if isinstance(shown, dict) and isinstance(real, dict) else {}
    out: dict[str, Any] = {}
    for key, value in edited.items():
        if (name := names.get(key)) is not None:
            out[name] = unmask(value, shown[key], real[name])
        elif REDACTED in key:
            raise MaskLeftOver
        else:
            out[key] = unmask(value, _NOTHING, _NOTHING)
    return out


def _names(shown: dict[str, Any], real: dict[str, Any]) -> dict[str, str]:
    """Map the keys that were shown to the real ones; redaction keeps their order."""
    names = {key: key for key in shown if key in real}
    if len(shown) == len(real):
        names |= {key: name for key, name in zip(shown, real, strict=True) if REDACTED in key and key not in names}
    return names


def _list(edited: list[Any], shown: Any, real: Any) -> list[Any]:
    """Unmask a list: redacted texts are found wherever they went, all else by its place if nothing came or went."""
    if not (isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real)):
        return [unmask(value, _NOTHING, _NOTHING) for value in edited]
    homes = _homes(edited, shown)
    taken = set(homes.values())
    out = []
    for at, value in enumerate(edited):
        home = homes.get(at)
        if home is None and len(edited) == len(shown) and at not in taken:
            home = at
        out.append(unmask(value, _NOTHING, _NOTHING) if home is None else unmask(value, shown[home], real[home]))
    return out


def _homes(edited: Sequence[Any], shown: Sequence[Any]) -> dict[int, int]:
    """Map the place of each redacted text now to its place then, where as many of it are there as were."""
    now, then = list(_redacted(edited)), list(_redacted(shown))
    counts, counts_then = Counter(what for _, what in now), Counter(what for _, what in then)
    places: dict[tuple[Any, str], list[int]] = {}
    for at, what in reversed(then):
        places.setdefault(what, []).append(at)
    return {at: places[what].pop() for at, what in now if counts[what] == counts_then[what]}


def _redacted(items: Sequence[Any]) -> Iterable[tuple[int, tuple[Any, str]]]:
    """Return the redacted texts; one that is a redaction and nothing else is known by the text before it."""
    before: Any = None
    for at, item in enumerate(items):
        if isinstance(item, str) and REDACTED in item:
            yield at, (before if item == REDACTED and isinstance(before, str) else None, item)
        before = item


def _restored(edited: str, shown: str, real: str) -> str | None:
    """Return `edited` with the secrets back in, or None if it is unclear which goes where."""
    pieces, new = shown.split(REDACTED), edited.split(REDACTED)
    if len(new) != len(pieces):
        return None
    if len(new) > 2 and any(_last_word(one) != _last_word(other) for one, other in zip(pieces[:-1], new, strict=False)):
        return None
    secrets = _secrets(pieces, real)
    if secrets is None:
        return None
    return "".join(part for pair in zip(new, [*secrets, ""], strict=True) for part in pair)


def _last_word(text: str) -> str:
    """Return the last word of the text, with the spaces behind it."""
    bare = text.rstrip()
    return "".join(bare.rsplit(None, 1)[-1:]) + text[len(bare) :]


def _secrets(pieces: Sequence[str], real: str) -> list[str] | None:
    """Return what stands in `real` between the pieces, or None if there is more than one way to read it, or none."""
    first, *middle, last = pieces
    if not real.startswith(first) or not real.endswith(last):
        return None
    begins, ends = len(first), len(real) - len(last)
    earliest, at = [], begins
    for piece in middle:
        at = real.find(piece, at + 1, ends)
        if at < 0:
            return None
        earliest.append(at)
        at += len(piece)
    latest, end = [], ends
    for piece in reversed(middle):
        end = real.rfind(piece, begins, end - 1)
        latest.append(end)
    if earliest != latest[::-1]:
        return None
    starts = [begins, *(at + len(piece) for at, piece in zip(earliest, middle, strict=True))]
    found = [real[start:end] for start, end in zip(starts, [*earliest, ends], strict=True)]
    return found if all(found) else None
