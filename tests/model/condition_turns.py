"""The turn of HOOKS.md in steps, and what the second reading of the rules foresees of it."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skills_engine import CallFacts, HookFacts, HookInfo, HookState, Signer, TriggerInfo, scan_hooks
from skills_engine.hooks_config import read_hooks
from tests.model.condition_scenarios import SKILLS, SkillFile, TurnScript
from tests.model.conditions_model import State, TurnModel
from tests.model.entry_rules import Hook, read, read_triggers
from tests.skills_engine.folders import make_skill, write_hooks_json

WITHOUT_OCCASION = {"tool_filter", "no_planning", "no_loop", "no_tool"}
SIGNER = Signer([b"a key of this test alone"])


@dataclass(frozen=True, kw_only=True)
class Injection:
    timing: str
    call: CallFacts | None = None
    calls: tuple[CallFacts, ...] = ()
    in_round: int | None = None


@dataclass(frozen=True)
class Removal:
    timing: str


@dataclass(frozen=True)
class ModelCall:
    """The model reads the list as it stands."""


def course(script: TurnScript) -> Iterator[Injection | Removal | ModelCall]:
    yield Injection(timing="after_user_input")
    if not script.facts.tools:
        yield ModelCall()
        return
    if script.planning:
        yield Injection(timing="before_planning")
        yield ModelCall()
        yield Removal("before_planning")
        if not script.needs_tools:
            return
    before: tuple[CallFacts, ...] = ()
    for number, batch in enumerate((*script.batches, ()), 1):
        yield Removal("before_each_agent")
        yield Injection(timing="before_each_agent", calls=before, in_round=number)
        if number == 1:
            yield Injection(timing="before_first_agent", in_round=1)
        yield ModelCall()
        if batch:
            yield Removal("after_tool_call")
        for call in batch:
            yield Injection(timing="after_tool_call", call=call, calls=batch, in_round=number)
        before = batch
    yield Removal("before_first_agent")
    yield Removal("after_tool_call")


@dataclass
class Foreseen:
    """What becomes of a turn's hooks: by name, with text, in order."""

    reads: list[list[tuple[str, str]]] = field(default_factory=list)
    """Role and text of the hooks that each model call reads."""
    fired: list[tuple[str, str]] = field(default_factory=list)
    persistent: list[tuple[str, str, str]] = field(default_factory=list)
    not_fired: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    """Skill, name, timing, reason and path; within one injection in no order."""
    state: State | None = None
    updated: set[tuple[str, str]] = field(default_factory=set)
    """Entries that only set variables, and did so."""

    @property
    def silent(self) -> set[tuple[tuple[str, str], str, str, bool]]:
        """Why hooks stayed out: name, reason, path, and whether the hook fired at another time. No tool_filter."""
        return {
            (o[:2], o[3], o[4], o[:2] in {*self.fired, *self.updated}) for o in self.not_fired if o[3] != "tool_filter"
        }


def foresee(script: TurnScript, model: TurnModel) -> Foreseen:
    found = Foreseen()
    for step in course(script):
        match step:
            case Injection(timing=timing):
                put_in = model.inject(timing, call=step.call, calls=step.calls, in_round=step.in_round)
                found.fired += [one.hook.key for one in put_in]
                found.persistent += [(*one.hook.key, one.text) for one in put_in if one.hook.entry["persistent"]]
                found.not_fired += sorted((*out.hook.key, timing, out.reason, out.path) for out in model.out)
            case Removal(timing=timing):
                model.remove(timing)
            case ModelCall():
                found.reads.append([(one.hook.entry["role"], one.text) for one in model.standing])
    found.state = model.state()
    found.updated = {hook.key for hook in model.hooks if hook.is_update and hook.key in model.fired_in_turn}
    return found


@dataclass
class Conversation:
    """What the product and the second reading each carry from turn to turn."""

    hooks: Sequence[HookInfo]
    expected_hooks: Sequence[Hook]
    triggers: Sequence[TriggerInfo] = ()
    expected_triggers: Sequence[Hook] = ()
    said: list[str] = field(default_factory=list)
    state: HookState = field(default_factory=HookState)
    expected_state: State = field(default_factory=State)

    @classmethod
    def begin(cls, files: Sequence[SkillFile]) -> "Conversation":
        """Read the files both ways; the same entries must be left."""
        with tempfile.TemporaryDirectory() as folder:
            write_skills(Path(folder), files)
            hooks = scan_hooks(SKILLS, folder)
            triggers = [trigger for file in files for trigger in read_hooks(Path(folder, file.skill)).triggers]
        expected = [hook for file in files for hook in read(file.skill, file.entries, file.texts, file.variables)]
        assert [(hook.skill, hook.name) for hook in hooks] == [hook.key for hook in expected]
        begun = [hook for f in files for hook in read_triggers(f.skill, f.triggers, f.texts, f.variables)]
        assert [(trigger.skill, trigger.name) for trigger in triggers] == [hook.key for hook in begun]
        return cls(hooks, expected, triggers, begun)

    def start(self, script: TurnScript) -> tuple[list[HookInfo], HookFacts, TurnModel]:
        """Begin a turn: the hooks of the skills that are on and the facts for the product, and the model of it."""
        self.said.append(script.said)
        if not script.keeps_state:
            self.state, self.expected_state = HookState(), State()
        facts = replace(script.facts, user_messages=tuple(self.said), state=self.state)
        hooks = [hook for skill in script.skills for hook in self.hooks if hook.skill == skill]
        expected = [hook for skill in script.skills for hook in self.expected_hooks if hook.skill == skill]
        return hooks, facts, TurnModel(expected, facts, self.expected_state, script.max_persistent)

    def end(self, state: HookState | None, expected: State | None) -> None:
        """Compare what is remembered, and send it through the client's hands."""
        assert (None if state is None else _as_state(state)) == expected
        if state is not None and expected is not None:
            self.state, self.expected_state = HookState.read(state.signed(SIGNER), SIGNER), expected


def _as_state(state: HookState) -> State:
    return State(
        turn=state.turn,
        fired={(f.skill, f.hook): (f.turn, math.inf if f.until is None else f.until) for f in state.firings},
        variables=state.variables,
    )


def write_skills(folder: Path, files: Sequence[SkillFile]) -> None:
    for file in files:
        skill = make_skill(folder, file.skill)
        write_hooks_json(
            skill,
            {"hooks": list(file.entries), "triggers": list(file.triggers)}
            | ({} if file.variables is None else {"variables": file.variables}),
        )
        for name, text in file.texts.items():
            (skill / "hooks" / name).write_text(text)
