"""Diagnostics: defects of a skill, worded so that its author can act on them."""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, get_args

Severity = Literal["error", "warning", "info"]
MAX_DIAGNOSTICS = 100
"""Limit for the diagnostics of one file."""
MAX_NAMED = 20
"""Limit for the names in one message."""

_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Letters, marks and unassigned characters that take no room; Python does not know Unicode's Default_Ignorable."""


@dataclass(frozen=True)
class Diagnostic:
    """`file` is relative to the skill's folder, `path` a JSON path or "" for the whole file."""

    severity: Severity
    skill: str
    file: str
    path: str
    message: str

    def __str__(self) -> str:
        file = "/".join(part for part in (self.skill, self.file) if part)
        return f"{self.severity}: {' '.join(part for part in (file, self.path) if part)}: {self.message}"


@dataclass
class Report:
    skill: str
    file: str
    found: list[Diagnostic] = field(default_factory=list)

    def error(self, path: str, message: str) -> None:
        self._add("error", path, message)

    def warning(self, path: str, message: str) -> None:
        self._add("warning", path, message)

    def info(self, path: str, message: str) -> None:
        self._add("info", path, message)

    @property
    def errors(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.found if diagnostic.severity == "error"]

    @property
    def first(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that one file may have; the last one counts the rest, and is as severe as the worst of it."""
        if len(self.found) <= MAX_DIAGNOSTICS:
            return tuple(self.found)
        rest = self.found[MAX_DIAGNOSTICS - 1 :]
        worst = min((one.severity for one in rest), key=get_args(Severity).index)
        more = Diagnostic(worst, self.skill, self.file, "", f"and {len(rest)} more")
        return (*self.found[: MAX_DIAGNOSTICS - 1], more)

    def _add(self, severity: Severity, path: str, message: str) -> None:
        self.found.append(Diagnostic(severity, self.skill, self.file, _as_unicode(path), _as_unicode(message)))


def _as_unicode(text: str) -> str:
    """Replace halves of surrogate pairs by their escapes: they can be neither printed nor sent."""
    return text.encode(errors="backslashreplace").decode()


def is_invisible(char: str) -> bool:
    """Return whether a character commands a terminal, turns the text around it, or is not seen; a space is none."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or _BLANK.match(char) is not None


def visible_text(text: str, *, keep: str = "\n\t") -> str:
    """Return text from elsewhere with invisible characters escaped, but those of `keep`."""
    return "".join(
        char.encode("unicode_escape").decode() if is_invisible(char) and char not in keep else char for char in text
    )


def without_invisible(text: str) -> str:
    """Return the text without invisible characters, but line ends and tabs."""
    return "".join(char for char in text if char in "\n\t\u2028\u2029" or not is_invisible(char))


def has_errors(diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> bool:
    return any(diagnostic.severity == "error" for diagnostic in diagnostics)


def quoted(value: object) -> str:
    """Return the value as JSON, cut to what a message has room for."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # brackets that could be read, but not much deeper than here
        return "too many brackets"
    return text if len(text) <= 80 else text[:79] + "…"


def named(names: Sequence[str]) -> str:
    """Return the first names as a list, and the number of the others."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def did_you_mean(value: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the end of a message that names the closest of `known`; "" if `value` is one of them or like none."""
    close = get_close_matches(value, known, cutoff=cutoff) if isinstance(value, str) else []
    return f" (did you mean {close[0]}?)" if close and close[0] != value else ""


@dataclass(frozen=True)
class FailedTest:
    """One test that failed, or could not be run, with what it says for itself."""

    name: str
    file: str
    line: int
    details: str


@dataclass(frozen=True)
class SkillTestReport:
    """Outcome of the scripted tests of one skill."""

    count: int = 0
    failed: int = 0
    not_run: int = 0
    """Tests that were left out, since the time was over."""
    failures: tuple[FailedTest, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Mistakes in the files of tests."""
