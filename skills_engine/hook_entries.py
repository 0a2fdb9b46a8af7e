"""One entry of hooks.json: its keys, their right values, and the hook that comes of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from skills_engine.conditions.condition import Condition, TextSearch
from skills_engine.conditions.set_entry import Changes, Declared, Owner, SetEntry, read_set
from skills_engine.conditions.when_entry import CONDITIONS, Text, Texts, WhenEntry, read_when
from skills_engine.diagnostics import Report, did_you_mean, quoted

Timing = Literal["after_user_input", "before_planning", "before_first_agent", "before_each_agent", "after_tool_call"]
Role = Literal["system", "user"]

TIMINGS: tuple[Timing, ...] = get_args(Timing)
BUILTIN_TOOLS = ("current_time", "read_file", "search_text")
"""The server's own tools: a name in a `tool_filter` that nearly is one of them is reported."""
SHARED_GROUP = "shared/"
NEVER_FIRES = "an empty tool_filter never fires; name the tools, or leave the key out for every tool"

_WHEN = (
    "When the text is put before the model, and which of the turn's model calls read it. "
    "after_user_input: all of them. "
    "before_planning: the planning call, where the model decides whether it needs tools. "
    "before_first_agent: every call of the agent loop. "
    "before_each_agent: every call of the agent loop, inserted anew each time. "
    "after_tool_call: the call after a tool has run."
)
_Turns = Annotated[int, Meta(ge=1, le=1000)]


# The source of the JSON Schema and of the loader's checks; the descriptions are what an editor shows.
class HookEntry(Struct, forbid_unknown_fields=True):
    name: Annotated[Text | UnsetType, Meta(description="The name of the hook, unique in this file.")] = UNSET
    file: Annotated[Text | UnsetType, Meta(description="The Markdown file with the text, beside hooks.json.")] = UNSET
    text: Annotated[Text | UnsetType, Meta(description="The text itself, in place of a file.")] = UNSET
    timing: Annotated[Timing, Meta(description=_WHEN)] = "after_user_input"
    role: Annotated[Role, Meta(description="The role of the message.")] = "system"
    persistent: Annotated[
        bool, Meta(description="true: the text stays in the conversation, and a copy is added each time it fires.")
    ] = False
    tool_filter: Annotated[
        Annotated[list[Text], Meta(min_length=1)] | None,
        Meta(
            description='The older way to write "when": {"tool": [...]} at after_tool_call. Left out: after every tool.'
        ),
    ] = None
    enabled: Annotated[bool, Meta(description="false: the hook never fires.")] = True
    when: Annotated[WhenEntry | UnsetType, Meta(description="Conditions, all of which must hold for it to fire.")] = (
        UNSET
    )
    once: Annotated[
        Literal["turn", "conversation"] | UnsetType,
        Meta(description="It fires at most once in a turn, or in one turn of the conversation only."),
    ] = UNSET
    cooldown: Annotated[_Turns | UnsetType, Meta(description="After it fired, it stays out for so many turns.")] = UNSET
    sticky: Annotated[
        _Turns | UnsetType,
        Meta(description="After it fired, it fires in so many further turns, whatever its conditions say."),
    ] = UNSET
    priority: Annotated[
        int, Meta(ge=-100, le=100, description="Higher stands later, where models heed it more, and wins in a group.")
    ] = 0
    group: Annotated[
        Text | UnsetType,
        Meta(description="Of the hooks of a group, one at a time fires. shared/NAME is a group of all skills."),
    ] = UNSET
    requires_tools: Annotated[
        Texts | UnsetType, Meta(description="The turn must have these tools; * and ? stand for any.")
    ] = UNSET
    vars: Annotated[bool, Meta(description="true: {{date}}, {{user}} and the like in the text are filled in.")] = False
    set: Annotated[
        Changes | UnsetType,
        Meta(
            description="Variables and their new values, when it fires. Without file it is an update: it inserts nothing."
        ),
    ] = UNSET


