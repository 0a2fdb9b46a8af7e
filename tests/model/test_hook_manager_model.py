"""HookManager against a list that never forgets: random doings of a turn, compared after every step."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skills_engine import HookInfo, HookManager
from tests.model.profile import examples
from tests.model.rules import fires
from tests.model.scenarios import TIMINGS, TOOLS, contents, hooks_of_skills, roles

Message = dict[str, Any]


@dataclass
class Written:
    """A message in the order it was written. It is never taken out: whatever ends it is noted in it."""

    role: str
    content: str
    ref: Message | None = None
    manager: int | None = None
    hook: HookInfo | None = None
    is_over: bool = False


@dataclass
class Manager:
    sut: HookManager
    page: int
    hooks: list[HookInfo]
    limit: int
    yielded: int = 0
    dropped: int = 0


@dataclass
class Page:
    """One list of messages, and all that was ever written on it."""

    messages: list[Message]
    log: list[Written] = field(default_factory=list)

    def view(self) -> list[Written]:
        return [written for written in self.log if not written.is_over]


class HookManagerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pages: list[Page] = []
        self.managers: list[Manager] = []

    @initialize(histories=st.lists(st.lists(st.tuples(roles, contents), max_size=4), min_size=1, max_size=2))
    def begin(self, histories: list[list[tuple[str, str]]]) -> None:
        for history in histories:
            messages = [{"role": role, "content": content} for role, content in history]
            log = [Written(m["role"], m["content"], ref=m) for m in messages]
            self.pages.append(Page(messages, log))

    @precondition(lambda self: len(self.managers) < 4)
    @rule(page=st.integers(0, 1), hooks=hooks_of_skills, limit=st.sampled_from([0, 1, 3, 64]))
    def open_manager(self, page: int, hooks: list[HookInfo], limit: int) -> None:
        page %= len(self.pages)
        sut = HookManager(self.pages[page].messages, hooks, max_persistent=limit)
        self.managers.append(Manager(sut, page, hooks, limit))

    @precondition(lambda self: self.managers)
    @rule(which=st.integers(0, 3), timing=st.sampled_from(TIMINGS), tool_name=st.sampled_from(TOOLS))
    def inject(self, which: int, timing: str, tool_name: str) -> None:
        number, manager = self._manager(which)

        got = manager.sut.inject(timing, tool_name=tool_name if timing == "after_tool_call" else None)

        expected = []
        for hook in manager.hooks:
            if not fires(hook, timing, tool_name):
                continue
            if hook.persistent and manager.yielded == manager.limit:
                manager.dropped += 1
                continue
            self.pages[manager.page].log.append(Written(hook.role, hook.content, manager=number, hook=hook))
            if hook.persistent:
                manager.yielded += 1
                expected.append({"name": hook.name, "role": hook.role, "content": hook.content, "skill": hook.skill})
        assert [{key: one[key] for key in ("name", "role", "content", "skill")} for one in got] == expected

    @precondition(lambda self: self.managers)
    @rule(which=st.integers(0, 3), timing=st.sampled_from(TIMINGS))
    def remove(self, which: int, timing: str) -> None:
        number, manager = self._manager(which)

        manager.sut.remove(timing)

        for written in self.pages[manager.page].log:
            hook = written.hook
            if written.manager == number and hook is not None and hook.timing == timing and not hook.persistent:
                written.is_over = True

    @precondition(lambda self: self.managers)
    @rule(which=st.integers(0, 3), content=contents, role=st.none() | roles)
    def inject_prompt(self, which: int, content: str, role: str | None) -> None:
        number, manager = self._manager(which)

        ref = manager.sut.inject_prompt(content) if role is None else manager.sut.inject_prompt(content, role)

        self.pages[manager.page].log.append(Written(role or "system", content, ref=ref, manager=number))

    @precondition(lambda self: any(self._prompts()))
    @rule(pick=st.integers(0, 30), is_copy=st.booleans())
    def remove_prompt(self, pick: int, is_copy: bool) -> None:
        prompts = self._prompts()
        written = prompts[pick % len(prompts)]
        assert written.manager is not None
        assert written.ref is not None
        manager = self.managers[written.manager]

        manager.sut.remove_prompt(dict(written.ref) if is_copy else written.ref)

        written.is_over = written.is_over or not is_copy  # an equal message is not the message (L1-13)

    @rule(page=st.integers(0, 1), role=st.sampled_from(["user", "assistant", "system", "tool"]), content=contents)
    def the_turn_appends(self, page: int, role: str, content: str) -> None:
        target = self.pages[page % len(self.pages)]
        message = {"role": role, "content": content}
        target.messages.append(message)
        target.log.append(Written(role, content, ref=message))

    @invariant()
    def every_list_reads_as_its_log(self) -> None:
        for page in self.pages:
            view = page.view()
            assert [(m["role"], m["content"]) for m in page.messages] == [(w.role, w.content) for w in view]
            for message, written in zip(page.messages, view, strict=True):
                assert written.ref is None or message is written.ref

    @invariant()
    def every_message_knows_its_hook(self) -> None:
        for number, manager in enumerate(self.managers):
            page = self.pages[manager.page]
            for message, written in zip(page.messages, page.view(), strict=True):
                own = written.hook if written.manager == number else None
                assert manager.sut.origin(message) == own
            assert manager.sut.dropped_persistent == manager.dropped

    def _manager(self, which: int) -> tuple[int, Manager]:
        number = which % len(self.managers)
        return number, self.managers[number]

    def _prompts(self) -> list[Written]:
        """Those in the list and those long gone: removing one twice is fine."""
        return [w for p in self.pages for w in p.log if w.manager is not None and w.hook is None]


@pytest.mark.soak
@pytest.mark.rule("L1-02", "L1-10", "L1-11", "L1-12", "L1-13", "L1-14", "L1-30")
def test_hook_manager_does_what_the_rules_say_whatever_a_turn_does() -> None:
    run_state_machine_as_test(HookManagerMachine, settings=examples(5000, steps=40))
