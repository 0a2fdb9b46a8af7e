"""The choice of a tool and of its arguments for a very small model: words decide. Pure.

A built-in tool is asked for in plain words, any other by all words of its name. The arguments are what the question
names: a path, a city, the words that are left. Without what it needs, a tool is not called.
"""

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from itertools import groupby
from typing import Any
from zoneinfo import available_timezones

from server.llm.compact import MAX_SHOWN_CHARS, CompactTurn

_CUES = {
    "current_time": re.compile(
        r"\b(?:what|which)(?:'?s| is)? (?:the )?(?:current |exact |local )?(?:time|date|day|weekday|month|year)\b"
        r"(?! (?:did|do|was|to)\b)|\b(?:current|local) time\b|\btime is it\b|\bhow late is it\b|\btime in [a-z]"
        r"|\bto(?:day|morrow)'?s date\b",
        re.IGNORECASE,
    ),
    "search_text": re.compile(
        r"\b(?:search|find|grep|look for)\b.*\b(?:files?|skills?|folders?|text)\b|\A\W*(?:grep|search for)\b"
        r"|\b(?:which|what) (?:files?|skills?) (?:mention|contain|use|ha)|\bin (?:the|all|your) (?:files|skills)\b",
        re.IGNORECASE,
    ),
    "read_file": re.compile(
        r"\b(?:read|open|show|display)\b.*\bfile\b"
        r"|\b(?:read|open|show|display|in|summari[sz]e|of|does)\b.*[\w-]\.(?:md|txt|json|ya?ml|py|csv)\b",
        re.IGNORECASE,
    ),
}
"""The words that ask for a built-in tool; the first that match decide."""
_PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*\w|[\w-]+\.[A-Za-z]\w{0,7}\b")
_QUOTED = re.compile(r'["“„`]([^"“”„`]+)["“”`]')
_DAY = re.compile(r"\b(?:today|tomorrow|yesterday|day|date|time)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\bin (?!the\b|a\b|my\b|your\b|this\b|here\b|\d)([^\W\d]+(?: [^\W\d]+)?)(?: (?:right )?now| please)?\W*\Z",
    re.IGNORECASE,
)
_POINTERS = frozenset({"file", "it", "that", "one"})
_REQUEST_WORDS = frozenset(
    "a all an and any are at by can could do does file files find folder for from grep how i in is it look me mention "
    "mentions my notes of on or please search searches show skill skills tell text that the this to used use uses what "
    "where which who why with word words you".split()
)
_NUMBER = re.compile(r"(?<![\w.,:/-])-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?![\w:/-]|[.,]\d)")
_WORD = re.compile(r"[\w./:@+-]*\w")
_NAME_WORD = re.compile(r"[^\W_]+")


def chosen_tool(turn: CompactTurn, tools: Collection[str]) -> str | None:
    """Return the tool that the question, or the one that it follows up, asks for, or None if the model is to answer."""
    for asked in filter(None, (turn.question, turn.base_question)):
        words = {*_NAME_WORD.findall(asked.lower())}
        cued = [name for name, cue in _CUES.items() if name in tools and cue.search(asked)]
        added = [name for name in tools if name not in _CUES]
        named = [name for name in added if words.issuperset(_NAME_WORD.findall(name.lower()) or [name])]
        if name := next(iter(cued + named), None):
            return name if named_arguments(name, turn, {}) is not None else None
    return None


def named_arguments(tool: str, turn: CompactTurn, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the question names for the tool, or None if that is not what it needs. `parameters`: its schema."""
    phrase = max(_phrases(tool, turn.question), key=len, default="")
    match tool:
        case "current_time":
            if place := _place(turn.question):
                return {"timezone": place}
            return {} if not turn.base_question or _DAY.search(turn.question) else None
        case "read_file":
            return {"path": paths[0]} if (paths := _paths(turn)) else None
        case "search_text":
            return {"pattern": phrase} if phrase else None
    match parameters.get("required", []):
        case []:
            return {}
        case [str(name)]:
            known = parameters.get("properties")
            value = _value(known.get(name) if isinstance(known, dict) else None, tool, turn.question, phrase)
            return None if value is None else {name: value}
    return None


@cache
def cities() -> tuple[tuple[str, str], ...]:
    """Return city and zone, longest first, without countries and abbreviations. Reads the zones from disk, once."""
    zones = (zone for zone in sorted(available_timezones()) if "/" in zone and not zone.startswith(("Etc/", "US/")))
    named = [(" ".join(_NAME_WORD.findall(zone.rsplit("/", 1)[1].lower())), zone) for zone in zones]
    return tuple(sorted(named, key=lambda each: -len(each[0])))


def _paths(turn: CompactTurn) -> list[str]:
    """Return paths that the question names; else those of the system message of which it names a part, or the last named."""
    words = {word.lower() for word in _WORD.findall(turn.question)}
    known = [path for path in _PATH.findall(turn.system) if words & {part.lower() for part in path.split("/")}]
    last = _PATH.findall(turn.last_reply[:MAX_SHOWN_CHARS]) if words & _POINTERS else []
    return _PATH.findall(turn.question) or known or last


def _place(question: str) -> str:
    """Return the zone of a city that the question names, else the place that it names, or ""."""
    words = f" {' '.join(_NAME_WORD.findall(question.lower()))} "
    zone = next((zone for city, zone in cities() if f" {city} " in words), "")
    return zone or next(iter(_PLACE.findall(question)), "")


def _value(schema: Any, tool: str, question: str, phrase: str) -> str | int | float | None:
    """Return what the question names for an argument of that schema, the text or the only number, or None."""
    match schema:
        case {"type": "integer" | "number" as kind}:
            numbers = [number for number in _NUMBER.findall(question) if number not in _NAME_WORD.findall(tool)]
            number = json.loads(numbers[0]) if len(numbers) == 1 else None
            return None if kind == "integer" and isinstance(number, float) else number
        case {"type": str(kind)} if kind != "string":
            return None
    return phrase or None


def _phrases(tool: str, question: str) -> list[str]:
    """Return what stands in quotation marks, else the words in a row that do not belong to the request itself."""
    taken = _REQUEST_WORDS | {*_NAME_WORD.findall(tool.lower())}
    rows = groupby(_WORD.findall(question), key=lambda word: word.lower() in taken)
    return _QUOTED.findall(question) or [" ".join(row) for is_taken, row in rows if not is_taken]
