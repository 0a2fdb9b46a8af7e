"""How well the ears tell speech from everything else: the table of docs/turn-taking.md.

    python -m benchmarks.turn_taking [--size 24]

Judges generated clips with the real model and the real state machine, without a
server and without waiting: a minute of sound takes a few milliseconds.
"""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from server.speech.audio import SPEECH_RATE, WINDOW, brightness, level_dbfs
from server.speech.turn_taking import Edge, TurnTaking, TurnTakingConfig
from server.speech.vad import CONTEXT, FLOOR_DBFS, SileroModel, new_state
from tests.support.speech_corpus import Clip, corpus

LATE_MS: Final = 350
"""A start later than this behind the first sound cost the client its reaction."""


@dataclass
class Outcome:
    """What became of the clips of one kind. Times in ms."""

    clips: int = 0
    missed: int = 0
    late: int = 0
    false_starts: int = 0
    false_cuts: int = 0
    pauses_only: int = 0
    """Detected and rejected: playback paused for a moment."""
    detected_ms: list[float] = field(default_factory=list)
    started_ms: list[float] = field(default_factory=list)
    stopped_ms: list[float] = field(default_factory=list)
    decision_ms: list[float] = field(default_factory=list)
    """From detected to started or rejected."""


def measure(clips: Sequence[Clip], config: TurnTakingConfig | None = None) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = defaultdict(Outcome)
    for clip, edges in zip(clips, _all_edges(clips, config or TurnTakingConfig()), strict=True):
        _count(outcomes[clip.kind], clip, edges)
    return dict(outcomes)


def table(outcomes: dict[str, Outcome]) -> str:
    head = (
        "",
        "clips",
        "missed",
        "late",
        "false starts",
        "false cuts",
        "only paused",
        "detected",
        "started",
        "stopped",
    )
    rows = [head, *(_row(kind, outcome) for kind, outcome in outcomes.items())]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "| --- " + "| ---: " * (len(head) - 1) + "|", *lines[1:]])


def _row(kind: str, outcome: Outcome) -> tuple[str, ...]:
    counts = (outcome.missed, outcome.late, outcome.false_starts, outcome.false_cuts, outcome.pauses_only)
    times = (outcome.detected_ms, outcome.started_ms, outcome.stopped_ms)
    return (kind, str(outcome.clips), *map(str, counts), *map(_times, times))


def _times(values: Sequence[float]) -> str:
    if not values:
        return ""
    ordered = sorted(values)
    return f"{statistics.median(ordered):.0f} / {ordered[int(0.95 * (len(ordered) - 1))]:.0f}"


def _count(outcome: Outcome, clip: Clip, edges: Sequence[tuple[Edge, float]]) -> None:
    outcome.clips += 1
    at = defaultdict(list)
    for edge, ms in edges:
        at[edge].append(ms)
    outcome.pauses_only += bool(at[Edge.REJECTED]) and not at[Edge.STARTED]
    decided = sorted(at[Edge.STARTED] + at[Edge.REJECTED])
    outcome.decision_ms += [after - before for before, after in zip(at[Edge.DETECTED], decided, strict=False)]
    if clip.speech_s is None:
        outcome.false_starts += len(at[Edge.STARTED])
        return
    begin_ms, end_ms = clip.speech_s[0] * 1000, clip.speech_s[1] * 1000
    starts = [ms for ms in at[Edge.STARTED] if ms > begin_ms]
    outcome.false_starts += len(at[Edge.STARTED]) - len(starts)
    if not starts:
        outcome.missed += 1
        return
    # While a turn runs the decision takes longer on purpose; late is what comes late for its kind.
    outcome.late += starts[0] - begin_ms > LATE_MS + (300 if clip.is_during_turn else 0)
    outcome.false_cuts += len(starts) - 1
    outcome.detected_ms.append(max(ms for ms in at[Edge.DETECTED] if ms <= starts[0]) - begin_ms)
    outcome.started_ms.append(starts[0] - begin_ms)
    outcome.stopped_ms += [ms - end_ms for ms in at[Edge.STOPPED][-1:]]


def _all_edges(clips: Sequence[Clip], config: TurnTakingConfig) -> Iterable[list[tuple[Edge, float]]]:
    for clip, probabilities in zip(clips, _probabilities(clips), strict=True):
        turns = TurnTaking(config)
        turns.turn(is_running=clip.is_during_turn)
        edges: list[tuple[Edge, float]] = []
        for index, probability in enumerate(probabilities):
            at_s = index * WINDOW / SPEECH_RATE
            turns.playback(is_speaking=clip.playback_s is not None and at_s >= clip.playback_s)
            window = clip.sound[index * WINDOW : (index + 1) * WINDOW]
            edge = turns.feed(float(probability), float(level_dbfs(window)), float(brightness(window)))
            if edge is not None:
                edges.append((edge, (index + 1) * WINDOW * 1000 / SPEECH_RATE))
        yield edges


def _probabilities(clips: Sequence[Clip]) -> list[list[float]]:
    """All clips side by side, as the detector does it with its streams."""
    model = SileroModel.load()
    lengths = [clip.sound.size // WINDOW for clip in clips]
    sound = np.zeros((len(clips), CONTEXT + max(lengths) * WINDOW), dtype=np.float32)
    for row, clip, length in zip(sound, clips, lengths, strict=True):
        row[CONTEXT : CONTEXT + length * WINDOW] = clip.sound[: length * WINDOW]
    states = np.stack([new_state() for _ in clips], axis=1)
    found: list[list[float]] = [[] for _ in clips]
    for index in range(max(lengths)):
        windows = sound[:, index * WINDOW : index * WINDOW + CONTEXT + WINDOW]
        judged, states = model.judge(np.ascontiguousarray(windows), states)
        for at, length in enumerate(lengths):
            if index < length:
                is_heard = level_dbfs(windows[at, CONTEXT:]) > FLOOR_DBFS
                found[at].append(float(judged[at]) if is_heard else 0.0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_taking", description=__doc__)
    parser.add_argument("--size", type=int, default=24, help="clips of each kind")
    print(table(measure(corpus(size=parser.parse_args().size))))
    print("\nTimes in ms, median / p95: after the first sound (detected, started), after the last (stopped).")


if __name__ == "__main__":
    main()
