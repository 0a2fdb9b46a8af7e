"""The download of a model: resumed where it broke off, checked before the file gets its name (docs/decisions/0011)."""

import asyncio
import fcntl
import hashlib
import logging
import os
import shutil
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal
from urllib.parse import urlsplit

import aiohttp

from server.models.gguf import MAGIC, NotAModel, read_header
from server.models.model_files import ModelFileError, ModelFolder, PartSource, gigabytes, name_of_url
from server.openai_client import retry_after_s

logger = logging.getLogger(__name__)

MAX_FAILURES: Final = 5
"""Broken connections in a row, none of which brought more than 1 MiB."""
STALL_S: Final = 30.0
"""Silence of the server that counts as a broken connection."""
MAX_WAIT_S: Final = 60.0
"""Longest wait that a server may ask for; beyond it, the download ends and can be continued."""

_PIECE_BYTES: Final = 1 << 20
_BUFFER_BYTES: Final = 1 << 17  # lost when the connection breaks
_HASHED_BYTES: Final = 8 << 20
_SPARE_BYTES: Final = 256 << 20  # of the disk
_TRANSIENT: Final = frozenset((408, 425, 429, 500, 502, 503, 504))


@dataclass(frozen=True)
class Progress:
    stage: Literal["downloading", "checking"]
    done_bytes: int
    total_bytes: int
    trouble: str = ""
    """Reason why a connection broke, while the next one is tried."""


