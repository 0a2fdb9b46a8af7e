"""Tests that ask a model: several samples of one question, judged one by one. Knows nothing of sockets."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Protocol

from skill_tools.testing.tests_files import SkillTest
from skill_tools.testing.tests_format import AskSpec, ExpectSpec, ReplySpec
from skill_tools.testing.tests_runner import Failure, SkillTestResult, SkillTestRunner, find_named, unmet
from skills_engine.conditions.text_patterns import SearchedText

MAX_SHOWN_ANSWERS = 3

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
"""A run of text without white space; of Chinese and Japanese, which have none, each character."""


class AskError(Exception):
    """The model could not be asked; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class ModelQuestion:
    """One question to the model, with the skills that are on."""

    messages: Sequence[Mapping[str, Any]]
    skills: Sequence[str]
    enable_tools: bool
    language: str | None
    hook_texts: Mapping[str, str | None] = field(default_factory=dict)
    """Other texts of hooks, by `skill/hook`, or None for a hook to leave out."""


class Asker(Protocol):
    """A model that answers one question at a time."""

    async def ask(self, question: ModelQuestion) -> str:
        """Return the answer. Raises AskError."""


@dataclass(frozen=True)
class Samples:
    """Answers to one question, each with what it lacks."""

    answers: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def good(self) -> int:
        return sum(not lacks for _, lacks in self.answers)

    @property
    def pass_rate(self) -> float:
        return self.good / len(self.answers)

    def __str__(self) -> str:
        words = mean(count_words(answer) for answer, _ in self.answers)
        return f"{self.good} of {len(self.answers)} as expected ({self.pass_rate:.0%}), {words:.0f} words on average"


async def ask_test(test: SkillTest, runner: SkillTestRunner, asker: Asker) -> SkillTestResult:
    """Ask as often as the test says, then once more as often without the hooks that it compares with."""
    started_s = time.perf_counter()
    try:
        without = _left_out(test, runner)
        samples = await take_samples(test, runner, asker)
        notes = [str(samples)]
        if test.spec.compare is not None:
            names = ", ".join(test.spec.compare.without or ())
            notes.append(f"without {names}: {await take_samples(test, runner, asker, without)}")
    except (AskError, LookupError) as error:
        return SkillTestResult(test, "error", message=str(error.args[0]))
    pass_rate = (test.spec.ask or AskSpec()).pass_rate
    has_passed = samples.pass_rate >= pass_rate
    return SkillTestResult(
        test,
        "passed" if has_passed else "failed",
        () if has_passed else (_failure(samples, pass_rate),),
        notes=tuple(notes),
        duration_s=time.perf_counter() - started_s,
    )


async def take_samples(
    test: SkillTest, runner: SkillTestRunner, asker: Asker, hook_texts: Mapping[str, str | None] | None = None
) -> Samples:
    """Ask the test's question as often as it says. Raises AskError, and LookupError for a skill that there is not."""
    [turn] = test.turns
    question = ModelQuestion(
        messages=[*test.history, {"role": "user", "content": turn.user}],
        skills=runner.skills_on(test, turn),
        enable_tools=turn.tools != [],
        language=turn.language,
        hook_texts=hook_texts or {},
    )
    reply = (turn.expect or ExpectSpec()).reply or ReplySpec()
    answers = [await asker.ask(question) for _ in range((test.spec.ask or AskSpec()).samples)]
    return Samples(tuple((answer, tuple(judge_reply(reply, answer))) for answer in answers))


def judge_reply(reply: ReplySpec, answer: str) -> list[str]:
    """Return the conditions that the answer does not meet."""
    words = count_words(answer)
    lacks = list(unmet(reply, [SearchedText(answer)]))
    if reply.max_words is not None and words > reply.max_words:
        lacks.append(f"at most {reply.max_words} words")
    if reply.min_words is not None and words < reply.min_words:
        lacks.append(f"at least {reply.min_words} words")
    return lacks


def count_words(text: str) -> int:
    return len(_WORD.findall(text))


def _left_out(test: SkillTest, runner: SkillTestRunner) -> dict[str, str | None]:
    """Return the hooks to compare without. Raises LookupError."""
    if test.spec.compare is None:
        return {}
    hooks = runner.hooks_in_force(test, test.spec)
    left_out = [find_named(name, hooks, test.skill) for name in test.spec.compare.without or ()]
    return {f"{hook.skill}/{hook.name}": None for hook in left_out}


def _failure(samples: Samples, pass_rate: float) -> Failure:
    bad = [(answer, lacks) for answer, lacks in samples.answers if lacks]
    was = [f"({count_words(answer)} words) {answer}" for answer, _ in bad[:MAX_SHOWN_ANSWERS]]
    if more := len(bad) - len(was):
        was.append(f"… and {more} more")
    expected = dict.fromkeys(lack for _, lacks in bad for lack in lacks)
    return Failure("reply", tuple(was), (f"in at least {pass_rate:.0%} of the answers:", *expected))
