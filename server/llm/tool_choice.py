"""The choice of a tool and of its arguments for a very small model: words decide. Pure.

A built-in tool is asked for in plain words, any other by all words of its name. A built-in tool gets what the question
names: a path, a city, the words to search for; without them it is not called. For any other the model chooses among the
words of the question, bound by the tool's schema.
"""

import re
from collections.abc import Collection
from functools import cache
from itertools import groupby
from typing import Any
from zoneinfo import available_timezones

from server.llm.compact import CompactTurn
from server.llm.language_model import Message, ToolSpec

_MAX_QUESTION_CHARS = 500
_MAX_DESCRIPTION_CHARS = 200
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
_WORD = re.compile(r"[\w./:@+-]*\w")


def chosen_tool(turn: CompactTurn, tools: Collection[str]) -> str | None:
    """Return the tool that the question, or the one that it follows up, asks for; None: the model is to answer."""
    for asked in filter(None, (turn.question, turn.base_question)):
        for name in (*_CUES, *tools):
            if name in tools and _asks_for(name, asked):
                return name if name not in _CUES or named_arguments(name, turn) is not None else None
    return None


def named_arguments(tool: str, turn: CompactTurn) -> dict[str, str] | None:
    """Return what the question names for a built-in tool; None: not what it needs, or the tool is not built in."""
    match tool:
        case "current_time":
            zone, question = _zone(turn.question), turn.question
            is_time = zone or not turn.base_question or _DAY.search(question) or _PLACE.search(question)
            return ({"timezone": zone} if zone else {}) if is_time else None
        case "read_file":
            return {"path": paths[0]} if (paths := _paths(turn)) else None
        case "search_text":
            phrases = _phrases(tool, turn.question)
            return {"pattern": max(phrases, key=len)} if phrases else None
    return None


def refusal(tool: str, turn: CompactTurn) -> str | None:
    """Return why the tool cannot answer the question; None: it can."""
    place = _PLACE.search(turn.question)
    if tool != "current_time" or place is None or _zone(turn.question):
        return None
    return f"I don't know the time zone of {place[1].title()}. Name a large city near it."


def argument_messages(tool: ToolSpec, question: str) -> list[Message]:
    head = f"Give the arguments of {tool.name} as JSON. {tool.description[:_MAX_DESCRIPTION_CHARS]}"
    return [{"role": "system", "content": head}, {"role": "user", "content": question[-_MAX_QUESTION_CHARS:]}]


def argument_schema(tool: ToolSpec, question: str) -> dict[str, Any]:
    """Narrow the tool's schema to its required properties, and texts to the words of the question."""
    phrases = _phrases(tool.name, question[-_MAX_QUESTION_CHARS:])
    narrowed = {
        name: {"enum": phrases or [question]} if schema.get("type") == "string" and "enum" not in schema else schema
        for name, schema in tool.parameters.get("properties", {}).items()
        if name in tool.parameters.get("required", ())
    }
    bound = {"type": "object", "properties": narrowed, "required": list(narrowed), "additionalProperties": False}
    return bound | {"$defs": tool.parameters.get("$defs", {})}


@cache
def cities() -> tuple[tuple[str, str], ...]:
    """Return city and zone, longest first, without countries and abbreviations. Reads the zones from disk, once."""
    zones = (zone for zone in sorted(available_timezones()) if "/" in zone and not zone.startswith(("Etc/", "US/")))
    named = [(zone.rsplit("/", 1)[1].replace("_", " ").lower(), zone) for zone in zones]
    return tuple(sorted(named, key=lambda each: -len(each[0])))


def _asks_for(tool: str, question: str) -> bool:
    if tool in _CUES:
        return bool(_CUES[tool].search(question))
    return {*_name_words(tool)} <= {*_name_words(question)}


def _paths(turn: CompactTurn) -> list[str]:
    """Return paths that the question names; else those of the system message of which it names a part, or the last named."""
    words = {word.lower() for word in _WORD.findall(turn.question)}
    known = [path for path in _PATH.findall(turn.system) if words & {part.lower() for part in path.split("/")}]
    return _PATH.findall(turn.question) or known or (_PATH.findall(turn.last_reply) if words & _POINTERS else [])


def _zone(question: str) -> str:
    words = f" {' '.join(_WORD.findall(question)).lower()} "
    return next((zone for city, zone in cities() if f" {city} " in words), "")


def _phrases(tool: str, question: str) -> list[str]:
    """Return what stands in quotation marks, else the words in a row that do not belong to the request itself."""
    taken = _REQUEST_WORDS | {*_name_words(tool)}
    rows = groupby(_WORD.findall(question), key=lambda word: word.lower() in taken)
    return _QUOTED.findall(question) or [" ".join(row) for is_taken, row in rows if not is_taken]


def _name_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
