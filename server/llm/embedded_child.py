"""The embedded model's child over its many lives: started by whoever needs it first, and anew when it has died."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from server.config import LlmSettings
from server.errors import ProviderUnreachable
from server.llm.client import OpenAICompatible
from server.llm.embedded_process import MODEL_NAME, WorkerSettings
from server.llm.endpoint import ModelEndpoint
from server.subprocesses.supervisor import Backoff, BackoffPolicy

logger = logging.getLogger(__name__)

_BACKOFF: Final = BackoffPolicy(first_wait_s=1.0, longest_wait_s=30.0, open_s=30.0)


class Worker(Protocol):
    """The process that holds the model. `url` and `key` reach it."""

    url: str
    key: str

    @property
    def pid(self) -> int: ...

    @property
    def is_alive(self) -> bool: ...

    async def has_ended(self) -> bool: ...

    async def stop(self) -> None: ...


class EmbeddedChild:
    """At most one child at a time; many callers share one start.

    on_started: what the new child does first, before anybody else is served.
    After each death without a finished reply in between the pause before a new start doubles, up to 30 s.
    """

    def __init__(
        self,
        config: LlmSettings,
        settings: WorkerSettings,
        *,
        start: Callable[[WorkerSettings], Awaitable[Worker]],
        on_started: Callable[[OpenAICompatible], Awaitable[None]],
    ) -> None:
        self._config = config
        self._settings = settings
        self._start_worker = start
        self._on_started = on_started
        self._client: OpenAICompatible | None = None  # to the child that is alive, or was last
        self._starting: asyncio.Task[OpenAICompatible] | None = None
        self._is_closed = False
        self._is_proven = True  # the child that was started last has finished a reply, or there was none
        self._backoff = Backoff(_BACKOFF)
        self._next_start_s = 0.0  # loop time
        self.worker: Worker | None = None
        """The one that is alive, or was last."""

    @property
    def client(self) -> OpenAICompatible | None:
        """To the child, while it lives; never starts one."""
        return self._client if self.worker is not None and self.worker.is_alive else None

    async def connected(self) -> OpenAICompatible:
        """The client to a living child; starts one where there is none. Raises ProviderUnreachable.

        Cancelled, it leaves the start to the next caller.
        """
        if (client := self.client) is not None:
            return client
        return await asyncio.shield(self._starting or self._begin_start())

    async def has_died(self, worker: Worker | None) -> bool:
        """Whether a connection to this child broke because it is dead; then the next one is on its way."""
        if worker is None or not await worker.has_ended():
            return False
        if self._starting is None and self.client is None:  # else another stream was quicker
            self._starting = self._begin_start()
        return True

    def has_replied(self) -> None:
        """Note that a reply came to its end: this child works."""
        self._is_proven = True
        self._backoff.reset()

    async def aclose(self) -> None:
        """End it for good; streams under way fail."""
        self._is_closed = True
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
        await self._drop()

    def _begin_start(self) -> "asyncio.Task[OpenAICompatible]":
        self._starting = asyncio.create_task(self._start(), name="embedded-model-start")
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
            raise ProviderUnreachable("the embedded model was closed")
        if (wait_s := self._next_start_s - loop.time()) > 0:
            raise ProviderUnreachable(
                f"the embedded model ended {self._backoff.failures + 1} times in a row; "
                f"it is started again in {wait_s:.0f} s",
                retry_after_ms=int(wait_s * 1000) + 1,
            )
        await self._drop()
        if not self._is_proven:
            self._next_start_s = loop.time() + self._backoff.wait_s(0)
        self._is_proven = False
        self.worker = worker = await self._start_worker(self._settings)
        self._client = client = await self._open_client(worker)
        await self._on_started(client)
        logger.info("the embedded model is ready (process %d)", worker.pid)
        return client

    async def _open_client(self, worker: Worker) -> OpenAICompatible:
        client = OpenAICompatible(
            ModelEndpoint(
                base_url=f"{worker.url}/v1",
                model=MODEL_NAME,
                api_key=worker.key,
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
        worker, self.worker = self.worker, None
        if client is not None:
            await client.aclose()
        if worker is not None:
            await worker.stop()