EXPECTED = {
    "name": "a non-empty string",
    "file": "the name of a .md file in hooks/, or text in place of file",
    "text": "a non-empty string",
    "timing": "one of " + ", ".join(TIMINGS),
    "role": "system or user",
    "persistent": "true or false",
    "tool_filter": 'a list of tool names, such as ["read_file", "files__*"]',
    "enabled": "true or false",
    "once": "turn or conversation",
    "cooldown": "a number of turns, from 1 to 1000",
    "sticky": "a number of turns, from 1 to 1000",
    "priority": "a number from -100 to 100",
    "group": "a non-empty string",
    "requires_tools": "a list of 1 to 32 tool names or globs",
    "vars": "true or false",
}
CHOICES = {"timing": TIMINGS, "role": get_args(Role), "once": ("turn", "conversation")}
_FIELDS = {field.name: field for field in msgspec.structs.fields(HookEntry)}
_CHECKED = [one for one in _FIELDS.values() if one.name not in ("tool_filter", "when", "set")]  # they have readers
_DEFAULTS = {"file": "", "text": "", "timing": "after_user_input", "role": "system", "persistent": False}
FILE_KEYS = ("name", "file", "timing", "role", "persistent")
"""The keys that an entry with a file must have."""
UPDATE_KEYS = ("name", "timing", "set", "enabled", "when", "once", "cooldown", "requires_tools")
"""The keys of an entry that only sets variables."""
NOT_IN_UPDATES = tuple(name for name in _FIELDS if name not in UPDATE_KEYS)
_OF_NAMED = ("once", "cooldown", "sticky", "set", "group")
"""Keys that are remembered, or looked for, by the name of their entry (L1-58)."""
_DECIDING = tuple(name for name in _FIELDS if name not in (*FILE_KEYS, "text"))
READ_AS_CONDITION = frozenset(
    {"if", "unless", "only", "match", "matcher", "every", "budget"}
    | {"condition", "conditions", "keywords", "keys", "trigger", "probability", "delay"}
)
"""Keys of other products, or of wishful thinking: a hook that has one must not fire always (L1-40, L1-55)."""


@dataclass(frozen=True)
class HookInfo:
    """One hook, ready to be injected; without a `tool_filter`, after every tool."""

    name: str
    file: str
    timing: Timing
    role: Role
    persistent: bool
    content: str
    skill: str
    tool_filter: frozenset[str] | None = None
    enabled: bool = True
    when: Condition | None = None
    once: Literal["turn", "conversation"] | None = None
    cooldown: int | None = None
    sticky: int | None = None
    priority: int = 0
    group: str | None = None
    requires_tools: tuple[str, ...] = ()
    vars: bool = False
    set: SetEntry | None = None
    variables: Declared = field(default_factory=dict, hash=False)
    """The variables of its skill, with their start values."""

    @property
    def is_update(self) -> bool:
        """Whether it only sets variables, and puts nothing in (L1-51)."""
        return self.set is not None and not (self.file or self.content)

    @property
    def full_group(self) -> str | None:
        """The group with the skill that it belongs to; `shared/…` belongs to all (L1-57)."""
        if self.group is None or self.group.startswith(SHARED_GROUP):
            return self.group
        return f"{self.skill}/{self.group}"

    @property
    def owner(self) -> Owner:
        return Owner(self.skill, self.name, self.variables)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it fires always at its timing, but for `tool_filter`, and as it is written."""
        return (
            self.enabled
            and self.when is None
            and self.once is None
            and not self.has_memory
            and self.priority == 0
            and self.group is None
            and not self.requires_tools
            and not self.vars
            and not self.variables
        )

    @cached_property
    def has_memory(self) -> bool:
        """Whether it matters in later turns in which turn it fired (L1-45)."""
        return self.once == "conversation" or self.cooldown is not None or self.sticky is not None

    @property
    def holds_context(self) -> bool:
        """Whether its text, or what it sets, holds values of the context."""
        return (self.vars and "{{context." in self.content) or (self.set is not None and '"context.' in self.set.source)

    @cached_property
    def searches(self) -> Sequence[TextSearch]:
        """Searches of its expressions, in `when` and in `set`."""
        return [search for part in (self.when, self.set) if part is not None for search in part.searches]

    @cached_property
    def search_steps(self) -> int:
        return sum(search.steps * max(1, search.last) for search in self.searches)

    @property
    def memory_turns(self) -> int:
        """The number of turns after one in which it fired of itself that `sticky` and `cooldown` decide about (L1-44)."""
        return (self.sticky or 0) + (self.cooldown or 0)

    def fits_tool(self, tool_name: str | None) -> bool:
        """Return whether it fires after this tool: one that `tool_filter` names, exactly or as a glob (L1-02)."""
        if self.tool_filter is None or tool_name in self.tool_filter:
            return True
        return tool_name is not None and any(fnmatchcase(tool_name, name) for name in self.tool_filter)


def read_keys(entry: dict[str, object], place: str, report: Report, owner: Owner) -> dict[str, Any]:
    """Return the right values by the fields of HookInfo; report the wrong and the missing ones."""
    is_update = "set" in entry and entry.keys().isdisjoint(("file", "text"))
    required: Sequence[str] = FILE_KEYS
    if is_update:
        required = ("name", "timing")
    elif "text" in entry:
        required = () if entry.keys().isdisjoint(_OF_NAMED) else ("name",)
    elif "file" not in entry:
        required = ("file",)  # with a text, the others may be left out
    for key in entry:
        if is_update and key not in UPDATE_KEYS and not is_comment(key):
            message = (
                f"does not go with set alone: give it a file or text, or only these keys: {', '.join(UPDATE_KEYS)}"
            )
            report.error(f"{place}.{key}", message)
        elif key not in _FIELDS:
            report_unknown(entry, key, f"{place}.{key}", report, _FIELDS)
    right = right_values(entry, place, report, _CHECKED, required, expected=EXPECTED, choices=CHOICES)
    values: dict[str, Any] = {"name": owner.name, **_DEFAULTS} | right
    values["tool_filter"] = _tool_filter(entry, right.get("timing"), f"{place}.tool_filter", report)
    if "requires_tools" in values:
        values["requires_tools"] = tuple(values["requires_tools"])
    if "when" in entry:
        values["when"] = read_when(entry["when"], f"{place}.when", report, owner=owner)
    if "set" in entry:
        values["set"] = read_set(entry["set"], f"{place}.set", report, owner, entry.get("timing"))
    return values | {"variables": owner.declared}


def is_comment(key: str) -> bool:
    """Return whether the key is its author's own (L1-55)."""
    return key.startswith(("_", "$", "x-"))


