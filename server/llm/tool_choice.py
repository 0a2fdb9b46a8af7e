"""The choice of a tool and of its arguments by a very small model: prompts, grammars and schemas. Pure.

The model names a tool (or none) after a few examples, bound by a grammar; then each argument is bound to what the
question offers: a path or a zone that it names, words that stand in it. A tool for which it offers nothing is not
called. With the built-in tools it is right for 41 of 46 questions (test_tool_choice_quality).
"""

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from zoneinfo import available_timezones

import jsonschema

from server.llm.language_model import Message, ToolSpec, schema_validator

logger = logging.getLogger(__name__)

NO_TOOL = "none"
UNKNOWABLE = "weather_or_news"
"""The name for questions that no built-in tool can answer; chosen like a tool where there are no others."""
MAX_QUESTION_WORDS = 60
_MAX_SPAN_WORDS = 4
_MAX_CHOICES = 200
_MAX_SHOTS_OF_STRANGERS = 8

Schema = Mapping[str, Any]

# What the model sees of a tool by name. Order matters: the last examples weigh most.
_SHOTS = (
    ("Hi!", NO_TOOL),
    ("Open guide.md", "read_file"),
    ("What is the capital of Spain?", NO_TOOL),
    ("What time is it in Paris?", "current_time"),
    ("How do plants grow?", NO_TOOL),
    ("Search the files for apple", "search_text"),
    ("Tell me a story", NO_TOOL),
    ("What is in a/notes.txt?", "read_file"),
    ("What day is it?", "current_time"),
    ("Thank you", NO_TOOL),
    ("Which files mention milk?", "search_text"),
)
_DESCRIPTIONS = {
    "current_time": "the time or date now",
    "read_file": "read one file",
    "search_text": "search for words in the files",
}
_ARGUMENT_SHOTS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "search_text": (
        ("Search the files for apple", {"pattern": "apple"}),
        ("Which files mention milk?", {"pattern": "milk"}),
        ("Find the word red in all notes", {"pattern": "red"}),
        ("Where is green_tea used?", {"pattern": "green_tea"}),
    ),
}
_PATH_NAMES = frozenset({"path", "file", "filename", "file_path", "file_name"})
_ZONE_NAMES = frozenset({"timezone", "time_zone", "tz"})
_PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*\w|[\w-]+\.[A-Za-z]\w{0,7}\b")
_QUOTED = re.compile(r'["“„`]([^"“”„`]+)["“”`]')
_DAY = re.compile(r"\b(?:today|tomorrow|yesterday|day|date|time)\b", re.IGNORECASE)
_IN_PLACE = re.compile(
    r"\bin (?!the\b|a\b|my\b|your\b|this\b|here\b|\d)(?P<place>[^\W\d]+(?: [^\W\d]+)?)(?: (?:right )?now| please)?\W*\Z",
    re.IGNORECASE,
)
_SEARCH_CUES = frozenset("search find grep look where file files skills folder mention mentions used uses".split())
_CERTAIN = {
    "current_time": re.compile(
        r"\b(?:what|which)(?:'?s| is)? (?:the )?(?:current |exact |local )?(?:time|date|day|weekday|month|year)\b(?! (?:did|do|was|to)\b)"
        r"|\b(?:current|local) time\b|\btime is it\b|\bhow late is it\b|\btime in [a-z]|\bto(?:day|morrow)'?s date\b",
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
    UNKNOWABLE: re.compile(
        r"\b(?:weather|forecast|headlines|in the news|latest news|news today)\b|\b(?:will|is|does|going to) (?:it )?(?:rain|snow)"
        r"|\btemperature (?:outside|today|now)|\b(?:sunny|cold|hot|warm) (?:outside|today|tomorrow)\b",
        re.IGNORECASE,
    ),
}
_POINTERS = frozenset({"file", "it", "that", "one"})
_REQUEST_WORDS = frozenset(
    "a all an and any are at by can could do does file files find folder for from grep how i in is it look me mention "
    "mentions my of on or please search searches show skill skills tell text that the this to used use uses what where "
    "which who why with word words you".split()
)
_WORD = re.compile(r"[\w./:@+-]*\w")


def shortened(question: str) -> str:
    """Return the end of a long question, where the request mostly stands."""
    return " ".join(question.split()[-MAX_QUESTION_WORDS:])


def choice_prompt(question: str, tools: Mapping[str, str]) -> str:
    """Return the text whose continuation is a tool's name; the same up to the question. `tools`: name → description.

    Lines to go on with, not a chat: half the tokens, and this model is as often right (41 of 46; in a chat 42).
    """
    described = {
        name: _DESCRIPTIONS.get(name) or _short(text) or name.replace("_", " ") for name, text in tools.items()
    }
    strangers = [(text, name) for name, text in described.items() if name not in _DESCRIPTIONS]
    shots = [
        *strangers[:_MAX_SHOTS_OF_STRANGERS],
        *(shot for shot in _SHOTS if shot[1] == NO_TOOL or shot[1] in tools),
    ]
    lines = [f"Request: {asked}\nTool: {name}\n\n" for asked, name in shots]
    return f"{''.join(lines)}Request: {shortened(question)}\nTool:"


def choice_grammar(tools: Iterable[str]) -> str:
    names = " | ".join(json.dumps(f" {name}") for name in (NO_TOOL, *tools))
    return f"root ::= {names}"


def certain_choice(question: str, tools: Collection[str]) -> str | None:
    """Return the tool that the words alone decide on, or None: the model must choose."""
    found = next((name for name, asks in _CERTAIN.items() if asks.search(question)), None)
    return found if found in tools or (found == UNKNOWABLE and _DESCRIPTIONS.keys() >= set(tools)) else None


def is_possible(tool: str, question: str, context: str, last_reply: str = "", *, is_follow_up: bool = False) -> bool:
    """Return whether the words offer what this tool cannot do without; `context`: the system prompt."""
    if tool == "read_file":
        return bool(_paths(question, context, last_reply))
    if tool == "search_text":
        is_search = is_follow_up or bool(_SEARCH_CUES & {*_WORD.findall(question.lower())})
        return is_search and bool(_QUOTED.search(question) or any(_spans(question)))
    return (
        tool != "current_time"
        or not is_follow_up
        or bool(_zones(question) or _DAY.search(question) or _place(question))
    )


def refusal(tool: str | None, question: str) -> str | None:
    """Return why nothing can be called for this question; None: something can, or need not."""
    if tool == UNKNOWABLE:
        return "I can't know that: I have no tool that tells the weather or the news."
    if tool == "current_time" and not _zones(question) and (place := _place(question)):
        return f"I don't know the time zone of {place.title()}. Name a large city near it."
    return None


def _place(question: str) -> str:
    found = _IN_PLACE.search(question)
    return found["place"] if found else ""


def argument_messages(tool: ToolSpec, question: str) -> list[Message]:
    head = f"Give the arguments of {tool.name} as JSON. {_short(tool.description)}"
    shots = _ARGUMENT_SHOTS.get(tool.name, ())
    return [{"role": "system", "content": head}, *_exchanges(shots), {"role": "user", "content": shortened(question)}]


def argument_schema(tool: ToolSpec, question: str, context: str, last_reply: str = "") -> Schema:
    """Narrow the tool's schema to its required properties and to what the words offer for them.

    What fits it fits the tool's own schema too. An optional zone is kept where the question names one.
    """
    properties: Mapping[str, Schema] = tool.parameters.get("properties", {})
    required = set(tool.parameters.get("required", ()))
    narrowed: dict[str, Schema] = {}
    for name, schema in properties.items():
        choices = _choices(name, schema, shortened(question), context, last_reply)
        if choices:
            narrowed[name] = {"enum": choices}
        elif name in required:
            narrowed[name] = schema
        if name not in required and name not in _ZONE_NAMES:
            narrowed.pop(name, None)
    bound = {"type": "object", "properties": narrowed, "required": list(narrowed), "additionalProperties": False}
    if narrowed and "$defs" in tool.parameters:
        bound["$defs"] = tool.parameters["$defs"]
    return bound


def only_arguments(schema: Schema) -> dict[str, Any] | None:
    """Return the arguments if the narrowed schema leaves no choice; None: the model must choose."""
    properties: Mapping[str, Schema] = schema["properties"]
    if any(len(each.get("enum", ())) != 1 for each in properties.values()):
        return None
    return {name: each["enum"][0] for name, each in properties.items()}


def is_valid(tool: ToolSpec, arguments: Any) -> bool:
    """Return whether arguments fit the tool's own schema; nothing fits an invalid one."""
    return isinstance(arguments, dict) and bool(_fitting(tool.parameters, [arguments]))


def _fitting(schema: Schema, values: Sequence[Any]) -> list[Any]:
    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
        fits = schema_validator(schema).is_valid
        return [value for value in values if fits(value)]
    except (jsonschema.SchemaError, re.error):
        return []
    except Exception:  # the boundary to a foreign schema: references that lead nowhere, or round and round
        logger.debug("a schema cannot be used", exc_info=True)
        return []


def _exchanges(shots: Sequence[tuple[str, Any]]) -> Iterator[Message]:
    for asked, answer in shots:
        yield {"role": "user", "content": asked}
        yield {"role": "assistant", "content": json.dumps(answer)}


def _choices(name: str, schema: Schema, question: str, context: str, last_reply: str) -> list[str]:
    if schema.get("type") != "string" or "enum" in schema or "const" in schema:
        return []
    if name in _PATH_NAMES:
        found = _paths(question, context, last_reply)
    elif name in _ZONE_NAMES:
        found = _zones(question)
    else:
        found = _QUOTED.findall(question) or list(dict.fromkeys(_spans(question)))
    return _fitting(schema, found[:_MAX_CHOICES])


def _paths(question: str, context: str, last_reply: str) -> list[str]:
    """Return paths that the question names; else those of the context of which it names a part, or the last named."""
    if named := _PATH.findall(question):
        return list(dict.fromkeys(named))
    words = {word.lower() for word in _WORD.findall(question)}
    known = dict.fromkeys(_PATH.findall(context))
    found = [path for path in known if words & {part.lower() for part in path.split("/")}]
    return found or (_PATH.findall(last_reply)[:1] if words & _POINTERS else [])


def _zones(question: str) -> list[str]:
    words = f" {' '.join(_WORD.findall(question)).lower()} "
    return [zone for city, zone in cities() if f" {city} " in words][:1]


@cache
def cities() -> tuple[tuple[str, str], ...]:
    """Return city and zone, longest first, without countries and abbreviations. Reads the zones from disk, once."""
    zones = (zone for zone in sorted(available_timezones()) if "/" in zone and not zone.startswith(("Etc/", "US/")))
    named = [(zone.rsplit("/", 1)[1].replace("_", " ").lower(), zone) for zone in zones]
    return tuple(sorted(named, key=lambda each: -len(each[0])))


def _spans(question: str) -> Iterator[str]:
    words = _WORD.findall(question)
    for length in range(1, _MAX_SPAN_WORDS + 1):
        for start in range(len(words) - length + 1):
            span = words[start : start + length]
            if not {span[0].lower(), span[-1].lower()} & _REQUEST_WORDS:
                yield " ".join(span)


def _short(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0][:80].rstrip(".")
