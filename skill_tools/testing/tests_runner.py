"""Runs scripted tests: plays their turns and compares what happened with what was expected. Pure, but for the clock."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Literal, TypeVar

from skill_tools.testing.scripted_turn import PlayedTurn, ScriptedCall, TurnScript, play_conversation
from skill_tools.testing.tests_files import SkillTest
from skill_tools.testing.tests_format import ExpectSpec, ReadsSpec, ReplySpec, TurnSpec, clock_of, patterns_of
from skills_engine.conditions.text_patterns import SearchedText
from skills_engine.conditions.turn_facts import HookFacts, TurnVariables, is_of_kind, zone_of
from skills_engine.diagnostics import did_you_mean, quoted
from skills_engine.hook_entries import BUILTIN_TOOLS, HookInfo
from skills_engine.hooks_config import HooksFile
from skills_engine.token_estimate import estimate_tokens
from skills_engine.trigger_entries import TriggerInfo

NOT_SET = ("set", "variables_full")
"""Codes of the reasons why a `set` was not applied, also of a hook that was put in."""
MAX_REASONS = 20
"""The most reasons that are told of one failure to read something."""

Outcome = Literal["passed", "failed", "skipped", "error"]
"""`skipped`: it asks a model, and there is none; `error`: it could not be run."""
SkillHooks = Mapping[str, HooksFile]
"""The hooks and triggers of each skill that tests may switch on, by the skill's name."""


@dataclass(frozen=True)
class Failure:
    """One expectation that did not hold: what there was beside what was expected, each as lines."""

    title: str
    was: tuple[str, ...]
    expected: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    """The reasons why hooks stayed out that were expected, or that might have held what was not read."""


@dataclass(frozen=True)
class SkillTestResult:
    """Outcome of one test."""

    test: SkillTest
    outcome: Outcome
    failures: tuple[Failure, ...] = ()
    message: str = ""
    """The reason why it was skipped or could not be run."""
    notes: tuple[str, ...] = ()
    """Lines on what was measured of a model."""
    duration_s: float = 0.0
    hook_tokens: int = 0
    """Tokens of the hooks in the dearest call, estimated."""


_TestKey = tuple[str, str, str]
"""Skill, file and name of a test."""


