"""Says in plain words what is wrong with a line that a hook printed. Pure.

The server skips such lines; this says to their author why.
"""

import json
from collections.abc import Collection
from typing import Any, Final, Literal, NamedTuple

from server.subprocesses.lines import Line, Overlong

_SHOWN_CHARACTERS: Final = 120
_ELSEWHERE: Final = "anything else belongs on standard error"
_INNER: Final = frozenset(("action", "approved", "reason", "request", "response", "call", "ok"))
_NO_NUMBERS: Final = {
    str: "a string",
    float: "a number with a point",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
}


class Finding(NamedTuple):
    """A problem, or a hint, for the author of a hook."""

    level: Literal["problem", "hint"]
    text: str


def check_line(line: Line, *, open_ids: Collection[int], last_id: int) -> Finding | None:
    """Return None for a reply to one of `open_ids`, and for an empty line. `last_id`: the last that was given."""
    if isinstance(line, Overlong):
        return Finding("problem", f"printed a line of more than 16 MiB, which begins {shown(line.head)}")
    text = bytes(line).decode("utf-8", "replace").strip()
    if not text:
        return None
    if not text.startswith("{"):
        if text.startswith("["):
            return Finding("problem", f"printed a list: {shown(line)}; send one object a line, without batches")
        return Finding("problem", f"printed something that is not a reply: {shown(line)}; {_ELSEWHERE}")
    try:
        message = json.loads(text)
    except ValueError as error:
        return Finding("problem", f"printed a line that is not valid JSON: {shown(line)} ({error}){_fix(text)}")
    except RecursionError:
        return Finding("problem", f"printed JSON that is nested too deep: {shown(line)}")
    return _check_message({key.lower(): value for key, value in message.items()}, line, open_ids, last_id)


def shown(line: Line, quotes: str = "‘’") -> str:
    """Return a line as people read it, cut to size, between quotes."""
    data = line.head if isinstance(line, Overlong) else bytes(line)
    text = data.decode("utf-8", "replace").strip()
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    text = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return quotes[:1] + text + quotes[1:]


def _fix(text: str) -> str:
    if text == "{":
        return "; a reply must be on one line, so do not indent it"
    if text.startswith("{'"):
        return "; JSON needs double quotes: print it with json.dumps"
    return ""


def _check_message(message: dict[str, Any], line: Line, open_ids: Collection[int], last_id: int) -> Finding | None:
    call_id = message.get("id")
    if message.get("method") is not None and "result" not in message and "error" not in message:
        return Finding("problem", f"sent a call of its own: {shown(line)}; a hook only answers")
    if call_id is None or (call_id == 0 and type(call_id) is int):
        return _without_id(message, line, open_ids)
    if type(call_id) is not int:
        what = _NO_NUMBERS.get(type(call_id), "no number")
        return Finding("problem", f'answered with "id": {json.dumps(call_id)}, {what}; return the id unchanged')
    if call_id not in open_ids:
        if 0 < call_id <= last_id:
            return Finding("problem", "answered a call that it had answered already; answer each once")
        return Finding("problem", f'answered with "id": {call_id}, which no call has; return the id unchanged')
    return _check_reply(message)


def _without_id(message: dict[str, Any], line: Line, open_ids: Collection[int]) -> Finding:
    if not open_ids:
        return Finding("hint", f"answered a notification: {shown(line)}; a message without an id needs no answer")
    where = "; the answer belongs in “result”" if _INNER & message.keys() else ""
    return Finding(
        "problem",
        f'printed a reply without the id of its call: {shown(line)}; write {{"jsonrpc": "2.0", "id": …, "result": …}}{where}',
    )


def _check_reply(message: dict[str, Any]) -> Finding | None:
    error = message.get("error")
    if error is not None and not (isinstance(error, dict) and isinstance(error.get("message", ""), str)):
        return Finding("problem", '"error" must be an object: {"code": -32000, "message": "…"}')
    if error is None and "result" not in message:
        inner = sorted(_INNER & message.keys())
        where = f"; {', '.join(inner)} must be inside it" if inner else ""
        return Finding("problem", f'answered without "result"{where}')
    version = message.get("jsonrpc")
    if version != "2.0":
        return Finding("hint", '"jsonrpc": "2.0" is missing; it works here, other hosts may require it')
    return None
