"""A process hook without a process, and what a pipeline over it needs."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from server import config
from server.approval.asking import Answer, Question
from server.hooks.layers import TurnLayers
from server.hooks.pipeline import HookEvents, HookPipeline
from server.hooks.process.process_hook import ProcessHook
from server.hooks.stages import Hook, HookCallFailed, Stage
from server.tools.tool_calls import TurnFacts

FACTS = TurnFacts(session_id="s1", turn_id="t1", user_id="ann", conversation="c1", user_message="What time is it?")

Reply = Mapping[str, Any] | Exception | Callable[[dict[str, Any]], Mapping[str, Any]]


def failed(text: str = "broken") -> HookCallFailed:
    return HookCallFailed("failed", text)


def timed_out() -> HookCallFailed:
    return HookCallFailed("timed_out", "too slow")


def down() -> HookCallFailed:
    return HookCallFailed("down", "not running")


class FakeHook(ProcessHook):
    """Answers by method; keeps what it was sent. A stage without an answer gets `{}`."""

    def __init__(
        self,
        name: str = "hook",
        answers: Mapping[str, Reply] | None = None,
        settings: config.ProcessHookSettings | None = None,
    ) -> None:
        super().__init__(name, settings or config.ProcessHookSettings(), {})
        self.answers = answers or {}
        self.asked: list[tuple[str, dict[str, Any], float]] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.warnings: list[str] = []

    async def request(self, method: str, params: Mapping[str, Any], *, limit_s: float) -> Mapping[str, Any]:
        self.asked.append((method, copy.deepcopy(dict(params)), limit_s))
        answer = self.answers.get(method.removeprefix("hook."), {})
        if isinstance(answer, Exception):
            raise answer
        return answer(copy.deepcopy(dict(params))) if callable(answer) else answer

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.told.append((method, dict(params)))

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def params(self, stage: Stage, number: int = 0) -> dict[str, Any]:
        """What it was sent when it was asked at this stage as number `number`."""
        return [params for method, params, _ in self.asked if method == f"hook.{stage}"][number]


def hook(name: str = "hook", *, priority: int = 0, **answers: Reply) -> FakeHook:
    """Asked at the stages that it has an answer for."""
    return guarded(name, "open", priority, answers)


def guard(name: str = "guard", *, priority: int = 0, **answers: Reply) -> FakeHook:
    """The same, and closed: where it fails, the call is denied."""
    return guarded(name, "closed", priority, answers)


def at(stage: str, reply: Reply, name: str = "hook") -> FakeHook:
    """A hook of one stage."""
    return guarded(name, "open", 0, {stage: reply})


def guard_at(stage: str, reply: Reply) -> FakeHook:
    return guarded("guard", "closed", 0, {stage: reply})


def guarded(name: str, on_error: Any, priority: int, answers: Mapping[str, Reply]) -> FakeHook:
    settings = config.ProcessHookSettings(enabled=True, priority=priority, intercept=list(answers), on_error=on_error)
    return FakeHook(name, answers, settings)


def pipeline_of(*hooks: Hook, **more: Any) -> HookPipeline:
    return HookPipeline(hooks, FACTS, events=HookEvents(hooks, FACTS), **more)


def layers_of(*hooks: Hook, **more: Any) -> TurnLayers:
    return TurnLayers(facts=FACTS, hooks=hooks, **more)


@dataclass
class FakeHuman:
    """Gives these answers in turn; the last one again and again."""

    answers: list[Answer]
    questions: list[Question] = field(default_factory=list)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answers[min(len(self.questions), len(self.answers)) - 1]
