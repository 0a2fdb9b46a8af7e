"""Asks a hook again what a recording holds, and compares its replies with those of then."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from server import config
from server.hooks.channel import HookCallFailed
from server.hooks.process.life import Limits, ProcessLife
from server.hooks.process.recording import Exchange, RecordedLife

_MAX_DIFFERENCES: Final = 20  # of one reply
_SHOWN_CHARACTERS: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """One call; `differences` is empty where the reply is what it was."""

    number: int
    method: str
    ms: float
    recorded_ms: float | None
    differences: list[str]


async def replay(
    lives: list[RecordedLife],
    hook: config.ProcessHookSettings,
    environ: Mapping[str, str],
    *,
    wait_s: float,
    show: Callable[[Replayed], None],
) -> None:
    """One life after the other, one call after the other; `show` is told of each. Raises OSError if it cannot start."""
    for life in lives:
        child = await ProcessLife.begin(life.hook, hook, environ, Limits())
        ending = asyncio.create_task(child.ended(), name="end of the replayed hook")
        try:
            await _replay(life, child, wait_s, show)
        finally:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)
            await child.end()


async def _replay(life: RecordedLife, child: ProcessLife, wait_s: float, show: Callable[[Replayed], None]) -> None:
    for number, exchange in enumerate(life.exchanges, 1):
        if exchange.id is None:
            child.notify(exchange.method, exchange.params)
            continue
        began = time.perf_counter()
        try:
            reply = {"result": await child.request(exchange.method, exchange.params, wait_s)}
        except HookCallFailed as error:
            reply = {"error": {"message": str(error)}} if error.kind == "failed" else {"none": str(error)}
        ms = (time.perf_counter() - began) * 1000
        found = compare(exchange, reply)
        show(Replayed(number=number, method=exchange.method, ms=ms, recorded_ms=exchange.ms, differences=found))


def compare(exchange: Exchange, reply: Mapping[str, Any]) -> list[str]:
    """In words, what is not as it was. Of errors only that they are errors counts."""
    was = exchange.reply
    if was is None:
        return [] if "none" in reply else [f"there was no reply; now: {_shown(reply)}"]
    if "none" in reply:
        return [str(reply["none"])]
    if was.get("error") is not None:
        return [] if "error" in reply else [f"there was an error; now: {_shown(reply['result'])}"]
    if "error" in reply:
        return [f"now an error: {reply['error']['message']}"]
    differences = list(_differences("result", was.get("result"), reply["result"]))
    more = len(differences) - _MAX_DIFFERENCES
    return [*differences[:_MAX_DIFFERENCES], f"and {more} more"] if more > 0 else differences


def _differences(path: str, was: Any, now: Any) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys()):
            if key not in now:
                yield f"{path}.{key} is gone; it was {_shown(was[key])}"
            elif key not in was:
                yield f"{path}.{key} is new: {_shown(now[key])}"
            else:
                yield from _differences(f"{path}.{key}", was[key], now[key])
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for number, (item, item_now) in enumerate(zip(was, now, strict=True)):
            yield from _differences(f"{path}[{number}]", item, item_now)
    elif was != now:
        yield f"{path} was {_shown(was)}, is {_shown(now)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
