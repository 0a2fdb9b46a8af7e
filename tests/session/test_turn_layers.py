"""What hooks and tools do to a turn as its client sees it: aborts, files, words for the user, layers."""

from typing import Any

import pytest

from server import config
from server.agent.chunks import LLMChunk
from server.hooks.layers import HookLayers
from server.hooks.process.host import HookHost
from server.media.store import MediaItem
from server.session.chat_handler import ChatHandler
from server.session.turn_writer import ABORTED_TOOL
from server.tools.tool_calls import ToolOutcome, TurnAborted
from tests.hooks.fakes import FakeHook, hook
from tests.session.fakes import FakeAgent, SessionHarness, call, kinds, say

PICTURE = MediaItem(ref="media://1", url="/media/1?s=x", content_type="image/png", name="a.png", size=3)


@pytest.mark.parametrize("rollback", [False, True])
async def test_an_abort_ends_the_turn_with_its_reason_and_every_open_call_with_a_result(rollback: bool) -> None:
    agent = FakeAgent([[LLMChunk(text="Well. "), call("c1"), call("c2"), TurnAborted("enough", rollback=rollback)]])
    async with SessionHarness(agent) as harness:
        harness.chat()
        end = await harness.until("turn_end")

    assert (end["reason"], end["message"], end.get("rollback")) == ("aborted", "enough", rollback or None)
    results = [frame for frame in harness.frames if frame["type"] == "tool_result"]
    assert [(frame["id"], frame["content"]) for frame in results] == [("c1", ABORTED_TOOL), ("c2", ABORTED_TOOL)]
    assert "error" not in kinds(harness.frames)
    assert agent.asked[0].is_closed


async def test_the_next_turn_after_an_abort_is_like_any_other() -> None:
    async with SessionHarness(FakeAgent([[TurnAborted("enough")], say("Hi.")])) as harness:
        harness.chat()
        await harness.until("turn_end")
        harness.chat()
        end = await harness.until("turn_end", 2)

    assert end["reason"] == "completed"


async def test_a_result_tells_which_arguments_ran_and_what_is_for_the_user() -> None:
    finished = ToolOutcome(
        id="c1", name="echo", content="42", is_error=False, duration_ms=1, arguments={"n": 2}, for_user="forty-two"
    )
    plain = ToolOutcome(id="c2", name="echo", content="42", is_error=False, duration_ms=1)
    steps: list[Any] = [call("c1"), call("c2"), LLMChunk(tool_result=finished), LLMChunk(tool_result=plain)]
    async with SessionHarness(FakeAgent([steps])) as harness:
        harness.chat()
        await harness.until("turn_end")

    first, second = (frame for frame in harness.frames if frame["type"] == "tool_result")
    assert (first["arguments"], first["for_user"]) == ({"n": 2}, "forty-two")
    assert "arguments" not in second
    assert "for_user" not in second


async def test_a_file_is_shown_in_its_place() -> None:
    async with SessionHarness(
        FakeAgent([[LLMChunk(text="Look: "), LLMChunk(media=PICTURE), LLMChunk(text="Nice.")]])
    ) as harness:
        harness.chat()
        await harness.until("turn_end")

    order = [kind for kind in kinds(harness.frames) if kind in ("sentence", "media")]
    assert order == ["sentence", "media", "sentence"]
    [frame] = [frame for frame in harness.frames if frame["type"] == "media"]
    assert {key: frame[key] for key in ("url", "content_type", "name", "size")} == {
        "url": "/media/1?s=x", "content_type": "image/png", "name": "a.png", "size": 3,
    }  # fmt: skip


def host_of(*hooks: FakeHook) -> HookHost:
    host = HookHost(config.HooksSettings(), {})
    host.hooks = hooks
    return host


def handler_over(layers: HookLayers) -> type[ChatHandler]:
    class Layered(ChatHandler):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more, layers=layers)

    return Layered


async def test_a_turn_has_its_hooks_for_as_long_as_it_lasts() -> None:
    host = host_of(hook(before_tool={}))
    agent = FakeAgent([say("Hi."), [RuntimeError("broken")]])
    layers = HookLayers(config.HooksSettings(stream_gate="sentence"), processes=host)
    async with SessionHarness(agent, handler=handler_over(layers)) as harness:
        harness.chat(id="t1")
        await harness.until("turn_end")
        harness.chat()
        await harness.until("turn_end", 2)

    given = agent.asked[0].options.layers
    assert [hook.name for hook in given.hooks] == ["hook"]
    assert (given.facts.turn_id, given.facts.user_message, given.stream_gate) == ("t1", "hi", "sentence")
    assert given.ask is not None
    assert [hook.leases for hook in host.hooks] == [0]


@pytest.mark.parametrize(
    ("settings", "channels"),
    [(config.HooksSettings(), []), (config.HooksSettings(enabled=False), [hook(before_tool={})])],
)
async def test_where_nothing_is_configured_a_turn_has_no_hooks(settings: config.HooksSettings, channels: list[FakeHook]) -> None:  # fmt: skip
    agent = FakeAgent([say("Hi.")])
    layers = HookLayers(settings, processes=host_of(*channels))
    async with SessionHarness(agent, handler=handler_over(layers)) as harness:
        harness.chat()
        await harness.until("turn_end")

    given = agent.asked[0].options.layers
    assert (given.hooks, given.policy, given.media) == ((), None, None)


async def test_settings_that_were_read_anew_count_from_the_next_turn() -> None:
    agent = FakeAgent([say("Hi.")])
    layers = HookLayers(config.HooksSettings(), processes=host_of(hook(before_tool={})))
    async with SessionHarness(agent, handler=handler_over(layers)) as harness:
        harness.chat()
        await harness.until("turn_end")
        layers.reload(config.HooksSettings(respond_policy="any"))
        harness.chat()
        await harness.until("turn_end", 2)

    policies = [asked.options.layers.respond_policy for asked in agent.asked]
    assert policies == ["injected", "any"]
