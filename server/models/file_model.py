"""A GGUF file as the model: run by the embedded model's process, asked like any endpoint."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from server.config import LlmSettings
from server.errors import ProviderUnreachable
from server.llm.client import OpenAICompatible
from server.llm.embedded_process import EmbeddedProcess, ModelProcessSettings, available_cores
from server.llm.language_model import LateSystem, Message, ModelEvent, ModelInfo, ModelRequest
from server.models.gguf import ModelHeader, NotAModel, read_header

MIN_TOKENS: Final = 4096
"""Smallest context: a smaller one does not hold the instructions, the tools and a conversation."""
MAX_TOKENS: Final = 16_384
"""Largest context: more takes minutes to read on a processor."""

_MAX_THREADS: Final = 16
_STEP: Final = 256
_RESERVE_BYTES: Final = 768 << 20  # the process itself, and the numbers between its layers
_MAX_CACHE_MIB: Final = 2048
_READING_S: Final = 120.0  # for the first token, at least: a long prompt on few cores
_LOADING_BYTES_S: Final = 50 << 20


class FileModel:
    """One file, loaded by `start` or the first call; see `LanguageModel` for the contract.

    Its process is started again when it dies, as that of the embedded model. The file's own chat template is used.
    """

    is_compact = False
    sees_images: bool | None = False
    late_system: LateSystem | None = None

    def __init__(self, config: LlmSettings, path: Path, *, free_bytes: Callable[[], int] | None = None) -> None:
        self._config = msgspec.structs.replace(
            config, first_token_timeout_s=max(config.first_token_timeout_s, _READING_S)
        )
        self._path = path
        self._free_bytes = free_bytes or free_memory
        self._process: EmbeddedProcess | None = None  # absent until the file has been looked at
        self._tokens: int | None = None

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name=self._path.stem, host="this machine", location="local")

    async def context_tokens(self) -> int | None:
        return self._tokens

    async def problem(self) -> str:
        return self._process.problem if self._process else ""

    async def start(self) -> None:
        """Load the model. Raises ProviderUnreachable where it cannot be read or there is too little memory."""
        await (await self._prepared()).connected()

    async def warm_up(self, messages: Sequence[Message]) -> None:
        """Let the model read, ahead of the first turn and after each restart, the beginning of every turn."""
        await (await self._prepared()).warm_up(messages)

    def prefill(self, messages: Sequence[Message], *, question: str, tool_names: Sequence[str]) -> None:
        """Do nothing: what would be read for one user keeps another one waiting."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        process = await self._prepared()
        limit = {"max_tokens": self._config.max_tokens} if self._config.max_tokens else {}
        whole = replace(request, model=None, options={**limit, **self._config.options, **request.options})
        async with aclosing(process.reply(lambda client: client.stream(whole))) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        if self._process is not None:
            await self._process.aclose()

    async def _prepared(self) -> EmbeddedProcess:
        if self._process is None:
            settings = await asyncio.to_thread(self._settings)
            if self._process is None:  # else another call was quicker
                self._tokens = settings.slot_tokens
                self._process = EmbeddedProcess(self._config, settings, read=_read_prefix)
        return self._process

    def _settings(self) -> ModelProcessSettings:
        try:
            header, size = read_header(self._path), self._path.stat().st_size
            return fit_memory(self._path, header, size, self._free_bytes())
        except FileNotFoundError as error:
            cure = "`python -m server.models` lists what is there; choose another model"
            raise ProviderUnreachable(f"the model {self._path.name} is missing: {cure}") from error
        except (OSError, NotAModel) as error:
            raise ProviderUnreachable(f"{self._path.name} cannot be loaded: {error}") from error


async def _read_prefix(client: OpenAICompatible, prefix: list[Message]) -> None:
    await client.read([*prefix, {"role": "user", "content": "Hi"}])


def fit_memory(path: Path, header: ModelHeader, file_bytes: int, free_bytes: int) -> ModelProcessSettings:
    """Return settings whose context fits the memory that is free. Pure. Raises NotAModel where too little is.

    Two conversations at once where both get half of `MAX_TOKENS`, else one.
    """
    room = free_bytes - file_bytes - _RESERVE_BYTES
    longest = min(header.trained_tokens, MAX_TOKENS)
    least = min(longest, MIN_TOKENS)
    tokens = room // header.token_bytes
    if tokens < least:
        needed = file_bytes + _RESERVE_BYTES + least * header.token_bytes
        raise NotAModel(
            f"it needs {needed / 1e9:.1f} GB of memory, and {max(0, free_bytes) / 1e9:.1f} GB are free; "
            "choose a smaller model or close other programs"
        )
    slots = 2 if tokens // 2 >= min(longest, MAX_TOKENS // 2) else 1
    slot_tokens = min(longest, tokens // slots // _STEP * _STEP)
    left = room - slots * slot_tokens * header.token_bytes
    cores = available_cores()
    return ModelProcessSettings(
        threads=max(1, min(_MAX_THREADS, cores - 1)),
        reading_threads=min(_MAX_THREADS, cores),
        slots=slots,
        slot_tokens=slot_tokens,
        cache_mib=min(_MAX_CACHE_MIB, left // 2 >> 20),
        weights=path,
        model_name=path.stem,
        start_timeout_s=60 + file_bytes / _LOADING_BYTES_S,
    )


def free_memory(root: Path = Path("/")) -> int:
    """Return the bytes that a new process can have: of the machine, and of the container where it has a limit."""
    try:
        fields = dict(line.split(":", 1) for line in (root / "proc/meminfo").read_text().splitlines())
        free = int(fields["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):  # not Linux
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    group = root / "sys/fs/cgroup"
    try:
        limit, used = int((group / "memory.max").read_text()), int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no container, or one without a limit
        return free
    return min(free, limit - used + int(stat.get("inactive_file", 0)))
