"""Files over HTTP: the page's, and those that turns show."""

import asyncio
import gzip
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import rjsmin
from aiohttp import web

from server.gateway.auth import Authenticator
from server.gateway.routes import Access, Routes
from server.media.content_types import is_shown
from server.media.references import PREFIX
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
_LIBRARY: Final = "sdk"
"""Folder of the client library, which pages of other origins load without a login."""


class _Text(NamedTuple):
    """A text file as it is sent: `plain`, or `packed` with gzip."""

    version: tuple[int, int]
    """Time of the file's last change, in ns, and its size."""
    plain: bytes
    packed: bytes
    tag: str


class StaticFiles:
    """The page: files of one folder, as they are now. Texts are sent compressed, the library's modules without comments.

    What was compressed is kept until its file changes: a text of at most 2 MiB each; larger ones are sent as they are.
    """

    def __init__(self, folder: Path, public: Sequence[str] = ()) -> None:
        """Serve the folder; `public` are the files for everyone, relative to it."""
        self._folder = folder.resolve()
        self._public = public
        self._texts: dict[Path, _Text] = {}

    def add_routes(self, routes: Routes) -> None:
        """Add the routes; must come last, as the last one takes every path that is left."""
        for file in self._public:
            routes.get(f"/{{path:{re.escape(file)}}}", self._serve, Access.EVERYONE)
        routes.get(f"/{{path:{_LIBRARY}/.*}}", self._serve_library, Access.EVERYONE)
        routes.add("*", "/{path:.*}", self._serve, Access.FILE)

    async def _serve_library(self, request: web.Request) -> web.StreamResponse:
        """Serve a library file so that pages of the allowed origins can load it."""
        response = await self._serve(request)
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        response.headers["Vary"] = "Accept-Encoding, Origin"
        if origin := request.headers.get("Origin"):  # one of security.origins, or ours: others get no answer
            response.headers["Access-Control-Allow-Origin"] = origin
        return response

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request.match_info["path"] or "index.html")
        if file is None:
            return web.Response(status=404, text="not found\n")
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(request.method, ("GET", "HEAD"))
        # no-cache: kept, but asked for each time, so that an edit shows with the next load; ETag makes that a 304
        headers = {"Content-Type": _TYPES[file.suffix], "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        stat = file.stat()
        if file.suffix not in _PACKED or stat.st_size > _MAX_PACKED_BYTES:
            return web.FileResponse(file, headers=headers)
        text = await self._read(file, (stat.st_mtime_ns, stat.st_size))
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

    async def _read(self, file: Path, version: tuple[int, int]) -> _Text:
        text = self._texts.get(file)
        if text is None or text.version != version:
            is_module = file.suffix == ".js" and file.is_relative_to(self._folder / _LIBRARY)
            text = self._texts[file] = await asyncio.to_thread(_prepare, file, version, is_module=is_module)
        return text

    def _find(self, path: str) -> Path | None:
        """Return the file of this path inside the folder, links followed, if there is one that is served."""
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


def _prepare(file: Path, version: tuple[int, int], *, is_module: bool) -> _Text:
    read = file.read_bytes()
    plain = bytes(rjsmin.jsmin(read)) if is_module else read
    return _Text(version, plain, gzip.compress(plain, mtime=0), blake2b(plain, digest_size=12).hexdigest())


class MediaRoute:
    """`GET /media/<id>`: a file of a turn, for the user whose turn it was."""

    def __init__(self, store: MediaStore, authenticator: Authenticator) -> None:
        self._store = store
        self._authenticator = authenticator

    def add_routes(self, routes: Routes) -> None:
        routes.get(PREFIX + "{id:[0-9a-f]{32}}", self._show, Access.FILE)

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
