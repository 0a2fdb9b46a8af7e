"""A process hook without a process, and what a pipeline over it needs."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from server import config
from server.approval.asking import Answer, Question
from server.hooks.channel import HookCallFailed, Stage
from server.hooks.interception.events import Events
from server.hooks.interception.members import Member, ProcessMember
from server.hooks.interception.pipeline import HookPipeline
from server.hooks.layers import TurnLayers
from server.tool_calls import TurnFacts

FACTS = TurnFacts(session_id="s1", turn_id="t1", user_id="ann", conversation="c1", user_message="What time is it?")

Reply = Mapping[str, Any] | Exception | Callable[[dict[str, Any]], Mapping[str, Any]]


def failed(text: str = "broken") -> HookCallFailed:
    return HookCallFailed("failed", text)


def timed_out() -> HookCallFailed:
    return HookCallFailed("timed_out", "too slow")


def down() -> HookCallFailed:
    return HookCallFailed("down", "not running")


@dataclass
class FakeChannel:
    """Answers by method; keeps what it was sent. A stage without an answer gets `{}`."""

    name: str = "hook"
    answers: Mapping[str, Reply] = field(default_factory=dict)
    settings: config.ProcessHookSettings = field(default_factory=config.ProcessHookSettings)
    asked: list[tuple[str, dict[str, Any], float]] = field(default_factory=list)
    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

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


def hook(name: str = "hook", *, priority: int = 0, **answers: Reply) -> FakeChannel:
    """Asked at the stages that it has an answer for."""
    return guarded(name, "open", priority, answers)


def guard(name: str = "guard", *, priority: int = 0, **answers: Reply) -> FakeChannel:
    """The same, and closed: where it fails, the call is denied."""
    return guarded(name, "closed", priority, answers)


def at(stage: str, reply: Reply, name: str = "hook") -> FakeChannel:
    """A hook of one stage."""
    return guarded(name, "open", 0, {stage: reply})


def guard_at(stage: str, reply: Reply) -> FakeChannel:
    return guarded("guard", "closed", 0, {stage: reply})


def guarded(name: str, on_error: Any, priority: int, answers: Mapping[str, Reply]) -> FakeChannel:
    settings = config.ProcessHookSettings(enabled=True, priority=priority, intercept=list(answers), on_error=on_error)
    return FakeChannel(name, answers, settings)


def member(channel: FakeChannel) -> ProcessMember:
    return ProcessMember(channel, config.HookDefaults())


def pipeline_of(*hooks: FakeChannel | Member, **more: Any) -> HookPipeline:
    members = members_of(hooks)
    return HookPipeline(members, FACTS, events=Events(members, FACTS), **more)


def layers_of(*hooks: FakeChannel | Member, **more: Any) -> TurnLayers:
    return TurnLayers(facts=FACTS, members=members_of(hooks), **more)


def members_of(hooks: Sequence[FakeChannel | Member]) -> list[Member]:
    return [member(hook) if isinstance(hook, FakeChannel) else hook for hook in hooks]


@dataclass
class FakeHuman:
    """Gives these answers in turn; the last one again and again."""

    answers: list[Answer]
    questions: list[Question] = field(default_factory=list)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answers[min(len(self.questions), len(self.answers)) - 1]