class _Broken(Exception):
    """A connection failed; the text is the reason."""

    def __init__(self, reason: str, *, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s
        """Time for which the server wants to be left alone."""


class ModelDownload:
    """One file on its way into the folder. `run` it once; cancelled, it keeps what has come for the next time.

    sha256: the hash that it must have; without it, that of its first download, if there was one.
    size_bytes: its size, where it is known beforehand; another one is refused.
    pause_s: the wait after the first failure; it doubles with each.
    """

    def __init__(
        self,
        folder: ModelFolder,
        url: str,
        *,
        sha256: str | None = None,
        size_bytes: int | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
        stall_s: float = STALL_S,
        pause_s: float = 1.0,
    ) -> None:
        """Prepare the download. Raises ModelFileError for a bad address."""
        self.name = name_of_url(url)
        self._folder = folder
        self._url = url
        self._host = urlsplit(url).netloc
        self._sha256 = sha256
        self._size_bytes = size_bytes
        self._on_progress = on_progress
        self._stall_s = stall_s
        self._pause_s = pause_s

    async def run(self) -> str:
        """Return the SHA-256 of the file, which now can be used and is pinned. Raises ModelFileError."""
        try:
            with self._locked() as part:
                await self._fetch_all(part)
                part.flush()
                await asyncio.to_thread(os.fsync, part.fileno())
                try:
                    sha256 = await self._checked()
                except ModelFileError:
                    self._folder.remove_part(self.name)
                    raise
                self._folder.complete(self.name, sha256)
        except OSError as error:
            raise ModelFileError(f"{self.name} cannot be written: {error.strerror or error}") from error
        return sha256

    @contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        """Open what there is of the file, for this download alone; an empty one does not stay."""
        path = self._folder.part(self.name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("ab") as part:
            try:
                fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ModelFileError(f"{self.name} is being downloaded already") from error
            try:
                # with the lock: what was opened may just have become the whole file
                self._folder.refuse_existing(self.name)
                yield part
            finally:
                if part.seek(0, os.SEEK_END) == 0:
                    path.unlink(missing_ok=True)

    async def _fetch_all(self, part: IO[bytes]) -> None:
        failures = 0
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._stall_s, sock_read=self._stall_s)
        connector = aiohttp.TCPConnector(ssl=await asyncio.to_thread(_certificates))
        async with aiohttp.ClientSession(
            timeout=timeout, connector=connector, trust_env=True, auto_decompress=False, read_bufsize=_BUFFER_BYTES
        ) as session:
            while True:
                before = part.seek(0, os.SEEK_END)
                try:
                    return await self._fetch(session, part, before)
                except _Broken as error:
                    failures = 0 if part.seek(0, os.SEEK_END) > before + _PIECE_BYTES else failures + 1
                    wait_s = max(error.wait_s, self._pause_s * 2 ** max(0, failures - 1))
                    if failures >= MAX_FAILURES or wait_s > MAX_WAIT_S:
                        kept = (
                            "what has come is kept: try again later to continue" if part.tell() else "nothing has come"
                        )
                        raise ModelFileError(
                            f"{self._host} failed {failures} times in a row ({error}); {kept}"
                        ) from error
                    trouble = f"{self._host} cannot be reached or broke off ({error}); trying again"
                    total = self._folder.source(self.name).total_bytes or self._size_bytes or 0
                    self._on_progress(Progress("downloading", part.tell(), total, trouble))
                    logger.info("download of %s: %s; trying again", self.name, error)
                    await asyncio.sleep(wait_s)

    async def _fetch(self, session: aiohttp.ClientSession, part: IO[bytes], at: int) -> None:
        """Fetch what is missing from `at` on. Raises _Broken for what may be tried again; `part` keeps what came."""
        source = self._folder.source(self.name)
        if source.url != self._url or not source.version or at > source.total_bytes:
            at = _empty(part)
        elif at == source.total_bytes:
            return
        headers = {"Accept-Encoding": "identity"}
        if at:
            headers |= {"Range": f"bytes={at}-", "If-Range": source.version}
        try:
            async with session.get(self._url, headers=headers, max_redirects=5) as response:
                self._refuse_answer(response)
                place = response.headers.get("Content-Range", "")
                if response.status == 200:
                    at, total = _empty(part), response.content_length or 0
                elif at and place.startswith(f"bytes {at}-") and place.endswith(f"/{source.total_bytes}"):
                    total = source.total_bytes
                else:
                    _empty(part)
                    raise _Broken("it sent another part than was asked for")
                self._refuse_size(total, missing_bytes=total - at)
                self._folder.set_source(self.name, PartSource(self._url, _version_of(response), total))
                await self._append(response.content, part, at, total)
        except (aiohttp.ClientError, asyncio.IncompleteReadError, TimeoutError) as error:
            reason = "it sent nothing for too long" if isinstance(error, TimeoutError) else str(error)
            raise _Broken(reason[:200] or type(error).__name__) from error

    async def _append(self, content: aiohttp.StreamReader, part: IO[bytes], at: int, total: int) -> None:
        if at == 0:
            beginning = await content.readexactly(len(MAGIC))
            if beginning != MAGIC:
                raise ModelFileError(f"{self._host} sent no GGUF file, perhaps a page; check the address")
            at = part.write(beginning)
        async for data in content.iter_chunked(_PIECE_BYTES):
            at += len(data)
            if at > total:
                _empty(part)
                raise ModelFileError(f"{self._host} sent more than the {total} bytes it had announced")
            await asyncio.to_thread(part.write, data)
            self._on_progress(Progress(stage="downloading", done_bytes=at, total_bytes=total))
        if at < total:
            raise _Broken(f"it ended after {at} of {total} bytes")

    def _refuse_answer(self, response: aiohttp.ClientResponse) -> None:
        status = response.status
        if status in _TRANSIENT:
            wait_s = retry_after_s(response.headers, now_s=time.time()) or 0.0
            raise _Broken(f"HTTP {status}{f', to be asked again in {wait_s:g} s' if wait_s else ''}", wait_s=wait_s)
        if status not in (200, 206, 416):
            cure = "it wants a login" if status in (401, 403) else "check the address"
            raise ModelFileError(f"{self._host} answered HTTP {status}: {cure}")
        if self._url.startswith("https:") and response.url.scheme != "https":
            raise ModelFileError(f"{self._host} redirects to an address that is not encrypted")
        is_sized = status != 200 or response.content_length is not None
        if response.headers.get("Content-Encoding", "identity") != "identity" or not is_sized:
            raise ModelFileError(f"{self._host} does not say how large the file is, so it cannot be checked")

    def _refuse_size(self, total: int, *, missing_bytes: int) -> None:
        if self._size_bytes not in (None, total):
            raise ModelFileError(
                f"{self._host} has a file of {total} bytes, not of {self._size_bytes}: it is another file than the "
                f"recommended one; to take it as it is: `python -m server.models get {self._url}`"
            )
        free = shutil.disk_usage(self._folder.folder).free
        if missing_bytes + _SPARE_BYTES > free:
            raise ModelFileError(
                f"{self.name} needs {gigabytes(missing_bytes)} more, and the disk has {gigabytes(free)} left; "
                "delete something first"
            )

    async def _checked(self) -> str:
        """Return the hash. Raises ModelFileError for another one than expected and for what is no language model."""
        part, pinned = self._folder.part(self.name), self._folder.pin(self.name)
        sha256 = await sha256_of(part, self._on_progress)
        if self._sha256 not in (None, sha256):
            raise ModelFileError(f"the SHA-256 of {self.name} is {sha256}, not the one given; it was deleted")
        if self._sha256 is None and pinned not in (None, sha256):
            raise ModelFileError(
                f"{self.name} is another file than the first time (SHA-256 {sha256}, pinned {pinned}); "
                f"it was deleted. To accept it: `get` with --sha256 {sha256}"
            )
        try:
            await asyncio.to_thread(read_header, part)
        except NotAModel as error:
            raise ModelFileError(f"{self.name} cannot be used and was deleted: {error}") from error
        return sha256


async def sha256_of(path: Path, on_progress: Callable[[Progress], None] = lambda _: None) -> str:
    """Return the hash of a file, in hex; read in threads, piece by piece, so that it can be cancelled."""
    digest, total = hashlib.sha256(), (await asyncio.to_thread(path.stat)).st_size
    with path.open("rb") as file:
        while data := await asyncio.to_thread(file.read, _HASHED_BYTES):
            await asyncio.to_thread(digest.update, data)
            on_progress(Progress(stage="checking", done_bytes=file.tell(), total_bytes=total))
    return digest.hexdigest()


def _empty(part: IO[bytes]) -> int:
    part.truncate(0)
    return part.seek(0)


def _version_of(response: aiohttp.ClientResponse) -> str:
    """Return what If-Range takes: a strong ETag, or the date. RFC 9110, 13.1.5."""
    tag = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")


def _certificates() -> ssl.SSLContext:
    import httpx2  # takes a moment

    return httpx2.create_ssl_context()