class SkillTestRunner:
    """Runs tests against one version of the skills."""

    def __init__(self, hooks: SkillHooks, *, on: Sequence[str] = ()) -> None:
        """Take the skills; those in `on` take part in tests `with: all`."""
        self._hooks = hooks
        self._on = on
        self._tests: dict[_TestKey, SkillTest] = {}
        self._last: dict[_TestKey, PlayedTurn] = {}  # the last turn of each test that was played

    def run(self, tests: Iterable[SkillTest], *, is_over: Callable[[], bool] = lambda: False) -> list[SkillTestResult]:
        """Run the scripted ones; the others are skipped. Once `is_over`, the rest is left out."""
        results: list[SkillTestResult] = []
        tests = list(tests)
        self._tests |= {(test.skill, test.file, test.name): test for test in tests}
        for test in tests:
            if is_over():
                break
            if test.spec.ask is None:
                results.append(self._run(test))
            else:
                results.append(SkillTestResult(test, "skipped", message="asks a model: give --server URL to run it"))
        return results

    def hook_tokens(self, test: SkillTest) -> int:
        """Return what hooks cost, estimated, in the dearest call of a test's turns."""
        return max(_dearest(played) for _, played in self._play(test, PlayedTurn()))

    def hooks_in_force(self, test: SkillTest, turn: TurnSpec) -> list[HookInfo]:
        """Return the hooks of the skills that are on. Raises LookupError."""
        return [hook for skill in self.skills_on(test, turn) for hook in self._hooks[skill].hooks]

    def _trigger(self, test: SkillTest, turn: TurnSpec) -> TriggerInfo | None:
        """Return the trigger that begins the turn, or None if the user does. Raises LookupError."""
        if turn.trigger is None:
            return None
        triggers = [trigger for skill in self.skills_on(test, turn) for trigger in self._hooks[skill].triggers]
        return find_named(turn.trigger, triggers, test.skill, kind="trigger")

    def _run(self, test: SkillTest) -> SkillTestResult:
        started_s = time.perf_counter()
        failures: list[Failure] = []
        try:
            played_turns = self._play(test, self._before(test))
            for number, (turn, played) in enumerate(played_turns, start=1):
                of_turn = f"turn {number}: " if test.spec.turns else ""
                failures += self._judge(test, turn, played, of_turn)
        except LookupError as error:
            return SkillTestResult(test, "error", message=str(error.args[0]))
        self._last[test.skill, test.file, test.name] = played_turns[-1][1]
        tokens = max(_dearest(played) for _, played in played_turns)
        outcome: Outcome = "failed" if failures else "passed"
        return SkillTestResult(
            test, outcome, tuple(failures), duration_s=time.perf_counter() - started_s, hook_tokens=tokens
        )

    def _before(self, test: SkillTest) -> PlayedTurn:
        """Return the turn that the test goes on from: the last of the test in `after`, which is played if need be."""
        if test.spec.after is None:
            return PlayedTurn()
        key = (test.skill, test.file, test.spec.after)
        if key not in self._last:
            named = self._tests[key]
            _, self._last[key] = self._play(named, self._before(named))[-1]
        return self._last[key]

    def _play(self, test: SkillTest, last: PlayedTurn) -> list[tuple[TurnSpec, PlayedTurn]]:
        """Play the turns, each with the history and the state of the one before. Raises LookupError."""
        given = test.spec.variables or {}
        own = [*self._hooks[test.skill].hooks, *(one.hook for one in self._hooks[test.skill].triggers)] if given else []
        declared = own[0].variables if own else {}
        for name, value in given.items():
            if name not in declared or not is_of_kind(value, declared[name]):
                hint = did_you_mean(name, declared)
                raise LookupError(f"{test.skill} has no variable {name} that can be {quoted(value)}{hint}")
        changed = {**last.state.variables.get(test.skill, {}), **given}
        state = replace(last.state, variables={**last.state.variables, test.skill: changed})
        scripts = [
            TurnScript(
                self.hooks_in_force(test, turn),
                self._trigger(test, turn) or turn.user or "",
                turn.script or (),
                self._facts(test, turn),
            )
            for turn in test.turns
        ]
        start = PlayedTurn(history=[*last.history, *test.history], state=state)
        return list(zip(test.turns, play_conversation(scripts, start), strict=True))

    def skills_on(self, test: SkillTest, turn: TurnSpec) -> list[str]:
        """Return the names of the skills that are on: the test's own, and those that it names. Raises LookupError."""
        named = [*(self._on if turn.with_skills else ()), *(turn.skills or ())]
        skills = named if test.skill in named else [test.skill, *named]
        for skill in skills:
            if skill not in self._hooks:
                raise LookupError(f"there is no skill {skill}{did_you_mean(skill, self._hooks)} beside {test.skill}")
        return list(dict.fromkeys(skills))

    def _facts(self, test: SkillTest, turn: TurnSpec) -> HookFacts:
        tools, context = turn.tools, turn.context or {}
        if tools is None:
            tools = [*BUILTIN_TOOLS, *(call.tool or "" for step in turn.script or () for call in step.calls or ())]
        return HookFacts(
            channel=turn.channel or "text",
            language=turn.language,
            model="" if turn.model is None else turn.model,
            is_local=turn.model == "local",
            user=turn.user_name or ("operator" if turn.operator else None),  # a user who is not logged in has no role
            is_operator=bool(turn.operator),
            skills=frozenset(self.skills_on(test, turn)),
            tools=frozenset(tools),
            started_at=clock_of(turn.time).astimezone(zone_of(context) or UTC),
            hook_tokens=turn.hook_tokens,
            context=context,
            spoken=bool(turn.spoken),
            interrupted=bool(turn.interrupted),
            attachments=frozenset(turn.attachments or ()),
            seed=turn.seed or "",
        )

    # --- judging

    def _judge(self, test: SkillTest, turn: TurnSpec, played: PlayedTurn, of_turn: str) -> list[Failure]:
        expect = turn.expect
        if expect is None:
            return []
        trigger = self._trigger(test, turn)
        hooks = [*self.hooks_in_force(test, turn), *([trigger.hook] if trigger else [])]
        failures = _judge_firing(expect, hooks, test.skill, played)
        if unread := _judge_reading(expect, played):
            told = {reason for one in failures for reason in one.reasons}
            silent = [reason for hook in hooks if hook not in played.fired for reason in why_silent(hook, played)]
            reasons = [reason for reason in silent if reason not in told][:MAX_REASONS]
            failures += [*unread[:-1], replace(unread[-1], reasons=tuple(reasons))]
        if expect.tokens is not None and expect.tokens.max is not None and _dearest(played) > expect.tokens.max:
            was = [f"{_tokens_of(call)} in call {number}" for number, call in enumerate(played.calls, start=1)]
            failures.append(Failure("tokens of hooks", tuple(was), (f"at most {expect.tokens.max}",)))
        failures += _judge_variables(expect, hooks, test.skill, played)
        return [replace(one, title=of_turn + one.title) for one in failures]


def _judge_firing(expect: ExpectSpec, hooks: Sequence[HookInfo], skill: str, played: PlayedTurn) -> list[Failure]:
    """Compare what fired with `fires` and `silent`. Raises LookupError for a hook that there is not."""
    failures = []
    firing, silent = (
        [find_named(name, hooks, skill) for name in names or ()] for names in (expect.fires, expect.silent)
    )
    if update := next((hook for hook in (*firing, *silent) if hook.is_update), None):
        raise LookupError(f"{update.name} inserts nothing, so it neither fires nor is silent: expect `variables`")
    if expect.fires is not None and firing != played.fired:
        missing = Counter(firing) - Counter(played.fired)
        reasons = tuple(reason for hook in missing for reason in why_silent(hook, played))
        failures.append(Failure("fires", _full_names(played.fired), _full_names(firing), reasons))
    if loud := _full_names(hook for hook in dict.fromkeys(played.fired) if hook in silent):
        failures.append(Failure("silent", loud, tuple(f"not {name}" for name in loud)))
    return failures


