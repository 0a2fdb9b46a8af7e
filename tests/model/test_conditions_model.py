"""Hooks with conditions against the rules read a second time: random hooks.json, conversations, scripts."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_engine import CallFacts, HookFacts, HookInfo, HookManager, HookState, Signer, scan_hooks
from tests.model.condition_scenarios import SKILLS, SkillFile, TurnScript, conversations
from tests.model.conditions_model import State, TurnModel
from tests.model.entry_rules import Hook, Json, read
from tests.model.pattern_rules import is_found
from tests.model.profile import examples
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

LETTERS = "aB_ 1½Ⅷé.-/²٣½退々〇カｶーけｰสดี๑ລកမ한ßﬀſİк中"
_around = st.text(LETTERS, max_size=2)
SIGNER = Signer([b"a key of this test alone"])


@dataclass(frozen=True, kw_only=True)
class Injection:
    timing: str
    call: CallFacts | None = None
    calls: tuple[CallFacts, ...] = ()
    in_round: int | None = None


def course(script: TurnScript) -> Iterator[Injection | str]:
    """The turn of HOOKS.md: what is injected, and the timings that are removed, in order."""
    yield Injection(timing="after_user_input")
    if script.planning:
        yield Injection(timing="before_planning")
        yield "before_planning"
        if not script.needs_tools:
            return
    before: tuple[CallFacts, ...] = ()
    for number, batch in enumerate((*script.batches, ()), 1):
        yield "before_each_agent"
        yield Injection(timing="before_each_agent", calls=before, in_round=number)
        if number == 1:
            yield Injection(timing="before_first_agent", in_round=1)
        if batch:
            yield "after_tool_call"
        for call in batch:
            yield Injection(timing="after_tool_call", call=call, calls=batch, in_round=number)
        before = batch
    yield "before_first_agent"
    yield "after_tool_call"


@dataclass
class Conversation:
    """The same turns, played by the product and by the model, compared after every step."""

    hooks: Sequence[HookInfo]
    expected_hooks: Sequence[Hook]
    said: list[str] = field(default_factory=list)
    state: HookState | None = None
    expected_state: State | None = None

    def play(self, script: TurnScript) -> None:
        self.said.append(script.said)
        if not script.keeps_state:
            self.state = self.expected_state = None
        facts = replace(script.facts, user_messages=tuple(self.said), state=self.state or HookState())
        messages: list[dict[str, Any]] = []
        manager = HookManager(
            messages,
            [hook for skill in script.skills for hook in self.hooks if hook.skill == skill],
            max_persistent=script.max_persistent,
            facts=facts,
        )
        model = TurnModel(
            [hook for skill in script.skills for hook in self.expected_hooks if hook.skill == skill],
            facts,
            self.expected_state or State(),
            script.max_persistent,
        )
        for step in course(script):
            if isinstance(step, str):
                manager.remove(step)
                model.remove(step)
            else:
                _inject(manager, model, step)
            assert messages == [{"role": s.hook.entry["role"], "content": s.text} for s in model.standing], step
        expected = model.state()
        if expected is not None:
            assert manager.state is not None
            assert _as_state(manager.state) == expected
            self.state = HookState.read(manager.state.signed(SIGNER), SIGNER)
            self.expected_state = expected
        else:
            assert manager.state is None


def _inject(manager: HookManager, model: TurnModel, step: Injection) -> None:
    tool_name = step.call.name if step.call else None
    returned = manager.inject(step.timing, tool_name=tool_name, call=step.call, calls=step.calls, round=step.in_round)

    put_in = model.inject(step.timing, call=step.call, calls=step.calls, in_round=step.in_round)
    persistent = [one for one in put_in if one.hook.entry["persistent"]]
    assert [(r["skill"], r["name"], r["content"]) for r in returned] == [(*p.hook.key, p.text) for p in persistent]
    got = {(out.hook.skill, out.hook.name): (out.timing, out.reason, out.path or "") for out in manager.not_fired}
    assert got == {out.hook.key: (step.timing, out.reason, out.path) for out in model.out}, step


def _as_state(state: HookState) -> State:
    return State(
        turn=state.turn,
        fired={(f.skill, f.hook): (f.turn, math.inf if f.until is None else f.until) for f in state.firings},
    )


def _write(folder: Path, files: Sequence[SkillFile]) -> None:
    for file in files:
        skill = make_skill(folder, file.skill)
        write_hooks_json(skill, {"hooks": list(file.entries)})
        for name, text in file.texts.items():
            (skill / "hooks" / name).write_text(text)


@pytest.mark.soak
@pytest.mark.rule("L1-02", "L1-40", "L1-41", "L1-42", "L1-43", "L1-44", "L1-45", "L1-46", "L1-47", "L1-48")
@examples(150, 4200)
@given(conversations)
def test_hooks_come_and_stay_out_as_the_rules_say_turn_by_turn(
    conversation: tuple[tuple[SkillFile, ...], list[TurnScript]],
) -> None:
    files, turns = conversation
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), files)
        hooks = scan_hooks(SKILLS, folder)
    expected = [hook for file in files for hook in read(file.skill, file.entries, file.texts)]
    assert [(hook.skill, hook.name) for hook in hooks] == [hook.key for hook in expected]

    played = Conversation(hooks, expected)
    for turn in turns:
        played.play(turn)


@dataclass
class Loaded:
    """One persistent hook of `after_user_input`, through the loader."""

    entry: Json
    content: str = "text"

    def texts(self, facts: HookFacts) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            file = SkillFile("books", (entry("h", persistent=True, **self.entry),), {"h.md": self.content})
            _write(Path(folder), [file])
            manager = HookManager([], scan_hooks(["books"], folder), facts=facts)
        return [hook["content"] for hook in manager.inject("after_user_input")]


@pytest.mark.soak
@pytest.mark.rule("L1-43")
@examples(300, 6000)
@given(
    pattern=st.text(LETTERS, min_size=1, max_size=3), before=_around, after=_around, text=st.text(LETTERS, max_size=8)
)
def test_a_text_is_found_as_whole_words_in_every_script(pattern: str, before: str, after: str, text: str) -> None:
    for said in (before + pattern + after, text):
        hook = Loaded({"when": {"user_text": [pattern]}})

        assert bool(hook.texts(HookFacts(user_messages=(said,)))) is is_found(pattern, said), (pattern, said)


@pytest.mark.rule("L1-43")
@pytest.mark.parametrize("pattern", ["end", "/end/"])
def test_a_pattern_is_looked_for_in_the_first_64_kib(pattern: str) -> None:
    hook = Loaded({"when": {"user_text": [pattern]}})

    assert hook.texts(HookFacts(user_messages=("end".rjust(65536),)))
    assert not hook.texts(HookFacts(user_messages=("end".rjust(65537),)))


@pytest.mark.rule("L1-48")
@pytest.mark.parametrize(
    "user", ["two\nlines", "a\u2028b", "x" * 201, "{{date}}", "{{{date}}}", "{" * 9, "\r\n", "a\x00b"]
)
def test_a_value_is_one_short_line_without_a_variable(user: str) -> None:
    [text] = Loaded({"vars": True}, "<{{user}}>").texts(HookFacts(user=user))

    value = text.removeprefix("<").removesuffix(">")
    assert len(value) <= 200
    assert len(f"{value}.".splitlines()) == 1
    assert "{{" not in value
