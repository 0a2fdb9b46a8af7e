"""New hooks written into a hooks.json, whose other lines stay as they are; and the files of their texts and tests."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import yaml
from msgspec import Meta, Struct

from skill_tools.studio.skill_files import EditError
from skills_engine.conditions.turn_facts import Value
from skills_engine.hooks_config import HOOKS_JSON
from skills_engine.skills_config import is_spec_name

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = "  "


class NewHooks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hooks to be written, each with its `text` in place of a `file`, and their tests."""

    hooks: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=8)]
    variables: Annotated[dict[str, Value], Meta(max_length=16)] = {}
    tests: Annotated[list[dict[str, Any]], Meta(max_length=32)] = []

    def written(self, read: Callable[[str], str | None]) -> dict[str, str]:
        """Return the files that they change or make, by path. `read` gives the text of a file as it is, None without one.

        Raises EditError.
        """
        document = read(HOOKS_JSON) or "{}\n"
        there = _names(document)
        entries, files = [], {}
        for hook in self.hooks:
            name, text = hook.get("name"), hook.get("text")
            if not isinstance(name, str) or not is_spec_name(name):
                raise EditError(
                    "hook_invalid", f"the name of a hook has lower-case letters, digits and hyphens: {name!r}"
                )
            if "file" in hook:
                raise EditError("hook_invalid", f"{name}: write its `text`; where that is kept is chosen here")
            path = f"hooks/{name}.md"
            if name in there or (text is not None and read(path) is not None):
                raise EditError("hook_exists", f"there is a hook, or a text, {name} already; choose another name")
            there.add(name)
            if text is not None:
                if not isinstance(text, str) or not text.strip():
                    raise EditError("hook_invalid", f"the text of {name} is empty")
                files[path] = f"{text.strip()}\n"
                hook = {
                    "name": name,
                    "file": f"{name}.md",
                    **{key: hook[key] for key in hook if key not in ("name", "text")},
                }
            entries.append(hook)
        for key, members in (("variables", _members(self.variables)), ("hooks", [*map(_compact, entries)])):
            document = _with_members(document, key, members) if members else document
        if self.tests:
            stem = f"tests/{self.hooks[0]['name']}"
            free = (f"{stem}{'' if number == 1 else f'-{number}'}.yaml" for number in range(1, 1000))
            path = next(path for path in free if read(path) is None)
            files[path] = yaml.safe_dump({"tests": self.tests}, sort_keys=False, allow_unicode=True, width=100)
        return {**files, HOOKS_JSON: document}


def _names(document: str) -> set[str]:
    """Return the names of the hooks that are there. Raises EditError where no hook can be added."""
    try:
        value = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise EditError("hooks_unreadable", f"{HOOKS_JSON} is not JSON ({error}): mend it first") from None
    hooks = value.get("hooks", []) if isinstance(value, dict) else None
    if not isinstance(hooks, list) or not isinstance(value.get("variables", {}), dict):
        raise EditError("hooks_unreadable", f"{HOOKS_JSON} has no list of hooks: mend it first")
    return {str(hook.get("name")) for hook in hooks if isinstance(hook, dict)}


def _members(values: Mapping[str, Value]) -> list[str]:
    return [f"{_compact(name)}: {_compact(value)}" for name, value in values.items()]


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _with_members(document: str, key: str, members: Sequence[str]) -> str:
    """Add members at the end of the list or object that stands under the key of the whole."""
    start = _skip(document, 0)
    if (span := _span(document, start, key)) is None:
        empty = "[]" if key == "hooks" else "{}"
        _, end = json.JSONDecoder().raw_decode(document, start)
        document = _appended(document, start, end, [f'"{key}": {empty}'])
        span = _span(document, start, key)
        assert span is not None  # just added
    return _appended(document, *span, members)


def _span(document: str, at: int, key: str) -> tuple[int, int] | None:
    """Return the beginning and end of the value under the key of the object that begins at `at`."""
    decoder = json.JSONDecoder()
    at = _skip(document, at + 1)
    while document[at] != "}":
        name, at = decoder.raw_decode(document, at)
        start = _skip(document, _skip(document, at) + 1)
        _, end = decoder.raw_decode(document, start)
        if name == key:
            return start, end
        at = _skip(document, end)
        at = _skip(document, at + 1) if document[at] == "," else at
    return None


def _appended(document: str, start: int, end: int, members: Sequence[str]) -> str:
    """Add members to the list or object between `start` and `end`, set apart as those that it has."""
    last = len(document[: end - 1].rstrip())
    first = _skip(document, start + 1)
    if last > start + 1:
        space = document[start + 1 : first] if "\n" in document[start + 1 : first] else " "
        return document[:last] + "".join(f",{space}{member}" for member in members) + document[last:]
    line = document[document.rfind("\n", 0, start) + 1 : start]
    margin = "\n" + line[: len(line) - len(line.lstrip())]
    inner = f",{margin}{_INDENT}".join(members)
    return f"{document[: start + 1]}{margin}{_INDENT}{inner}{margin}{document[end - 1 :]}"


def _skip(document: str, at: int) -> int:
    """Return the place behind the white space that stands there."""
    found = _SPACE.match(document, at)
    return at if found is None else found.end()
