"""What nobody foresaw in a handler: logged once under an id, answered with that id and nothing of its text."""

import logging
import secrets
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from server.gateway.answers import say

logger = logging.getLogger(__name__)

_HAS_BEGUN: Final = web.RequestKey("has_begun", bool)


async def note_begun(request: web.BaseRequest, _response: web.StreamResponse) -> None:
    """An `on_response_prepare` signal: from here on no other answer can be given."""
    request[_HAS_BEGUN] = True


@web.middleware
async def answer_failures(request: web.Request, handler: Handler) -> web.StreamResponse:
    """To stand first: what fails in the other middlewares is answered, too.

    An answer that has begun cannot become another: its connection breaks, so that nobody takes it for whole.
    """
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except Exception as error:  # the boundary of a request
        if isinstance(error, ConnectionError) and (request.transport is None or request.transport.is_closing()):
            raise  # who asked has left
        failure_id = secrets.token_hex(4)
        logger.exception("%s %s failed (failure %s)", request.method, request.path[:200], failure_id)
        if request.get(_HAS_BEGUN, False):
            raise ConnectionResetError("the answer had begun") from error
        text = f"something went wrong here; the server's log has it under failure {failure_id}\n"
        return say(request, 500, "internal", text)
