"""Hooks with conditions against the rules read a second time: random hooks.json, conversations, scripts."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_tools.authoring import simulate
from skill_tools.testing.scripted_turn import PlayedTurn, play_turn
from skill_tools.testing.tests_format import CallSpec, StepSpec
from skills_engine import CallFacts, HookFacts, HookManager, scan_hooks
from skills_engine.hook_entries import BUILTIN_TOOLS
from tests.model.condition_scenarios import (
    SkillFile,
    TurnScript,
    conversations,
    large_conditions,
    long_conversations,
    long_texts,
    moments,
    small_conditions,
)
from tests.model.condition_turns import (
    WITHOUT_OCCASION,
    Conversation,
    Foreseen,
    Injection,
    Removal,
    course,
    foresee,
    write_skills,
)
from tests.model.conditions_model import Moment, TurnModel, no_of
from tests.model.entry_rules import Json
from tests.model.pattern_rules import is_found
from tests.model.profile import examples
from tests.skills_engine.folders import entry

LETTERS = "aB_ 1½Ⅷé.-/²٣½退々〇カｶーけｰสดี๑ລកမ한ßﬀſİк中*\u0301\u2019\u2011\u00ad\n\u00a0ёйάς\u0327e"
_around = st.text(LETTERS, max_size=2)


@pytest.mark.soak
@pytest.mark.rule("L1-02", "L1-40", "L1-41", "L1-42", "L1-43", "L1-44", "L1-45", "L1-46", "L1-47", "L1-48")
@examples(4200)
@given(conversations)
def test_hooks_come_and_stay_out_as_the_rules_say_step_by_step(
    conversation: tuple[tuple[SkillFile, ...], list[TurnScript]],
) -> None:
    play_both(conversation)


def play_both(conversation: tuple[tuple[SkillFile, ...], list[TurnScript]]) -> None:
    """Play the conversation with the product and by the rules, and compare them at each step."""
    files, turns = conversation
    played = Conversation.begin(files)

    for script in turns:
        hooks, facts, model = played.start(script)
        messages: list[dict[str, Any]] = []
        manager = HookManager(messages, hooks, max_persistent=script.max_persistent, facts=facts)
        for step in course(script):
            match step:
                case Injection():
                    _inject(manager, model, step)
                case Removal(timing=timing):
                    manager.remove(timing)
                    model.remove(timing)
            assert messages == [{"role": s.hook.entry["role"], "content": s.text} for s in model.standing], step
        played.end(manager.state, model.state())


@pytest.mark.soak
@pytest.mark.rule("L1-50", "L1-51", "L1-52", "L1-53", "L1-54", "L1-56")
@examples(2000)
@given(long_conversations)
def test_variables_are_set_as_the_rules_say_in_conversations_of_60_turns(
    conversation: tuple[tuple[SkillFile, ...], list[TurnScript]],
) -> None:
    play_both(conversation)


def _inject(manager: HookManager, model: TurnModel, step: Injection) -> None:
    tool_name = step.call.name if step.call else None
    returned = manager.inject(step.timing, tool_name=tool_name, call=step.call, calls=step.calls, round=step.in_round)

    put_in = model.inject(step.timing, call=step.call, calls=step.calls, in_round=step.in_round)
    persistent = [one for one in put_in if one.hook.entry["persistent"]]
    assert [(r["skill"], r["name"], r["content"]) for r in returned] == [(*p.hook.key, p.text) for p in persistent]
    got = {(out.hook.skill, out.hook.name): (out.timing, out.reason, out.path or "") for out in manager.not_fired}
    assert got == {out.hook.key: (step.timing, out.reason, out.path) for out in model.out}, step
    assert manager.variables == model.variables.changed, step


@pytest.mark.soak
@pytest.mark.rule("L1-41", "L1-42", "L1-43")
@examples(3000)
@given(moment=moments, conditions=st.lists(small_conditions, min_size=10, max_size=30))
def test_a_condition_holds_when_the_rules_say(
    moment: tuple[HookFacts, str, list[CallFacts], int], conditions: list[Json]
) -> None:
    facts, timing, calls, in_round = moment
    entries = tuple(entry(f"h{n}", timing=timing, when=when) for n, when in enumerate(conditions))
    played = Conversation.begin([SkillFile("books", entries, {one["file"]: "text" for one in entries})])
    manager = HookManager([], played.hooks, facts=replace(facts, hook_tokens=None))
    model = TurnModel(played.expected_hooks, replace(facts, hook_tokens=None))

    if timing == "after_tool_call":
        for call in calls:
            _inject(manager, model, Injection(timing=timing, call=call, calls=tuple(calls), in_round=in_round))
    elif timing == "before_each_agent":
        _inject(manager, model, Injection(timing=timing, calls=tuple(calls), in_round=in_round))
    else:
        _inject(manager, model, Injection(timing=timing, in_round=1 if timing == "before_first_agent" else None))


@pytest.mark.soak
@pytest.mark.rule("L1-41", "L1-44", "L1-45")
@examples(2000)
@given(conversations)
def test_simulated_and_scripted_turns_go_as_the_rules_say(
    conversation: tuple[tuple[SkillFile, ...], list[TurnScript]],
) -> None:
    files, turns = conversation
    played = Conversation.begin(files)

    for script in turns:
        script = replace(script, planning=True, max_persistent=1000)  # a script always plans, and knows no limit
        script = replace(script, facts=replace(script.facts, is_new_message=True, last_reply=None))
        hooks, facts, model = played.start(script)

        again = foresee_each(played.said, replace(script, needs_tools=bool(script.batches)), model)
        simulated = simulate.play(
            hooks, texts=played.said, rounds=_rounds(script), tools=bool(facts.tools), facts=facts
        )
        _assert_played(simulated, again)

        before = [{"role": "user", "content": said} for said in played.said[:-1]]
        turn = play_turn(hooks, script.said, _steps(script), history=before, facts=facts)
        expected = foresee(script, model)
        _assert_played(turn, expected)
        played.end(turn.state if expected.state else None, expected.state)


@pytest.mark.soak
@pytest.mark.rule("L1-49", "L1-52", "L1-53", "L1-58")
@examples(2000)
@given(conversations)
def test_triggers_begin_turns_as_the_rules_say(conversation: tuple[tuple[SkillFile, ...], list[TurnScript]]) -> None:
    files, turns = conversation
    played = Conversation.begin(files)
    for script in turns:
        script = replace(script, planning=True, max_persistent=1000)
        script = replace(script, facts=replace(script.facts, is_new_message=False, last_reply=None))
        hooks, facts, model = played.start(script)
        history = [{"role": "user", "content": said} for said in played.said]
        for trigger, expected in zip(played.triggers, played.expected_triggers, strict=True):
            turn = play_turn(hooks, trigger, _steps(script), history=history, facts=facts)

            moment = Moment("after_user_input", None, (), hook=expected)
            if trigger.on == "connect" or no_of(expected.entry["when"], facts, moment, "when") is not None:
                assert (turn.calls, turn.state) == ([], facts.state)
                continue
            begun = TurnModel([*model.hooks, expected], facts, model.before, script.max_persistent)
            foreseen = foresee(script, begun)
            _assert_played(turn, foreseen)
            assert turn.state.variables == (foreseen.state or model.before).variables


def foresee_each(said: Sequence[str], script: TurnScript, model: TurnModel) -> Foreseen:
    """Foresee the script for each of these texts, and return what becomes of the last."""
    state, foreseen = model.before, Foreseen()
    for number in range(1, len(said) + 1):
        seed = f"{model.facts.seed} {number - 1}"
        facts = replace(model.facts, user_messages=tuple(said[:number]), tools=_with_called(script), seed=seed)
        foreseen = foresee(script, TurnModel(model.hooks, facts, state))
        state = foreseen.state or state
    return foreseen


def _assert_played(turn: PlayedTurn, expected: Foreseen) -> None:
    assert [[(m.role, m.text) for m in call.messages if m.hook] for call in turn.calls] == expected.reads
    assert [(hook.skill, hook.name) for hook in turn.fired] == expected.fired
    silent = [
        ((o.hook.skill, o.hook.name), o.code, o.path, o.has_fired)
        for o in turn.silent
        if o.code not in WITHOUT_OCCASION
    ]
    assert set(silent) == expected.silent
    assert len(set(silent)) == len(silent)


def _with_called(script: TurnScript) -> frozenset[str]:
    called = {call.name for batch in script.batches for call in batch}
    return script.facts.tools | {*called, *BUILTIN_TOOLS} if script.facts.tools else frozenset()


def _steps(script: TurnScript) -> list[StepSpec]:
    if not script.facts.tools or not script.needs_tools:
        return [StepSpec(answer="done")]
    batches = [StepSpec(calls=calls) for calls in _rounds(script)]
    return [StepSpec(need_tools="a moment"), *batches, StepSpec(answer="done")]


def _rounds(script: TurnScript) -> list[list[CallSpec]]:
    return [[_as_spec(call) for call in batch] for batch in script.batches]


def _as_spec(call: CallFacts) -> CallSpec:
    key = "result" if call.status == "ok" else call.status
    return CallSpec(tool=call.name, arguments=dict(call.arguments), **{key: call.result})


@dataclass
class Loaded:
    """One persistent hook of `after_user_input`, through the loader."""

    entry: Json
    content: str = "text"

    def __post_init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = SkillFile("books", (entry("h", persistent=True, **self.entry),), {"h.md": self.content})
            write_skills(Path(folder), [file])
            self.hooks = scan_hooks(["books"], folder)

    def texts(self, facts: HookFacts) -> list[str]:
        manager = HookManager([], self.hooks, facts=facts)
        return [hook["content"] for hook in manager.inject("after_user_input")]


@pytest.mark.soak
@pytest.mark.rule("L1-43")
@examples(6000)
@given(
    pattern=st.text(LETTERS, min_size=1, max_size=3), before=_around, after=_around, text=st.text(LETTERS, max_size=8)
)
def test_a_text_is_found_as_whole_words_in_every_script(pattern: str, before: str, after: str, text: str) -> None:
    hook = Loaded({"when": {"user_text": [pattern]}})

    for said in (before + pattern + after, text):
        assert bool(hook.texts(HookFacts(user_messages=(said,)))) is is_found(pattern, said), (pattern, said)


@pytest.mark.rule("L1-43")
@pytest.mark.parametrize("pattern", ["end", "/end/"])
def test_a_pattern_is_looked_for_in_the_first_64_kib(pattern: str) -> None:
    hook = Loaded({"when": {"user_text": [pattern]}})

    assert hook.texts(HookFacts(user_messages=("end".rjust(65536),)))
    assert not hook.texts(HookFacts(user_messages=("end".rjust(65537),)))


@pytest.mark.soak
@pytest.mark.rule("L1-41", "L1-42", "L1-43")
@examples(1000)
@given(
    conditions=st.lists(large_conditions, min_size=6, max_size=16),
    said=st.lists(long_texts, min_size=1, max_size=12),
    results=st.lists(long_texts, min_size=1, max_size=3),
)
def test_an_injection_searches_as_much_as_the_rules_say(
    conditions: list[Json], said: list[str], results: list[str]
) -> None:
    timings = ("after_user_input", "after_tool_call", "before_each_agent")
    entries = tuple(
        entry(f"{timing}-{number}", timing=timing, file="a.md", when=when)
        for timing in timings
        for number, when in enumerate(conditions)
    )
    played = Conversation.begin([SkillFile("books", entries, {"a.md": "text"})])
    facts = HookFacts(user_messages=tuple(said))
    manager, model = HookManager([], played.hooks, facts=facts), TurnModel(played.expected_hooks, facts)
    calls = tuple(CallFacts(name="files", arguments={"a": {"b": text}}, result=text) for text in results)

    for injection in (
        Injection(timing="after_user_input"),
        *(Injection(timing="after_tool_call", call=call, calls=calls, in_round=1) for call in calls),
        Injection(timing="before_each_agent", calls=calls, in_round=2),
    ):
        _inject(manager, model, injection)


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
