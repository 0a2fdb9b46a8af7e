"""HookManager equals a log that forgets nothing, read through the lifetimes that are over."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_engine import TIMINGS, HookInfo, HookManager

TOOLS = ["read_file", "search_text", "current_time"]

hooks = st.builds(
    HookInfo,
    name=st.sampled_from("abc"),
    file=st.just("a.md"),
    timing=st.sampled_from(TIMINGS),
    role=st.sampled_from(["system", "user"]),
    persistent=st.booleans(),
    content=st.sampled_from(["one", "two"]),
    skill=st.just("skill"),
    tool_filter=st.none() | st.frozensets(st.sampled_from(TOOLS)),
)
steps = st.one_of(
    st.tuples(st.just("inject"), st.sampled_from(TIMINGS), st.none() | st.sampled_from(TOOLS)),
    st.tuples(st.just("remove"), st.sampled_from(TIMINGS), st.none()),
    st.tuples(st.just("prompt"), st.sampled_from(["one", "plan"]), st.none()),
    st.tuples(st.just("unprompt"), st.integers(0, 5), st.none()),
    st.tuples(st.just("append"), st.sampled_from(["one", "three"]), st.none()),
)


@dataclass
class Entry:
    """Written once; it shows while its lifetime, if it has one, lasts."""

    role: str
    content: str
    lifetime: object = None
    is_over: bool = False


class View:
    """The rules without a list that shrinks: an entry ends, and is only left out of the reading."""

    def __init__(self, hooks: list[HookInfo]) -> None:
        self.hooks = hooks
        self.log: list[Entry] = []

    def inject(self, timing: str, tool: str | None) -> list[str]:
        returned = []
        for hook in self.hooks:
            is_wanted = hook.timing != "after_tool_call" or hook.tool_filter is None or tool in hook.tool_filter
            if hook.timing == timing and is_wanted:
                self.log.append(Entry(hook.role, hook.content, None if hook.persistent else timing))
                returned += [hook.name] if hook.persistent else []
        return returned

    def end(self, lifetime: object) -> None:
        for entry in self.log:
            entry.is_over |= lifetime is not None and entry.lifetime == lifetime

    def read(self) -> list[dict[str, Any]]:
        return [{"role": entry.role, "content": entry.content} for entry in self.log if not entry.is_over]


@pytest.mark.rule("L1-10")
@pytest.mark.rule("L1-12")
@pytest.mark.rule("L1-13")
@pytest.mark.rule("L1-14")
@given(st.lists(hooks, max_size=6), st.lists(steps, max_size=30))
def test_literal_insertion_and_removal_equal_a_pure_view(
    hooks: list[HookInfo], steps: list[tuple[str, Any, str | None]]
) -> None:
    messages: list[dict[str, Any]] = []
    manager, view = HookManager(messages, hooks), View(hooks)
    prompts: list[dict[str, Any]] = []

    for number, (action, what, tool) in enumerate(steps):
        match action:
            case "inject":
                assert [hook["name"] for hook in manager.inject(what, tool_name=tool)] == view.inject(what, tool)
            case "remove":
                manager.remove(what)
                view.end(what)
            case "prompt":
                prompts.append(manager.inject_prompt(what))
                view.log.append(Entry("system", what, ("prompt", len(prompts))))
            case "unprompt":
                if what < len(prompts):
                    manager.remove_prompt(prompts[what])
                    view.end(("prompt", what + 1))
            case "append":
                messages.append({"role": "user", "content": what})
                view.log.append(Entry("user", what))
        assert messages == view.read(), f"after step {number}"
