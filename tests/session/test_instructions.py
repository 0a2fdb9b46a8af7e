"""What a client adds to the system prompt: who may, and for how long."""

import json
from typing import Any

import pytest

from server import config
from server.accounts.principal import Principal
from server.errors import FrameError
from server.wire import codec
from tests.session.fakes import FakeAgent, SessionHarness, say
from tests.session.talk import Talk

LOCAL = Principal("127.0.0.1", is_local=True)
ANNA = Principal("1.2.3.4", is_local=False, user_id="anna", is_logged_in=True)
STRANGER = Principal("1.2.3.4", is_local=False, user_id="anonymous@1.2.3.4")


async def asked(turns: list[dict[str, Any]], **harness_settings: Any) -> tuple[list[str | None], list[str]]:
    """The instructions of each turn, and the notices. A turn: fields of `chat`, after those for `configure`."""
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent, **harness_settings) as harness:
        for count, fields in enumerate(turns, start=1):
            if "configure" in fields:
                harness.send("configure", **fields.pop("configure"))
            harness.chat(id=f"t{count}", **fields)
            await harness.until("turn_end", count)
        notices = [frame for frame in harness.frames if frame["type"] == "notice"]
    return [turn.options.settings.instructions for turn in agent.asked], [frame["code"] for frame in notices]


async def test_a_turn_s_instructions_stand_in_for_those_of_the_connection_and_null_takes_them_away() -> None:
    told, notices = await asked(
        [
            {},
            {"configure": {"instructions": "Rhyme."}},
            {"instructions": "Be brief."},
            {"instructions": None},
            {"configure": {"language": "de"}},
            {"configure": {"instructions": None}},
        ]
    )

    assert told == [None, "Rhyme.", "Be brief.", None, "Rhyme.", None]
    assert notices == []


async def test_a_spoken_turn_goes_by_those_of_the_connection() -> None:
    async with Talk() as talk:
        talk.send("configure", instructions="Rhyme.")
        await talk.voice()
        await talk.silence()
        await talk.until("turn_end")

    assert [turn.options.settings.instructions for turn in talk.agent.asked] == ["Rhyme."]


@pytest.mark.parametrize(
    ("policy", "principal", "may"),
    [
        ("auto", LOCAL, True),
        ("auto", ANNA, True),
        ("auto", STRANGER, False),
        ("allow", STRANGER, True),
        ("deny", LOCAL, False),
        ("deny", ANNA, False),
    ],
)
async def test_instructions_are_taken_from_those_who_may_give_them(
    policy: Any, principal: Principal, may: bool
) -> None:
    security = config.SecuritySettings(client_instructions=policy)
    turns: list[dict[str, Any]] = [
        {"configure": {"instructions": "Rhyme."}},
        {"instructions": "Be brief."},
        {"instructions": None},
    ]
    told, notices = await asked(turns, security=security, principal=principal)

    assert told == (["Rhyme.", "Be brief.", None] if may else [None, None, None])
    assert notices == ([] if may else ["instructions_not_allowed"] * 2)


@pytest.mark.parametrize("type_", ["configure", "chat"])
@pytest.mark.parametrize("wrong", ["", "x" * 16_385, 5, ["Rhyme."]])
def test_instructions_that_are_none_are_refused_and_named(type_: str, wrong: object) -> None:
    frame = {"type": type_, "messages": [], "instructions": wrong}
    with pytest.raises(FrameError) as refused:
        codec.decode(json.dumps(frame).encode(), max_messages=9)

    assert refused.value.path == "$.instructions"
