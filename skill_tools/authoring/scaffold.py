"""`new`, a skill that works at once, with a test and notes on how to go on; tests of real turns; `schema`."""

import json
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from skill_tools.sharing.bundle import SharingError, SkillBundle
from skill_tools.sharing.install import put_skill
from skill_tools.testing.tests_files import MAX_FILE_BYTES, parse_tests
from skill_tools.testing.tests_format import ExpectSpec, SkillTestsDocument, SkillTestSpec
from skills_engine.bounded_yaml import YamlError, read_yaml
from skills_engine.conditions.turn_facts import Value
from skills_engine.diagnostics import Report
from skills_engine.files import UnreadableError, is_inside, read_inside
from skills_engine.hook_entries import FILE_KEYS, NOT_IN_UPDATES, Timing
from skills_engine.hooks_config import HooksDocument
from skills_engine.skills_config import SKILL_NAME_FORM, find_skill_file, is_skill_name
from skills_engine.trigger_entries import TRIGGER_EVENTS, TriggerEvent

SCHEMA_FILE = Path(__file__).resolve().parents[2] / "skills_engine" / "hooks.schema.json"
"""The committed copy, which a `$schema` key of a hooks.json may point to."""
TESTS_SCHEMA_FILE = SCHEMA_FILE.with_name("tests.schema.json")
"""The committed copy, which the first line of a file of tests may point to."""

SKILL_MD = """\
---
# The name is the folder's. The description is all that the model knows of this
# skill until it reads the rest: say what it is good for, in a few words.
name: {name}
description: "{title}."
---

# {title}

<!-- The model reads this page, with read_file, when the description makes it look.
     Write here what it should know or do. It is text only: nothing in it is run.

     hooks/hooks.json puts texts before the model whether it looks or not:
       timing      after_user_input  in every turn
                   after_tool_call   after a tool ran; docs/advanced-timings.md has three more
       role        system or user
       persistent  true: the text stays in the conversation for later turns
       when        conditions: {{"user_text": ["refund"]}}, {{"tool": ["read_file"]}}; docs/cookbook.md has more

     Save, and the next turn uses it. To check:   python -m skills_engine lint {path}
     To see what the model will read:             python -m skills_engine simulate {path}{option}
     To run tests/hint.yaml:                      python -m skills_engine test {path} -->

{text}
"""

TESTS_YAML = """\
# yaml-language-server: $schema={schema}
# A script stands in for the model: {{need_tools: …}}, {{calls: […]}} and {{answer: …}}, as far as a test needs them.
# Run them: python -m skills_engine test {path}
tests:
  - name: the model reads the text
    {beginning}
    script:{script}
    expect:
      fires: [hint]
"""

SILENT_TEST = """
  - name: the model does not read the text in a turn without tools
    user: Hello
    script:
      - answer: Hello!
    expect:
      silent: [hint]
"""

NEUTRAL_TEXT = "Answer the question first, then explain if it helps."


SchemaKind = Literal["hooks", "tests"]
_SCHEMAS: dict[SchemaKind, tuple[str, type[msgspec.Struct]]] = {
    "hooks": ("Prompt hooks of a skill", HooksDocument),
    "tests": ("Tests of a skill", SkillTestsDocument),
}


def new_skill(
    name: str,
    parent: Path,
    *,
    timing: Timing | None = None,
    tools: Sequence[str] = (),
    trigger: TriggerEvent | None = None,
    text: str = NEUTRAL_TEXT,
) -> Path:
    """Make `parent/name`, which must not exist, with one hook and its tests; it appears whole. Raises SharingError.

    `timing` None is after_tool_call where `tools` are named, else after_user_input. With `trigger`, it has a trigger
    in place of the hook.
    """
    folder = parent / name
    if not is_skill_name(name):
        raise SharingError(f"{name!r} is not a skill name: {SKILL_NAME_FORM}")
    if trigger and (timing or tools):
        raise SharingError("a trigger has no timing and no tools: leave them out, or the trigger")
    timing = timing or ("after_tool_call" if tools else "after_user_input")
    if tools and timing != "after_tool_call":
        raise SharingError(f"a tool counts for after_tool_call only: leave it out, or the timing {timing}")
    if not text.strip() or not all(tools):
        raise SharingError("the text and the names of tools must not be empty")
    if os.path.lexists(folder):
        raise SharingError(f"{folder} exists already")
    title, option = name.replace("-", " ").capitalize(), " --trigger hint" if trigger else ""
    page = SKILL_MD.format(name=name, title=title, path=_as_named(folder), option=option, text=text.strip())
    files = {
        "SKILL.md": page,
        "hooks/hooks.json": _hooks_json(folder, trigger or timing, tools),
        "hooks/hint.md": f"{text.strip()}\n",
        "tests/hint.yaml": _tests_yaml(folder, trigger or timing, tools),
    }
    try:
        return put_skill(parent, name, SkillBundle({path: text.encode() for path, text in files.items()}))
    except OSError as error:
        raise SharingError(f"{folder} cannot be created: {error.strerror}") from error


