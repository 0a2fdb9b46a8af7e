"""What is loaded and what is still on its way, for /readyz and for turns that come early."""

import asyncio
from dataclasses import dataclass
from typing import Literal

StageState = Literal["loading", "ready", "failed", "missing"]
"""missing: the server works without it, and says so (a speech engine that is not installed or switched off)."""


@dataclass(slots=True)
class Stage:
    name: str
    state: StageState = "loading"
    detail: str | None = None


class Readiness:
    """Stages are added in the order in which they are shown."""

    def __init__(self) -> None:
        self.is_draining = False
        self._stages: dict[str, Stage] = {}
        self._settled: dict[str, asyncio.Event] = {}

    @property
    def stages(self) -> list[Stage]:
        return list(self._stages.values())

    @property
    def is_ready(self) -> bool:
        return not self.is_draining and all(stage.state in ("ready", "missing") for stage in self._stages.values())

    def set(self, name: str, state: StageState, detail: str | None = None) -> None:
        self._stages[name] = Stage(name, state, detail)
        event = self._settled.setdefault(name, asyncio.Event())
        if state != "loading":
            event.set()

    async def settled(self, name: str) -> None:
        """Wait until the stage was ready, or failed, for the first time; its next use says which."""
        event = self._settled[name]
        if not event.is_set():
            await event.wait()
