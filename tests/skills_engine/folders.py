"""Folders of skills for the tests."""

import json
from pathlib import Path
from typing import Any

SKILL_MD = "---\nname: {name}\ndescription: What {name} is good for.\n---\nThe body of {name}.\n"


def entry(name: str = "hint", **changed: Any) -> dict[str, Any]:
    """A right entry of hooks.json; a value of `...` leaves its key out."""
    fields = {
        "name": name,
        "file": f"{name}.md",
        "timing": "after_user_input",
        "role": "system",
        "persistent": False,
    } | changed
    return {key: value for key, value in fields.items() if value is not ...}


def make_skill(root: Path, name: str, *entries: Any, skill_md: str | bytes | None = SKILL_MD) -> Path:
    """A skill whose hooks all have a text; `skill_md` None leaves SKILL.md out."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    if skill_md is not None:
        data = skill_md.encode() if isinstance(skill_md, str) else skill_md
        (folder / "SKILL.md").write_bytes(data.replace(b"{name}", name.encode()))
    if entries:
        write_hooks(folder, *entries)
    return folder


def write_hooks(folder: Path, *entries: Any) -> None:
    (folder / "hooks").mkdir(exist_ok=True)
    for item in entries:
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            text = folder / "hooks" / f"{item['name']}.md"
            if not text.exists():
                text.write_text(f"Text of {item['name']}.\n")
    write_hooks_json(folder, {"hooks": list(entries)})


def write_hooks_json(folder: Path, document: Any) -> None:
    (folder / "hooks").mkdir(exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / "hooks" / "hooks.json").write_text(text)
