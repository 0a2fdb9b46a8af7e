"""hooks.json and its Markdown files → hooks, or every mistake at once.

    skills/<name>/hooks/hooks.json   {"hooks": [{"name", "file", "timing", "role", "persistent", "tool_filter"?}]}
    skills/<name>/hooks/*.md         the text that the model reads

Nothing here raises for what an author wrote: a bad entry drops itself, a
broken file drops the hooks of its skill, and each mistake becomes a Diagnostic.
"""

import codecs
import json
import logging
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Annotated, Any, Literal, get_args

import msgspec

from skills_engine.diagnostics import Diagnostic, Report
from skills_engine.files import UnreadableError, is_inside, is_segment, read_inside
from skills_engine.foreign_hooks import MODULES, foreign_hooks

logger = logging.getLogger(__name__)

Timing = Literal["after_user_input", "before_planning", "before_first_agent", "before_each_agent", "after_tool_call"]
Role = Literal["system", "user"]

TIMINGS: tuple[Timing, ...] = get_args(Timing)
MAX_FILE_BYTES = 64 * 1024
"""Limit for hooks.json and for each hook's text (L1-05)."""

HOOKS_JSON = "hooks/hooks.json"
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


@dataclass(frozen=True)
class HooksFile:
    """The contents of one skill's hooks/ folder. `places[i]` is the JSON path of `hooks[i]`."""

    hooks: tuple[HookInfo, ...] = ()
    places: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def scan_hooks(enabled_skills: Iterable[str], skills_dir: str | os.PathLike[str] | None = None) -> list[HookInfo]:
    """The hooks of these skills, in this order, then in file order (L1-03).

    `skills_dir` None is the `skills` folder of this project. What is wrong is
    logged and left out; nothing is raised.
    """
    root = default_skills_dir() if skills_dir is None else Path(skills_dir)
    hooks: list[HookInfo] = []
    for skill in dict.fromkeys(enabled_skills):
        found = read_skill_hooks(root, skill)
        for diagnostic in found.diagnostics:
            logger.log(logging.INFO if diagnostic.severity == "info" else logging.WARNING, "%s", diagnostic)
        hooks += found.hooks
    return hooks


def default_skills_dir() -> Path:
    return Path(__file__).resolve().parent.parent / "skills"


def read_skill_hooks(root: Path, skill: str) -> HooksFile:
    """`read_hooks` for a name that nobody has checked yet."""
    report = Report(skill, "")
    if not is_segment(skill):
        report.error("", "is not a skill name: expected the name of one folder, without / \\ : or a leading dot")
    elif not (root / skill).is_dir():
        report.warning("", f"no such folder in {root}")
    elif not is_inside(root / skill, root):
        report.error("", f"leads out of {root}: put the folder itself there, not a link")
    else:
        return read_hooks(root / skill)
    return HooksFile(diagnostics=tuple(report.found))


def read_hooks(folder: Path) -> HooksFile:
    """The hooks of the skill in `folder`, whose name is the folder's. A skill without hooks is fine."""
    report = Report(folder.name, HOOKS_JSON)
    pairs = _read_entries(folder, report)
    return HooksFile(
        tuple(hook for hook, _ in pairs.values()),
        tuple(place for _, place in pairs.values()),
        tuple(report.found),
    )


def _read_entries(folder: Path, report: Report) -> dict[str, tuple[HookInfo, str]]:
    hooks: dict[str, tuple[HookInfo, str]] = {}
    for index, entry in enumerate(_read_document(folder, report)):
        place = f"$.hooks[{index}]"
        hook = _read_entry(entry, place, folder, report)
        if hook is None:
            continue
        if hook.name in hooks:  # L1-06
            report.error(f"{place}.name", f"{_quoted(hook.name)} is already the name of {hooks[hook.name][1]}")
        else:
            hooks[hook.name] = hook, place
    return hooks


def _read_document(folder: Path, report: Report) -> list[object]:
    """The entries of hooks.json, whatever they are; [] with a reason for anything else."""
    if not os.path.lexists(folder / HOOKS_JSON):
        return []
    try:
        document = json.loads(_read_text(folder, "hooks.json"), object_pairs_hook=partial(_object, report))
    except UnreadableError as error:
        report.error("", str(error))
    except json.JSONDecodeError as error:
        report.error("", f"is not JSON: {_syntax(error)}")
    except (ValueError, RecursionError):  # a number of 5,000 digits; brackets 10,000 deep
        report.error("", "is not JSON that can be read")
    else:
        return _entries(document, report)
    return []


