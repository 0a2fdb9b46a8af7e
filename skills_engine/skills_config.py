"""skills/<name>/SKILL.md → Skill, whatever public skills contain.

A defect is put up with and said; only a file that cannot be read, or that looks
half written, is an error, so that a reload keeps the version before it.
"""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skills_engine.diagnostics import Diagnostic, Report
from skills_engine.files import UnreadableError, read_inside
from skills_engine.front_matter import FrontMatter, split_front_matter
from skills_engine.hook_entries import SHARED_GROUP, HookInfo
from skills_engine.trigger_entries import TriggerInfo

MAX_FILE_BYTES = 1024 * 1024
LONG_FILE_BYTES = 100_000
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024
SKILL_NAME_FORM = f"use lower-case letters, digits and single hyphens, up to {MAX_NAME_CHARS}, and not `shared`"

_SPEC_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NULLS = ("", "~", "null", "Null", "NULL")  # BaseLoader leaves YAML's nothing as it is written
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_KNOWN = (
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowedtools",
    "disablemodelinvocation",
    "default",
)


@dataclass(frozen=True)
class Skill:
    """One loaded skill. `name` is its folder's; `title` what SKILL.md calls it.

    `listed` says whether the catalogue tells the model of it. If not `on_by_default`, it is on only for clients that
    select it; the operator's `skills.also` and `skills.enabled` make it on by default. `allowed_tools` is advice and grants nothing;
    `extra` holds the fields of SKILL.md that have no use here.
    """

    name: str
    description: str
    directory: Path
    title: str
    file: str = "SKILL.md"
    listed: bool = True
    on_by_default: bool = True
    allowed_tools: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    hooks: tuple[HookInfo, ...] = ()
    triggers: tuple[TriggerInfo, ...] = ()


def is_spec_name(name: str) -> bool:
    return len(name) <= MAX_NAME_CHARS and _SPEC_NAME.fullmatch(name) is not None


def is_skill_name(name: str) -> bool:
    """Return whether a skill may be called so; `shared` begins the names of groups of all skills (L1-57)."""
    return is_spec_name(name) and f"{name}/" != SHARED_GROUP


def find_skill_file(folder: Path) -> str | None:
    """Return `SKILL.md`, else the first name that differs in case only."""
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.lower() == "skill.md")
    return names[0] if names else None  # capitals sort first


def read_skill(folder: Path, *, is_named: bool = False) -> tuple[Skill, list[Diagnostic]]:
    """Read the skill in `folder`, without its hooks. It always loads; defects are reported.

    `is_named`: the operator enabled it by name, so it is listed even without
    front matter of its own.
    """
    file = find_skill_file(folder)
    if file is None:
        report = Report(folder.name, "SKILL.md")
        report.warning("", "is missing: the hooks work, but the model is not told about this skill")
        return Skill(folder.name, "", folder, folder.name, listed=False), report.found
    report = Report(folder.name, file)
    text = read_skill_text(folder, file, report)
    if text is None:
        return Skill(folder.name, "", folder, folder.name, file, listed=False), report.found
    return _build(folder, file, split_front_matter(text), report, is_named=is_named), report.found


def read_skill_text(folder: Path, file: str, report: Report) -> str | None:
    """Return SKILL.md with plain line ends, or None with the reason in `report`."""
    try:
        data = read_inside(folder, file, max_bytes=MAX_FILE_BYTES)
        if not data.strip():
            raise UnreadableError("is empty")
    except UnreadableError as error:
        report.error("", str(error))
        return None
    if len(data) > LONG_FILE_BYTES:
        report.warning("", f"is {len(data) // 1000} kB long: move details into files that the model reads on demand")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        report.warning("", f"is not UTF-8 (byte {error.start}): unreadable characters are replaced")
        text = data.decode(errors="replace")
    return text.replace("\r\n", "\n")


def _build(folder: Path, file: str, head: FrontMatter, report: Report, *, is_named: bool) -> Skill:
    for defect in head.defects:
        report.warning("", defect)
    if head.fatal:
        report.error("", head.fatal)
    if head.fields is None:
        description = _first_paragraph(head.body)
        return Skill(folder.name, description, folder, folder.name, file, listed=is_named and bool(description))
    fields = {_plain(key): value for key, value in head.fields.items()}
    description = _description(fields, report)
    is_hidden = str(fields.get("disablemodelinvocation", "default")).lower() in _TRUE
    return Skill(
        folder.name,
        description,
        folder,
        _title(fields, folder.name, report),
        file,
        listed=bool(description) and not is_hidden,
        on_by_default=_on_by_default(fields.get("default"), report),
        allowed_tools=_allowed_tools(fields.get("allowedtools"), report),
        extra=_extra(head.fields, report),
    )


def _plain(key: str) -> str:
    """Return one spelling for `allowed-tools`, `allowed_tools` and `allowedTools`."""
    return key.replace("-", "").replace("_", "").lower()


def _title(fields: Mapping[str, Any], folder_name: str, report: Report) -> str:
    name = _text(fields.get("name"))
    if not name:
        report.warning("$.name", f"missing: expected {folder_name!r}, the name of the folder")
        return folder_name
    if not is_spec_name(name):
        report.warning("$.name", f"expected at most {MAX_NAME_CHARS} lower-case letters, digits and single hyphens")
    if name != folder_name:
        report.warning("$.name", f"{name!r} is not the folder's name: the skill is known as {folder_name!r}")
    return name


def _description(fields: Mapping[str, Any], report: Report) -> str:
    description = _text(fields.get("description"))
    if not description:
        report.warning("$.description", "missing: the model is not told about this skill")
    elif len(description) > MAX_DESCRIPTION_CHARS:
        report.warning("$.description", f"is longer than {MAX_DESCRIPTION_CHARS} characters: the model reads its start")
    return description


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) and value.strip() not in _NULLS else ""


def _first_paragraph(body: str) -> str:
    paragraphs = (block.strip() for block in re.split(r"\n[ \t]*\n", body))
    return next((block for block in paragraphs if block and not block.startswith(("#", "---"))), "")


def _allowed_tools(value: object, report: Report) -> tuple[str, ...]:
    """Split a string at blanks and commas outside parentheses; a list of names is taken as it is."""
    if value is None or value in _NULLS:
        return ()
    if isinstance(value, str):
        return tuple(re.findall(r"(?:[^\s,(]|\([^)]*\)?)+", value))
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(value)
    report.warning("$.allowed-tools", "expected tool names in a string or a list: ignored")
    return ()


def _on_by_default(value: object, report: Report) -> bool:
    text = str(value).lower()
    if value is not None and text not in (*_TRUE, *_FALSE, *_NULLS):
        report.warning("$.default", f"expected on or off, got {value!r}: the skill is on")
    return text not in _FALSE


def _extra(fields: Mapping[str, Any], report: Report) -> dict[str, Any]:
    extra = {key: value for key, value in fields.items() if _plain(key) not in _KNOWN}
    if extra:
        report.info("$", f"unused fields: {', '.join(extra)}")
    return extra
