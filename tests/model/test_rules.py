"""The model itself, held against the diagrams it was written from, by hand."""

from skills_engine import HookInfo, Timing
from tests.model.rules import Line, Reply, ToolUse, Turn, foresee, is_capped

QUESTION = Line("user", "?")


def hook(timing: Timing, *, persistent: bool = False, tools: frozenset[str] | None = None) -> HookInfo:
    return HookInfo(
        name=timing,
        file="a.md",
        timing=timing,
        role="system",
        persistent=persistent,
        content=timing,
        skill="s",
        tool_filter=tools,
    )


def turn(*hooks: HookInfo, batches: tuple[Reply, ...] = (), max_rounds: int = 8, max_persistent: int = 64) -> Turn:
    return Turn(history=(QUESTION,), hooks=hooks, batches=batches, max_rounds=max_rounds, max_persistent=max_persistent)


def uses(*tools: str) -> Reply:
    return Reply("", tuple(ToolUse(f"{tool}{place}", tool, "ok") for place, tool in enumerate(tools)))


def read(played: Turn, role: str = "system") -> list[list[str | None]]:
    return [[line.content for line in call.reads if line.role == role] for call in foresee(played)]


def test_each_timing_is_read_by_the_calls_of_the_seed() -> None:  # seed 004, §6
    rounds = (uses("A"), uses("B"))

    assert read(turn(hook("after_user_input"), batches=rounds)) == [["after_user_input"]] * 4
    assert read(turn(hook("before_planning"), batches=rounds)) == [["before_planning"], [], [], []]
    assert read(turn(hook("before_first_agent"), batches=rounds)) == [[]] + [["before_first_agent"]] * 3
    assert read(turn(hook("before_each_agent"), batches=rounds)) == [[]] + [["before_each_agent"]] * 3
    assert read(turn(hook("after_tool_call"), batches=rounds)) == [[], [], ["after_tool_call"], ["after_tool_call"]]


def test_a_fresh_copy_stands_behind_the_results_of_the_round_before() -> None:
    last = foresee(turn(hook("before_each_agent"), hook("before_first_agent"), batches=(uses("A"),)))[-1]

    assert [line.content for line in last.reads] == ["?", "before_first_agent", "", "ok", "before_each_agent"]


def test_two_calls_of_one_tool_are_two_copies_and_a_filter_names_tools() -> None:
    played = turn(hook("after_tool_call", tools=frozenset({"A"})), batches=(uses("A", "B", "A"), uses("B")))

    assert read(played) == [[], [], ["after_tool_call"] * 2, []]


def test_a_persistent_hook_of_each_round_grows_by_a_copy_until_the_limit() -> None:
    hooks = hook("before_each_agent", persistent=True)
    rounds = (uses("A"), uses("A"))

    assert [len(copies) for copies in read(turn(hooks, batches=rounds))] == [0, 1, 2, 3]
    assert [len(copies) for copies in read(turn(hooks, batches=rounds, max_persistent=2))] == [0, 1, 2, 2]
    assert is_capped(turn(hooks, batches=rounds, max_persistent=2))
    assert not is_capped(turn(hooks, batches=rounds, max_persistent=3))


def test_the_round_after_the_last_allowed_one_runs_no_tools() -> None:
    calls = foresee(turn(batches=(uses("A"), uses("A"), uses("A")), max_rounds=2))

    assert [(call.purpose, len(call.runs)) for call in calls] == [
        ("planning", 0),
        ("round", 1),
        ("round", 1),
        ("last", 0),
    ]
