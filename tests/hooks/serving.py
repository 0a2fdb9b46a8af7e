"""A whole server with process hooks, and a scripted model that it asks."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.client import Client, Frame, client
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

CHILDREN = Path(__file__).parent / "children"


def entry(script: str, *arguments: str, intercept: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """One entry of `hooks.processes`."""
    command = [sys.executable, str(CHILDREN / f"{script}.py"), *arguments]
    return {"enabled": True, "command": command, "intercept": intercept or [], **more}


def scripted(answers: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A hook that gives these results to these stages, asked at each of them unless `intercept` says otherwise."""
    arguments = [
        f"hook.{stage}={what if isinstance(what, str) else json.dumps(what)}" for stage, what in answers.items()
    ]
    return entry("scripted", *arguments, **{"intercept": list(answers), **more})


@dataclass
class Scene:
    server: Parley
    model: OpenAIServer
    client: Client

    async def turn(self, *answers: Any, text: str = "hi", **fields: Any) -> list[Frame]:
        """One turn for which the model gives these answers."""
        self.model.queue(*answers)
        return await self.client.turn(text, **fields)


@asynccontextmanager
async def serving(
    folder: Path, processes: Mapping[str, Any], *, agent: Mapping[str, Any] | None = None, **hooks: Any
) -> AsyncIterator[Scene]:
    """Without a planning round, unless `agent` asks for it. `hooks`: further keys of the section."""
    settings = {"hooks": {"processes": dict(processes), **hooks}, "agent": {"planning": False, **(agent or {})}}
    async with (
        OpenAIServer() as model,
        parley(folder, model.url, settings) as server,
        client(server.ws_url) as connected,
    ):
        yield Scene(server, model, connected)


def only(frames: list[Frame], kind: str) -> Frame:
    [frame] = [frame for frame in frames if frame["type"] == kind]
    return frame


def said(frames: list[Frame]) -> str:
    return "".join(frame["delta"] for frame in frames if frame["type"] == "text")
