"""Reports of test runs: lines for a terminal, and JUnit's XML for builds. Pure."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from xml.etree import ElementTree as ET

from skill_tools.testing.tests_runner import Failure, Outcome, SkillTestResult

MAX_LINES = 40
"""The most lines of one side; the middle of a longer one is left out."""
_COLUMN = 56
_NOT_IN_XML = re.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_VERBS: dict[Outcome, str] = {"passed": "passed", "failed": "failed", "skipped": "skipped", "error": "could not be run"}


def render_results(results: Sequence[SkillTestResult], root: Path) -> str:
    """Return what did not pass and what was measured of a model. `root` is the folder of the skills."""
    reported = [result for result in results if result.outcome in ("failed", "error") or result.notes]
    return "\n\n".join(
        "\n".join([_head(result, root), *(f"  {line}" for line in _details(result))]) for result in reported
    )


def render_summary(results: Sequence[SkillTestResult], duration_s: float) -> str:
    """Return the last line: how many of each, and why some were skipped."""
    counts = Counter(result.outcome for result in results)
    parts = [f"{count} {_VERBS[outcome]}" for outcome in _VERBS if (count := counts[outcome])]
    reasons = dict.fromkeys(result.message for result in results if result.outcome == "skipped")
    why = f" (skipped: {'; '.join(reasons)})" if reasons else ""
    return f"{counted(len(results), 'test')}: {', '.join(parts) or 'none'}, {duration_s:.2f} s{why}"


def failure_lines(failure: Failure) -> list[str]:
    """Return both sides of a failure beside each other, then the reasons."""
    was, expected = (_side(lines or ("(nothing)",)) for lines in (failure.was, failure.expected))
    rows = zip_longest(["was", *was], ["expected", *expected], fillvalue="")
    return [failure.title, *(f"  {left:<{_COLUMN}}  {right}".rstrip() for left, right in rows), *failure.reasons]


def narrow_lines(failure: Failure) -> list[str]:
    """Return the same for a narrow place: one side below the other, and reasons first."""
    sides = (("expected:", failure.expected), ("was:", failure.was))
    below = [
        line for title, lines in sides for line in (title, *(f"  {line}" for line in _cut(lines or ("(nothing)",))))
    ]
    return [f"{failure.title}:", *failure.reasons, *below]


def junit_xml(results: Sequence[SkillTestResult]) -> bytes:
    """Return the results in the form that build servers read: one suite for each file of tests."""
    root = ET.Element("testsuites")
    for (skill, file), group in groupby(results, key=lambda result: (result.test.skill, result.test.file)):
        of_file = list(group)
        counts = Counter(result.outcome for result in of_file)
        suite = ET.SubElement(root, "testsuite", name=f"{skill}/{file}", tests=str(len(of_file)))
        suite.attrib |= {"failures": str(counts["failed"]), "errors": str(counts["error"])}
        suite.attrib |= {"skipped": str(counts["skipped"]), "time": f"{sum(r.duration_s for r in of_file):.3f}"}
        for result in of_file:
            _add_test(suite, result)
    ET.indent(root)
    xml: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"


def _add_test(suite: ET.Element, result: SkillTestResult) -> None:
    attributes = {"classname": result.test.skill, "name": _xml_text(result.test.name), "file": result.test.file}
    test = ET.SubElement(suite, "testcase", attributes, time=f"{result.duration_s:.3f}", line=str(result.test.line))
    if result.outcome == "failed":
        titles = ", ".join(failure.title for failure in result.failures)
        ET.SubElement(test, "failure", message=titles).text = _xml_text("\n".join(_details(result)))
    elif result.outcome != "passed":
        tag = "skipped" if result.outcome == "skipped" else "error"
        ET.SubElement(test, tag, message=_xml_text(result.message))


def _xml_text(text: str) -> str:
    """Leave out what XML cannot hold."""
    return _NOT_IN_XML.sub("", text)


def _head(result: SkillTestResult, root: Path) -> str:
    test, verb = result.test, _VERBS[result.outcome]
    return f"{root / test.skill / test.file}:{test.line}: {verb}: {test.name}"


def _details(result: SkillTestResult) -> list[str]:
    lines = [line for failure in result.failures for line in failure_lines(failure)]
    return [*lines, *([result.message] if result.message else []), *result.notes]


def _side(lines: Sequence[str]) -> list[str]:
    return _cut([part for line in lines for part in _wrapped(line)])


def _cut(lines: Sequence[str]) -> list[str]:
    if len(lines) <= MAX_LINES:
        return list(lines)
    half = MAX_LINES // 2
    return [*lines[:half], f"… ({len(lines) - 2 * half} lines)", *lines[-half:]]


def _wrapped(line: str) -> Iterator[str]:
    for part in line.splitlines() or [""]:
        yield from textwrap.wrap(part, _COLUMN, subsequent_indent="    ", drop_whitespace=False) or [""]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
