"""Reads a recording, asks a hook the same again, and compares its replies with those of then."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from server import config
from server.hooks.process.hook_process import HookLimits, HookProcess
from server.hooks.stages import HookCallFailed

_MAX_DIFFERENCES: Final = 20  # of one reply
_SHOWN_CHARACTERS: Final = 80


class RecordingUnusable(Exception):
    """A file that is no recording; the message names the line."""


@dataclass(kw_only=True, slots=True)
class Exchange:
    """A call or notification that was sent, and the reply."""

    method: str
    params: dict[str, Any]
    id: int | None = None
    """Id of the call, or None for a notification."""
    reply: dict[str, Any] | None = None
    """The reply, with its `result` or `error`, or None if none was recorded."""
    ms: float | None = None


@dataclass(kw_only=True, slots=True)
class RecordedProcess:
    hook: str
    command: list[str] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)


def read_recording(path: Path) -> list[RecordedProcess]:
    """Read a recording. Raises RecordingUnusable and OSError. What is no JSON-RPC in it is passed over."""
    processes: list[RecordedProcess] = []
    open_calls: dict[int, tuple[Exchange, float]] = {}
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            match _entry(text, f"{path}, line {number}"):
                case {"hook": str(hook), "command": list(command)}:
                    processes.append(RecordedProcess(hook=hook, command=command))
                    open_calls = {}
                case {"direction": "out", "line": str(line), "ms": int() | float() as ms} if processes:
                    if (exchange := _exchange(line)) is not None:
                        processes[-1].exchanges.append(exchange)
                        if exchange.id is not None:
                            open_calls[exchange.id] = exchange, ms
                case {"direction": "in", "line": str(line), "ms": int() | float() as ms} if processes:
                    reply = _message(line)
                    exchange, began_ms = open_calls.pop(reply.get("id", 0), (None, 0.0))
                    if exchange is not None:
                        exchange.reply, exchange.ms = reply, ms - began_ms
                case {"direction": "err"} if processes:
                    pass
                case _:
                    raise RecordingUnusable(f"{path}, line {number}: not a line of a recording")
    if not processes:
        raise RecordingUnusable(f"{path}: an empty recording")
    return processes


def _entry(text: str, where: str) -> dict[str, Any]:
    entry = _message(text)
    if not entry:
        raise RecordingUnusable(f"{where}: not a JSON object")
    return entry


def _exchange(line: str) -> Exchange | None:
    match _message(line):
        case {"method": str(method), "params": dict(params)} as message:
            return Exchange(method=method, params=params, id=message.get("id"))
    return None


def _message(line: str) -> dict[str, Any]:
    """Parse a line; return `{}` for what is no JSON object."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """One call; `differences` is empty where the reply is what it was."""

    number: int
    method: str
    ms: float
    recorded_ms: float | None
    differences: list[str]


async def replay(
    processes: list[RecordedProcess],
    hook: config.ProcessHookSettings,
    environ: Mapping[str, str],
    *,
    wait_s: float,
    show: Callable[[Replayed], None],
) -> None:
    """Replay one process after the other, and call after call; `show` gets each. Raises OSError if it cannot start."""
    for process in processes:
        child = await HookProcess.begin(process.hook, hook, environ, HookLimits())
        try:
            await _replay(process, child, wait_s, show)
        finally:
            await child.end()


async def _replay(
    process: RecordedProcess, child: HookProcess, wait_s: float, show: Callable[[Replayed], None]
) -> None:
    for number, exchange in enumerate(process.exchanges, 1):
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
    """Return in words what differs from the recording. Errors differ in nothing from other errors."""
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
