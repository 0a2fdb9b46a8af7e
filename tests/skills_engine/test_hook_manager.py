"""Inserting and removing (L1-10 to L1-16)."""

from typing import Any

import pytest

from skills_engine import TIMINGS, HookInfo, HookManager, Timing
from skills_engine.hook_entries import Role


def hook(
    name: str,
    timing: Timing = "after_user_input",
    *,
    role: Role = "system",
    persistent: bool = False,
    tools: frozenset[str] | None = None,
) -> HookInfo:
    return HookInfo(name, f"{name}.md", timing, role, persistent, f"text of {name}", "skill", tools)


def contents(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"].removeprefix("text of ") for message in messages]


class CountingList(list[dict[str, Any]]):
    """Counts the messages that are looked at."""

    looked_at = 0

    def __getitem__(self, index: Any) -> Any:
        self.looked_at += 1
        return super().__getitem__(index)

    def __iter__(self) -> Any:
        raise AssertionError("walked from the front")

    def __reversed__(self) -> Any:
        for message in super().__reversed__():
            self.looked_at += 1
            yield message

    def index(self, *_: Any) -> int:
        raise AssertionError("searched from the front")

    def remove(self, _: Any) -> None:
        raise AssertionError("compared by equality")


@pytest.mark.rule("L1-10")
def test_every_matching_hook_is_appended_in_order_on_every_call() -> None:
    messages = [{"role": "user", "content": "Hello"}]
    manager = HookManager(messages, [hook("a"), hook("b", "before_planning"), hook("c", role="user"), hook("a")])

    manager.inject("after_user_input")
    manager.inject("after_user_input")

    assert contents(messages) == ["Hello", "a", "c", "a", "a", "c", "a"]


@pytest.mark.rule("L1-10")
@pytest.mark.parametrize("timing", TIMINGS)
def test_a_timing_fires_its_own_hooks_only(timing: Timing) -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook(name, name) for name in TIMINGS])

    manager.inject(timing)

    assert contents(messages) == [timing]


def test_no_hooks_and_an_unknown_timing_change_nothing() -> None:
    messages: list[dict[str, Any]] = []

    assert HookManager(messages, []).inject("after_user_input") == []
    assert HookManager(messages, [hook("a")]).inject("at_noon") == []
    HookManager(messages, [hook("a")]).remove("at_noon")
    assert messages == []


@pytest.mark.rule("L1-02")
@pytest.mark.parametrize(
    ("tools", "tool_name", "fires"),
    [
        (None, "read_file", True),
        (None, None, True),
        (frozenset({"read_file"}), "read_file", True),
        (frozenset({"read_file", "search_text"}), "search_text", True),
        (frozenset({"read_file"}), "read_files", False),
        (frozenset({"read_file"}), "", False),
        (frozenset({"read_file"}), None, False),
        (frozenset(), "read_file", False),
        (frozenset({"files__*"}), "files__read", True),
        (frozenset({"files__*"}), "Files__read", False),
        (frozenset({"files__*"}), "my_files__read", False),
        (frozenset({"r?ad_[ef]ile"}), "read_file", True),
        (frozenset({"a[1]"}), "a[1]", True),
        (frozenset({"*"}), None, False),
    ],
)
def test_a_tool_filter_names_the_tools_it_fires_after(
    tools: frozenset[str] | None, tool_name: str | None, fires: bool
) -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook("a", "after_tool_call", tools=tools)])

    manager.inject("after_tool_call", tool_name=tool_name)

    assert contents(messages) == (["a"] if fires else [])


@pytest.mark.rule("L1-02")
def test_without_a_tool_name_a_filter_does_not_fire() -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(
        messages, [hook("a", "after_tool_call", tools=frozenset({"x"})), hook("b", "after_tool_call")]
    )

    manager.inject("after_tool_call")

    assert contents(messages) == ["b"]


@pytest.mark.rule("L1-02")
@pytest.mark.parametrize("timing", [timing for timing in TIMINGS if timing != "after_tool_call"])
def test_a_tool_filter_counts_after_tools_only(timing: Timing) -> None:
    messages: list[dict[str, Any]] = []

    HookManager(messages, [hook("a", timing, tools=frozenset())]).inject(timing, tool_name="x")

    assert contents(messages) == ["a"]


