"""Files over HTTP: the page's, and those that turns show."""

import asyncio
import gzip
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import rjsmin
from aiohttp import web

from server.gateway.auth import Authenticator
from server.media.content_types import is_shown
from server.media.signed_urls import PREFIX
from server.media.store import MediaStore

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
}
"""Suffixes that are served; the system's table of types would differ from machine to machine."""
_PACKED: Final = {".html", ".js", ".css", ".json", ".webmanifest", ".svg", ".txt"}
_MAX_PACKED_BYTES: Final = 1 << 21
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Policy of a file that is opened by itself: no script, no origin. Browsers put a style sheet around a picture."""
_CACHE_S: Final = 3600
_REFUSED: Final = "this link is not yours, or it has expired; ask for the file again in the conversation\n"
_GONE: Final = "this file is gone: files are kept for a while after they were last used; ask for it again\n"
_PAGE_PATH: Final = "/{path}"
_MEDIA_PATH: Final = PREFIX + "{id}"
_LIBRARY: Final = "/sdk/"


def is_file(request: web.Request) -> bool:
    """Whether the request is for a file, which a browser loads by itself: with the cookie, without its key."""
    resource = request.match_info.route.resource
    return resource is not None and resource.canonical in (_PAGE_PATH, _MEDIA_PATH)


def is_library(request: web.Request) -> bool:
    """Whether the request is for the client library, which pages of other origins load without a login."""
    return request.path.startswith(_LIBRARY)


class _Version(NamedTuple):
    """A state of a file, told apart from its others."""

    changed_ns: int
    size: int


class _Text(NamedTuple):
    """A text file as it is sent: `plain`, or `packed` with gzip."""

    version: _Version
    plain: bytes
    packed: bytes
    tag: str


class StaticFiles:
    """The page: files of one folder, as they are now. Texts are sent compressed, the library's modules without comments.

    What was compressed is kept until its file changes: a text of at most 2 MiB each; larger ones are sent as they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._texts: dict[Path, _Text] = {}

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Must come last: the route takes every path that is left."""
        router.add_get("/{path:.*}", self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request.match_info["path"] or "index.html")
        if file is None:
            return web.Response(status=404, text="not found\n")
        # no-cache: kept, but asked for each time, so that an edit shows with the next load; ETag makes that a 304
        headers = {"Content-Type": _TYPES[file.suffix], "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if is_library(request):
            headers |= {"Cross-Origin-Resource-Policy": "cross-origin", "Vary": "Accept-Encoding, Origin"}
            if origin := request.headers.get("Origin"):  # one of security.origins, or ours: others get no answer
                headers["Access-Control-Allow-Origin"] = origin
        version = _version_of(file)
        if file.suffix not in _PACKED or version.size > _MAX_PACKED_BYTES:
            return web.FileResponse(file, headers=headers)
        text = await self._read(file, version)
        is_packed = "gzip" in request.headers.get("Accept-Encoding", "")
        tag = f"{text.tag}-gzip" if is_packed else text.tag  # of what is sent (RFC 9110 8.8.3.3)
        if any(known.value == tag for known in request.if_none_match or ()):
            response = web.Response(status=304, headers=headers)
        elif is_packed:
            response = web.Response(body=text.packed, headers=headers | {"Content-Encoding": "gzip"})
        else:
            response = web.Response(body=text.plain, headers=headers)
        response.etag = tag
        return response

    async def _read(self, file: Path, version: _Version) -> _Text:
        text = self._texts.get(file)
        if text is None or text.version != version:
            is_module = file.suffix == ".js" and file.is_relative_to(self._folder / _LIBRARY.strip("/"))
            text = self._texts[file] = await asyncio.to_thread(_prepare, file, version, is_module=is_module)
        return text

    def _find(self, path: str) -> Path | None:
        """Returns the file of this path inside the folder, links followed; None for all else."""
        parts = path.split("/")
        if any(part.startswith(".") or not part or "\\" in part or "\0" in part for part in parts):
            return None
        try:
            file = self._folder.joinpath(*parts).resolve(strict=True)
        except (OSError, ValueError):
            return None
        if file.suffix not in _TYPES or not file.is_relative_to(self._folder) or not file.is_file():
            return None
        return file


def _version_of(file: Path) -> _Version:
    stat = file.stat()
    return _Version(stat.st_mtime_ns, stat.st_size)


def _prepare(file: Path, version: _Version, *, is_module: bool) -> _Text:
    read = file.read_bytes()
    plain = bytes(rjsmin.jsmin(read)) if is_module else read
    return _Text(version, plain, gzip.compress(plain, mtime=0), blake2b(plain, digest_size=12).hexdigest())


class MediaRoute:
    """`GET /media/<id>`: a file of a turn, for the user whose turn it was."""

    def __init__(self, store: MediaStore, authenticator: Authenticator) -> None:
        self._store = store
        self._authenticator = authenticator

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get(PREFIX + "{id:[0-9a-f]{32}}", self._show)

    async def _show(self, request: web.Request) -> web.StreamResponse:
        """Require both the signature in the URL and the user for whom it was made."""
        item_id = request.match_info["id"]
        user_id = self._authenticator.principal(request).user_id
        query = request.query
        if not self._store.may_open(
            item_id,
            user_id=user_id,
            user=query.get("u", ""),
            expires=query.get("e", ""),
            signature=query.get("s", ""),
        ):
            return web.Response(status=403, text=_REFUSED)
        if (found := await self._store.find(item_id, user_id=user_id)) is None:
            return web.Response(status=404, text=_GONE)
        path, stored = found
        shown = "inline" if is_shown(stored.content_type) else "attachment"
        headers = {
            "Content-Type": stored.content_type,
            "Content-Disposition": f"{shown}; filename*=UTF-8''{quote(stored.name, safe='')}",
            "Content-Security-Policy": _POLICY,
            "Cache-Control": f"private, max-age={_CACHE_S}",
        }
        return web.FileResponse(path, headers=headers)  # ranges too; 404 where it was evicted a moment ago
