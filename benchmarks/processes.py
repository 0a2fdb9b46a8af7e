"""Starts what is measured, each in a process of its own, and ends it."""

import asyncio
import contextlib
import os
import re
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
START_LIMIT_S = 60


@dataclass(frozen=True)
class Running:
    url: str
    pid: int


@contextlib.asynccontextmanager
async def running(*arguments: str, environ: Mapping[str, str] | None = None) -> AsyncIterator[Running]:
    """`python ARGUMENTS` until the block ends; it has printed `listening on URL` when the block begins."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=ROOT,
        env={**os.environ, **(environ or {})},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    drain: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(START_LIMIT_S):
            url = await _listening_on(process.stdout, " ".join(arguments))
        drain = asyncio.create_task(_read_on(process.stdout), name="benchmark-drain-stdout")
        yield Running(url, process.pid)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 15)
        except TimeoutError:
            process.kill()
            await process.wait()
        if drain is not None:
            await drain


@contextlib.asynccontextmanager
async def parley(
    model_url: str, *, skills_dir: Path | None = None, environ: Mapping[str, str] | None = None
) -> AsyncIterator[Running]:
    """The server, ready to answer, with the given model behind it and nothing kept from one run to the next."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "time-teller",
            "PARLEY_DATA__DIR": folder,
            "PARLEY_LOG__LEVEL": "warning",
            "PARLEY_LIMITS__CONNECTIONS": "5000",
            "PARLEY_SPEECH__STT__PROVIDER": "none",
            "PARLEY_SPEECH__TTS__PROVIDER": "none",
            **({"PARLEY_SKILLS__DIR": str(skills_dir)} if skills_dir else {}),
            **(environ or {}),
        }
        async with running("-m", "server", "--port", "0", environ=settings) as server:
            async with asyncio.timeout(START_LIMIT_S):
                while not await asyncio.to_thread(_is_ready, server.url):  # noqa: ASYNC110 - another process's state
                    await asyncio.sleep(0.1)
            yield server


async def _listening_on(stdout: asyncio.StreamReader, name: str) -> str:
    async for line in stdout:
        if match := re.match(r"listening on (\S+)", line.decode()):
            return match[1]
    raise RuntimeError(f"{name} ended before it was listening; its own words stand above")


async def _read_on(stdout: asyncio.StreamReader) -> None:
    async for _line in stdout:
        pass


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError):
        return False
