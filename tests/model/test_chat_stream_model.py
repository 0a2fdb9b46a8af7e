"""chat_stream against the rules: random turns, whole, failing, and cancelled at any await."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import ProviderError
from skills_engine import HookInfo
from tests.model.profile import examples
from tests.model.rules import Line, Reply, ToolUse, Turn
from tests.model.scenarios import TIMINGS, UNKNOWN_TOOL, next_turn, turns
from tests.model.stage import Delivery, Stage
from tests.model.verdict import assert_chunks, assert_requests, yielded
from tests.support.virtual_loop import VirtualLoop, current_loop

deliveries = st.lists(
    st.builds(
        Delivery,
        is_refused_once=st.integers(0, 5).map(lambda n: n == 0),
        reasoning=st.sampled_from(["", "§one, I think"]),
        thinks_aloud=st.integers(0, 4).map(lambda n: n == 0),
        need_tag=st.sampled_from(["<need_tool>", "\n <NEED_TOOL></need_tool>", "```\n<need_tool>\n", "<Need_Tool> "]),
        no_tag=st.sampled_from(["", "<no_tool>", " <NO_TOOL>\n", "```text\n<no_tool></no_tool>"]),
        piece=st.sampled_from([1000, 1, 3]),
        tool_failure=st.sampled_from(["error", "crash", "garbled"]),
        waits=st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


def on_a_virtual_loop(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await test()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


async def play_to_the_end(stage: Stage) -> None:
    await stage.play()

    assert_requests(stage.model.requests, stage.calls, stage.turn)
    assert len(stage.model.requests) == len(stage.calls)
    assert_chunks(stage.chunks, stage.calls, stage.turn)
    assert sorted(stage.tools.started) == sorted(stage.calls_that_reach_a_tool())
    stage.assert_nothing_is_left()


async def play_cancelled(stage: Stage, tick: int) -> bool:
    """Cancel the turn after so many passes of the loop. False: it was over before."""
    loop = current_loop()
    turn = asyncio.create_task(stage.play(), name="turn")
    loop.cancel_at(loop.tick + tick, turn)
    with suppress(asyncio.CancelledError):
        await turn

    assert turn.cancelled() == loop.was_cancelled, "a cancellation is never swallowed"
    assert_requests(stage.model.requests, stage.calls, stage.turn)
    stage.assert_nothing_is_left()
    return loop.was_cancelled


async def count_ticks(stage: Stage) -> int:
    start = current_loop().tick
    await asyncio.create_task(stage.play(), name="turn")
    return current_loop().tick - start


async def play_again(stage: Stage) -> None:
    """The next turn on the same agent, with what a client would have kept of this one."""
    said = stage.calls[-1].reply.text
    stage.set_up(next_turn(stage.turn, yielded(stage.calls), said), (Delivery(),))
    await play_to_the_end(stage)


@pytest.mark.soak
@pytest.mark.rule("L1-02", "L1-16", "L1-20", "L1-21", "L1-22", "L1-23", "L1-24", "L1-25", "L1-26")
@pytest.mark.rule("L1-27", "L1-28", "L1-29", "L1-30", "L1-32", "L1-33")
@examples(10_000)
@given(turn=turns, deliveries=deliveries)
def test_every_call_of_a_turn_and_of_the_next_reads_what_the_rules_say(
    turn: Turn, deliveries: Sequence[Delivery]
) -> None:
    async def test() -> None:
        stage = Stage(turn, deliveries)
        await play_to_the_end(stage)
        await play_again(stage)

    on_a_virtual_loop(test)


@pytest.mark.soak
@pytest.mark.rule("L1-32")
@examples(5000)
@given(turn=turns, deliveries=deliveries, when=st.integers(0, 999))
def test_a_turn_cancelled_at_any_await_leaves_nothing_behind(
    turn: Turn, deliveries: Sequence[Delivery], when: int
) -> None:
    async def test() -> None:
        tick = 1 + when * await count_ticks(Stage(turn, deliveries)) // 1000
        stage = Stage(turn, deliveries)
        await play_cancelled(stage, tick)
        await play_again(stage)

    on_a_virtual_loop(test)


@pytest.mark.soak
@pytest.mark.rule("L1-32")
@examples(3000)
@given(turn=turns, deliveries=deliveries, stop_after=st.integers(1, 40))
def test_a_turn_closed_after_any_chunk_leaves_nothing_behind(
    turn: Turn, deliveries: Sequence[Delivery], stop_after: int
) -> None:
    async def test() -> None:
        stage = Stage(turn, deliveries)
        await stage.play(stop_after=stop_after)
        assert_requests(stage.model.requests, stage.calls, stage.turn)
        stage.assert_nothing_is_left()
        await play_again(stage)

    on_a_virtual_loop(test)


@pytest.mark.soak
@pytest.mark.rule("L1-32")
@examples(3000)
@given(turn=turns, deliveries=deliveries, broken=st.integers(0, 3))
def test_a_turn_whose_model_breaks_off_fails_and_leaves_nothing_behind(
    turn: Turn, deliveries: Sequence[Delivery], broken: int
) -> None:
    async def test() -> None:
        stage = Stage(turn, deliveries)
        number = broken % len(stage.calls)
        each = [stage.model.delivery(place) for place in range(len(stage.calls))]
        each[number] = replace(each[number], breaks=True)
        stage.set_up(turn, each)

        with pytest.raises(ProviderError):
            await stage.play()

        assert len(stage.model.requests) == number + 1, "nothing is sent again behind the first token"
        assert_requests(stage.model.requests, stage.calls, stage.turn)
        stage.assert_nothing_is_left()
        await play_again(stage)

    on_a_virtual_loop(test)


def _rich_turn() -> Turn:
    """All timings, both lifetimes, parallel calls that end in another order, errors, the last round."""
    hooks = tuple(
        HookInfo(
            name=f"{timing}-{persistent}",
            file="a.md",
            timing=timing,
            role="user" if persistent else "system",
            persistent=persistent,
            content=f"§{timing} {persistent}",
            skill="diary",
            tool_filter=frozenset({"alpha", "gamma"}) if timing == "after_tool_call" and persistent else None,
        )
        for timing in TIMINGS
        for persistent in (False, True)
    )
    batches = (
        Reply("§two at once", (ToolUse("a", "alpha", "§A"), ToolUse("b", "beta", None), ToolUse("c", "alpha", "§C"))),
        Reply("", (ToolUse("d", "gamma", "§D"), ToolUse("e", UNKNOWN_TOOL, None))),
    )
    return Turn(
        history=(Line("user", "§the question"),),
        hooks=hooks,
        plan="§let me look.",
        batches=batches,
        answer=Reply("§that is it", (ToolUse("late", "alpha", None),)),
        max_rounds=2,
    )


@pytest.mark.rule("L1-32")
def test_a_rich_turn_can_be_cancelled_at_every_single_await() -> None:
    delivery = Delivery(is_refused_once=True, reasoning="§one", piece=5, waits=(4, 0, 2))

    async def test() -> None:
        tick, was_cancelled = 0, True
        while was_cancelled:
            tick += 1
            stage = Stage(_rich_turn(), (delivery,))
            was_cancelled = await play_cancelled(stage, tick)
            if tick % 10 == 0:
                await play_again(stage)
        assert tick > 50

    on_a_virtual_loop(test)


@pytest.mark.rule("L1-32")
def test_a_rich_turn_can_be_closed_after_every_single_chunk() -> None:
    async def test() -> None:
        whole = Stage(_rich_turn(), (Delivery(piece=5),))
        await play_to_the_end(whole)
        for stop_after in range(1, len(whole.chunks) + 1):
            stage = Stage(_rich_turn(), (Delivery(piece=5, waits=(4, 0, 2)),))
            await stage.play(stop_after=stop_after)
            assert_requests(stage.model.requests, stage.calls, stage.turn)
            stage.assert_nothing_is_left()
            await play_again(stage)

    on_a_virtual_loop(test)
