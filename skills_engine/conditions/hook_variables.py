"""Variables in the text of a hook with `vars: true`: `{{date}}`, `{{user}}` and the like (L1-48)."""

import re
from collections.abc import Callable, Mapping

from skills_engine.conditions.condition import Moment

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
    "tool": lambda moment, _: moment.call.facts.name if moment.call else "",
    "tool_status": lambda moment, _: moment.call.facts.status if moment.call else "",
    "round": lambda moment, _: str(moment.round or ""),
    "turn": lambda moment, _: str(len(moment.turn.facts.user_messages)),
}
VARIABLES = tuple(_VALUES)


def unknown_variables(text: str) -> list[str]:
    """Return what is written as a variable, with its braces, but is none."""
    return [found[0] for found in _PLACE.finditer(text) if found[1] is not None and found[1] not in VARIABLES]


def used_variables(text: str) -> set[str]:
    return {found[1] for found in _PLACE.finditer(text) if found[1] in VARIABLES}


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in the variables; what is written like one, but has no value, stays. What is filled in is not looked at again."""

    def replace(found: re.Match[str]) -> str:
        if found[1] is None:
            return "{{"
        return _one_line(values[found[1]]) if found[1] in values else found[0]

    return _PLACE.sub(replace, text)


def variable_values(moment: Moment, *, skill: str) -> dict[str, str]:
    """Return the values for a hook of this skill; what is not known at its timing is empty."""
    return {name: value(moment, skill) for name, value in _VALUES.items()}


def _one_line(value: str) -> str:
    return _BRACES.sub("{", " ".join(value.splitlines()))[:MAX_VALUE_CHARS]
