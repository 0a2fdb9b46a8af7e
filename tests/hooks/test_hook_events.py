"""Events: which ones a hook asks for, and what it is sent."""

from typing import Any

import pytest

from server import config
from server.hooks.pipeline import HookEvents
from server.hooks.stages import ALIAS_OF, KINDS, LEGACY, observed_kinds
from tests.hooks.fakes import FACTS, FakeHook


def test_there_are_45_kinds_of_which_19_have_an_older_name() -> None:
    assert (len(KINDS), len(LEGACY), len(ALIAS_OF)) == (45, 19, 19)


def test_older_names_and_names_given_twice_ask_for_the_same_kind() -> None:
    assert observed_kinds(["turn_end", "agent.turn.end", "mcp.server.failed"]) == {
        "agent.turn.end",
        "mcp.server.failed",
    }


@pytest.mark.parametrize("everything", ["", "*", "all"])
def test_one_name_stands_for_everything_and_what_follows_is_not_looked_at(everything: str) -> None:
    assert observed_kinds(["turn_end", everything, "no.such.event"]) == KINDS


@pytest.mark.parametrize("name", ["agent.*", "Turn_End", "no.such.event"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name.replace("*", r"\*")):
        observed_kinds([name, "*"])


def test_nothing_asked_for_is_nothing_observed() -> None:
    assert observed_kinds([]) == frozenset()


# --- events


def observer(*observe: str, method: Any = "hook.runtime_event", kinds: Any = "name") -> FakeHook:
    settings = config.ProcessHookSettings(observe=list(observe), event_method=method, event_kinds=kinds)
    return FakeHook(settings=settings)


def events_of(*hooks: FakeHook) -> HookEvents:
    return HookEvents(hooks, FACTS)


def test_an_event_goes_to_those_who_observe_its_kind_under_any_of_its_names() -> None:
    old, new, everything, other, none = (
        observer("tool_exec_start"),
        observer("agent.tool.exec_start"),
        observer("*"),
        observer("turn_end"),
        observer(),
    )
    events_of(old, new, everything, other, none).emit("agent.tool.exec_start", {"Tool": "echo"})

    assert [len(channel.told) for channel in (old, new, everything, other, none)] == [1, 1, 1, 0, 0]


def test_nothing_is_wanted_where_nobody_observes() -> None:
    assert not events_of(observer("turn_end")).wants("agent.error")
    assert events_of(observer("turn_end")).wants("agent.turn.end")
    assert not events_of().wants("agent.error")


def test_the_envelope_is_the_reference_s() -> None:
    channel = observer("*")
    events = events_of(channel)
    events.iteration = 2

    events.emit("agent.error", {"Stage": "llm", "Message": "no"}, trace_path="turn.x", severity="error")

    [(method, sent)] = channel.told
    assert method == "hook.runtime_event"
    assert sent.pop("id").startswith("evt-")
    assert len(sent.pop("time")) == len("2026-11-22T01:52:29.594457413Z")
    assert sent == {
        "kind": "agent.error",
        "source": {"component": "agent", "name": "parley"},
        "scope": {
            "agent_id": "parley",
            "session_key": "s1",
            "turn_id": "t1",
            "channel": "parley",
            "chat_id": "c1",
            "chat_type": "direct",
            "sender_id": "ann",
            "message_id": "t1",
        },
        "correlation": {"trace_id": "turn.x"},
        "severity": "error",
        "payload": {"Stage": "llm", "Message": "no"},
        "attrs": {"agent_source": "runTurn", "iteration": 2},
    }


def test_an_older_hook_gets_the_older_envelope_with_a_kind_that_is_a_string() -> None:
    channel = observer("*", method="hook.event")

    events_of(channel).emit("agent.turn.end", {"Status": "completed"})

    [(method, sent)] = channel.told
    assert method == "hook.event"
    assert (sent["Kind"], sent["Payload"]) == ("turn_end", {"Status": "completed"})
    assert sent["Meta"]["TurnID"] == "t1"
    assert sent.keys() == {"Kind", "Time", "Meta", "Context", "Payload"}


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("agent.turn.start", 0),
        ("agent.llm.response", 4),
        ("agent.tool.exec_start", 8),
        ("agent.subturn.orphan", 17),
        ("agent.error", 18),
    ],
)
def test_a_hook_that_tests_numbers_gets_the_older_host_s(kind: str, number: int) -> None:
    channel = observer("*", method="hook.event", kinds="number")

    events_of(channel).emit(kind, {})

    [(_, sent)] = channel.told
    assert sent["Kind"] == number
