"""server/session/settings.py: choices of a client, laid over its settings and carried to the agent."""

import asyncio
from typing import Any

import msgspec
import pytest

from server.accounts.principal import Principal
from server.config import SecuritySettings
from server.session.settings import ClientRights, ClientSettings
from server.session.turn_limits import Preparation
from server.wire import frames as wire
from tests.session.fakes import FakeAgent, SessionHarness, say

FREE = ClientRights(may_trace=True, may_instruct=True, system_messages="allow")
BOUND = ClientRights(may_trace=False, may_instruct=False, system_messages="demote")
CHOSEN: dict[str, Any] = {
    "voice": False,
    "skills": ["diary"],
    "enable_tools": False,
    "language": "de",
    "speaker": "anna",
    "speed": 1.5,
    "instructions": "Rhyme.",
    "max_tokens": 9,
    "tools": [{"name": "paint"}],
    "tool_choice": {"name": "paint"},
    "client_tools": "end",
    "context": {"plan": "pro", "tags": ["a"], "age": 3},
}
OF_THE_CONNECTION = {"conversation": "c1", "trace": True}


def settings_of(fields: dict[str, object]) -> wire.TurnSettings:
    return msgspec.convert(fields, wire.TurnSettings)


def test_every_choice_of_a_frame_is_a_setting_and_the_samples_have_each() -> None:
    settings = set(wire.TurnSettings.__struct_fields__)

    assert set(wire.TurnChoices.__struct_fields__) == {*CHOSEN, "ref"}
    assert set(CHOSEN) | set(OF_THE_CONNECTION) == settings
    of_the_connection = {*ClientSettings.__struct_fields__, "nudges", "ref"} - {"turn"}
    assert set(wire.Configure.__struct_fields__) - settings == of_the_connection


def test_choices_that_are_not_made_leave_the_settings_as_they_are() -> None:
    settings = settings_of({**CHOSEN, **OF_THE_CONNECTION})

    assert FREE.lay_over(settings, wire.Chat(messages=[])) == settings


def test_words_to_the_model_and_traces_count_as_none_where_they_are_not_allowed() -> None:
    settings = BOUND.lay_over(wire.TurnSettings(), msgspec.convert({**CHOSEN, **OF_THE_CONNECTION}, wire.Configure))

    allowed = {name: value for name, value in CHOSEN.items() if name not in ("instructions", "tools")}
    assert settings == settings_of({**allowed, "conversation": "c1"})


@pytest.mark.parametrize("type_", ["configure", "chat"])
async def test_what_a_client_chooses_reaches_the_agent_whole(type_: str) -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent) as harness:
        harness.send("configure", **OF_THE_CONNECTION, **(CHOSEN if type_ == "configure" else {}))
        harness.chat(**(CHOSEN if type_ == "chat" else {}))
        await harness.until("turn_end")

    assert agent.asked[0].options.settings == settings_of({**CHOSEN, **OF_THE_CONNECTION})


@pytest.mark.parametrize(
    ("principal", "rights"),
    [
        (Principal("::1", is_local=True, is_operator=True), (True, True, "allow")),
        (Principal("::1", is_local=True), (False, True, "demote")),
        (Principal("10.0.0.1", is_local=False, is_logged_in=True, is_operator=True), (True, True, "demote")),
        (Principal("10.0.0.1", is_local=False), (False, False, "demote")),
    ],
)
def test_by_default_rights_depend_on_who_asks_and_from_where(principal: Principal, rights: ClientRights) -> None:
    assert ClientRights.of(principal, SecuritySettings()) == rights


async def test_turns_wait_for_all_that_is_prepared_also_where_it_fails() -> None:
    preparation, end = Preparation(), asyncio.Event()

    async def fail() -> None:
        await end.wait()
        raise RuntimeError("no model")

    task = asyncio.create_task(fail())
    preparation.add(task)
    waiting = asyncio.create_task(preparation.wait())
    await asyncio.sleep(0)
    assert not waiting.done()

    end.set()
    await waiting
    assert isinstance(task.exception(), RuntimeError)
