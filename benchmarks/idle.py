"""Memory of a connection that says nothing."""

import asyncio

import psutil
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import parley, running

BATCH = 100


async def measure(*, is_quick: bool) -> list[Figure]:
    count = 500 if is_quick else 2000
    async with running("-m", "benchmarks.model_server", "1", "0") as teller, parley(teller.url) as server:
        process = psutil.Process(server.pid)
        sockets = await _open(server.url, BATCH)  # the first ones pay for what all share
        before = process.memory_info().rss
        try:
            sockets += await _open(server.url, count)
            after = process.memory_info().rss
        finally:
            await asyncio.gather(*(socket.close() for socket in sockets))
    return [figure(f"memory per idle connection, {count} open", "KB", [(after - before) / count / 1024], goal_p50=28)]


async def _open(url: str, count: int) -> list[ClientConnection]:
    sockets: list[ClientConnection] = []
    for _ in range(0, count, BATCH):
        sockets += await asyncio.gather(*(_connect(url) for _ in range(BATCH)))
    return sockets


async def _connect(url: str) -> ClientConnection:
    socket = await connect(url.replace("http", "ws", 1) + "/ws", compression=None, open_timeout=30)
    await socket.recv()  # ready
    return socket