def _hooks_json(folder: Path, moment: Timing | TriggerEvent, tools: Sequence[str]) -> str:
    document: dict[str, object] = {"$schema": _schema_beside(folder, SCHEMA_FILE)}
    if moment in TRIGGER_EVENTS:
        document["triggers"] = [{"name": "hint", "file": "hint.md", "on": moment}]
    else:
        hook = {"name": "hint", "file": "hint.md", "timing": moment, "role": "system", "persistent": False}
        document["hooks"] = [{**hook, "when": {"tool": list(tools)}} if tools else hook]
    return json.dumps(document, indent=2) + "\n"


def _as_named(folder: Path) -> Path:
    """Return the folder as its files name it; of an absolute path, which a zip would carry away, the end."""
    return Path(*folder.parts[-2:]) if folder.is_absolute() else folder


def _schema_beside(folder: Path, schema: Path) -> str:
    """Return the way to the schema from a file in hooks/ or tests/."""
    return f"../{Path(os.path.relpath(schema, folder.resolve())).as_posix()}"


def _tests_yaml(folder: Path, moment: Timing | TriggerEvent, tools: Sequence[str]) -> str:
    beginning = "trigger: hint" if moment in TRIGGER_EVENTS else "user: Hello"
    steps = []
    if moment not in (*TRIGGER_EVENTS, "after_user_input", "before_planning"):
        steps.append("need_tools: Let me look.")
    if moment == "after_tool_call":
        steps.append(f"calls: [{{tool: {json.dumps(_fitting_tool(tools))}, result: found}}]")
    script = "".join(f"\n      - {step}" for step in [*steps, "answer: Hello!"])
    schema, path = _schema_beside(folder, TESTS_SCHEMA_FILE), _as_named(folder)
    tests = TESTS_YAML.format(schema=schema, path=path, beginning=beginning, script=script)
    return tests + SILENT_TEST if steps else tests


def _fitting_tool(tools: Sequence[str]) -> str:
    """Return the name of a tool after which the hook fires."""
    examples = [(name, name.replace("*", "x").replace("?", "x")) for name in tools or ("read_file",)]
    return next((example for name, example in examples if fnmatchcase(example, name)), examples[0][1])


class ExportedTurn(msgspec.Struct):
    """A turn as the inspector exports it: the test that it makes, and the variables of all skills as it began."""

    format: Literal["parley-turn"]
    test: SkillTestSpec
    variables: dict[str, dict[str, Value]]


def write_trace_test(file: Path, folder: Path) -> Path:
    """Write an exported turn as a new test of the skill in `folder`; return its path. Raises SharingError and OSError."""
    target = folder / "tests" / f"{file.stem}.yaml"
    if find_skill_file(folder) is None:
        raise SharingError(f"{folder} is no skill: give the folder of the one that gets the test")
    try:
        data = read_inside(file.parent, file.name, max_bytes=MAX_FILE_BYTES)
        document = read_yaml(data.decode()).value  # as JSON is, within the limits of tests
        turn = msgspec.convert(document, ExportedTurn)
    except (UnreadableError, YamlError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise SharingError(f"{file} is no turn that the inspector has exported: {error}") from error
    if turn.test.user is None:
        raise SharingError(f"{file} becomes no test: no message of the user began the turn")
    if os.path.lexists(target) or not is_inside(target, folder):
        raise SharingError(f"{target} exists already, or leads out of {folder}: rename {file}")
    name = {"name": f"{turn.test.user[:80]} ({turn.test.time})"}
    said = {key: value for key, value in document["test"].items() if key != "skills" and (value or key == "tools")}
    skill = folder.resolve().name
    own = {"variables": of_skill} if (of_skill := turn.variables.get(skill)) else {}
    expected = {"expect": _expected_of(skill, turn.test.expect or ExpectSpec())}
    text = yaml.safe_dump({"tests": [name | own | said | expected]}, sort_keys=False, allow_unicode=True, width=120)
    parse_tests(text, report := Report(folder.name, target.name))
    if report.first:
        raise SharingError(f"{file} becomes no test: {report.first[0].path} {report.first[0].message}")
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, "utf-8")
    return target


def _expected_of(skill: str, expect: ExpectSpec) -> dict[str, Any]:
    """Return what is expected of this skill alone: others may change, and what they began with is not in its test."""
    fires = [name for name in expect.fires or () if name.startswith(f"{skill}/")]
    variables = {name: value for name, value in (expect.variables or {}).items() if name.startswith(f"{skill}/")}
    return {"fires": fires, **({"variables": variables} if variables else {})}


def schema_text(kind: SchemaKind = "hooks") -> str:
    """Make the JSON Schema of hooks.json or of files of tests, for editors, from the struct that the loader checks with."""
    title, struct = _SCHEMAS[kind]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **msgspec.json.schema(struct)}
    if kind == "hooks":
        definitions = schema["$defs"]
        for one in (definitions["HooksDocument"], definitions["HookEntry"], definitions["TriggerEntry"]):
            one["patternProperties"] = {"^([_$]|x-)": {}}  # comments (L1-55)
        definitions["HookEntry"]["anyOf"] = [
            {"required": [*FILE_KEYS], "properties": {"text": False}},
            {"required": ["text"], "properties": {"file": False}},
            {"required": ["name", "timing", "set"], "properties": dict.fromkeys(NOT_IN_UPDATES, False)},
        ]
        definitions["TriggerEntry"]["oneOf"] = [{"required": ["file"]}, {"required": ["text"]}]
    return json.dumps(schema, indent=2) + "\n"