def _judge_variables(expect: ExpectSpec, hooks: Sequence[HookInfo], skill: str, played: PlayedTurn) -> list[Failure]:
    """Compare the variables after the turn. Raises LookupError for one that there is not."""
    variables = TurnVariables({hook.skill: hook.variables for hook in hooks}, played.state.variables)
    was, wanted = {}, expect.variables or {}
    for name in wanted:
        of_skill, _, own = name.rpartition("/")
        if (value := variables.value(of_skill or skill, own)) is None:
            raise LookupError(f"no variable is called {name}")
        was[name] = value
    wrong = [name for name, value in wanted.items() if type(was[name]) is not type(value) or was[name] != value]
    if not wrong:
        return []
    was_lines, lines = (tuple(f"{name}: {quoted(values[name])}" for name in wrong) for values in (was, wanted))
    silent = {one.hook for one in played.silent if one.hook.set is not None}
    unset = [reason for hook in hooks if hook in silent for reason in why_silent(hook, played)]
    return [Failure("variables", was_lines, lines, tuple(unset[:MAX_REASONS]))]


def why_silent(hook: HookInfo, played: PlayedTurn) -> list[str]:
    """Return why a hook stayed out, with the path of the condition; if it fired at times, each further reason once."""
    name = f"{_full_name(hook)} ({hook.timing})"
    silent = [one for one in played.silent if one.hook == hook and (one.code in NOT_SET or not one.has_fired)]
    if silent:
        return [f"{name}{':' if one.code in NOT_SET else ' stayed out:'} {one.reason}" for one in silent]
    if not played.calls:
        return [f"{name} stayed out: there was no turn"]
    others = [one.path or one.reason for one in played.silent if one.hook == hook]
    return [f"{name} stayed out at other times: {reason}" for reason in others] or [f"{name} had no further occasion"]


def _judge_reading(expect: ExpectSpec, played: PlayedTurn) -> list[Failure]:
    failures = []
    numbered = dict(enumerate(played.calls, start=1))
    for reads in expect.reads or ():
        if reads.call is not None and reads.call not in numbered:
            was = (f"calls 1 to {len(played.calls)}" if played.calls else "no call",)
            failures.append(Failure("reads", was, (f"call {reads.call}",)))
            continue
        calls = numbered if reads.call is None else {reads.call: numbered[reads.call]}
        texts = [SearchedText(m.text) for call in calls.values() for m in call.messages if not m.is_stand_in]
        if expected := tuple(unmet(reads, texts)):
            lines = []
            for number, call in calls.items():
                lines += [f"call {number}"] if reads.call is None else []
                lines += [f"{message.role}: {message.text}" for message in call.messages]
            failures.append(Failure(f"call {reads.call} reads" if reads.call else "reads", tuple(lines), expected))
    return failures


def unmet(spec: ReadsSpec | ReplySpec, texts: Sequence[SearchedText]) -> Iterator[str]:
    """Yield what one of the texts should contain and none does, and what none should and one does."""
    for text, pattern in patterns_of(spec.contains).items():
        if not any(map(pattern.are_found_in, texts)):
            yield f"contains {text}"
    for text, pattern in patterns_of(spec.lacks).items():
        if any(map(pattern.are_found_in, texts)):
            yield f"lacks {text}"


_Named = TypeVar("_Named", HookInfo, TriggerInfo)


def find_named(name: str, among: Sequence[_Named], skill: str, *, kind: str = "hook") -> _Named:
    """Return the hook (or trigger) of this name, of the test's own skill where several have it. Raises LookupError."""
    matching = [one for one in among if name in (one.name, _full_name(one))]
    if not matching:
        known = [*(one.name for one in among), *map(_full_name, among)]
        hint = did_you_mean(name, known) or f"; there are: {', '.join(map(_full_name, among)) or 'none'}"
        raise LookupError(f"no {kind} is called {name}{hint}")
    return next((one for one in matching if one.skill == skill), matching[0])


def _full_name(one: HookInfo | TriggerInfo) -> str:
    return f"{one.skill}/{one.name}"


def _full_names(hooks: Iterable[HookInfo]) -> tuple[str, ...]:
    return tuple(map(_full_name, hooks))


def _dearest(played: PlayedTurn) -> int:
    return max(map(_tokens_of, played.calls), default=0)


def _tokens_of(call: ScriptedCall) -> int:
    return sum(estimate_tokens(message.text) for message in call.messages if message.hook is not None)
