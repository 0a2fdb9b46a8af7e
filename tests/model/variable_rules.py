"""L1-50, L1-51 and L1-53 in plain words: which variables a skill has, and what a `set` makes of them."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skills_engine import CallFacts, HookFacts
from tests.model.pattern_rules import Work, expression_of, looked_at

Json = dict[str, Any]
Values = Mapping[str, Mapping[str, Any]]
"""By skill and name."""

BOUND = 2**53
MAX_OF_SKILL = 4096
MAX_OF_ALL = 16 * 1024 - 512


def is_value(value: Any) -> bool:
    """L1-50: an integer, a boolean, or one line of at most 200 characters."""
    if isinstance(value, str):
        return len(value) <= 200 and len(f"{value}.".splitlines()) == 1 and not re.search("[\ud800-\udfff]", value)
    return isinstance(value, bool) or (isinstance(value, int) and -BOUND <= value <= BOUND)


def is_of_kind(value: Any, start: Any) -> bool:
    return type(value) is type(start) and is_value(value)


def declared(written: Any) -> Json:
    """Return the variables of a file, without those that are wrong, and without the 17th."""
    if not isinstance(written, dict):
        return {}
    right = {n: v for n, v in list(written.items())[:16] if re.fullmatch("[a-z][a-z0-9_]{0,31}", n)}
    return {name: value for name, value in right.items() if is_value(value)}


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def throw(seed: str, *what: str) -> int:
    """L1-53: one of 2^64 numbers."""
    return int.from_bytes(hashlib.sha256(json.dumps([seed, *what]).encode()).digest()[:8])


@dataclass
class Variables:
    """The variables of a turn: what skills that are on declare, and what differs from that."""

    start: Values
    changed: dict[str, Json] = field(default_factory=dict)

    @classmethod
    def begin(cls, start: Values, came: Values) -> "Variables":
        changed = {skill: dict(values) for skill, values in came.items()}
        for skill, values in start.items():
            kept = {n: v for n, v in changed.get(skill, {}).items() if n in values and is_of_kind(v, values[n])}
            changed[skill] = {n: v for n, v in kept.items() if v != values[n]}
        return cls(start, {skill: values for skill, values in changed.items() if values})

    def get(self, skill: str, name: str) -> Any:
        """Return the value, or None where there is no such variable in a skill that is on."""
        if name not in self.start.get(skill, {}):
            return None
        return self.changed.get(skill, {}).get(name, self.start[skill][name])

    def put(self, skill: str, values: Json) -> bool:
        """Write them all, or none where there is no room."""
        of_skill = {n: v for n, v in {**self.changed.get(skill, {}), **values}.items() if v != self.start[skill][n]}
        changed = {other: those for other, those in {**self.changed, skill: of_skill}.items() if those}
        if size(of_skill) > MAX_OF_SKILL or size(changed) > MAX_OF_ALL:
            return False
        self.changed = changed
        return True


@dataclass(frozen=True)
class Source:
    """What a `from` may look at."""

    facts: HookFacts
    call: CallFacts | None
    work: Work


class NotFound(Exception):
    """A `from` finds nothing, so the whole `set` is not applied."""


def new_values(entry: Json, variables: Variables, skill: str, source: Source) -> Json:
    """Return what the `set` of an entry makes of the values there are. Raises NotFound with the name, TooMuchWork."""
    values: Json = {}
    for name, written in entry["set"].items():
        now = variables.get(skill, name)
        match written:
            case {"add": number}:
                values[name] = max(-BOUND, min(BOUND, now + number))
            case {"toggle": _}:
                values[name] = not now
            case {"pick": choices}:
                thrown = throw(source.facts.seed, skill, entry["name"], name)
                values[name] = choices[thrown * len(choices) // 2**64]
            case {"from": place}:
                found = _captured(place, written.get("match"), source)
                value = _as_kind(found, now)
                if value is None:
                    raise NotFound(name)
                values[name] = value
            case _:
                values[name] = written
    return values


def _captured(place: str, match: str | None, source: Source) -> Any:
    found = _looked_up(place, source)
    if isinstance(found, bool):
        text = "true" if found else "false"
    elif isinstance(found, int | float):
        text = json.dumps(found)
    elif isinstance(found, str):
        text = found
    else:
        return None
    if match is None:
        return (
            found
            if isinstance(found, bool)
            else text.encode(errors="surrogatepass")[: 64 * 1024].decode(errors="ignore")
        )
    expression = expression_of(match)
    assert expression is not None
    source.work.search(match, text, "set")
    hit = re.search(expression[0], looked_at(match, text), re.ASCII | (re.IGNORECASE if expression[1] else 0))
    return None if hit is None else hit[1]


def _looked_up(place: str, source: Source) -> Any:
    first, _, rest = place.partition(".")
    match first:
        case "user_text":
            has_words = source.facts.is_new_message and source.facts.user_messages
            return source.facts.user_messages[-1] if has_words else None
        case "last_reply":
            return source.facts.last_reply
        case "context":
            return source.facts.context.get(rest) if source.facts.may_say_context else None
        case "tool_result":
            return None if source.call is None else source.call.result
    value: Any = {} if source.call is None else source.call.shown_arguments
    for step in rest.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value


def _as_kind(found: Any, start: Any) -> Any:
    """L1-51: a boolean is a JSON boolean, an integer is written in digits, a text is one line."""
    if found is None:
        return None
    if isinstance(start, bool):
        return found if isinstance(found, bool) else None
    text = ("true" if found else "false") if isinstance(found, bool) else str(found)
    words = re.findall(r"\s+|\S+", text.strip())
    text = "".join(" " if word.isspace() and word.splitlines() != [word] else word for word in words)[:200]
    if isinstance(start, str):
        return text
    if not re.fullmatch("-?[0-9]{1,16}", text) or not -BOUND <= int(text) <= BOUND:
        return None
    return int(text)
