"""What was measured: medians with p95, beside the goal where there is one."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Figure:
    name: str
    unit: str
    count: int
    p50: float
    p95: float
    largest: float
    goal: str = ""
    is_met: bool | None = None


def figure(
    name: str, unit: str, samples: Sequence[float], *, goal_p50: float | None = None, goal_p95: float | None = None
) -> Figure:
    """Sum up `samples`; at most one of the goals."""
    ordered = sorted(samples)
    if not ordered:
        raise ValueError(f"{name}: nothing was measured")
    p50 = statistics.median(ordered)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    goal, is_met = "", None
    if goal_p50 is not None:
        goal, is_met = f"p50 ≤ {goal_p50:g}", p50 <= goal_p50
    if goal_p95 is not None:
        goal, is_met = f"p95 ≤ {goal_p95:g}", p95 <= goal_p95
    return Figure(
        name=name, unit=unit, count=len(ordered), p50=p50, p95=p95, largest=ordered[-1], goal=goal, is_met=is_met
    )


def table(figures: Sequence[Figure]) -> str:
    """Readable, one line a figure."""
    head = ("", "unit", "n", "p50", "p95", "max", "goal", "")
    rows = [head] + [
        (
            f.name,
            f.unit,
            str(f.count),
            _number(f.p50),
            _number(f.p95),
            _number(f.largest),
            f.goal,
            {True: "met", False: "MISSED", None: ""}[f.is_met],
        )
        for f in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if 2 <= at <= 5 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    return [asdict(f) for f in figures]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
