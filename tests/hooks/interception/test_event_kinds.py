"""server/hooks/interception/event_kinds.py: which events a hook asks for."""

import pytest

from server.hooks.interception.event_kinds import ALIAS_OF, KINDS, LEGACY, UnknownEvent, observed


def test_there_are_45_kinds_of_which_19_have_an_older_name() -> None:
    assert (len(KINDS), len(LEGACY), len(ALIAS_OF)) == (45, 19, 19)


def test_older_names_and_names_given_twice_ask_for_the_same_kind() -> None:
    assert observed(["turn_end", "agent.turn.end", "mcp.server.failed"]) == {"agent.turn.end", "mcp.server.failed"}


@pytest.mark.parametrize("everything", ["", "*", "all"])
def test_one_name_stands_for_everything_and_what_follows_is_not_looked_at(everything: str) -> None:
    assert observed(["turn_end", everything, "no.such.event"]) == KINDS


@pytest.mark.parametrize("name", ["agent.*", "Turn_End", "no.such.event"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UnknownEvent, match=name.replace("*", r"\*")):
        observed([name, "*"])


def test_nothing_asked_for_is_nothing_observed() -> None:
    assert observed([]) == frozenset()
