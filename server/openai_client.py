"""One OpenAI-compatible server: the openai package provides the headers, aiohttp carries the requests.

The package's own way from a call to the wire is not used: it takes most of a call's time, all of it on the event
loop (docs/decisions/0005). A request is retried, once, only if it met an idle connection as the server closed it.
"""

import io
import ipaddress
import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

from server.errors import ConfigError

OPENAI_URL: Final = "https://api.openai.com/v1"
MAX_REFUSAL_BYTES: Final = 65_536
"""The part of an error answer's body that is read."""
_LARGE_BYTES: Final = 1 << 18
MAX_BODY_BYTES: Final = 8 << 20
"""The longest answer that is read whole; a longer one counts as unreachable."""
MAX_RETRY_AFTER_S: Final = 3600.0


class Refused(Exception):
    """An error answer; `body` is its beginning."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def retry_after_s(self) -> float | None:
        """Time for which the server wants to be left alone, if it says one."""
        return retry_after_s(self.headers, now_s=time.time())


class Unreachable(Exception):
    """Error of an answer that did not come, broke off, or does not end; the text is the reason, for people."""


@dataclass(frozen=True, kw_only=True)
class OpenAIEndpoint:
    """An OpenAI-compatible server. `base_url` mostly ends in /v1; without a key none is sent."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    connect_timeout_s: float = 5
    keepalive_s: float = 90
    """Time that an idle connection is kept for the next call; 0 = one connection a call."""

    @cached_property
    def hostname(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @cached_property
    def host(self) -> str:
        """Host and port, as people read it."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @cached_property
    def is_openai(self) -> bool:
        return self.hostname == "api.openai.com"

    @cached_property
    def is_loopback(self) -> bool:
        return is_loopback_name(self.hostname)


def is_loopback_name(hostname: str) -> bool:
    """Return whether the name or address is this machine's own, whatever a name server says."""
    if hostname == "localhost" or hostname.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return False


def base_url_from(setting: str, configured: str | None, environ: Mapping[str, str]) -> str:
    """Return the base URL of that setting, of OPENAI_BASE_URL, or OpenAI's. Raises ConfigError for an invalid one."""
    url = (configured or environ.get("OPENAI_BASE_URL") or OPENAI_URL).strip().rstrip("/")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        source = setting if configured else "OPENAI_BASE_URL"
        raise ConfigError(f"{source} must be a URL such as http://127.0.0.1:8000/v1")
    return url


class OpenAIClient:
    """A client that opens nothing before the first call. Time limits, but that for connecting, are the caller's.

    HTTPS_PROXY and its like are heeded, except for an endpoint on this machine.
    The first one imports the package, which takes 0.8 s: make it in a thread.
    """

    def __init__(self, endpoint: OpenAIEndpoint, *, max_connections: int) -> None:
        import httpx2
        import openai

        base_url, api_key, connect_timeout_s = endpoint.base_url, endpoint.api_key, endpoint.connect_timeout_s
        uses_proxies = not endpoint.is_loopback
        is_https = base_url.startswith("https:")  # reading the certificates takes 20 ms
        # `pool` and aiohttp's `connect` bound what the other leaves out: looking the name up.
        timeout = httpx2.Timeout(None, connect=connect_timeout_s, pool=connect_timeout_s)
        http = openai.DefaultAioHttpClient(timeout=timeout, verify=is_https, trust_env=uses_proxies)
        self.package = openai.AsyncOpenAI(base_url=base_url, api_key=api_key or "none", max_retries=0, http_client=http)
        """The package's own client, for what is more than a request and its answer."""
        self._session: aiohttp.ClientSession | None = None  # made in the event loop
        self._has_idle = False  # an answer has come, so its connection may be kept
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout_s, sock_connect=connect_timeout_s)
        self._ssl: ssl.SSLContext | bool = httpx2.create_ssl_context() if is_https else True
        self._keepalive_s = endpoint.keepalive_s
        self._max_connections = max_connections
        self._base_url = base_url
        self._proxy = _proxy_of(base_url) if uses_proxies else None
        # the organisation and the project of the environment, too
        headers = {name: value for name, value in self.package.default_headers.items() if isinstance(value, str)}
        del headers["Content-Type"]
        if api_key and not urlsplit(base_url).username:  # which is sent as another kind of authorization
            headers["Authorization"] = f"Bearer {api_key}"
        if not endpoint.keepalive_s:
            headers["Connection"] = "close"
        self._headers = headers
        self._json_headers = {**headers, "Content-Type": "application/json"}

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
        await self.package.close()

    async def get(self, path: str) -> bytes:
        """Return the body of a success. `path`: below the base URL, or a whole URL. Raises Refused and Unreachable."""
        return await self._body("GET", path, headers=self._headers)

    async def upload(self, path: str, fields: Mapping[str, str], file: tuple[str, bytes, str]) -> bytes:
        """Send a form whose `file` is (name, bytes, type), return a success's body. Raises Refused and Unreachable."""
        kind, data = _form(fields, file)
        return await self._body("POST", path, headers={**self._headers, "Content-Type": kind}, data=data)

    def stream(self, path: str, body: Mapping[str, Any]) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send JSON, return a context with the answer from its headers on. Raises Refused and Unreachable.

        Leaving it closes the answer; its connection is kept if it was read to its end.
        """
        return self._answer("POST", path, headers=self._json_headers, data=msgspec.json.encode(body))

    async def _body(self, method: str, path: str, **parts: Any) -> bytes:
        body = bytearray()
        async with self._answer(method, path, **parts) as response:
            await _read(response, body, up_to=MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise Unreachable(f"an answer of more than {MAX_BODY_BYTES >> 20} MiB")
        return bytes(body)

    @asynccontextmanager
    async def _answer(self, method: str, path: str, **parts: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        url = path if "://" in path else self._base_url + path
        with _broken_off():
            response = await self._sent(method, url, **parts)
        self._has_idle = self._keepalive_s > 0
        try:
            if not 200 <= response.status < 300:
                body = bytearray()
                with suppress(Unreachable):  # what came of it will do
                    await _read(response, body, up_to=MAX_REFUSAL_BYTES)
                raise Refused(response.status, response.headers, bytes(body[:MAX_REFUSAL_BYTES]))
            yield response
        finally:
            response.close()

    async def _sent(self, method: str, url: str, **parts: Any) -> aiohttp.ClientResponse:
        try:
            return await self._request(method, url, **parts)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not self._has_idle:
                raise
            self._has_idle = False
            return await self._request(method, url, **parts)

    async def _request(
        self, method: str, url: str, *, data: bytes | None = None, **parts: Any
    ) -> aiohttp.ClientResponse:
        """Send one request; a large body, as of pictures, goes out in pieces, so that others run in between."""
        body = data if data is None or len(data) < _LARGE_BYTES else io.BytesIO(data)
        return await self._opened().request(method, url, proxy=self._proxy, data=body, **parts)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._max_connections, keepalive_timeout=self._keepalive_s, ssl=self._ssl
            )
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session


async def pieces_of(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """Yield the body as it comes. Raises Unreachable if it breaks off."""
    with _broken_off():
        async for piece in response.content.iter_any():
            yield piece


@contextmanager
def _broken_off() -> Iterator[None]:
    """Translate whatever keeps an answer from coming, or cuts it short, into Unreachable."""
    try:
        yield
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(str(error) or type(error).__name__) from error


async def _read(response: aiohttp.ClientResponse, body: bytearray, *, up_to: int) -> None:
    """Add what comes to the body, until it is that long."""
    async with aclosing(pieces_of(response)) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) >= up_to:
                break


def _form(fields: Mapping[str, str], file: tuple[str, bytes, str]) -> tuple[str, bytes]:
    """Return the form's content type and its body whole: it leaves in one write, not in a dozen."""
    import httpx2

    request = httpx2.Request("POST", "http://form", data=dict(fields), files={"file": file})
    return request.headers["Content-Type"], request.read()