def report_unknown(
    entry: Mapping[str, object],
    key: str,
    place: str,
    report: Report,
    known: Iterable[str],
    *,
    kind: Literal["hook", "trigger"] = "hook",
) -> None:
    """Report an unknown key; one that may stand for a condition drops the entry, which would fire always (L1-40, L1-55)."""
    if is_comment(key):
        return
    deciding = _DECIDING if kind == "hook" else (*_DECIDING, *known)
    meant = next((word for word in deciding if _is_one_letter_off(key, word)), None)
    if meant is not None or key in READ_AS_CONDITION or key in _DECIDING or isinstance(entry[key], dict | list):
        word = meant or (f"when.{key}" if key in CONDITIONS else None)
        hint = f" (did you mean {word}?)" if word and kind == "hook" else "; conditions are in when"
        report.error(place, f"unknown key: the {kind} is dropped, as it might fire when it should not{hint}")
    elif kind == "hook" and (hint := did_you_mean(key, {"timing", "role", "persistent"} - entry.keys(), cutoff=0.7)):
        report.error(place, f"unknown key: the hook is dropped, as it might fire otherwise than it should{hint}")
    else:
        hint = f" (did you mean when.{key}?)" if kind == "hook" and key in CONDITIONS else did_you_mean(key, known)
        report.warning(place, f"unknown key, ignored{hint}")


def _is_one_letter_off(word: str, known: str) -> bool:
    """Return whether one letter is missing, too many or wrong, or two neighbours changed places."""
    shorter = min(len(word), len(known))
    start = next((at for at in range(shorter) if word[at] != known[at]), shorter)
    ends = ((start + 1, start + 1), (start, start + 1), (start + 1, start))
    swapped = known[:start] + known[start : start + 2][::-1] + known[start + 2 :]
    return word != known and (word == swapped or any(word[one:] == known[other:] for one, other in ends))


def right_values(
    entry: dict[str, object],
    place: str,
    report: Report,
    fields: Iterable[msgspec.structs.FieldInfo],
    required: Sequence[str],
    *,
    expected: Mapping[str, str],
    choices: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return those of the fields that have a right value; report those that are wrong or missing."""
    values = {}
    for one in fields:
        wanted = expected[one.name]
        if one.name not in entry:
            if one.name not in required:
                continue
            report.error(f"{place}.{one.name}", f"missing: expected {wanted}")
            continue
        value = entry[one.name]
        try:
            values[one.name] = msgspec.convert(value, one.type)
        except (msgspec.ValidationError, UnicodeEncodeError):  # half of a surrogate pair, where words are chosen from
            hint = did_you_mean(value, choices.get(one.name, ()))
            report.error(f"{place}.{one.name}", f"expected {wanted}; got {quoted(value)}{hint}")
    return values


def _tool_filter(entry: dict[str, object], timing: object, place: str, report: Report) -> frozenset[str] | None:
    """Return the names, or None for every tool; they count after tools only (L1-02)."""
    value = entry.get("tool_filter")
    if value is None:
        return None
    if timing != "after_tool_call":
        if timing is not None:  # a wrong timing has its own error
            report.warning(place, "ignored: it counts for after_tool_call only")
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        report.error(place, f"expected {EXPECTED['tool_filter']}; got {quoted(value)}")
        return None
    if not value:
        report.warning(place, NEVER_FIRES)
    for name in dict.fromkeys(value):
        fits = any(fnmatchcase(tool, name) for tool in BUILTIN_TOOLS)
        if not fits and (hint := did_you_mean(name, BUILTIN_TOOLS, cutoff=0.8)):
            report.warning(place, f"no built-in tool is called {quoted(name)}{hint}")
    return frozenset(value)
