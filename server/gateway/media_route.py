"""`GET /media/<id>`: a file of a turn, for the user whose turn it was."""

from typing import Final
from urllib.parse import quote

from aiohttp import web

from server.gateway.auth import Authenticator
from server.media.content_types import is_shown
from server.media.signed_urls import PREFIX
from server.media.store import MediaStore

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""For a file that is opened by itself: no script, no origin. Browsers put a style sheet around a picture."""
_CACHE_S: Final = 3600
_REFUSED: Final = "this link is not yours, or its time is over; ask for the file again in the conversation\n"
_GONE: Final = "this file is gone: files are kept for a while after they were last used; ask for it again\n"


class MediaRoute:
    def __init__(self, store: MediaStore, authenticator: Authenticator) -> None:
        self._store = store
        self._authenticator = authenticator

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get(PREFIX + "{id:[0-9a-f]{32}}", self._show)

    async def _show(self, request: web.Request) -> web.StreamResponse:
        """Needs both: the signature in the URL, and to be asked by the user it was made for."""
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
