"""`new`, a skill that works at once, with notes on how to go on; `schema`, the form of its hooks.json."""

import json
import os
from pathlib import Path

import msgspec

from skills_engine.hooks_config import HooksDocument
from skills_engine.skills_config import is_spec_name

SCHEMA_FILE = Path(__file__).resolve().parent.parent / "hooks.schema.json"
"""The committed copy, which a `$schema` key of a hooks.json may point to."""

SKILL_MD = """\
---
# The name is the folder's. The description is all that the model knows of this
# skill until it reads the rest: say what it is good for, in a few words.
name: {name}
description: "Answers as a pirate would."
---

# {title}

<!-- The model reads this page, with read_file, when the description makes it look.
     Write here what it should know or do. It is text only: nothing in it is run.

     hooks/hooks.json puts texts before the model whether it looks or not:
       timing      after_user_input     in every turn
                   before_planning      while the model decides if it needs tools
                   before_first_agent   once, when it starts to use tools
                   before_each_agent    before each step with tools
                   after_tool_call      after a tool ran; "tool_filter": ["read_file"] narrows it
       role        system or user
       persistent  true: the text stays in the conversation for later turns

     Save, and the next turn uses it. To check:   python -m skills_engine lint {path}
     To see what the model will read:             python -m skills_engine simulate {path} -->

Answer as a pirate would.
"""

HOOK_MD = """\
You are a pirate. Say Ahoy!
"""


class ScaffoldError(Exception):
    """The skill cannot be made; the text says why."""


def new_skill(name: str, parent: Path) -> Path:
    """Make `parent/name`, which must not exist; it appears whole. Raises ScaffoldError."""
    folder = parent / name
    if not is_spec_name(name):
        raise ScaffoldError(
            f"{name!r} is not a skill name: use lower-case letters, digits and single hyphens, up to 64"
        )
    if folder.exists():
        raise ScaffoldError(f"{folder} exists already")
    draft = parent / f".{name}.draft"  # hidden: a server that watches does not see half of it
    try:
        parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir(exist_ok=True)
        _write(draft, folder)
        draft.rename(folder)
    except OSError as error:
        raise ScaffoldError(f"{folder} cannot be created: {error.strerror}") from error
    return folder


def _write(draft: Path, folder: Path) -> None:
    (draft / "hooks").mkdir(exist_ok=True)
    title = folder.name.replace("-", " ").capitalize()
    page = SKILL_MD.format(name=folder.name, title=title, path=folder)
    (draft / "SKILL.md").write_bytes(page.encode())
    (draft / "hooks" / "hooks.json").write_bytes(_hooks_json(folder).encode())
    (draft / "hooks" / "greeting.md").write_bytes(HOOK_MD.encode())


def _hooks_json(folder: Path) -> str:
    schema = Path(os.path.relpath(SCHEMA_FILE, folder.resolve())).as_posix()
    document = {
        "$schema": f"../{schema}",
        "hooks": [
            {
                "name": "greeting",
                "file": "greeting.md",
                "timing": "after_user_input",
                "role": "system",
                "persistent": False,
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def schema_text() -> str:
    """Make the JSON Schema of hooks.json, for editors, from the struct that the loader checks with."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Prompt hooks of a skill",
        **msgspec.json.schema(HooksDocument),
    }
    return json.dumps(schema, indent=2) + "\n"
