"""One entry of `triggers` in hooks.json: a turn that no words of the user begin (L1-49)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from skills_engine.conditions.condition import Condition, Moment, SearchedTurn, SearchLimitError, SearchWork
from skills_engine.conditions.set_entry import Declared, Owner
from skills_engine.conditions.text_patterns import MAX_WORK
from skills_engine.conditions.turn_facts import HookFacts
from skills_engine.conditions.when_entry import SharedConditions, Text, TriggerWhenEntry, read_when
from skills_engine.diagnostics import Report
from skills_engine.hook_entries import CHOICES, EXPECTED, HookInfo, Role, report_unknown, right_values

TriggerEvent = Literal["connect", "idle"]
TRIGGER_EVENTS: tuple[TriggerEvent, ...] = get_args(TriggerEvent)

_CONDITIONS = [name for name in SharedConditions.__struct_fields__ if name != "scan_turns"]
OF_HISTORY = frozenset({"turn", "user_text", "scan_turns"})
"""Conditions about the conversation, which the client sends only when it answers."""
_LAST = 1000  # above every priority of a hook


class TriggerEntry(Struct, forbid_unknown_fields=True):
    name: Annotated[Text, Meta(description="The name of the trigger, unique in this file.")]
    on: Annotated[
        TriggerEvent, Meta(description="connect: a client has connected. idle: nobody has said anything for after_s.")
    ]
    file: Annotated[Text | UnsetType, Meta(description="The Markdown file with the text, beside hooks.json.")] = UNSET
    text: Annotated[Text | UnsetType, Meta(description="The text itself, in place of a file.")] = UNSET
    role: Annotated[Role, Meta(description="The role of the message.")] = "system"
    after_s: Annotated[float, Meta(ge=1, le=3600, description="For idle: seconds of silence.")] = 20
    max: Annotated[int, Meta(ge=1, le=100, description="For idle: how often, until the user does something.")] = 2
    vars: Annotated[bool, Meta(description="true: {{date}}, {{user}} and the like in the text are filled in.")] = False
    when: Annotated[
        TriggerWhenEntry | UnsetType,
        Meta(description=f"Conditions, all of which must hold; of these: {', '.join(_CONDITIONS)}."),
    ] = UNSET


_EXPECTED = EXPECTED | {
    "on": "connect or idle",
    "after_s": "a number of seconds, from 1 to 3600",
    "max": "a number from 1 to 100",
}
_CHOICES = CHOICES | {"on": TRIGGER_EVENTS}
_FIELDS = {field.name: field for field in msgspec.structs.fields(TriggerEntry)}
_CHECKED = [field for field in _FIELDS.values() if field.name != "when"]  # it has a reader


@dataclass(frozen=True, kw_only=True)
class TriggerInfo:
    """A trigger, ready to begin turns."""

    name: str
    file: str
    on: TriggerEvent
    content: str
    skill: str
    role: Role = "system"
    after_s: float = 20
    max: int = 2
    when: Condition | None = None
    vars: bool = False
    variables: Declared = field(default_factory=dict, hash=False)
    """The variables of its skill, with their start values."""
    beforehand: Condition | None = None
    """The part of `when` that decides as long as the conversation is not known."""

    def may_fire(self, facts: HookFacts) -> bool:
        """Return whether it fires in some conversation, the other facts being these."""
        return self.beforehand is None or self.beforehand.why_not(_moment(facts)) is None

    def why_not(self, facts: HookFacts) -> str | None:
        """Return None if its conditions hold in a turn with these facts, else the path of the one that does not."""
        try:
            return None if self.when is None else self.when.why_not(_moment(facts))
        except SearchLimitError:
            return "when"

    @property
    def hook(self) -> HookInfo:
        """The hook that puts its text into the turn, behind all others of the user's message; it stays to the end."""
        return HookInfo(
            self.name,
            self.file,
            "after_user_input",
            self.role,
            False,
            self.content,
            self.skill,
            priority=_LAST,
            vars=self.vars,
            variables=self.variables,
        )


def _moment(facts: HookFacts) -> Moment:
    """Return the moment before the turn; the event loop may wait for it, so it has the work of one expression only."""
    return Moment(SearchedTurn(facts), SearchWork(MAX_WORK))


def read_trigger_keys(entry: dict[str, object], place: str, report: Report, owner: Owner) -> dict[str, Any]:
    """Return the right values by the fields of TriggerInfo; report the wrong and the missing ones."""
    for key in entry:
        if key not in _FIELDS:
            report_unknown(entry, key, f"{place}.{key}", report, _FIELDS, kind="trigger")
    required = ("name", "on", *(() if "text" in entry else ("file",)))
    values: dict[str, Any] = {"name": owner.name, "file": "", "text": ""}
    values |= right_values(entry, place, report, _CHECKED, required, expected=_EXPECTED, choices=_CHOICES)
    if values.get("on") == "connect":
        for key in ("after_s", "max"):
            if key in entry:
                report.warning(f"{place}.{key}", "ignored: it counts for idle only")
    if "when" in entry:
        when = entry["when"]
        values["when"] = read_when(when, f"{place}.when", report, known=_CONDITIONS, owner=owner)
        if values["when"] is not None and isinstance(when, Mapping):
            values["beforehand"] = read_when(_without_history(when), "", Report("", ""), owner=owner)
    return values | {"variables": owner.declared}


def _without_history(when: Mapping[str, Any], *, is_under_not: bool = False) -> dict[str, Any]:
    """Return the conditions as they hold at best, whatever the conversation is: as if those about it held.

    Under a `not`, as if they did not.
    """
    if is_under_not and not OF_HISTORY.isdisjoint(when):
        return {"any": []}  # never
    kept: dict[str, Any] = {}
    for key, value in when.items():
        if key in ("all", "any"):
            kept[key] = [_without_history(part, is_under_not=is_under_not) for part in value]
        elif key == "not":
            kept[key] = _without_history(value, is_under_not=not is_under_not)
        elif key not in OF_HISTORY:
            kept[key] = value
    return kept
