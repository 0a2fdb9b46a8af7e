"""Routes of the server, and who may use each of them."""

from enum import Enum
from typing import Protocol

from aiohttp import web
from aiohttp.typedefs import Handler


class Access(Enum):
    """Clients that a route serves."""

    PROBE = "probe"
    """All who reach the port, machines that know no name of ours included, while the server starts and by any Host."""
    EVERYONE = "everyone"
    """All who reach the port, whatever credential they send."""
    FILE = "file"
    """Users; a browser loads it by itself, with the page's cookie but without its key."""
    LOGGED_IN = "logged in"
    """Users: with a token, with the page's cookie and its key, or trusted without a login."""
    SOCKET = "socket"
    """Users; others learn it by a close code after the upgrade, as a browser shows its page no HTTP status there."""
    KEY = "key"
    """Users, and holders of a Realtime key on pages of any origin."""
    OPERATOR = "operator"
    """Operators."""


class Routes:
    """Adds routes to a router; those for which nothing else is said, paths that do not exist included, are for users."""

    def __init__(self, router: web.UrlDispatcher) -> None:
        self.table: list[tuple[str, str, Access]] = []
        """Method, path and access of each route, in the order in which they are tried."""
        self._router = router
        self._access: dict[web.AbstractRoute, Access] = {}

    def get(self, path: str, handler: Handler, access: Access = Access.LOGGED_IN) -> None:
        """Add a route for GET and HEAD."""
        self.add("HEAD", path, handler, access)
        self.add("GET", path, handler, access)

    def add(
        self, method: str, path: str, handler: Handler, access: Access = Access.LOGGED_IN
    ) -> web.AbstractResource | None:
        """Add a route for one method, or for all with `*`, and return its resource."""
        route = self._router.add_route(method, path, handler)
        self._access[route] = access
        self.table.append((method, path, access))
        return route.resource

    def access_of(self, request: web.Request) -> Access:
        """Return who may use the route of the request."""
        return self._access.get(request.match_info.route, Access.LOGGED_IN)


class RouteGroup(Protocol):
    """Part of the server that has routes of its own."""

    def add_routes(self, routes: Routes) -> None: ...
