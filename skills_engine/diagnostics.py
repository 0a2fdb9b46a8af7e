"""Diagnostics: defects of a skill, worded so that its author can act on them."""

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]


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

    def _add(self, severity: Severity, path: str, message: str) -> None:
        self.found.append(Diagnostic(severity, self.skill, self.file, path, message))


def has_errors(diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> bool:
    return any(diagnostic.severity == "error" for diagnostic in diagnostics)
