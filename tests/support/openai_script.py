"""What the scripted model server says: the pieces of an answer, and ways to go wrong.

An answer is a `Stream` (pieces in order), an `HttpError`, or one of the two
silences. `text`, `calls` and `tokens` write the usual ones:

    text("Hel", "lo")                               two chunks, then stop
    text("One", gate, "two")                        waits at the gate, a `Gate()`
    text("Half a", Cut())                           the connection breaks
    calls(("read_file", {"path": "a/SKILL.md"}))    a tool call in fragments
    tokens(100, interval_s=0.02)                    for benchmarks
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Reasoning:
    text: str
    key: str = "reasoning_content"


@dataclass(frozen=True)
class ToolPart:
    """One fragment of `delta.tool_calls`; what is None is left out of it."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Tokens:
    """The usage chunk, before `[DONE]`; sent only where the request asks for it."""

    prompt: int = 7
    completion: int = 3
    cached: int = 0


@dataclass(frozen=True)
class Finish:
    reason: str


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, between two events or instead of them."""

    data: bytes


@dataclass(frozen=True)
class Comment:
    text: str = "keep-alive"


@dataclass(frozen=True)
class Pause:
    """For benchmarks only; a test waits at a `Gate`."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection is dropped here; nothing follows."""


class Gate:
    """The stream stops here until `open` is called; `reached` is set when it has come so far."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._opened = asyncio.Event()

    def open(self) -> None:
        self._opened.set()

    async def wait(self) -> None:
        self.reached.set()
        await self._opened.wait()


Step = Text | Reasoning | ToolPart | Tokens | Finish | Raw | Comment | Pause | Cut | Gate


@dataclass(frozen=True, kw_only=True)
class Stream:
    """HTTP 200 and these pieces; `done` ends it with `data: [DONE]`."""

    steps: Sequence[Step]
    done: bool = True
    newline: str = "\n"
    content_type: str = "text/event-stream; charset=utf-8"
    write_bytes: int | None = None
    """Write at most so many bytes at once, so that characters and lines are torn."""


@dataclass(frozen=True, kw_only=True)
class HttpError:
    status: int
    body: Json | str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HangBeforeHeaders:
    """The request is read and never answered."""


@dataclass(frozen=True)
class CutBeforeHeaders:
    """The request is read and the connection dropped."""


Answer = Stream | HttpError | HangBeforeHeaders | CutBeforeHeaders


def text(*pieces: str | Step, finish: str | None = "stop", usage: Tokens | None = None) -> Stream:
    """A reply streamed in these pieces; with `finish=None` it just ends, as a cut reply does."""
    steps: list[Step] = [Text(piece) if isinstance(piece, str) else piece for piece in pieces]
    return _ended(steps, finish, usage)


def calls(
    *wanted: tuple[str, Mapping[str, Any] | str],
    say: str = "",
    fragment_chars: int = 8,
    interleaved: bool = False,
    finish: str | None = "tool_calls",
) -> Stream:
    """Tool calls as OpenAI streams them: first id and name, then the arguments in fragments.

    `interleaved` sends one fragment of each call in turn. The ids are `call_0`, `call_1`, …
    """
    columns = [_call_parts(n, name, args, fragment_chars) for n, (name, args) in enumerate(wanted)]
    steps: list[Step] = [Text(say)] if say else []
    if interleaved:
        longest = max(len(column) for column in columns)
        steps += [column[row] for row in range(longest) for column in columns if row < len(column)]
    else:
        steps += [part for column in columns for part in column]
    return _ended(steps, finish, None)


def tokens(count: int, *, interval_s: float = 0.0, first_s: float = 0.0, word: str = "word ") -> Stream:
    """`count` tokens at a fixed interval, the first after `first_s`: what benchmarks measure against."""
    steps: list[Step] = [Pause(first_s)] if first_s else []
    for number in range(count):
        if number and interval_s:
            steps.append(Pause(interval_s))
        steps.append(Text(word))
    return _ended(steps, "stop", Tokens(completion=count))


def garbage() -> Stream:
    return Stream(steps=[Raw(b"data: {not json\n\n")])


def html_page() -> HttpError:
    """What a wrong base URL often answers: 200 and a page."""
    return HttpError(
        status=200,
        body="<!doctype html><title>It works!</title>",
        headers={"Content-Type": "text/html"},
    )


def error_event(message: str = "the engine crashed", **more: Any) -> Raw:
    """An error inside a stream that began well, as vLLM, llama.cpp and OpenRouter send it."""
    return Raw(b"data: " + json.dumps({"error": {"message": message, **more}}).encode() + b"\n\n")


def _call_parts(index: int, name: str, arguments: Mapping[str, Any] | str, fragment_chars: int) -> list[ToolPart]:
    whole = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    cut = [whole[at : at + fragment_chars] for at in range(0, len(whole), fragment_chars)]
    head = ToolPart(index=index, id=f"call_{index}", name=name, arguments="")
    return [head, *(ToolPart(index=index, arguments=piece) for piece in cut)]


def _ended(steps: list[Step], finish: str | None, usage: Tokens | None) -> Stream:
    if finish is None:
        return Stream(steps=steps, done=False)
    return Stream(steps=[*steps, Finish(finish), usage or Tokens()])
