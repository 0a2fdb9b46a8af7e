"""Eviction: the choice of files that make room for a new one. Pure; time comes in as an argument."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from server import config
from server.media.references import MediaError

MAX_ITEMS: Final = 4096
"""The most files kept, however small: all are looked through whenever one is added."""
HELD_S: Final = 60.0
"""A file used this recently may be on its way to the page: no later file of the same user takes its place."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of the folder; also half an item or a draft that a crash left behind."""

    item_id: str
    owner: str
    used_s: float
    size: int


@dataclass(frozen=True, slots=True)
class Coming:
    owner: str
    size: int


def choose_leaving(
    kept: Iterable[Kept], settings: config.MediaSettings, *, now_s: float, coming: Coming | None = None
) -> list[Kept]:
    """Choose the files that are too old; then, for a new one, its owner's least recently used; then those of all.

    Raises MediaError where the owner's share is full of files used too recently: then nothing goes, and nothing comes.
    """
    ordered = sorted(kept, key=lambda item: item.used_s)
    oldest_s = now_s - settings.max_age_s
    leaving = [item for item in ordered if item.used_s < oldest_s]
    staying = ordered[len(leaving) :]
    if coming is not None:
        own = [item for item in staying if item.owner == coming.owner]
        gone = _longest_unused(own, coming, max_bytes=settings.max_user_bytes, max_items=settings.max_user_items)
        if gone and gone[-1].used_s > now_s - min(HELD_S, settings.max_age_s / 2):
            raise _share_is_full(settings)
        leaving += gone
        going = set(gone)
        staying = [item for item in staying if item not in going]
    return leaving + _longest_unused(staying, coming, max_bytes=settings.max_total_bytes, max_items=MAX_ITEMS)


def _longest_unused(ordered: list[Kept], coming: Coming | None, *, max_bytes: int, max_items: int) -> list[Kept]:
    """Return the fewest files that make room, least recently used first."""
    excess = sum(item.size for item in ordered) - max_bytes + (coming.size if coming else 0)
    surplus = len(ordered) - max_items + (1 if coming else 0)
    count = 0
    while count < len(ordered) and (excess > 0 or surplus > count):
        excess -= ordered[count].size
        count += 1
    return ordered[:count]


def _share_is_full(settings: config.MediaSettings) -> MediaError:
    share = f"{settings.max_user_bytes >> 20} MiB, {settings.max_user_items} files"
    return MediaError(
        f"the user's files of the last minute use up the limit of one user ({share}: media.max_user_bytes, "
        "media.max_user_items); give fewer or smaller ones, or wait a minute"
    )
