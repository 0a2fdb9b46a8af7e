"""Places in the text of a hook with `vars: true`: `{{date}}`, `{{var.score}}`, `{{context.plan}}` (L1-48, L1-56)."""

import re
from collections.abc import Callable, Container, Mapping

from skills_engine.conditions.condition import Moment, text_of
from skills_engine.conditions.set_entry import CONTEXT_KEY, Owner

MAX_VALUE_CHARS = 200

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PLACE = re.compile(r"\{\{(?:\{\{|([^{}]*)\}\})")
"""`{{{{`, or a name in its braces."""
_BRACES = re.compile(r"\{{2,}")


# Each is given the moment and the hook's skill.
_VALUES: Mapping[str, Callable[[Moment, str], str]] = {
    "date": lambda moment, _: f"{moment.turn.facts.started_at:%Y-%m-%d}",
    "time": lambda moment, _: f"{moment.turn.facts.started_at:%H:%M}",
    "weekday": lambda moment, _: _WEEKDAYS[moment.turn.facts.started_at.weekday()],
    "timezone": lambda moment, _: f"{moment.turn.facts.started_at:%Z}",
    "user": lambda moment, _: moment.turn.facts.user or "",
    "language": lambda moment, _: moment.turn.facts.language or "",
    "channel": lambda moment, _: moment.turn.facts.channel,
    "model": lambda moment, _: moment.turn.facts.model,
    "skill": lambda _, skill: skill,
    "tool": lambda moment, _: moment.call.name if moment.call else "",
    "tool_status": lambda moment, _: moment.call.status if moment.call else "",
    "round": lambda moment, _: str(moment.round or ""),
    "turn": lambda moment, _: str(len(moment.turn.facts.user_messages)),
}
VARIABLES = tuple(_VALUES)


def unknown_variables(text: str, owner: Owner) -> list[str]:
    """Return what is written as a variable, with its braces, but is none."""
    return [f"{{{{{name}}}}}" for name in _names(text) if not _is_known(name, owner)]


def used_variables(text: str) -> set[str]:
    """Return the names of what is filled in, `var.NAME` and `context.KEY` included."""
    return {name for name in _names(text) if name in VARIABLES or name.startswith(("var.", "context."))}


def lasting_words(text: str, owner: Owner, strange: Container[str]) -> str:
    """Return the first place, with its braces, that may hold words from elsewhere: a client's, or of another skill; or ""."""
    for name in _names(text):
        kind, _, rest = name.partition(".")
        is_strange = rest in strange and isinstance(owner.declared.get(rest), str)
        if kind == "context" or (kind == "var" and ("/" in rest or is_strange)):
            return f"{{{{{name}}}}}"
    return ""


def fill(text: str, moment: Moment, owner: Owner) -> str:
    """Fill in what is known; what is written like a variable, but is none, stays. What is filled in is not looked at again."""

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "{{"
        return _one_line(_value(name, moment, owner)) if _is_known(name, owner) else found[0]

    return _PLACE.sub(replace, text)


def _names(text: str) -> list[str]:
    return [found[1] for found in _PLACE.finditer(text) if found[1] is not None]


def _is_known(name: str, owner: Owner) -> bool:
    kind, _, rest = name.partition(".")
    if kind == "context":
        return CONTEXT_KEY.fullmatch(rest) is not None
    return owner.knows(rest) if kind == "var" else name in VARIABLES


def _value(name: str, moment: Moment, owner: Owner) -> str:
    kind, _, rest = name.partition(".")
    if kind not in ("var", "context"):
        return _VALUES[name](moment, owner.skill)
    value = owner.value(rest, moment) if kind == "var" else moment.turn.facts.context_for_texts.get(rest)
    if value is None:
        return ""
    return ", ".join(value) if isinstance(value, list | tuple) else text_of(value)


def _one_line(value: str) -> str:
    return _BRACES.sub("{", " ".join(value.splitlines()))[:MAX_VALUE_CHARS]
