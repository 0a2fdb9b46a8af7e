"""The head of a SKILL.md, as public skills really write it: text in, fields out, no I/O.

    ---
    name: careful-reader
    description: Quotes what it read.
    ---
    The body.

Every scalar stays a string (`name: no`, `version: 1.10`), and the body is data:
nothing in it is expanded or run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

MAX_BYTES = 64 * 1024

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

_FIELD = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+|$)(.*)$")

_GLUED = re.compile(r"---[ \t]*#")  # what programs that translate public skills make of `---` and a heading
_BLOCK = re.compile(r"[|>][+-]?")
_PLAINER = dict.fromkeys(
    ("mapping values are not allowed here", "mapping values are not allowed in this context"),
    "put a value that holds ': ' in quotes",
) | {
    "found character that cannot start any token": "indent with spaces, not with tabs; put a value that begins with @ or ` in quotes"
}
_QUOTED = re.compile(r"""(["'])(.*)\1""")


@dataclass(frozen=True)
class FrontMatter:
    """The head and body of a SKILL.md; `fields` is None if none can be read; `defects` were tolerated."""

    fields: dict[str, Any] | None
    body: str
    defects: tuple[str, ...] = ()
    fatal: str | None = None  # what looks like a file that is still being written


def split_front_matter(text: str) -> FrontMatter:
    """Split at lines that are exactly `---`; if none closes, at the first one with a heading behind it."""
    lines = text.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip() != "---":
        return FrontMatter(None, text, ("has no front matter: expected --- as its first line",))
    defects = ["has blank lines before its front matter"] if first else []
    last = next((index for index in range(first + 1, len(lines)) if lines[index].rstrip() == "---"), None)
    if last is None:
        last = next((index for index, line in enumerate(lines) if _GLUED.match(line)), None)
        if last is None:
            return FrontMatter(None, text, fatal="its front matter is not closed: expected a second line ---")
        defects.append("has a heading on the line --- that closes its front matter: expected a line break")
        lines.insert(last + 1, lines[last].removeprefix("---"))
    fields, defect = _parse("\n".join(lines[first + 1 : last]))
    defects += [defect] if defect else []
    return FrontMatter(fields, "\n".join(lines[last + 1 :]), tuple(defects))


def _parse(text: str) -> tuple[dict[str, Any] | None, str | None]:
    if len(text.encode()) > MAX_BYTES:
        return None, f"its front matter is larger than {MAX_BYTES // 1024} KiB: not read"
    try:
        return _parse_yaml(text), None
    except yaml.YAMLError as error:
        reason = yaml_problem(error, first_line=2)  # after the line of dashes
    except RecursionError:
        reason = "nested too deeply"
    fields = _parse_lines(text)
    return fields or None, f"its front matter is not YAML ({reason}): read line by line"


def _parse_yaml(text: str) -> dict[str, Any]:
    events = iter(yaml.parse(text, Loader=_LOADER))
    documents = [_value(next(events), events) for event in events if isinstance(event, yaml.DocumentStartEvent)]
    if len(documents) > 1:
        raise yaml.YAMLError("expected one document")
    if not documents or not isinstance(documents[0], dict):
        raise yaml.YAMLError("expected lines of `key: value`")
    return documents[0]


def _value(event: Any, events: Iterator[Any]) -> Any:
    """Make strings, lists and dicts; refuse aliases and tags, which no public skill uses (alias bombs)."""
    if event.anchor or event.tag:  # an alias has an anchor
        raise yaml.YAMLError("anchors, aliases and tags are not allowed")
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_value(item, events))
        return items
    if isinstance(event, yaml.MappingStartEvent):
        found = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise yaml.YAMLError("a key must be a text")
            found[_value(key, events)] = _value(next(events), events)
        return found
    return event.value


def yaml_problem(error: yaml.YAMLError, *, first_line: int = 1) -> str:
    """Return the line and what is wrong there; `first_line` is the number of the text's first line in its file."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        problem = _PLAINER.get(error.problem or "", error.problem)
        return f"line {error.problem_mark.line + first_line}: {problem}"
    return str(error).split("\n")[0]


def _parse_lines(text: str) -> dict[str, Any]:
    """Read lines of `key: rest`, which indented lines continue: this rescues nearly every broken head."""
    pairs: list[tuple[str, str]] = []
    for line in text.split("\n"):
        if match := _FIELD.match(line):
            pairs.append((match[1], _unquoted(match[2].strip())))
        elif pairs and line[:1].isspace():
            key, value = pairs[-1]
            pairs[-1] = key, f"{value} {line.strip()}".strip()
    return dict(pairs)


def _unquoted(value: str) -> str:
    if _BLOCK.fullmatch(value):  # what follows is the value
        return ""
    match = _QUOTED.fullmatch(value)
    return match[2] if match else value