@pytest.mark.rule("L1-11")
def test_the_persistent_ones_are_returned_in_order() -> None:
    messages: list[dict[str, Any]] = []
    hooks = [hook("a", persistent=True), hook("b"), hook("c", role="user", persistent=True)]

    returned = HookManager(messages, hooks).inject("after_user_input")

    frame = {"skill": "skill", "timing": "after_user_input"}
    assert returned == [
        {"name": "a", "role": "system", "content": "text of a", **frame},
        {"name": "c", "role": "user", "content": "text of c", **frame},
    ]
    assert contents(messages) == ["a", "b", "c"]


@pytest.mark.rule("L1-12")
def test_remove_takes_out_the_non_persistent_ones_of_its_timing() -> None:
    messages = [{"role": "user", "content": "Hello"}]
    hooks = [hook("a"), hook("b", persistent=True), hook("c"), hook("d", "before_planning")]
    manager = HookManager(messages, hooks)
    manager.inject("after_user_input")
    manager.inject("before_planning")
    manager.inject("after_user_input")

    manager.remove("after_user_input")
    assert contents(messages) == ["Hello", "b", "d", "b"]

    manager.remove("before_planning")
    assert contents(messages) == ["Hello", "b", "b"]


@pytest.mark.rule("L1-12")
def test_removing_nothing_or_twice_is_fine() -> None:
    messages = [{"role": "user", "content": "Hello"}]
    manager = HookManager(messages, [hook("a")])

    manager.remove("after_user_input")
    manager.inject("after_user_input")
    manager.remove("after_user_input")
    manager.remove("after_user_input")
    manager.remove("before_planning")

    assert contents(messages) == ["Hello"]


@pytest.mark.rule("L1-12")
def test_a_hook_that_another_took_out_is_no_trouble() -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook("a"), hook("b")])
    manager.inject("after_user_input")
    del messages[0]

    manager.remove("after_user_input")

    assert messages == []


@pytest.mark.rule("L1-13")
def test_an_equal_message_of_the_client_stays() -> None:
    ours = {"role": "system", "content": "text of a"}
    messages = [dict(ours), {"role": "user", "content": "Hello"}]
    manager = HookManager(messages, [hook("a")])
    manager.inject("after_user_input")
    later = dict(ours)
    messages.append(later)

    manager.remove("after_user_input")

    assert contents(messages) == ["a", "Hello", "a"]
    assert messages[2] is later


@pytest.mark.rule("L1-13")
def test_two_hooks_of_the_same_text_are_told_apart() -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook("a", "before_planning"), hook("a", "before_each_agent")])
    manager.inject("before_planning")
    manager.inject("before_each_agent")
    kept = messages[1]

    manager.remove("before_planning")

    assert len(messages) == 1
    assert messages[0] is kept


@pytest.mark.rule("L1-14")
def test_a_prompt_goes_in_and_out_on_the_same_list() -> None:
    messages = [{"role": "user", "content": "Hello"}]
    manager = HookManager(messages, [hook("a")])

    first = manager.inject_prompt("plan")
    manager.inject("after_user_input")
    second = manager.inject_prompt("go on", role="user")
    assert messages[1:] == [
        {"role": "system", "content": "plan"},
        {"role": "system", "content": "text of a"},
        {"role": "user", "content": "go on"},
    ]
    assert messages[1] is first
    assert messages[3] is second

    manager.remove_prompt(first)
    assert contents(messages) == ["Hello", "a", "go on"]


@pytest.mark.rule("L1-14")
def test_hooks_and_prompts_do_not_remove_each_other() -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook("a")])
    prompt = manager.inject_prompt("text of a")
    manager.inject("after_user_input")

    manager.remove("after_user_input")
    assert len(messages) == 1
    assert messages[0] is prompt

    manager.inject("after_user_input")
    injected = messages[1]
    manager.remove_prompt(injected)
    assert len(messages) == 2


