"""References to files: `media://` ids, `data:` URLs and paths that are given, and the signed URLs that users open.

Reading blocks; time comes in as an argument.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

from server.errors import ServerError
from skills_engine.files import open_beneath

SCHEME: Final = "media://"
URL_LIFE_S: Final = 24 * 3600
"""Lifetime of a signed URL. Longer than the store keeps an unread file, so the store decides."""
PREFIX: Final = "/media/"
OWNER_CHARS: Final = 12
_MAC_BYTES: Final = 24
MAX_NAME_CHARS: Final = 120
MAX_ESCAPED_CHARS: Final = 1 << 20
"""Length up to which escapes such as %3D are undone in a `data:` URL: undoing them lets no other thread run."""
_MAX_HEAD_CHARS: Final = 1024
_PIECE_CHARS: Final = 1 << 16  # a multiple of 4
_REST_S: Final = 0.0001  # a sleep of 0 s hands nothing over: who waits for the interpreter would have to wait on

_ID: Final = re.compile(r"[0-9a-f]{32}")
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f"\\/:*?<>|\u2028\u2029\u202a-\u202e\u2066-\u2069]|[\ud800-\udfff]')


class MediaError(ServerError):
    """A file that cannot be taken, found or shown. The text names the cure, and no path of this machine."""

    code = "media_invalid"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    data: bytes | bytearray
    declared: str
    name: str


def media_id(reference: str) -> str | None:
    """Return the id of a `media://` reference, or None for others. Raises MediaError for a malformed one."""
    if not reference.startswith(SCHEME):
        return None
    if not _ID.fullmatch(found := reference.removeprefix(SCHEME)):
        raise MediaError(f"{reference[:80]!r} is not a media:// id of this server")
    return found


def read_data_url(url: str, *, max_bytes: int) -> Loaded:
    """Decode the URL. Raises MediaError where it is malformed or larger than `max_bytes`."""
    comma = url.find(",", 0, _MAX_HEAD_CHARS)
    if comma < 0:
        raise MediaError("a data: URL has the form data:image/png;base64,…; here the comma is missing")
    kind, *parameters = [part.strip() for part in url[len("data:") : comma].split(";")]
    name = next((p.partition("=")[2] for p in parameters if p.lower().startswith(("name=", "filename="))), "")
    is_base64 = any(parameter.lower() == "base64" for parameter in parameters)
    if len(url) - comma > max_bytes * (4 / 3 if is_base64 else 3) + 4:
        raise _too_large(max_bytes)
    try:
        data = _decode(url, comma + 1) if is_base64 else _unescape(url, comma + 1)
    except (binascii.Error, ValueError):
        raise MediaError("the data: URL is not valid base64") from None
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return Loaded(data=data, declared=kind, name=unquote_to_bytes(name).decode(errors="replace"))


def _decode(url: str, start: int) -> bytearray:
    """Decode piece by piece, nothing copied whole: decoding lets no other thread run, and the event loop's must."""
    if len(url) <= MAX_ESCAPED_CHARS and "%" in url:
        url, start = unquote_to_bytes(url[start:]).decode("ascii"), 0
    data = bytearray()
    for at in range(start, len(url), _PIECE_CHARS):
        piece = binascii.a2b_base64(url[at : at + _PIECE_CHARS], strict_mode=True)
        if len(piece) % 3 and at + _PIECE_CHARS < len(url):
            raise ValueError("padding is allowed only at the end")
        data += piece
        time.sleep(_REST_S)
    return data


def _unescape(url: str, start: int) -> bytes:
    if len(url) > MAX_ESCAPED_CHARS and "%" in url:
        raise MediaError(
            f"a data: URL with escapes (%20) of more than {MAX_ESCAPED_CHARS >> 20} MiB; give it as base64"
        )
    return unquote_to_bytes(url[start:])


def read_path(path: str, folders: Sequence[Path], *, max_bytes: int) -> Loaded:
    """Read a regular file inside one of the folders, symbolic links followed. Raises MediaError."""
    try:
        root, found = _inside(path, folders)
        descriptor = open_beneath(root, found)
    except (OSError, RuntimeError, ValueError):
        raise _not_there(path) from None
    with os.fdopen(descriptor, "rb") as file:
        try:
            data = file.read(max_bytes + 1)
        except OSError:
            raise _not_there(path) from None
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return Loaded(data=data, declared="", name=found.name)


def _inside(path: str, folders: Sequence[Path]) -> tuple[Path, Path]:
    """Return the folder that holds the file, and the file, links followed."""
    roots = [folder.resolve() for folder in folders if folder.is_dir()]
    for root in roots:
        target = (root / path.removeprefix("file://")).resolve()
        holder = next((allowed for allowed in roots if target.is_relative_to(allowed)), None)
        if holder is not None and target.is_file():
            return holder, target
    raise _not_there(path)


def clean_name(name: str, *, default: str) -> str:
    """Return a file name that is safe in a header, a page and any file system: 120 characters at most, suffix kept."""
    base = _UNSAFE.sub("_", re.split(r"[/\\]", name)[-1]).strip(" .")
    if not base.strip("_"):
        return default
    if len(base) <= MAX_NAME_CHARS:
        return base
    stem, dot, suffix = base.rpartition(".")
    tail = f"{dot}{suffix}" if stem and len(suffix) <= 12 else ""
    return base[: MAX_NAME_CHARS - len(tail)] + tail


def _too_large(max_bytes: int) -> MediaError:
    return MediaError(f"the file is larger than {max_bytes >> 20} MiB (media.max_item_bytes)")


def _not_there(path: str) -> MediaError:
    """Return an error that quotes the path as given, shortened: it tells no more than its author knew."""
    return MediaError(
        f"{path[:120]!r}: there is no such file in a folder that may be shown; "
        "put it into one of tools.roots, or give a data: URL"
    )


class UrlSigner:
    """Signs URLs with the first key and verifies them with all."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    def url(self, item_id: str, user_id: str, *, now_s: float) -> str:
        """Return a signed URL. Its `u` is no name: a user's id would end up in logs and histories."""
        key = self._keys[0]
        expires = str(int(now_s) + URL_LIFE_S)
        user = _user_tag(key, user_id)
        return f"{PREFIX}{item_id}?u={user}&e={expires}&s={_signature(key, item_id, user, expires)}"

    def owner_tag(self, user_id: str) -> str:
        """Return 12 hexadecimal digits that stand for the user without the name. Another first key makes others."""
        tag = hmac.digest(self._keys[0], b"owner\0" + user_id.encode(errors="surrogatepass"), hashlib.sha256)
        return tag.hex()[:OWNER_CHARS]

    def is_valid(self, item_id: str, *, user_id: str, user: str, expires: str, signature: str, now_s: float) -> bool:
        """Return whether we gave exactly this URL to this user and it has not expired. Any string may be passed."""
        is_ours = False
        for key in self._keys:  # all of them, so that the time taken tells nothing
            is_ours |= _same(user, _user_tag(key, user_id)) & _same(signature, _signature(key, item_id, user, expires))
        return is_ours and float(expires) > now_s  # a text that we signed is a number


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode())


def _user_tag(key: bytes, user_id: str) -> str:
    return _base64(hmac.digest(key, b"user\0" + user_id.encode(errors="surrogatepass"), hashlib.sha256)[:9])


def _signature(key: bytes, item_id: str, user: str, expires: str) -> str:
    signed = f"url\0{item_id}\0{user}\0{expires}".encode(errors="surrogatepass")
    return _base64(hmac.digest(key, signed, hashlib.sha256)[:_MAC_BYTES])


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()
