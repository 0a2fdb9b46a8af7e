"""The whole server inside the test's event loop, behind a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from server import config
from server.app import App
from server.hooks.process.hook_process import HookLimits

PRESET: dict[str, Any] = {
    "listen": {"port": 0},
    "skills": {"reload": "off"},
    "speech": {"stt": {"provider": "none"}, "tts": {"provider": "none"}},
}


@dataclass
class Parley:
    url: str
    app: App
    lines: list[str]

    @property
    def ws_url(self) -> str:
        return self.url.replace("http", "ws", 1) + "/ws"


@asynccontextmanager
async def parley(
    folder: Path, model_url: str, settings: dict[str, Any] | None = None, *, hook_limits: HookLimits | None = None
) -> AsyncIterator[Parley]:
    """`settings` are sections as in parley.yaml; data and skills stand in `folder`."""
    skills = folder / "skills"
    skills.mkdir(exist_ok=True)
    tree: dict[str, Any] = {
        **PRESET,
        "data": {"dir": str(folder / "data")},
        "llm": {"provider": "openai", "base_url": model_url, "model": "scripted"},
    }
    tree["skills"] = {**tree["skills"], "dir": str(skills)}
    for section, values in (settings or {}).items():
        tree[section] = {**tree.get(section, {}), **values} if isinstance(values, dict) else values
    lines: list[str] = []
    configured = msgspec.convert(tree, config.Config, dec_hook=lambda kind, value: kind(value))
    app = await App.build(configured, {}, hook_limits=hook_limits)
    async with app.running(lines.append):
        yield Parley(lines[0].removeprefix("listening on "), app, lines)
