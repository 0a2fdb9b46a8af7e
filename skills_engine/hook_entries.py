"""One entry of hooks.json: its keys, their right values, and the hook that comes of it."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, get_args

import msgspec

from skills_engine.diagnostics import Report, did_you_mean, quoted

Timing = Literal["after_user_input", "before_planning", "before_first_agent", "before_each_agent", "after_tool_call"]
Role = Literal["system", "user"]

TIMINGS: tuple[Timing, ...] = get_args(Timing)
BUILTIN_TOOLS = ("current_time", "read_file", "search_text")
"""The server's own tools: a name in a `tool_filter` that nearly is one of them is reported."""
NEVER_FIRES = "an empty tool_filter never fires; name the tools, or leave the key out for every tool"

_WHEN = (
    "When the text is put before the model, and which of the turn's model calls read it. "
    "after_user_input: all of them. "
    "before_planning: the planning call, where the model decides whether it needs tools. "
    "before_first_agent: every call of the agent loop. "
    "before_each_agent: every call of the agent loop, inserted anew each time. "
    "after_tool_call: the call after a tool has run."
)
_Text = Annotated[str, msgspec.Meta(min_length=1)]


# The source of the JSON Schema and of the loader's checks; the descriptions are what an editor shows.
class HookEntry(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[_Text, msgspec.Meta(description="The name of the hook, unique in this file.")]
    file: Annotated[_Text, msgspec.Meta(description="The Markdown file with the text, beside hooks.json.")]
    timing: Annotated[Timing, msgspec.Meta(description=_WHEN)]
    role: Annotated[Role, msgspec.Meta(description="The role of the message.")]
    persistent: Annotated[
        bool,
        msgspec.Meta(description="true: the text stays in the conversation, and a copy is added each time it fires."),
    ]
    tool_filter: Annotated[
        Annotated[list[_Text], msgspec.Meta(min_length=1)] | None,
        msgspec.Meta(
            description="For after_tool_call: the tools after which it fires; * and ? stand for any. Left out: after every tool."
        ),
    ] = None


class HooksDocument(msgspec.Struct, forbid_unknown_fields=True, rename={"schema": "$schema"}):
    hooks: Annotated[list[HookEntry], msgspec.Meta(description="Fired in this order.")]
    schema: Annotated[str | None, msgspec.Meta(description="The location of this schema, for your editor.")] = None


_EXPECTED = {
    "name": "a non-empty string",
    "file": "the name of a .md file in hooks/",
    "timing": "one of " + ", ".join(TIMINGS),
    "role": "system or user",
    "persistent": "true or false",
    "tool_filter": 'a list of tool names, such as ["read_file", "files__*"]',
}
_CHOICES = {"timing": TIMINGS, "role": get_args(Role)}
_FIELDS = {field.name: field for field in msgspec.structs.fields(HookEntry)}
_CHECKED = [field for field in _FIELDS.values() if field.name != "tool_filter"]  # which depends on the timing


@dataclass(frozen=True)
class HookInfo:
    """One hook, ready to be injected. `tool_filter` None = after every tool."""

    name: str
    file: str
    timing: Timing
    role: Role
    persistent: bool
    content: str
    skill: str
    tool_filter: frozenset[str] | None = None

    def fits_tool(self, tool_name: str | None) -> bool:
        """Tell whether it fires after this tool: one that `tool_filter` names, exactly or as a glob (L1-02)."""
        if self.tool_filter is None or tool_name in self.tool_filter:
            return True
        return tool_name is not None and any(fnmatchcase(tool_name, name) for name in self.tool_filter)


def read_keys(entry: dict[str, object], place: str, report: Report) -> tuple[dict[str, Any], bool]:
    """Return the right values by the fields of HookInfo, and whether there is no wrong or missing one."""
    for key in entry:
        if key not in _FIELDS:
            report.warning(f"{place}.{key}", f"unknown key, ignored{did_you_mean(key, _FIELDS)}")
    values = _right_values(entry, place, report)
    is_complete = len(values) == len(_CHECKED)
    tool_filter = _tool_filter(entry, values.get("timing"), f"{place}.tool_filter", report)
    if tool_filter is _WRONG:
        return values, False
    return values | {"tool_filter": tool_filter}, is_complete


def _right_values(entry: dict[str, object], place: str, report: Report) -> dict[str, Any]:
    values = {}
    for field in _CHECKED:
        expected = _EXPECTED[field.name]
        if field.name not in entry:
            report.error(f"{place}.{field.name}", f"missing: expected {expected}")
            continue
        value = entry[field.name]
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            hint = did_you_mean(value, _CHOICES.get(field.name, ()))
            report.error(f"{place}.{field.name}", f"expected {expected}; got {quoted(value)}{hint}")
    return values


_WRONG: frozenset[str] = frozenset({""})
"""Returned by `_tool_filter` for a filter that drops its hook; known by identity."""


def _tool_filter(entry: dict[str, object], timing: object, place: str, report: Report) -> frozenset[str] | None:
    """L1-02: it counts after tools only; null is every tool, [] is none."""
    value = entry.get("tool_filter")
    if value is None:
        return None
    if timing != "after_tool_call":
        if timing is not None:  # a wrong timing has its own error
            report.warning(place, "ignored: it counts for after_tool_call only")
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        report.error(place, f"expected {_EXPECTED['tool_filter']}; got {quoted(value)}")
        return _WRONG
    if not value:
        report.warning(place, NEVER_FIRES)
    for name in dict.fromkeys(value):
        fits = any(fnmatchcase(tool, name) for tool in BUILTIN_TOOLS)
        if not fits and (hint := did_you_mean(name, BUILTIN_TOOLS, cutoff=0.8)):
            report.warning(place, f"no built-in tool is called {quoted(name)}{hint}")
    return frozenset(value)