def _object(report: Report, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build the object, with a warning for a key that stands twice: JSON silently keeps its last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        report.warning("", f"{_quoted(twice)} occurs twice in one object: only the last one counts")
    return found


def _syntax(error: json.JSONDecodeError) -> str:
    """Describe the error with line and column; an extra comma at its own place, as Python does from 3.13 on."""
    text, message = error.doc, error.msg
    before = text[: error.pos].rstrip()
    at = len(before) - 1 if before.endswith(",") and text[error.pos : error.pos + 1] in ("]", "}") else error.pos
    if text[at : at + 1] == "," and (after := text[at + 1 :].lstrip()[:1]) in ("]", "}"):
        message = f"an extra comma before {after}"
    place = json.JSONDecodeError("", text, at)
    return f"line {place.lineno}, column {place.colno}: {message}"


def _entries(document: object, report: Report) -> list[object]:
    if isinstance(document, dict) and (foreign := foreign_hooks(document)):  # L1-07
        place, whose = foreign
        report.warning(place, f"{whose}: not read. Parley's are a list")
        return []
    if not isinstance(document, dict) or "hooks" not in document:
        report.error("$", 'expected {"hooks": [...]}')
        return []
    for key in document:
        if key == MODULES:
            report.warning(f"$.{key}", "Claude Code's key, ignored: no program of a skill is run")
        elif key not in ("hooks", "$schema"):
            report.warning(f"$.{key}", "unknown key, ignored")
    hooks = document["hooks"]
    if not isinstance(hooks, list):
        report.error("$.hooks", f"expected a list of hooks, got {_quoted(hooks)}")
        return []
    return hooks


def _read_entry(entry: object, place: str, folder: Path, report: Report) -> HookInfo | None:
    """One hook, or None with every reason why not."""
    if not isinstance(entry, dict):
        report.error(place, f"expected an object, got {_quoted(entry)}")
        return None
    for key in entry:
        if key not in _FIELDS:
            report.warning(f"{place}.{key}", f"unknown key, ignored{did_you_mean(key, _FIELDS)}")
    values = _right_values(entry, place, report)
    content = _read_content(folder, values["file"], f"{place}.file", report) if "file" in values else None
    tool_filter = _tool_filter(entry, values.get("timing"), f"{place}.tool_filter", report)
    if content is None or tool_filter is _WRONG or len(values) < len(_CHECKED):
        return None
    return HookInfo(**values, content=content, skill=folder.name, tool_filter=tool_filter)


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
            report.error(f"{place}.{field.name}", f"expected {expected}; got {_quoted(value)}{hint}")
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
        report.error(place, f"expected {_EXPECTED['tool_filter']}; got {_quoted(value)}")
        return _WRONG
    if not value:
        report.warning(place, NEVER_FIRES)
    for name in dict.fromkeys(value):
        fits = any(fnmatchcase(tool, name) for tool in BUILTIN_TOOLS)
        if not fits and (hint := did_you_mean(name, BUILTIN_TOOLS, cutoff=0.8)):
            report.warning(place, f"no built-in tool is called {_quoted(name)}{hint}")
    return frozenset(value)


def _read_content(folder: Path, file: str, place: str, report: Report) -> str | None:
    """The text of a hook, stripped, or None with the reason (L1-05)."""
    try:
        if "\\" in file or PureWindowsPath(file).drive or Path(file).is_absolute():
            raise UnreadableError("is not a path inside hooks/")
        if Path(file).suffix != ".md":
            raise UnreadableError("does not end in .md")
        content = _read_text(folder, file).strip()
    except UnreadableError as error:
        hint = _near(file, folder / "hooks") if isinstance(error.__cause__, FileNotFoundError) else ""
        report.error(place, f"{_quoted(file)} {error}{hint}")
        return None
    if not content:
        report.warning(place, f"{_quoted(file)} is empty: the hook is skipped")
        return None
    return content


def _near(file: str, hooks: Path) -> str:
    inner = file.removeprefix("hooks/")
    if inner != file:
        return f": names are relative to hooks/, so write {_quoted(inner)}"
    texts = {path.name.casefold(): path.name for path in sorted(hooks.glob("*.md")) if path.is_file()}
    close = get_close_matches(file.casefold(), texts, cutoff=0.8)
    return f" (did you mean {texts[close[0]]}?)" if close else ""


def _read_text(folder: Path, file: str) -> str:
    """A file of hooks/, which must itself lie in the skill's folder; raises UnreadableError."""
    hooks = folder / "hooks"
    if not is_inside(hooks, folder):
        raise UnreadableError(f"leads out of {folder.name}/")
    data = read_inside(hooks, file, max_bytes=MAX_FILE_BYTES)
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not UTF-8 (byte {error.start})") from error


def _quoted(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def did_you_mean(value: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the end of a message that names the closest of `known`; "" if `value` is one of them or like none."""
    close = get_close_matches(value, known, cutoff=cutoff) if isinstance(value, str) else []
    return f" (did you mean {close[0]}?)" if close and close[0] != value else ""