def _proxy_of(url: str) -> str | None:
    """Read the proxy from the environment. aiohttp itself would do so in a thread before each request."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def retry_after_s(headers: Mapping[str, str], *, now_s: float) -> float | None:
    """Read `retry-after-ms` or `Retry-After` (seconds or a date); None where neither makes sense."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    try:
        if value := lower.get("retry-after-ms"):
            wait_s = float(value) / 1000
        elif (value := lower.get("retry-after", "")).replace(".", "", 1).isdigit():
            wait_s = float(value)
        elif value:
            wait_s = parsedate_to_datetime(value).timestamp() - now_s
        else:
            return None
    except ValueError:
        return None
    return min(max(0.0, wait_s), MAX_RETRY_AFTER_S)  # in this order, as it may be NaN


def error_details(body: bytes) -> dict[str, Any]:
    """Return the error object of an error answer's body: under `error`, or the body itself; {} if there is none."""
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
    """Return the message in the body of a refusal, for people; it may hold secrets."""
    details = error_details(body)
    for key in ("message", "detail", "error"):
        if value := details.get(key):
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if body.lstrip()[:1] == b"<":
        return "an HTML page, not an answer of an OpenAI-compatible server"
    return body[:1000].decode(errors="replace").strip() or "(an empty answer)"
