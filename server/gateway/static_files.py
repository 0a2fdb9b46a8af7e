"""The page: files of one folder, as they are now."""

from pathlib import Path
from typing import Final

from aiohttp import web

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
"""What is served; another suffix is not found. The system's table of types would differ from machine to machine."""


class StaticFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Last of all: it takes every path that is left."""
        router.add_get("/{path:.*}", self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request.match_info["path"] or "index.html")
        if file is None:
            return web.Response(status=404, text="not found\n")
        # no-cache: kept, but asked for each time, so that an edit shows with the next load; ETag makes that a 304
        headers = {"Content-Type": _TYPES[file.suffix], "Cache-Control": "no-cache"}
        return web.FileResponse(file, headers=headers)

    def _find(self, path: str) -> Path | None:
        """The file of this path inside the folder, links followed; None for all else."""
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
