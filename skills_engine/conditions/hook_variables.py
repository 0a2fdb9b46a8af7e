"""Variables in the text of a hook with `vars: true`: `{{date}}`, `{{user}}` and the like (L1-48)."""

import re
from collections.abc import Mapping

from skills_engine.conditions.condition import Moment

MAX_VALUE_CHARS = 200

VARIABLES = (
    "date",
    "time",
    "weekday",
    "timezone",
    "user",
    "language",
    "channel",
    "model",
    "skill",
    "tool",
    "tool_status",
    "round",
    "turn",
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PLACE = re.compile(r"\{\{(?:\{\{|([^{}]*)\}\})")
"""`{{{{`, or a name in its braces."""
_BRACES = re.compile(r"\{{2,}")


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
    facts, call = moment.turn.facts, moment.call and moment.call.facts
    now = facts.started_at
    return {
        "date": f"{now:%Y-%m-%d}",
        "time": f"{now:%H:%M}",
        "weekday": _WEEKDAYS[now.weekday()],
        "timezone": f"{now:%Z}",
        "user": facts.user or "",
        "language": facts.language or "",
        "channel": facts.channel,
        "model": facts.model,
        "skill": skill,
        "tool": call.name if call else "",
        "tool_status": call.status if call else "",
        "round": str(moment.round or ""),
        "turn": str(len(facts.user_messages)),
    }


def _one_line(value: str) -> str:
    return _BRACES.sub("{", " ".join(value.splitlines()))[:MAX_VALUE_CHARS]