@pytest.mark.rule("L1-14")
def test_removing_a_prompt_that_is_not_there_is_a_no_op() -> None:
    messages = [{"role": "system", "content": "plan"}]
    manager = HookManager(messages, [])
    prompt = manager.inject_prompt("plan")

    manager.remove_prompt({"role": "system", "content": "plan"})
    manager.remove_prompt(messages[0])
    assert contents(messages) == ["plan", "plan"]

    manager.remove_prompt(prompt)
    manager.remove_prompt(prompt)
    assert contents(messages) == ["plan"]
    assert messages[0] is not prompt


@pytest.mark.rule("L1-15")
@pytest.mark.parametrize("history", [0, 10, 10_000])
def test_the_cost_does_not_grow_with_the_history(history: int) -> None:
    messages = CountingList({"role": "user", "content": str(number)} for number in range(history))
    manager = HookManager(messages, [hook("a"), hook("b", "before_planning")])

    manager.inject("after_user_input")
    messages.extend({"role": "user", "content": "since"} for _ in range(5))
    manager.inject("before_planning")
    prompt = manager.inject_prompt("plan")
    manager.remove_prompt(prompt)
    manager.remove("before_planning")
    manager.remove("after_user_input")
    manager.remove("after_user_input")
    manager.remove_prompt(prompt)

    assert len(messages) == history + 5
    assert messages.looked_at <= 8  # the prompt, the second hook, five messages and the first hook


@pytest.mark.rule("L1-16")
def test_what_is_appended_holds_no_bookkeeping() -> None:
    messages: list[dict[str, Any]] = []
    hooks = [hook("a"), hook("b", persistent=True), hook("c", "after_tool_call", tools=frozenset({"x"}))]
    manager = HookManager(messages, hooks)

    manager.inject("after_user_input")
    manager.inject("after_tool_call", tool_name="x")
    manager.inject_prompt("plan", "user")

    assert [sorted(message) for message in messages] == [["content", "role"]] * 4


def test_what_is_returned_is_not_what_the_model_reads() -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook("a", persistent=True)])

    manager.inject("after_user_input")[0]["content"] = "changed"

    assert contents(messages) == ["a"]


@pytest.mark.rule("L1-31")
def test_hooks_are_those_of_the_start() -> None:
    messages: list[dict[str, Any]] = []
    hooks = [hook("a")]
    manager = HookManager(messages, hooks)
    hooks.append(hook("b"))

    manager.inject("after_user_input")

    assert contents(messages) == ["a"]


@pytest.mark.rule("L1-30")
def test_past_the_cap_persistent_hooks_are_left_out_and_others_are_not() -> None:
    messages: list[dict[str, Any]] = []
    hooks = [hook("a", persistent=True), hook("b"), hook("c", persistent=True)]
    manager = HookManager(messages, hooks, max_persistent=3)

    returned = [[frame["name"] for frame in manager.inject("after_user_input")] for _ in range(3)]

    assert returned == [["a", "c"], ["a"], []]
    assert contents(messages) == ["a", "b", "c", "a", "b", "b"]
    assert manager.dropped_persistent == 3


@pytest.mark.rule("L1-30")
def test_without_a_cap_copies_accumulate() -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook("a", persistent=True)])

    for _ in range(200):
        manager.inject("after_user_input")

    assert len(messages) == 200
    assert manager.dropped_persistent == 0


@pytest.mark.rule("L1-30")
def test_a_cap_of_none_of_them_lets_no_persistent_hook_in() -> None:
    messages: list[dict[str, Any]] = []
    manager = HookManager(messages, [hook("a", persistent=True), hook("b")], max_persistent=0)

    assert manager.inject("after_user_input") == []
    assert contents(messages) == ["b"]
    assert manager.dropped_persistent == 1


def test_the_origin_of_a_message_is_known_by_identity_also_after_removal() -> None:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "text of a"}]
    hooks = [hook("a"), hook("b", persistent=True)]
    manager = HookManager(messages, hooks)
    prompt = manager.inject_prompt("text of a")
    manager.inject("after_user_input")
    history, _, first, second = messages

    manager.remove("after_user_input")

    assert manager.origin(first) is hooks[0]
    assert manager.origin(second) is hooks[1]
    assert [manager.origin(message) for message in (history, prompt, dict(first))] == [None, None, None]
