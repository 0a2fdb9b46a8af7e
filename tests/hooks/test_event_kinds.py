"""server/hooks/hook_events.py: which events a hook asks for."""

import pytest

from server.hooks.hook_events import ALIAS_OF, KINDS, LEGACY, UnknownEvent, observed_kinds


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
    with pytest.raises(UnknownEvent, match=name.replace("*", r"\*")):
        observed_kinds([name, "*"])


def test_nothing_asked_for_is_nothing_observed() -> None:
    assert observed_kinds([]) == frozenset()
