"""The catalogue: what the model is told of the skills before it has read any.

Progressive disclosure: each entry is a name and a description; the body is read
on demand with `read_file`, as any other file.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from skills_engine.diagnostics import without_invisible
from skills_engine.skills_config import MAX_DESCRIPTION_CHARS, Skill
from skills_engine.token_estimate import estimate_tokens

HEAD = "Skills (read_file NAME/SKILL.md tells how):"


@dataclass(frozen=True)
class Catalog:
    """The list of skills for the model: `text`, "" if none is listed; `dropped` names those that did not fit."""

    text: str
    dropped: tuple[str, ...] = ()


def build_catalog(skills: Iterable[Skill], *, budget_tokens: int) -> Catalog:
    """Write one line a skill, in the order given, within `estimate_tokens(text) <= budget_tokens`.

    Drop order: an entry that does not fit any more is left out whole and named in
    `dropped`; shorter ones after it may still fit. So the order decides, and a
    long description costs its own skill first.
    """
    text, dropped = HEAD, []
    for skill in skills:
        if not skill.listed:
            continue
        longer = f"{text}\n{_entry(skill)}"
        if estimate_tokens(longer) <= budget_tokens:
            text = longer
        else:
            dropped.append(skill.name)
    return Catalog("" if text == HEAD else text, tuple(dropped))


def _entry(skill: Skill) -> str:
    path = "" if skill.file == "SKILL.md" else f" ({_one_line(f'{skill.name}/{skill.file}')})"
    description = _one_line(skill.description)
    if len(description) > MAX_DESCRIPTION_CHARS:
        description = description[: MAX_DESCRIPTION_CHARS - 1] + "…"
    return f"- {_one_line(skill.name)}{path}: {description}"


def _one_line(text: str) -> str:
    """Return the text so that it cannot pass for another line or for markup."""
    clean = " ".join(without_invisible(text).split())
    return clean.replace("<", "&lt;").replace(">", "&gt;")
