"""The download of a model: resumed where it broke off, checked before anybody can use it. Starts only when asked."""

import asyncio
import fcntl
import hashlib
import logging
import os
import re
import shutil
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal
from urllib.parse import urlsplit

import aiohttp

from server.models.gguf import MAGIC, NotAModel, read_header
from server.models.model_files import PART, ModelFileError, ModelFolder, PartSource, gigabytes, name_of_url

logger = logging.getLogger(__name__)

MAX_FAILURES: Final = 5
"""Broken connections in a row, none of which brought more than 1 MiB."""
STALL_S: Final = 30.0
"""Silence of the server that counts as a broken connection."""

_PROGRESS_BYTES: Final = 1 << 20
_BUFFER_BYTES: Final = 1 << 17  # lost when the connection breaks
_HASHED_BYTES: Final = 8 << 20
_SPARE_BYTES: Final = 256 << 20  # of the disk
_SIZE_TOLERANCE: Final = 0.1
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_TRANSIENT: Final = frozenset((408, 425, 429, 500, 502, 503, 504))


@dataclass(frozen=True, kw_only=True)
class Progress:
    stage: Literal["downloading", "checking"]
    done_bytes: int
    total_bytes: int


class _Broken(Exception):
    """A connection failed; the text is the reason."""


class ModelDownload:
    """One file on its way into the folder. `run` it once; cancelled, it keeps what has come for the next time.

    sha256: the hash it must have; None: that of its first download, if there was one.
    about_bytes: its size, where it is known beforehand; another one by more than a tenth is refused.
    """

    def __init__(
        self,
        folder: ModelFolder,
        url: str,
        *,
        sha256: str | None = None,
        about_bytes: int | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
        stall_s: float = STALL_S,
        pause_s: float = 1.0,
    ) -> None:
        """`pause_s`: the wait after the first failure; it doubles with each. Raises ModelFileError for a bad address."""
        self.name = name_of_url(url)
        self._folder = folder
        self._url = url
        self._host = urlsplit(url).netloc.rpartition("@")[2]
        self._is_given = sha256 is not None
        self._sha256 = sha256 or folder.pin(self.name)
        self._about_bytes = about_bytes
        self._on_progress = on_progress
        self._stall_s = stall_s
        self._pause_s = pause_s

    async def run(self) -> str:
        """Return the SHA-256 of the file, which now can be used and is pinned. Raises ModelFileError."""
        target = self._folder.path(self.name)
        try:
            self._folder.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(target) as part:
                await self._fetch_all(part)
                sha256 = await self._checked(part)
                await asyncio.to_thread(os.fsync, part.fileno())
                self._put_in_place(part, target)
                self._folder.set_pin(self.name, sha256)
        except OSError as error:
            raise ModelFileError(f"{self.name} cannot be written: {error.strerror or error}") from error
        return sha256

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
                    await self._fetch(session, part)
                except _Broken as error:
                    failures = 0 if part.seek(0, os.SEEK_END) > before + _PROGRESS_BYTES else failures + 1
                    if failures >= MAX_FAILURES:
                        raise ModelFileError(
                            f"{self._host} failed {failures} times in a row ({error}); what has come is kept: "
                            "try again later to continue"
                        ) from error
                    logger.info("download of %s: %s; trying again", self.name, error)
                    await asyncio.sleep(self._pause_s * 2 ** max(0, failures - 1))
                else:
                    return

    async def _fetch(self, session: aiohttp.ClientSession, part: IO[bytes]) -> None:
        """Fetch what is missing. Raises _Broken for what may be tried again; `part` has what came until then."""
        known, at = self._folder.source(self.name), part.seek(0, os.SEEK_END)
        if known is None or not known.version or known.url != self._url or not len(MAGIC) <= at <= known.total_bytes:
            known, at = None, _empty(part)
        if known is not None and at == known.total_bytes:
            return
        headers = {"Accept-Encoding": "identity"}
        if known is not None:
            headers |= {"Range": f"bytes={at}-", "If-Range": known.version}
        try:
            async with session.get(self._url, headers=headers, max_redirects=5) as response:
                start, total = self._placed(response)
                if start != at or (known is not None and known.total_bytes != total):
                    at = _empty(part)
                if start != at:
                    raise _Broken("it sent another part than was asked for")
                self._refuse_size(total, missing_bytes=total - at)
                self._folder.set_source(
                    self.name, PartSource(url=self._url, version=_version_of(response), total_bytes=total)
                )
                await self._append(response, part, at, total)
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = "it sent nothing for too long" if isinstance(error, TimeoutError) else str(error)
            raise _Broken(reason[:200] or type(error).__name__) from error

    async def _append(self, response: aiohttp.ClientResponse, part: IO[bytes], at: int, total: int) -> None:
        beginning = b""
        try:
            async for data in response.content.iter_chunked(_PROGRESS_BYTES):
                if at < len(MAGIC):
                    beginning += data[: len(MAGIC)]
                    if not MAGIC.startswith(beginning[: len(MAGIC)]):
                        _empty(part)
                        raise ModelFileError(f"{self._host} sent no GGUF file, perhaps a page; check the address")
                at += len(data)
                if at > total:
                    _empty(part)
                    raise ModelFileError(f"{self._host} sent more than the {total} bytes it had announced")
                await asyncio.to_thread(part.write, data)
                self._on_progress(Progress(stage="downloading", done_bytes=at, total_bytes=total))
        finally:
            part.flush()
        if at < total:
            raise _Broken(f"it ended after {at} of {total} bytes")

    def _placed(self, response: aiohttp.ClientResponse) -> tuple[int, int]:
        """Return the place in the file where the answer begins, and the file's size."""
        status = response.status
        if status in _TRANSIENT:
            raise _Broken(f"HTTP {status}")
        if status == 416:
            return -1, -1
        if status not in (200, 206):
            cure = "it wants a login" if status in (401, 403) else "check the address"
            raise ModelFileError(f"{self._host} answered HTTP {status}: {cure}")
        if self._url.startswith("https:") and response.url.scheme != "https":
            raise ModelFileError(f"{self._host} redirects to an address that is not encrypted")
        if response.headers.get("Content-Encoding", "identity") != "identity" or response.content_length is None:
            raise ModelFileError(f"{self._host} does not say how large the file is, so it cannot be checked")
        if status == 200:
            return 0, response.content_length
        if (found := _RANGE.fullmatch(response.headers.get("Content-Range", ""))) is None:
            raise _Broken("it does not say which part of the file it sends")
        return int(found[1]), int(found[3])

    def _refuse_size(self, total: int, *, missing_bytes: int) -> None:
        about = self._about_bytes
        if about and abs(total - about) > about * _SIZE_TOLERANCE:
            raise ModelFileError(
                f"{self._host} has a file of {gigabytes(total)}, not of about {gigabytes(about)}: "
                "it is another file than the recommended one"
            )
        free = shutil.disk_usage(self._folder.folder).free
        if missing_bytes + _SPARE_BYTES > free:
            raise ModelFileError(
                f"{self.name} needs {gigabytes(missing_bytes)} more, and the disk has {gigabytes(free)} left; "
                "delete something first"
            )

    async def _checked(self, part: IO[bytes]) -> str:
        path = Path(part.name)
        sha256 = await sha256_of(path, self._on_progress)
        if self._sha256 is not None and sha256 != self._sha256:
            self._discard(part)
            if self._is_given:
                raise ModelFileError(f"the SHA-256 of {self.name} is {sha256}, not the one given; it was deleted")
            raise ModelFileError(
                f"{self.name} is another file than the first time (SHA-256 {sha256}, pinned {self._sha256}); "
                f"it was deleted. To accept it: `get` with --sha256 {sha256}"
            )
        try:
            await asyncio.to_thread(read_header, path)
        except NotAModel as error:
            self._discard(part)
            raise ModelFileError(f"{self.name} cannot be used and was deleted: {error}") from error
        return sha256

    def _discard(self, part: IO[bytes]) -> None:
        Path(part.name).unlink()
        self._folder.drop_source(self.name)

    def _put_in_place(self, part: IO[bytes], target: Path) -> None:
        try:
            os.link(part.name, target)  # unlike renaming, it never replaces a file
        except OSError as error:
            if target.exists():
                raise _is_there(target) from error
            Path(part.name).rename(target)  # a file system that knows no links
        else:
            Path(part.name).unlink()
        self._folder.drop_source(self.name)


