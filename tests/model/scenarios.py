"""Random skills, histories and turns.

Every text can be told from the host's own by `is_ours`, so what the host adds
(its system prompt, its step prompts) never needs to be known.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from hypothesis import strategies as st

from skills_engine import HookInfo, Timing
from tests.model.rules import Hook, Line, Reply, ToolUse, Turn

TIMINGS: tuple[Timing, ...] = get_args(Timing)
TOOLS = ("alpha", "beta", "gamma")
UNKNOWN_TOOL = "nobody"

_MARK = "§"


def is_ours(content: object) -> bool:
    return isinstance(content, str) and content.startswith(_MARK)


# A few texts only: hooks often say the same, and clients send what a hook says.
contents = st.sampled_from([f"{_MARK}one", f"{_MARK}two", f"{_MARK}three\nwith a second line", f"{_MARK}四"])
roles = st.sampled_from(["system", "user"])
timings = st.sampled_from(TIMINGS)
filters = st.none() | st.frozensets(st.sampled_from([*TOOLS, UNKNOWN_TOOL, "*a", "al?ha"]), max_size=3)


@st.composite
def _hooks_of_one_skill(draw: st.DrawFn, skill: str) -> list[HookInfo]:
    return [
        HookInfo(
            name=f"h{number}",
            file=f"h{number}.md",
            timing=draw(timings),
            role=draw(st.sampled_from(["system", "user"])),
            persistent=draw(st.booleans()),
            content=draw(contents),
            skill=skill,
            tool_filter=draw(filters),
        )
        for number in range(draw(st.integers(0, 4)))
    ]


@st.composite
def _hooks_of_skills(draw: st.DrawFn) -> list[HookInfo]:
    """In the order of L1-03: skill by skill, each in the order of its file."""
    return [hook for skill in ("books", "diary", "maps") for hook in draw(_hooks_of_one_skill(skill))]


hooks_of_skills = _hooks_of_skills()


@st.composite
def _histories(draw: st.DrawFn) -> tuple[Line, ...]:
    """Earlier turns as a client sends them, tool rounds among them, and the new user message."""
    lines: list[Line] = []
    for number in range(draw(st.integers(0, 3))):
        lines.append(Line("user", f"{_MARK}question {number}"))
        lines += [Line(draw(roles), draw(contents)) for _ in range(draw(st.integers(0, 2)))]
        if draw(st.integers(0, 3)) == 0:
            lines.append(Line("assistant", f"{_MARK}looking", (f"old{number}",)))
            lines.append(Line("tool", f"{_MARK}old result {number}", (f"old{number}",)))
        lines.append(Line("assistant", f"{_MARK}answer {number}"))
    return (*lines, Line("user", f"{_MARK}the new question"))


@st.composite
def _batches(draw: st.DrawFn) -> tuple[Reply, ...]:
    batches = []
    is_fresh = draw(st.booleans())  # many servers count the calls of each reply from 0 again
    for number in range(draw(st.integers(0, 4))):
        uses = tuple(
            ToolUse(
                id=f"call_{number}_{place}" if is_fresh else f"old{place}",
                name=draw(st.sampled_from([*TOOLS, *TOOLS, UNKNOWN_TOOL])),
                result=draw(st.none() | st.just(f"{_MARK}result {number} {place}")),
            )
            for place in range(draw(st.integers(1, 4)))
        )
        text = draw(st.sampled_from(["", f"{_MARK}round {number}"]))
        batches.append(Reply(text, tuple(replace(u, result=None) if u.name == UNKNOWN_TOOL else u for u in uses)))
    return tuple(batches)


@st.composite
def _turns(draw: st.DrawFn) -> Turn:
    needs_tools = draw(st.integers(0, 4)) > 0
    stubborn = tuple(ToolUse(f"late_{n}", TOOLS[n], None) for n in range(draw(st.integers(0, 2))))
    return Turn(
        history=draw(_histories()),
        hooks=tuple(draw(hooks_of_skills)),
        has_tools=draw(st.integers(0, 9)) > 0,
        enable_tools=draw(st.integers(0, 9)) > 0,
        planning=draw(st.integers(0, 3)) > 0,
        needs_tools=needs_tools,
        plan=draw(st.sampled_from(["", f"{_MARK}let me see."])) if needs_tools else f"{_MARK}an answer at once",
        batches=draw(_batches()),
        answer=Reply(f"{_MARK}the final answer", stubborn),
        max_rounds=draw(st.integers(1, 4)),
        max_persistent=draw(st.sampled_from([64, 64, 0, 1, 3])),
    )


turns = _turns()


def next_turn(turn: Turn, yielded: Sequence[Hook], said: str) -> Turn:
    """The same skills again, after a client has kept the reply and every hook it was given (L1-30)."""
    kept = tuple(Line(hook.role, hook.content) for hook in yielded)
    return replace(turn, history=(*turn.history, *kept, Line("assistant", said), Line("user", f"{_MARK}and then?")))
