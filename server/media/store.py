"""The files of turns, on disk: registered under an id, served for a while, then gone.

An item is two files of the folder `items`: `<id>.json` says what it is and
whose, and its time is that of the last use; `<id>` holds the bytes. It is there
when both are, and the bytes come last. An id begins with its owner's tag, so that
a look at the names tells how much each user has. Nothing is remembered in the
process, so replicas that share the folder serve each other's items.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from server import config
from server.bounded.fair_share import account_of
from server.media import content_types
from server.media.references import (
    OWNER_CHARS,
    SCHEME,
    Loaded,
    MediaError,
    UrlSigner,
    clean_name,
    media_id,
    read_data_url,
    read_path,
)

logger = logging.getLogger(__name__)

MAX_MODEL_IMAGE_BYTES: Final = 5 << 20
SWEEP_EVERY_S: Final = 60.0
MAX_ITEMS: Final = 4096
"""The most files kept, however small: all are looked through whenever one is added."""
HELD_S: Final = 60.0
"""A file used this recently may be on its way to the page: no later file of the same user takes its place."""


class MediaItem(msgspec.Struct, frozen=True, kw_only=True):
    """A registered file, as its user may be told of it."""

    ref: str
    """`media://<id>`: what hooks and tools pass on."""
    url: str
    """Signed URL for this user alone, good for a day."""
    content_type: str
    name: str
    size: int


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    user_id: str
    content_type: str
    name: str
    size: int


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


def _make_private(folder: Path) -> None:
    """Create the folder for this user of the machine only, whatever the umask; one that is there keeps its rights."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    elif folder.stat().st_mode & 0o077:
        logger.warning("other users of this machine may enter %s; run chmod 700 on it", folder)


