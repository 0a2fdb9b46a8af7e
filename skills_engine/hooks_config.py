"""hooks.json and its Markdown files → hooks, or every mistake at once.

    skills/<name>/hooks/hooks.json   {"hooks": [{"name", "file", "timing", "role", "persistent", "tool_filter"?}],
                                      "triggers"?: [{"name", "file", "on"}]}
    skills/<name>/hooks/*.md         the text that the model reads

Nothing here raises for what an author wrote: a bad entry drops itself, a
broken file drops the hooks of its skill, and each mistake becomes a Diagnostic.
"""

import codecs
import json
import logging
import ntpath
import os
from collections import Counter
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from skills_engine.conditions.hook_variables import VARIABLES, lasting_words, unknown_variables
from skills_engine.conditions.set_entry import Declared, Owner, captured_variables, read_variables
from skills_engine.diagnostics import Diagnostic, Report, did_you_mean, quoted
from skills_engine.files import UnreadableError, is_inside, is_segment, read_inside
from skills_engine.hook_entries import READ_AS_CONDITION, HookEntry, HookInfo, is_comment, read_keys
from skills_engine.trigger_entries import TriggerEntry, TriggerInfo, read_trigger_keys

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 64 * 1024
"""Limit for hooks.json and for each hook's text (L1-05)."""

HOOKS_JSON = "hooks/hooks.json"

