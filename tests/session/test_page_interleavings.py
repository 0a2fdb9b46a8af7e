"""Whatever a user does before the page that is shipped, and whenever frames and sound arrive at it and at the session.

Nothing of a turn that was cut is heard or kept after its cut, but its hooks; the
history is what docs/protocol.md makes of the sentences and of what was heard of them.
"""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.profile import examples
from tests.session.fakes import Frame
from tests.session.page_world import Other, PageProcess, PageWorld, Reply, Say, Step
from tests.session.test_order import check_turn, check_turns
from tests.support.virtual_loop import VirtualLoop

SENTENCES = st.builds(
    Say,
    st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "late", "dead"]), min_size=1, max_size=5).map(tuple),
    st.sampled_from([0, 0, 40, 400]),
)
REPLIES = st.lists(
    st.lists(
        st.one_of(
            SENTENCES, SENTENCES, SENTENCES, st.sampled_from(["hook", "tool", "reply_end", "failure"]).map(Other)
        ),
        max_size=5,
    ),
    min_size=1,
    max_size=4,
)
WORDS = st.lists(st.sampled_from(["What?", "What?", "Well and", ""]), min_size=1, max_size=3)
STEP = st.one_of(
    st.tuples(st.just("deliver"), st.integers(1, 12)),
    st.tuples(st.just("deliver"), st.integers(1, 12)),
    st.tuples(st.just("arrive"), st.integers(1, 3)),
    st.tuples(st.just("arrive"), st.integers(1, 3)),
    st.tuples(st.just("listen"), st.sampled_from([5, 30, 80, 200, 600])),
    st.tuples(st.just("hurry"), st.integers(1, 20)),
    st.tuples(st.just("voice"), st.sampled_from([96, 224, 384])),
    st.tuples(st.just("silence"), st.sampled_from([96, 320, 800])),
    st.sampled_from([("submit", None), ("submit", None), ("stop", None), ("lose", None)]),
    st.tuples(st.just("talk"), st.booleans()),
)
# Lists of lists: long scripts are drawn often, and still shrink to one step.
STEPS = st.lists(st.lists(STEP, min_size=1, max_size=12), min_size=1, max_size=12).map(
    lambda parts: [step for part in parts for step in part]
)


@pytest.fixture(scope="module")
def page() -> Iterator[PageProcess]:
    process = PageProcess()
    yield process
    process.close()


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_order_of_events_lets_a_cut_turn_be_heard_or_the_history_say_what_was_not_heard(page: PageProcess) -> None:
    counts = {"turns": 0, "cut": 0}

    @examples(10_000)
    @given(REPLIES, WORDS, st.sampled_from([0, 100, 500]), st.booleans(), STEPS)
    def run(replies: list[Reply], words: list[str], wait_ms: int, is_push_to_talk: bool, steps: list[Step]) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            world = runner.run(play(page, replies, words, wait_ms, steps, is_push_to_talk=is_push_to_talk))
        counts["turns"] += world.answer["turns"]
        counts["cut"] += world.answer["cut"]
        for frames in world.lines:
            check_line(frames)

    run()
    assert counts["turns"] > 20, counts
    assert counts["cut"] > 10, counts


def test_of_a_sentence_that_speech_cuts_the_history_keeps_no_more_than_its_sound_can_have_said(
    page: PageProcess,
) -> None:
    slow: list[Reply] = [[Say(("late",) * 5, 400)] * 4]
    steps: list[Step] = [
        ("submit", None),
        ("arrive", 3),
        *[("silence", 96), ("deliver", 12)] * 20,
        ("voice", 96),
        ("deliver", 5),  # the last sentence, two words of which have been synthesised
        ("voice", 288),
    ]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        world = runner.run(play(page, slow, ["What?"], 0, steps, is_push_to_talk=False))

    ends = [frame for frame in world.lines[0] if frame["type"] == "sentence_end" and frame["duration_ms"] > 0]
    assert min(frame["duration_ms"] for frame in ends) < max(frame["duration_ms"] for frame in ends)  # one was cut


async def play(
    page: PageProcess,
    replies: list[Reply],
    words: list[str],
    wait_ms: int,
    steps: list[Step],
    *,
    is_push_to_talk: bool,
) -> PageWorld:
    world = PageWorld(page, replies, words, wait_ms=wait_ms, is_push_to_talk=is_push_to_talk)
    try:
        for step in steps:
            await world.do(step)
        await world.finish()
    finally:
        await world.aclose()
    return world


def check_line(frames: list[Frame]) -> None:
    """The order of one connection; a transcript names its turn before that begins, and speech ends the one before."""
    running = None
    for frame in frames:
        match frame["type"]:
            case "turn_start":
                running = frame["turn_id"]
            case "turn_end":
                running = None
            case "speech_started":
                assert running is None, frame
    said = [frame for frame in frames if frame["type"] != "transcript"]
    check_turns(said)
    for turn_id in {frame["turn_id"] for frame in said if "turn_id" in frame}:
        check_turn([frame for frame in said if frame.get("turn_id") == turn_id])
