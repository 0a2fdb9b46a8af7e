"""Prints a trial for people, and as JSON for programs."""

import json
from collections.abc import Mapping
from typing import Any, Final, TextIO

from hook_tools.trial import Plan, Step, Trial
from server.hooks.process.process_settings import hello_modes

_COLOURS: Final = {"ok": "32", "hint": "33", "PROBLEM": "31;1"}
_WIDTH: Final = 46


class Printer:
    """Prints steps as they come. On a terminal also the one that is under way, and colours, unless NO_COLOR is set."""

    def __init__(self, out: TextIO, environ: Mapping[str, str]) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._has_colours = self._is_terminal and not environ.get("NO_COLOR")

    def begin(self, plan: Plan) -> None:
        command = " ".join(" ".join(plan.hook.command).split())
        self._print(f"{plan.name}: {command}  (modes: {', '.join(hello_modes(plan.hook))})")

    def announce(self, step: Step) -> None:
        if self._is_terminal:
            self._out.write(f"  …        {step.title}")
            self._out.flush()

    def step(self, step: Step) -> None:
        if self._is_terminal:
            self._out.write("\r\x1b[K")  # over its announcement
        word = "PROBLEM" if step.has_problem else "hint" if step.findings or step.again else "ok"
        ms = "" if step.ms is None else f"{step.ms:.0f} ms"
        self._print(
            f"  {self._coloured(word, word.ljust(7))}  {step.title.ljust(_WIDTH)} {ms:>8}  {step.outcome}".rstrip()
        )
        for finding in step.findings:
            self._print(f"           - {'' if finding.level == 'problem' else 'hint: '}{finding.text}")
        if step.again:
            self._print(f"           - as before: {_count(len(step.again), 'remark')}")

    def end(self, trial: Trial) -> None:
        for stage, (median_ms, slowest_ms, limit_ms) in trial.summary().items():
            self._print(f"{stage}: median {median_ms:.1f} ms, slowest {slowest_ms:.1f} ms of {limit_ms:.0f} ms")
        hints = f", {_count(trial.hints, 'hint')}" if trial.hints else ""
        if trial.problems:
            self._print(self._coloured("PROBLEM", _count(trial.problems, "problem") + hints))
        else:
            self._print(self._coloured("ok", f"no problems{hints}"))

    def _coloured(self, word: str, text: str) -> str:
        return f"\x1b[{_COLOURS[word]}m{text}\x1b[0m" if self._has_colours else text

    def _print(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


def as_json(plan: Plan, trial: Trial) -> str:
    document: dict[str, Any] = {
        "name": plan.name,
        "command": plan.hook.command,
        "problems": trial.problems,
        "hints": trial.hints,
        "steps": [
            {
                "title": step.title,
                "outcome": step.outcome,
                "ms": None if step.ms is None else round(step.ms, 2),
                "faults": [{"level": finding.level, "text": finding.text} for finding in (*step.findings, *step.again)],
            }
            for step in trial.steps
        ],
        "stages": {
            stage: {"median_ms": round(median_ms, 2), "slowest_ms": round(slowest_ms, 2), "limit_ms": limit_ms}
            for stage, (median_ms, slowest_ms, limit_ms) in trial.summary().items()
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