_FOREIGN_EVENTS = {
    "Claude Code": {"PreToolUse", "PostToolUse", "PermissionRequest", "UserPromptSubmit", "Stop", "SubagentStop"}
    | {"Notification", "PreCompact", "SessionStart", "SessionEnd"},
    "Cursor": {"beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution", "stop"}
    | {"beforeReadFile", "afterFileEdit", "beforeSubmitPrompt", "sessionStart", "sessionEnd"},
    "GitHub Copilot": {"preToolUse", "postToolUse", "userPromptSubmitted", "errorOccurred", "sessionStart"},
    "Gemini CLI": {"BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "SessionEnd"},
}
_MODULES = "modules"
"""The key under which Claude Code's mods name their JavaScript files."""


class HooksDocument(msgspec.Struct, forbid_unknown_fields=True, rename={"schema": "$schema"}):
    hooks: Annotated[list[HookEntry], msgspec.Meta(description="Fired in this order.")] = []
    triggers: Annotated[list[TriggerEntry], msgspec.Meta(description="Turns that no words of the user begin.")] = []
    variables: Annotated[
        dict[str, bool | int | str],
        msgspec.Meta(description="What the skill remembers in a conversation: names with their start values."),
    ] = {}
    schema: Annotated[str | None, msgspec.Meta(description="The location of this schema, for your editor.")] = None


@dataclass(frozen=True)
class HooksFile:
    """The contents of one skill's hooks/ folder. `places[i]` is the JSON path of `hooks[i]`, and so of triggers."""

    hooks: tuple[HookInfo, ...] = ()
    places: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    triggers: tuple[TriggerInfo, ...] = ()
    trigger_places: tuple[str, ...] = ()


def scan_hooks(enabled_skills: Iterable[str], skills_dir: str | os.PathLike[str] | None = None) -> list[HookInfo]:
    """Return the hooks of these skills, in this order, then in file order (L1-03).

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
    """Check the name, which may come from a client, then read the hooks of the skill."""
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
    """Read the hooks of the skill in `folder`, whose name is the folder's. A skill without hooks is fine."""
    report = Report(folder.name, HOOKS_JSON)
    document = _read_document(folder, report)
    entries, declared = document.get("hooks", []), read_variables(document.get("variables", {}), report)
    strange = frozenset(captured_variables(entries))
    places: dict[str, str] = {}  # by name, of hooks and triggers (L1-06)
    read_hook = partial(_read_entry, folder, report, read_keys, HookInfo, declared, strange)
    read_trigger = partial(_read_entry, folder, report, read_trigger_keys, TriggerInfo, declared, strange)
    hooks = _read_entries(entries, "hooks", read_hook, places, report)
    triggers = _read_entries(document.get("triggers", []), "triggers", read_trigger, places, report)
    return HooksFile(
        tuple(hooks),
        tuple(places[hook.name] for hook in hooks),
        report.first,
        tuple(triggers),
        tuple(places[trigger.name] for trigger in triggers),
    )


_Read = TypeVar("_Read", HookInfo, TriggerInfo)


def _read_entries(
    entries: list[object],
    key: str,
    read: Callable[[dict[str, object], str, str], _Read | None],
    places: dict[str, str],
    report: Report,
) -> list[_Read]:
    """Return what can be read of a list, and add its names to `places`."""
    found: list[_Read] = []
    for index, entry in enumerate(entries):
        place = f"$.{key}[{index}]"
        if not isinstance(entry, dict):
            report.error(place, f"expected an object, got {quoted(entry)}")
        elif (one := read(entry, place, f"{key.removesuffix('s')}-{index + 1}")) is not None:
            if one.name in places:
                report.error(f"{place}.name", f"{quoted(one.name)} is already the name of {places[one.name]}")
            else:
                found.append(one)
                places[one.name] = place
    return found


def _read_document(folder: Path, report: Report) -> dict[str, Any]:
    """Return the lists of hooks.json by their keys, and `variables`, whatever is in them; {} with a reason for anything else."""
    if not os.path.lexists(folder / HOOKS_JSON):
        return {}
    try:
        document = json.loads(_read_text(folder, "hooks.json"), object_pairs_hook=partial(_object, report))
    except UnreadableError as error:
        report.error("", str(error))
    except json.JSONDecodeError as error:
        report.error("", f"is not JSON: {_syntax(error)}")
    except (ValueError, RecursionError):  # a number of 5,000 digits; brackets 10,000 deep
        report.error("", "is not JSON that can be read")
    else:
        return _lists(document, report)
    return {}


def _object(report: Report, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build the object, with a warning for a key that stands twice: JSON silently keeps its last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        report.warning("", f"{quoted(twice)} occurs twice in one object: only the last one counts")
    return found


def _syntax(error: json.JSONDecodeError) -> str:
    """Describe the error with line and column; an extra comma at its own place, as Python does from 3.13 on."""
    text, message = error.doc, error.msg.removesuffix(" at").removesuffix(" starting")
    before = text[: error.pos].rstrip()
    at = len(before) - 1 if before.endswith(",") and text[error.pos : error.pos + 1] in ("]", "}") else error.pos
    if text[at : at + 1] == "," and (after := text[at + 1 :].lstrip()[:1]) in ("]", "}"):
        message = f"an extra comma before {after}"
    elif text[at : at + 1] == "\n" and message == "Invalid control character":
        message = "Unterminated string"
    place = json.JSONDecodeError("", text, at)
    return f"line {place.lineno}, column {place.colno}: {message}"


def _lists(document: object, report: Report) -> dict[str, Any]:
    if isinstance(document, dict) and (foreign := _foreign_hooks(document)):  # L1-07
        place, whose = foreign
        report.warning(place, f"{whose}: not read. Parley's are a list")
        return {}
    if not isinstance(document, dict) or document.keys().isdisjoint(("hooks", "triggers")):
        report.error("$", 'expected {"hooks": [...]}')
        return {}
    lists: dict[str, Any] = {}
    for key, value in document.items():
        if key in ("hooks", "triggers"):
            if isinstance(value, list):
                lists[key] = value
            else:
                report.error(f"$.{key}", f"expected a list of {key}, got {quoted(value)}")
        elif key == "variables":
            lists[key] = value
        elif key == _MODULES:
            report.warning(f"$.{key}", "Claude Code's key, ignored: no program of a skill is run")
        elif (isinstance(value, dict | list) or key in READ_AS_CONDITION) and not is_comment(key):  # L1-55
            report.error(f"$.{key}", f"unknown key{did_you_mean(key, ('hooks', 'triggers', 'variables'))}")
        elif not is_comment(key):
            report.warning(f"$.{key}", "unknown key, ignored")
    return lists


def _foreign_hooks(document: dict[str, Any]) -> tuple[str, str] | None:
    """Return the place of another product's hooks and whose they are, in words; None if there are none (L1-07)."""
    hooks = document.get("hooks")
    if isinstance(hooks, dict):
        return "$.hooks", _owned(hooks)
    if isinstance(hooks, list):
        if hooks and all(_is_foreign_entry(entry) for entry in hooks):
            return "$.hooks", _owned(str(entry.get("event")) for entry in hooks if "event" in entry)
    elif _MODULES in document:
        return f"$.{_MODULES}", f"Claude Code's hooks ({_MODULES})"
    elif any(document.keys() & events for events in _FOREIGN_EVENTS.values()):
        return "$", _owned(document)
    return None


def _is_foreign_entry(entry: object) -> bool:
    """Return whether an entry runs a command at an event, and has neither the text nor the timing that ours have."""
    return (
        isinstance(entry, dict) and bool({"event", "command"} & entry.keys()) and not {"file", "timing"} & entry.keys()
    )


def _owned(events: Iterable[str]) -> str:
    named = list(dict.fromkeys(events))
    known = {product: len(events.intersection(named)) for product, events in _FOREIGN_EVENTS.items()}
    product = max(known, key=lambda name: known[name])
    owner = f"{product}'s" if known[product] else "another product's"
    return f"{owner} hooks ({', '.join(named) or 'none'})"


def _read_entry(
    folder: Path,
    report: Report,
    read: Callable[[dict[str, object], str, Report, Owner], dict[str, Any]],
    make: Callable[..., _Read],
    declared: Declared,
    strange: Container[str],
    entry: dict[str, object],
    place: str,
    default_name: str,
) -> _Read | None:
    """Return one hook or trigger, or None with every reason why not. `strange`: variables with words from elsewhere."""
    errors = len(report.errors)
    owner = Owner(folder.name, str(entry.get("name", default_name)), declared, "set" in entry)
    values = read(entry, place, report, owner)
    content, file = values.pop("text").strip(), values["file"]
    if file:
        place, content = f"{place}.file", _read_content(folder, file, f"{place}.file", report)
    elif "text" in entry:
        place, file = f"{place}.text", "the text"
        if not content:
            report.error(place, "is empty")
    if {"file", "text"} <= entry.keys():
        report.error(place, "file and text stand in place of one another: write one of the two")
    if values.get("vars") and values.get("persistent") and (words := lasting_words(content, owner, strange)):
        message = f"{file} holds {words}, and a persistent hook keeps no words from elsewhere: the server signs it"
        report.error(place, message)
    elif values.get("vars") and (unknown := unknown_variables(content, owner)):
        known = ", ".join((*VARIABLES, *(f"var.{name}" for name in declared)))
        message = f"{file} holds {unknown[0]}, which is no variable (write {{{{{{{{ for {{{{); these are: {known}"
        report.error(place, message)
    return make(**values, content=content, skill=folder.name) if len(report.errors) == errors else None


def _read_content(folder: Path, file: str, place: str, report: Report) -> str:
    """Return the text of a hook, stripped, or an empty one with the reason in the report (L1-05)."""
    try:
        if "\\" in file or ntpath.splitdrive(file)[0] or file.startswith("/"):
            raise UnreadableError("is not a path inside hooks/")
        if Path(file).suffix != ".md":
            raise UnreadableError("does not end in .md")
        if not (content := _read_text(folder, file).strip()):
            raise UnreadableError('is empty; to switch the hook off, write "enabled": false')
    except UnreadableError as error:
        hint = _near(file, folder / "hooks") if isinstance(error.__cause__, FileNotFoundError) else ""
        report.error(place, f"{quoted(file)} {error}{hint}")
        return ""
    return content


def _near(file: str, hooks: Path) -> str:
    inner = file.removeprefix("hooks/")
    if inner != file:
        return f": names are relative to hooks/, so write {quoted(inner)}"
    texts = {path.name.casefold(): path.name for path in sorted(hooks.glob("*.md")) if path.is_file()}
    close = get_close_matches(file.casefold(), texts, cutoff=0.8)
    return f" (did you mean {texts[close[0]]}?)" if close else ""


def _read_text(folder: Path, file: str) -> str:
    """Read a file of hooks/, which must itself lie in the skill's folder. Raises UnreadableError."""
    data = read_inside(folder, file, max_bytes=MAX_FILE_BYTES, inner="hooks")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not UTF-8 (byte {error.start})") from error
