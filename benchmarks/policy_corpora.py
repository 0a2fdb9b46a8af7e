"""How well the policy recognises dangerous calls and secrets: recall, precision and false alarms on the corpora.

A full run prints every miss of the sets that may be read, `--quick` only totals. Lines of the
held-out sets and of ordinary days are never printed.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Literal

from benchmarks.figures import Figure
from server.toolguard.danger.judge import judge_call
from server.toolguard.redaction.redact import redactor

CORPORA = Path(__file__).parent.parent / "tests" / "corpora"
READABLE = {"shaping", "plain", "third"}
"""Sets whose misses are printed. Whoever reads a line of the others has spent it as a measure."""
_Z = 1.96  # of the normal distribution, for 95 %
_LEAK_CHARS = 12
"""A run of so many characters of a secret that is still there is a miss."""

Line = dict[str, Any]
Kind = Literal["calls", "secrets"]
FILES: dict[Kind, tuple[str, str]] = {
    "calls": ("dangerous_calls", "harmless_calls"),
    "secrets": ("secrets", "harmless_texts"),
}


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The shares that a set has to reach; None: measured only."""

    folder: str
    kind: Kind
    recall: float | None = None
    precision: float | None = None
    false_alarms: float | None = None
    """The largest share of harmless lines that may be asked about or masked."""


GATES = (
    Gate(folder="shaping", kind="calls"),
    Gate(folder="plain", kind="calls", recall=129 / 132, precision=0.93, false_alarms=0.05),
    Gate(folder="third", kind="calls"),
    Gate(folder="held_out/first", kind="calls", recall=0.85, precision=0.93),
    Gate(folder="held_out/second", kind="calls", recall=0.84, precision=0.93),
    Gate(folder="ordinary", kind="calls", recall=0.93, precision=0.93, false_alarms=0.05),
    Gate(folder="shaping", kind="secrets"),
    Gate(folder="third", kind="secrets"),
    Gate(folder="held_out/first", kind="secrets", recall=0.85, precision=0.93),
    Gate(folder="held_out/second", kind="secrets", recall=0.76, precision=0.93),
    Gate(folder="ordinary", kind="secrets", recall=0.93, precision=0.93, false_alarms=0.05),
)


@dataclass(frozen=True)
class Score:
    """The lines of one set that were judged wrongly, and how many there are in all."""

    missed: list[Line]
    false: list[Line]
    guarded_count: int
    harmless_count: int

    @property
    def found_count(self) -> int:
        return self.guarded_count - len(self.missed)


async def measure(*, is_quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    for gate in GATES:
        result = score(gate)
        if gate.folder in READABLE and not is_quick:
            _print_misses(f"{gate.folder}, {gate.kind}", result)
        figures += figures_of(gate, result)
        if gate.kind == "calls":
            recall, _, false_alarms = figures_of(
                Gate(folder=f"{gate.folder}, unknown asks", kind=gate.kind), score(gate, is_unknown_asked=True)
            )
            figures += [recall, false_alarms]
    return figures


def score(gate: Gate, *, is_unknown_asked: bool = False) -> Score:
    """Judge every line of the set; `is_unknown_asked`: as with `dangerous_confirmation.unknown: ask`."""
    guarded, harmless = (read_lines(gate.folder, corpus) for corpus in FILES[gate.kind])
    if gate.kind == "secrets":
        missed = [line for line in guarded if not _is_redacted(line)]
        false = [line for line in harmless if _redacted(line) != _content(line)]
    else:
        asked = {"dangerous", "unknown"} if is_unknown_asked else {"dangerous"}
        missed = [line for line in guarded if judged(line) not in asked]
        false = [line for line in harmless if judged(line) in asked]
    return Score(missed, false, len(guarded), len(harmless))


def figures_of(gate: Gate, result: Score) -> Iterator[Figure]:
    """Recall, precision and false alarms, each beside its gate."""
    name, found, false = f"{gate.kind}, {gate.folder}", result.found_count, len(result.false)
    yield _figure(f"{name}: recall", found, result.guarded_count, at_least=gate.recall)
    yield _figure(f"{name}: precision", found, found + false, at_least=gate.precision)
    yield _figure(f"{name}: false alarms", false, result.harmless_count, at_most=gate.false_alarms)


def judged(line: Line) -> str:
    """Return the level of danger; all that this file knows of the judge's interface."""
    return judge_call(line["tool"], line["permission"], line["arguments"]).level


def read_lines(folder: str, corpus: str) -> list[Line]:
    text = (CORPORA / folder / f"{corpus}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def _figure(name: str, part: int, whole: int, *, at_least: float | None = None, at_most: float | None = None) -> Figure:
    low, high = _wilson(part, whole)
    share = part / whole if whole else 0.0
    goal, is_met = "", None
    if at_least is not None:
        goal, is_met = f"≥ {at_least:.3g}", share >= at_least
    if at_most is not None:
        goal, is_met = f"≤ {at_most:g}", share <= at_most
    return Figure(
        name=f"{name} {part}/{whole} (95 %: {low:.3f}-{high:.3f})",
        unit="",
        count=whole,
        p50=share,
        p95=low,
        largest=high,
        goal=goal,
        is_met=is_met,
    )


def _wilson(part: int, whole: int) -> tuple[float, float]:
    """The interval in which the share lies with 95 %, also near 0 and 1."""
    if whole == 0:
        return 0.0, 1.0
    share = part / whole
    middle = share + _Z * _Z / (2 * whole)
    spread = _Z * sqrt(share * (1 - share) / whole + _Z * _Z / (4 * whole * whole))
    scale = 1 + _Z * _Z / whole
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def _is_redacted(line: Line) -> bool:
    """Every secret of the line is gone, and no long piece of one is left that stood nowhere else."""
    left = list(_strings(_redacted(line)))
    beside = " ".join(_strings(_content(line)))
    for secret in line["secrets"]:
        beside = beside.replace(secret, "\0")
    return not any(_leaks(secret, text, beside) for secret in line["secrets"] for text in left)


def _redacted(line: Line) -> Any:
    content = _content(line)
    return redactor(None).redact_result(content)[0] if isinstance(content, str) else redactor(None).redact(content)[0]


def _content(line: Line) -> Any:
    return line["text"] if "text" in line else line["value"]


def _leaks(secret: str, text: str, beside: str) -> bool:
    if secret in text:
        return True
    pieces = (secret[at : at + _LEAK_CHARS] for at in range(len(secret) - _LEAK_CHARS + 1))
    return any(piece in text and piece not in beside for piece in pieces)


def _strings(value: Any) -> Iterator[str]:
    """Every string of a JSON structure, keys included."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for key, item in value.items():
                yield key
                yield from _strings(item)


def _print_misses(name: str, result: Score) -> None:
    print(f"\n{name}: {len(result.missed)} missed, {len(result.false)} false", file=sys.stderr)
    for label, lines in (("missed", result.missed), ("false", result.false)):
        for line in lines:
            content = line.get("arguments", line.get("text", line.get("value")))
            excerpt = json.dumps(content, ensure_ascii=False)[:160]
            print(f"  {label:6} {line['id']} {line.get('tool', line.get('kind', ''))} {excerpt}", file=sys.stderr)
