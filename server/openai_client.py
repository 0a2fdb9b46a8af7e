"""One OpenAI-compatible server: the openai package says as whom we ask, its HTTP client carries the requests.

Its request builder is left out: it takes three quarters of a call's time, and all of that on the event loop
(docs/decisions/0005). Nothing is tried again here.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:  # loaded with the first client: 0.8 s and 51 MB
    import httpx2

MAX_REFUSAL_BYTES: Final = 65_536
"""Of the body of an answer that is no success; what follows is not read."""


class Refused(Exception):
    """An answer that is no success; `body` is its beginning."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body


class Unreachable(Exception):
    """No answer came, or it broke off; the text is the reason, for people."""


class OpenAIClient:
    """Opens nothing before the first call. Time limits, but that for connecting, are the caller's.

    `base_url` mostly ends in /v1; without a key none is sent. `keepalive_s`: how long an idle connection is kept
    for the next call, 0 = one connection a call. `uses_proxies`: whether HTTPS_PROXY and its like are heeded.
    The first one imports the package, which takes 0.8 s: make it in a thread.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None,
        connect_timeout_s: float,
        keepalive_s: float,
        max_connections: int,
        uses_proxies: bool,
    ) -> None:
        import httpx2
        import openai

        # `pool` bounds what `connect` leaves out: looking the name up.
        timeout = httpx2.Timeout(None, connect=connect_timeout_s, pool=connect_timeout_s)
        self._http = openai.DefaultAioHttpClient(
            limits=httpx2.Limits(max_connections=max_connections, keepalive_expiry=keepalive_s),
            timeout=timeout,
            verify=base_url.startswith("https:"),  # reading the certificates takes 20 ms
            trust_env=uses_proxies,
        )
        self.package = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", max_retries=0, http_client=self._http
        )
        """The package's own client on the same connections, for what is more than a request and its answer."""
        self._base_url = base_url
        self._extensions = {"timeout": timeout.as_dict()}
        # the organisation and the project of the environment, too
        headers = {name: value for name, value in self.package.default_headers.items() if isinstance(value, str)}
        del headers["Content-Type"]
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        if not keepalive_s:
            headers["Connection"] = "close"
        self._headers = httpx2.Headers(headers)
        self._json_headers = httpx2.Headers({**headers, "Content-Type": "application/json"})
        self._urls: dict[str, httpx2.URL] = {}  # by path: we ask for a handful

    async def aclose(self) -> None:
        """Close every connection."""
        await self.package.close()

    async def get(self, path: str) -> bytes:
        """The body of a success. `path`: below the base URL, or a whole URL. Raises Refused and Unreachable."""
        return await self._body("GET", path, headers=self._headers)

    async def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Send JSON; the body of a success. Raises Refused and Unreachable."""
        return await self._body("POST", path, headers=self._json_headers, content=msgspec.json.encode(body))

    async def upload(self, path: str, fields: Mapping[str, str], file: tuple[str, bytes, str]) -> bytes:
        """Send a form whose `file` is (name, bytes, type); the body of a success. Raises Refused and Unreachable."""
        return await self._body("POST", path, headers=self._headers, data=dict(fields), files={"file": file})

    def stream(self, path: str, body: Mapping[str, Any]) -> "AbstractAsyncContextManager[httpx2.Response]":
        """Send JSON; a context with the answer from its headers on. Raises Refused and Unreachable.

        Leaving it closes the answer, and gives its connection back if it was read to its end.
        """
        return self._answer("POST", path, headers=self._json_headers, content=msgspec.json.encode(body))

    def _url(self, path: str) -> "httpx2.URL":
        import httpx2

        if (url := self._urls.get(path)) is None:
            url = self._urls[path] = httpx2.URL(path if "://" in path else self._base_url + path)
        return url

    async def _body(self, method: str, path: str, **parts: Any) -> bytes:
        async with self._answer(method, path, **parts) as response:
            with _broken_off():
                return await response.aread()

    @asynccontextmanager
    async def _answer(self, method: str, path: str, **parts: Any) -> "AsyncIterator[httpx2.Response]":
        import httpx2

        with _broken_off():
            request = httpx2.Request(method, self._url(path), extensions=self._extensions, **parts)
            request.read()  # a form leaves in one write, not in a dozen
            response = await self._http.send(request, stream=True)
        try:
            if not response.is_success:
                raise Refused(response.status_code, response.headers, await _beginning(response))
            yield response
        finally:
            await response.aclose()


async def pieces_of(response: "httpx2.Response") -> AsyncGenerator[bytes, None]:
    """The body as it comes; Unreachable where it breaks off."""
    with _broken_off():
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                yield piece


@contextmanager
def _broken_off() -> Iterator[None]:
    """What keeps an answer from coming, or ends it before its end, as Unreachable."""
    import aiohttp
    import httpx2

    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError, OSError) as error:
        cause = error.__cause__ or error
        raise Unreachable(str(cause) or type(cause).__name__) from error


async def _beginning(response: "httpx2.Response") -> bytes:
    body = b""
    with suppress(Unreachable):  # what came of it will do
        async with aclosing(pieces_of(response)) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) >= MAX_REFUSAL_BYTES:
                    break
    return body[:MAX_REFUSAL_BYTES]


def error_details(body: bytes) -> dict[str, Any]:
    """The error object of a refusal's body: under `error`, or the body itself; {} where there is none."""
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    if isinstance(parsed, list) and parsed:  # Google's
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return {}
    inner = parsed.get("error", parsed)
    return inner if isinstance(inner, dict) else {"message": str(inner)}


def error_message(body: bytes) -> str:
    """What a refusal's body says, for people; it may hold secrets."""
    details = error_details(body)
    for key in ("message", "detail", "error"):
        if value := details.get(key):
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if body.lstrip()[:1] == b"<":
        return "an HTML page, no answer of an OpenAI-compatible server"
    return body[:1000].decode(errors="replace").strip() or "(it said nothing)"
