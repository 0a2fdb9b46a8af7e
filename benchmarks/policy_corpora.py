"""How well the policy's rules tell dangerous calls and secrets: precision and recall on three sets of corpora.

The first two sets have halves: the rules were shaped on the first, and the goals
hold for the second. The third set is for practice as a whole. A full run prints
every miss; `--quick` prints totals only, so that the second halves can be measured
without being looked at.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from math import sqrt
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from server.policy.danger.judge import judge_call
from server.policy.redaction.redact import redact, redact_result

_CORPORA = Path(__file__).parent.parent / "tests" / "corpora"
FOLDER = _CORPORA / "policy"
SETS = {"first set": FOLDER, "second set": _CORPORA / "policy_two"}
THIRD = _CORPORA / "policy_three"
"""Without a held-out half."""
_Z = 1.96  # of the normal distribution, for 95 %
_LEAK_CHARS = 12
"""A run of so many characters of a secret that is still there is a miss."""

Line = dict[str, Any]


async def measure(*, is_quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    for label, folder in SETS.items():
        figures += _figures(
            f"dangerous calls, {label}",
            _lines("dangerous_calls", folder),
            _lines("harmless_calls", folder),
            _is_asked_about,
            goals=(0.95, 0.95),
            is_quick=is_quick,
        )
        figures += _figures(
            f"secrets, {label}",
            _lines("secrets", folder),
            _lines("harmless_texts", folder),
            _is_hit,
            goals=(0.95, 0.97),
            is_quick=is_quick,
        )
    calls = _lines("dangerous_calls", THIRD), _lines("harmless_calls", THIRD)
    figures += _part("dangerous calls, third set, practice", *calls, _is_asked_about, goals=None, is_quick=is_quick)
    texts = _lines("secrets", THIRD), _lines("harmless_texts", THIRD)
    figures += _part("secrets, third set, practice", *texts, _is_hit, goals=None, is_quick=is_quick)
    return figures


def _figures(
    name: str,
    bad: list[Line],
    good: list[Line],
    hits: Callable[[Line], bool],
    *,
    goals: tuple[float, float],
    is_quick: bool,
) -> Iterator[Figure]:
    for half, is_shaping in (("shaping half", True), ("held-out half", False)):
        wanted = [line for line in bad if _is_shaping(line) is is_shaping]
        others = [line for line in good if _is_shaping(line) is is_shaping]
        own_goals = None if is_shaping else goals
        yield from _part(f"{name}, {half}", wanted, others, hits, goals=own_goals, is_quick=is_quick)


def _part(
    name: str,
    bad: list[Line],
    good: list[Line],
    hits: Callable[[Line], bool],
    *,
    goals: tuple[float, float] | None,
    is_quick: bool,
) -> Iterator[Figure]:
    missed = [line for line in bad if not hits(line)]
    wrong = [line for line in good if _is_false(line, hits)]
    if not is_quick:
        _print_misses(name, missed, wrong)
    found = len(bad) - len(missed)
    recall_goal, precision_goal = goals or (None, None)
    yield _share(f"{name}: recall", found, len(bad), recall_goal)
    yield _share(f"{name}: precision", found, found + len(wrong), precision_goal)


def _share(name: str, part: int, whole: int, goal: float | None) -> Figure:
    low, high = wilson(part, whole)
    share = part / whole if whole else 0.0
    return Figure(
        name=f"{name} {part}/{whole} (95 %: {low:.3f}-{high:.3f})",
        unit="",
        count=whole,
        p50=share,
        p95=low,
        largest=high,
        goal="" if goal is None else f"≥ {goal:g}",
        is_met=None if goal is None else share >= goal,
    )


def wilson(part: int, whole: int) -> tuple[float, float]:
    """The interval in which the share lies with 95 %, also near 0 and 1."""
    if whole == 0:
        return 0.0, 1.0
    share = part / whole
    middle = share + _Z * _Z / (2 * whole)
    spread = _Z * sqrt(share * (1 - share) / whole + _Z * _Z / (4 * whole * whole))
    scale = 1 + _Z * _Z / whole
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def _is_asked_about(line: Line) -> bool:
    return judge_call(line["tool"], line["permission"], line["arguments"]).level == "dangerous"


def _is_hit(line: Line) -> bool:
    """Every secret of the line is gone, and no long piece of one is left that stood nowhere else."""
    left = list(_strings(_clean(line)))
    beside = " ".join(_strings(_content(line)))
    for secret in line["secrets"]:
        beside = beside.replace(secret, "\0")
    return not any(_leaks(secret, text, beside) for secret in line["secrets"] for text in left)


def _is_false(line: Line, hits: Callable[[Line], bool]) -> bool:
    if "tool" in line:
        return hits(line)
    return bool(_clean(line) != _content(line))


def _clean(line: Line) -> Any:
    content = _content(line)
    return redact_result(content)[0] if isinstance(content, str) else redact(content)[0]


def _content(line: Line) -> Any:
    return line["text"] if "text" in line else line["value"]


def _leaks(secret: str, text: str, beside: str) -> bool:
    if secret in text:
        return True
    pieces = (secret[at : at + _LEAK_CHARS] for at in range(len(secret) - _LEAK_CHARS + 1))
    return any(piece in text and piece not in beside for piece in pieces)


def _strings(value: Any) -> Iterator[str]:
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


def _lines(corpus: str, folder: Path = FOLDER) -> list[Line]:
    text = (folder / f"{corpus}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def _is_shaping(line: Line) -> bool:
    return int(hashlib.sha256(line["id"].encode()).hexdigest()[0], 16) % 2 == 0


def _print_misses(name: str, missed: list[Line], wrong: list[Line]) -> None:
    kinds = Counter(line.get("kind", "") for line in missed)
    print(f"\n{name}: {len(missed)} missed {dict(kinds) if any(kinds) else ''}", file=sys.stderr)
    for label, lines in (("missed", missed), ("false", wrong)):
        for line in lines:
            content = line.get("arguments", line.get("text", line.get("value")))
            told = json.dumps(content, ensure_ascii=False)[:160]
            print(f"  {label:6} {line['id']} {line.get('tool', line.get('kind', ''))} {told}", file=sys.stderr)
