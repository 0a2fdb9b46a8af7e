"""An HTTP server for one file that answers as well, or as badly, as it is told to: byte by byte, so that it can lie."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Deviations of one answer from a good one."""

    status: str | None = None
    headers: tuple[str, ...] = ()
    length: int | None = -1
    """The announced Content-Length; -1: the true one, None: none."""
    body: bytes | None = None
    cut_after: int | None = None
    """Bytes of the body after which the connection is closed."""
    is_silent: bool = False
    """Nothing more comes after `cut_after`, and the connection stays open."""
    ignores_range: bool = False


@dataclass
class FileServer:
    body: bytes
    tag: str = '"v1"'
    faults: list[Fault] = field(default_factory=list)
    """Of the next answers, in order; then all are good."""
    always: Fault = field(default_factory=Fault)
    requests: list[dict[str, str]] = field(default_factory=list)
    """Their headers in lower case, and `path`."""
    url: str = ""
    pause_s: float = 0.0
    """Between two pieces of 64 KiB."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.create_task(self._answer(reader, writer), name="file server"))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            asked = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            self.requests.append({**asked, "path": head[0].split()[1]})
            await self._send(writer, self.faults.pop(0) if self.faults else self.always, asked)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, fault: Fault, asked: dict[str, str]) -> None:
        body, status, extra = self.body if fault.body is None else fault.body, "200 OK", list(fault.headers)
        start = asked.get("range", "").removeprefix("bytes=").removesuffix("-")
        if start and asked.get("if-range") == self.tag and not fault.ignores_range:
            status = "206 Partial Content"
            extra.append(f"Content-Range: bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[int(start) :]
        if self.tag:
            extra.append(f"ETag: {self.tag}")
        if fault.length is not None:
            extra.append(f"Content-Length: {len(body) if fault.length == -1 else fault.length}")
        lines = [f"HTTP/1.1 {fault.status or status}", "Connection: close", *extra]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        sent = body if fault.cut_after is None else body[: fault.cut_after]
        for at in range(0, len(sent), 1 << 16):
            writer.write(sent[at : at + (1 << 16)])
            await writer.drain()
            await asyncio.sleep(self.pause_s)
        if fault.is_silent:
            await asyncio.Event().wait()


@asynccontextmanager
async def file_server(body: bytes) -> AsyncIterator[FileServer]:
    """Serve the body under any path; `url` names one that ends in model.gguf."""
    files = FileServer(body)
    server = await asyncio.start_server(files.accept, "127.0.0.1", 0)
    files.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/org/repo/resolve/main/model.gguf"
    try:
        yield files
    finally:
        server.close()
        for task in files.tasks:
            task.cancel()
        await asyncio.gather(*files.tasks, return_exceptions=True)