class MediaStore:
    """Store of files, safe for any number of tasks, and of processes on one folder.

    The limits hold for the folder: at most `max_total_bytes` and 4096 items, of
    one user `max_user_bytes` and `max_user_items`; the longest unused go first,
    of that user where it is the user's limit. What several processes add in the
    same moment may pass them by so much. What is older than `max_age_s` since
    its last use is gone, whether swept yet or not.
    """

    def __init__(
        self,
        settings: config.MediaSettings,
        folder: Path,
        *,
        sources: Sequence[Path],
        signer: UrlSigner,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        """Set the folders: `folder` is the store's own, files below `sources` may be registered by path."""
        self._settings = settings
        self._items = folder / "items"
        self._inbox = folder / "inbox"
        self._sources = (*sources, self._inbox)
        self._signer = signer
        self._adding = threading.Lock()  # what one adds is there when the next looks for room
        self._clock_s = clock_s

    async def start(self) -> None:
        """Make the folders. Raises MediaError where that is not possible."""
        try:
            for folder in (self._items.parent, self._items, self._inbox):
                await asyncio.to_thread(_make_private, folder)
        except OSError as error:
            raise MediaError(f"the folder cannot be created: {error.strerror}") from error

    async def sweep_regularly(self) -> None:
        """Remove what is too old, again and again, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            await asyncio.to_thread(self._sweep)

    async def register(self, reference: str, *, user_id: str, session_id: str, name: str | None = None) -> MediaItem:
        """Take in a `data:` URL or a file of an allowed folder (copied), or find a `media://` id again.

        An id counts for the user it was made for, in any session: a user who
        reconnects has a new one. Raises MediaError, also where all that the user
        may keep is taken by files of the last minute.
        """
        return await asyncio.to_thread(self._register, reference, user_id, name, session_id)

    async def open_image(self, ref: str) -> tuple[str, bytes]:
        """Return an image that a model may be sent: PNG, JPEG or WebP of at most 5 MiB. Raises MediaError.

        Whose it is was checked when it was registered; a reference from elsewhere is registered first.
        """
        return await asyncio.to_thread(self._open_image, ref)

    async def find(self, item_id: str, *, user_id: str) -> tuple[Path, Stored] | None:
        """Return the file of a URL for its user, or None if there is none or it is another's. Counts as a use."""
        return await asyncio.to_thread(self._find, item_id, user_id)

    def may_open(self, item_id: str, *, user_id: str, user: str, expires: str, signature: str) -> bool:
        return self._signer.is_valid(
            item_id, user_id=user_id, user=user, expires=expires, signature=signature, now_s=self._clock_s()
        )

    # in threads

    def _register(self, reference: str, user_id: str, name: str | None, session_id: str) -> MediaItem:
        if item_id := media_id(reference):
            if (found := self._find(item_id, user_id)) is None:
                raise MediaError(f"{reference} {self._gone}")
            return self._described(item_id, found[1])
        limit = self._settings.max_item_bytes
        if reference[:5].lower() == "data:":
            loaded = read_data_url(reference, max_bytes=limit)
        elif "://" in reference[:32] and not reference.startswith("file://"):
            raise MediaError(
                f"{reference[:80]!r}: only data: URLs, media:// ids and paths are accepted; fetch it yourself"
            )
        else:
            loaded = read_path(reference, self._sources, max_bytes=limit)
        if not loaded.data:
            raise MediaError("the file is empty")
        item_id, stored = self._keep(loaded, user_id, name)
        logger.info("media %s: %s, %d bytes, in session %s", item_id, stored.content_type, stored.size, session_id)
        return self._described(item_id, stored)

    def _keep(self, loaded: Loaded, user_id: str, name: str | None) -> tuple[str, Stored]:
        named = name or loaded.name
        kind = content_types.content_type(bytes(loaded.data[:64]), declared=loaded.declared, name=named)
        stem = kind.partition("/")[0] if content_types.is_shown(kind) else "file"
        shown = clean_name(named, default=f"{stem}.{content_types.suffix_of(kind)}")
        stored = Stored(user_id=user_id, content_type=kind, name=shown, size=len(loaded.data))
        owner = self._signer.owner_tag(account_of(user_id))  # whose limit it takes from
        item_id = owner + secrets.token_hex(16)[OWNER_CHARS:]
        try:
            with self._adding:
                self._sweep(Coming(owner, stored.size))
                self._write(self._about(item_id), msgspec.json.encode(stored))
                self._write(self._items / item_id, loaded.data)
        except OSError as error:
            logger.warning("media cannot be stored: %s", error)
            with contextlib.suppress(OSError):
                self._drop(item_id)
            raise MediaError(f"the file cannot be stored here: {error.strerror}") from error
        return item_id, stored

    def _write(self, path: Path, data: bytes | bytearray) -> None:
        """Write the file whole or not at all, readable for this user of the machine only."""
        draft = self._items / f".{secrets.token_hex(8)}"
        try:
            with open(draft, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(data)
            self._touch(draft)
            draft.rename(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise

    def _described(self, item_id: str, stored: Stored) -> MediaItem:
        url = self._signer.url(item_id, stored.user_id, now_s=self._clock_s())
        return MediaItem(
            ref=f"{SCHEME}{item_id}", url=url, content_type=stored.content_type, name=stored.name, size=stored.size
        )

    def _open_image(self, ref: str) -> tuple[str, bytes]:
        item_id = media_id(ref)
        if item_id is None or (stored := self._read(item_id)) is None:
            raise MediaError(f"{ref[:80]} {self._gone}")
        if stored.content_type not in content_types.IMAGES_FOR_MODELS:
            raise MediaError(f"{stored.name} is {stored.content_type}: models accept only PNG, JPEG and WebP")
        if stored.size > MAX_MODEL_IMAGE_BYTES:
            raise MediaError(f"{stored.name} is larger than {MAX_MODEL_IMAGE_BYTES >> 20} MiB: scale it down")
        try:
            self._touch(self._about(item_id))
            return stored.content_type, (self._items / item_id).read_bytes()
        except OSError:
            raise MediaError(f"{ref} {self._gone}") from None

    def _find(self, item_id: str, user_id: str) -> tuple[Path, Stored] | None:
        stored = self._read(item_id)
        if stored is None or stored.user_id != user_id:
            return None
        with contextlib.suppress(OSError):
            self._touch(self._about(item_id))
        return self._items / item_id, stored

    def _read(self, item_id: str) -> Stored | None:
        """Read the item; `item_id` has the form of an id, 32 hexadecimal digits."""
        try:
            about = self._about(item_id)
            if self._clock_s() - about.stat().st_mtime > self._settings.max_age_s:
                self._drop(item_id)
                return None
            (self._items / item_id).stat()
            return msgspec.json.decode(about.read_bytes(), type=Stored)
        except (OSError, msgspec.MsgspecError):
            return None

    def _about(self, item_id: str) -> Path:
        return self._items / f"{item_id}.json"

    def _touch(self, path: Path) -> None:
        now_s = self._clock_s()
        os.utime(path, (now_s, now_s))

    def _sweep(self, coming: Coming | None = None) -> None:
        """Remove what is too old, and what has to make room. Raises MediaError where it cannot be made."""
        for item in choose_leaving(self._kept(), self._settings, now_s=self._clock_s(), coming=coming):
            self._drop(item.item_id)

    def _kept(self) -> list[Kept]:
        used: dict[str, float] = {}
        sizes: dict[str, int] = {}
        with os.scandir(self._items) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another replica was quicker
                    found = entry.stat(follow_symlinks=False)
                    item_id, dot, _ = entry.name.rpartition(".json")
                    if dot:
                        used[item_id] = found.st_mtime
                    else:
                        used.setdefault(entry.name, found.st_mtime)  # half an item, or a draft that a crash left
                        sizes[entry.name] = found.st_size
        return [Kept(name, name[:OWNER_CHARS], used_s, sizes.get(name, 0)) for name, used_s in used.items()]

    def _drop(self, item_id: str) -> None:
        """Delete the item, its bytes first: what is left of an interrupted removal is no item."""
        (self._items / item_id).unlink(missing_ok=True)
        self._about(item_id).unlink(missing_ok=True)

    @property
    def _gone(self) -> str:
        minutes = self._settings.max_age_s / 60
        return (
            f"is gone: files are kept for {minutes:g} minutes after they were last used (media.max_age_s), "
            "shorter if the user has too many (media.max_user_bytes)"
        )


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
            share = f"{settings.max_user_bytes >> 20} MiB, {settings.max_user_items} files"
            raise MediaError(
                f"the user's files of the last minute use up the limit of one user ({share}: media.max_user_bytes, "
                "media.max_user_items); give fewer or smaller ones, or wait a minute"
            )
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