async def sha256_of(path: Path, on_progress: Callable[[Progress], None] = lambda _: None) -> str:
    """Return the hash of a file, in hex; read in threads, piece by piece, so that it can be cancelled."""
    digest, total = hashlib.sha256(), (await asyncio.to_thread(path.stat)).st_size
    with path.open("rb") as file:
        while data := await asyncio.to_thread(file.read, _HASHED_BYTES):
            await asyncio.to_thread(digest.update, data)
            on_progress(Progress(stage="checking", done_bytes=file.tell(), total_bytes=total))
    return digest.hexdigest()


@contextmanager
def _locked(target: Path) -> Iterator[IO[bytes]]:
    """Open what there is of the file, for this download alone; an empty one does not stay."""
    if target.exists():
        raise _is_there(target)
    path = target.with_name(target.name + PART)
    with path.open("ab") as part:
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ModelFileError(f"{target.name} is being downloaded already") from error
        try:
            if not path.exists() or not os.path.samestat(os.fstat(part.fileno()), path.stat()):
                raise ModelFileError(f"{target.name} has just been downloaded or deleted")
            yield part
        finally:
            if os.fstat(part.fileno()).st_size == 0:
                path.unlink(missing_ok=True)


def _is_there(target: Path) -> ModelFileError:
    return ModelFileError(f"{target.name} is there already and is never overwritten; remove it first")


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
