"""`tests/*.yaml` of a skill → tests that can run, or every mistake with its line and what to write instead."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from server.wire.schema_hints import problem_and_path, wrong_key
from skill_tools.testing.tests_format import CHOICES, DICTS, STRUCTS, SkillTestSpec, TurnSpec, check_test, with_shared
from skills_engine.bounded_yaml import Place, YamlDocument, YamlError, path_of, read_yaml
from skills_engine.diagnostics import Diagnostic, Report, did_you_mean, quoted
from skills_engine.files import UnreadableError, read_inside

TESTS_FOLDER = "tests"
MAX_FILES = 50
MAX_FILE_BYTES = 256 * 1024
MAX_TESTS = 500
"""The most tests that one file may hold."""
MAX_MISTAKES = 20
"""The most mistakes that are reported of one test."""

Mistake = Callable[[Place, str], None]
"""Reports a mistake at a place of a file."""


@dataclass(frozen=True)
class SkillTest:
    """One test, ready to run."""

    skill: str
    file: str
    line: int
    spec: SkillTestSpec

    @property
    def name(self) -> str:
        return self.spec.name or ""

    @property
    def turns(self) -> list[TurnSpec]:
        """The turns, with what the test says of all of them."""
        return [with_shared(turn, self.spec) for turn in self.spec.turns or [self.spec]]

    @property
    def history(self) -> list[dict[str, Any]]:
        """The messages before its first turn, as a client sends them."""
        return [
            {"role": "assistant" if one.user is None else "user", "content": one.user or one.assistant}
            for one in self.spec.history or ()
        ]


@dataclass(frozen=True)
class FoundTests:
    """The tests of one skill. Those with a mistake are left out and stand in `diagnostics`."""

    tests: tuple[SkillTest, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def read_tests(folder: Path) -> FoundTests:
    """Read the tests of the skill in `folder`. A skill without tests is fine."""
    tests: list[SkillTest] = []
    diagnostics: list[Diagnostic] = []
    for number, file in enumerate(_files(folder)):
        report = Report(folder.name, file)
        if number >= MAX_FILES:
            report.error("", f"is not read: a skill may have {MAX_FILES} files of tests")
        else:
            tests += _read_file(folder, file, report)
        diagnostics += report.first
    return FoundTests(tuple(tests), tuple(diagnostics))


def _files(folder: Path) -> list[str]:
    tests = folder / TESTS_FOLDER
    if not tests.is_dir():
        return []
    names = sorted(path.name for path in tests.iterdir() if path.suffix in (".yaml", ".yml"))
    return [f"{TESTS_FOLDER}/{name}" for name in names if not name.startswith(".")]


def _read_file(folder: Path, file: str, report: Report) -> list[SkillTest]:
    try:
        data = read_inside(folder, file, max_bytes=MAX_FILE_BYTES)
        return parse_tests(data.decode(), report)
    except UnreadableError as error:
        report.error("", str(error))
    except UnicodeDecodeError as error:
        report.error("", f"is not UTF-8 (byte {error.start})")
    return []


def parse_tests(text: str, report: Report) -> list[SkillTest]:
    """Read the text of one file; mistakes go into `report`."""
    try:
        document = read_yaml(text)
    except YamlError as error:
        report.error("", f"is not YAML that can be read: {error}")
        return []

    def mistake(place: Place, message: str) -> None:
        known = (place[:end] for end in range(len(place), -1, -1))
        line = next((document.lines[outer] for outer in known if outer in document.lines), 1)
        report.error(path_of(place), f"line {line}: {message}")

    by_index = {
        index: SkillTest(report.skill, report.file, document.lines["tests", index], spec)
        for index, entry in enumerate(_entries(document, mistake))
        if (spec := _read_entry(entry, ("tests", index), mistake)) is not None
    }
    return list(_linked(by_index, document, mistake))


def _entries(document: YamlDocument, mistake: Mistake) -> list[object]:
    value = document.value
    if not isinstance(value, dict) or not isinstance(value.get("tests"), list):
        mistake((), "expected `tests:` with a list of tests below it")
        return []
    for key in value:
        if key != "tests":
            mistake((key,), f"unknown key{did_you_mean(key, ['tests'])}; a file holds `tests:` alone")
    if len(value["tests"]) > MAX_TESTS:
        mistake(("tests", MAX_TESTS), f"a file may hold {MAX_TESTS} tests: move the rest into another file")
    entries: list[object] = value["tests"][:MAX_TESTS]
    return entries


def _read_entry(entry: object, at: Place, mistake: Mistake) -> SkillTestSpec | None:
    """Return the test, or None once its mistakes are reported: each one that is found is taken out to find the next."""
    mistakes: list[tuple[Place, str]] = []
    spec = None
    while spec is None and len(mistakes) < MAX_MISTAKES:
        try:
            spec = msgspec.convert(entry, SkillTestSpec)
        except msgspec.ValidationError as error:
            mistakes.append(_explain(str(error), entry))
            if not _take_out(entry, mistakes[-1][0]):
                break
    if spec is not None and not mistakes:
        mistakes += check_test(spec)
    for place, message in mistakes:
        mistake((*at, *place), message)
    return None if mistakes else spec


def _linked(tests: dict[int, SkillTest], document: YamlDocument, mistake: Mistake) -> Iterator[SkillTest]:
    """Leave out what has the name of another test, and what does not find the test that it names in `after`."""
    by_name: dict[str, SkillTest] = {}
    for index, test in tests.items():
        if test.name in by_name:
            first = by_name[test.name].line
            mistake(("tests", index, "name"), f"{quoted(test.name)} is already the name of the test in line {first}")
        else:
            by_name[test.name] = test
    for index, test in tests.items():
        if by_name[test.name] is test:
            if problem := _problem_of_after(test, by_name, document):
                mistake(("tests", index, "after"), problem)
            else:
                yield test


def _problem_of_after(test: SkillTest, by_name: dict[str, SkillTest], document: YamlDocument) -> str | None:
    after = test.spec.after
    seen = {test.name}
    while after in by_name:
        if after in seen:
            return f"{quoted(test.spec.after)} never begins: tests name each other in `after`"
        seen.add(after)
        if by_name[after].spec.ask is not None:
            return f"{quoted(after)} asks a model, so it has no end to start from"
        after = by_name[after].spec.after
    if after is None:
        return None
    is_written = any(isinstance(test, dict) and test.get("name") == after for test in document.value["tests"])
    if after == test.spec.after and not is_written:
        return f"no test of this file is called {quoted(after)}{did_you_mean(after, by_name)}"
    return f"the test {quoted(test.spec.after)} has mistakes itself"


_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.([^.\[]+)")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<key>.*)`$", re.DOTALL)
_EXPECTED = re.compile(r"^Expected `(?P<types>[^`]+)`(?P<limit>[^,]*)")
_NOUNS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "keys with values",
}


def _explain(message: str, entry: object) -> tuple[Place, str]:
    """Return the place and a better wording of msgspec's message."""
    problem, path = problem_and_path(message)
    place = _place_at(path, entry)
    value = _value_at(entry, place)
    if unknown := _UNKNOWN.match(problem):
        struct = STRUCTS[next((key for key in reversed(place) if isinstance(key, str)), "")]
        known = struct.__struct_encode_fields__
        hint = did_you_mean(unknown["key"], known) or f"; there are: {', '.join(known)}"
        return (*place, unknown["key"]), f"unknown key{hint}"
    if expected := _EXPECTED.match(problem):
        types = [kind.strip() for kind in expected["types"].split("|")]
        nouns = " or ".join(_NOUNS[kind] for kind in types if kind != "null")
        cure = ": put it in quotes" if "str" in types and isinstance(value, int | float) else ""
        return place, f"expected {nouns}{expected['limit']}; got {quoted(value)}{cure}"
    choices = CHOICES[next(key for key in reversed(place) if isinstance(key, str))]
    return place, f"expected {' or '.join(choices)}; got {quoted(value)}{did_you_mean(value, choices)}"


def _place_at(path: str, entry: object) -> Place:
    """Return the place that msgspec's path leads to, with the author's own keys, which the path does not name."""
    place: Place = ()
    for index, key in _STEP.findall(path):
        if index == "...":
            key = wrong_key(_value_at(entry, place), DICTS[place[-1]])
        place = (*place, key or int(index))
    return place


def _value_at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _take_out(entry: object, place: Place) -> bool:
    """Remove the value at the place, with the list that it is in; tell whether there is something left to read."""
    while place and isinstance(place[-1], int):
        place = place[:-1]
    if not place:
        return False
    if place[-2:-1] and place[-2] in DICTS and len(_value_at(entry, place[:-1])) == 1:
        place = place[:-1]  # emptied, it would be a mistake of its own
    del _value_at(entry, place[:-1])[place[-1]]
    return True
