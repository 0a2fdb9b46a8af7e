"""The one thread that judges all streams."""

import asyncio
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from server.speech.audio import WINDOW, Samples, brightness, level_dbfs, pcm16_to_samples, samples_to_pcm16
from server.speech.vad import CONTEXT, MAX_BATCH, MAX_WAITING, Judged, SileroModel, VadStream, VoiceDetector, new_state


class CountingModel(SileroModel):
    """The probability is the share of the window's first sample; the state counts a stream's windows."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.contexts: list[Samples] = []
        self.gate = threading.Event()
        self.gate.set()

    def judge(self, windows: Samples, states: Samples) -> tuple[NDArray[np.float32], Samples]:
        self.gate.wait(10)
        self.batches.append(len(windows))
        self.contexts.append(windows[:, :CONTEXT].copy())
        return states[0, :, 0] / np.float32(1000), states + np.float32(1)


def window(value: float = 0.5) -> bytes:
    return samples_to_pcm16(np.full(WINDOW, value, np.float32))


class Ears:
    """A stream that remembers what it was told."""

    def __init__(self, detector: VoiceDetector) -> None:
        self.judged: list[Judged] = []
        self.stream = detector.open(self._take)
        self._changed = asyncio.Event()

    def _take(self, judged: Judged) -> None:
        self.judged.append(judged)
        self._changed.set()

    async def wait_for(self, count: int) -> list[Judged]:
        while len(self.judged) < count:
            self._changed.clear()
            await self._changed.wait()
        return self.judged


async def test_each_stream_has_a_state_of_its_own_and_keeps_its_order() -> None:
    detector, model = VoiceDetector(), CountingModel()
    await detector.start(model)
    ears = [Ears(detector) for _ in range(3)]

    for count, ear in enumerate(ears):
        for number in range(5 + count):
            assert ear.stream.feed(window(0.1 + number / 100))

    for count, ear in enumerate(ears):
        judged = await ear.wait_for(5 + count)
        assert [round(j.probability * 1000) for j in judged] == list(range(5 + count))
        assert [j.pcm for j in judged] == [window(0.1 + number / 100) for number in range(5 + count)]
    await detector.aclose()


async def test_what_waits_is_judged_together_in_bounded_batches() -> None:
    detector, model = VoiceDetector(), CountingModel()
    model.gate.clear()
    await detector.start(model)
    ears = [Ears(detector) for _ in range(MAX_BATCH + 10)]

    for ear in ears:
        ear.stream.feed(window())
    model.gate.set()

    for ear in ears:
        await ear.wait_for(1)
    assert sum(model.batches) == len(ears)
    assert MAX_BATCH // 2 < max(model.batches) <= MAX_BATCH
    await detector.aclose()


async def test_silence_is_not_asked_about_and_ends_what_the_model_remembers() -> None:
    detector, model = VoiceDetector(), CountingModel()
    await detector.start(model)
    ears = Ears(detector)

    ears.stream.feed(window())
    for _ in range(8):
        ears.stream.feed(window(0.0001))
    ears.stream.feed(window())

    judged = await ears.wait_for(10)
    assert model.batches == [1, 1]
    assert [j.probability for j in judged] == [0.0] * 10, "the second one begins from a new state"
    assert detector.skipped == 8
    assert np.all(model.contexts[1] == pcm16_to_samples(window(0.0001))[:CONTEXT]), (
        "the context is what was heard last, silence too"
    )
    await detector.aclose()


async def test_loudness_and_brightness_come_with_the_judgement() -> None:
    detector, model = VoiceDetector(), CountingModel()
    await detector.start(model)
    ears = Ears(detector)
    sound = np.random.default_rng(1).normal(0, 0.1, WINDOW).astype(np.float32)

    ears.stream.feed(samples_to_pcm16(sound))

    [judged] = await ears.wait_for(1)
    assert judged.level_dbfs == pytest.approx(level_dbfs(sound), abs=0.01)
    assert judged.brightness == pytest.approx(brightness(sound), abs=0.01)
    await detector.aclose()


async def test_a_stream_that_is_too_fast_loses_the_newest_and_counts_it() -> None:
    detector, model = VoiceDetector(), CountingModel()
    model.gate.clear()
    await detector.start(model)
    ears = Ears(detector)

    taken = [ears.stream.feed(window()) for _ in range(MAX_WAITING + 20)]
    model.gate.set()

    assert detector.refused == taken.count(False) >= 18
    await ears.wait_for(taken.count(True))
    await detector.aclose()


async def test_nothing_is_heard_of_a_closed_stream() -> None:
    detector, model = VoiceDetector(), CountingModel()
    model.gate.clear()
    await detector.start(model)
    closed, other = Ears(detector), Ears(detector)
    for _ in range(5):
        closed.stream.feed(window())
        other.stream.feed(window())

    closed.stream.close()
    model.gate.set()

    await other.wait_for(5)
    assert closed.judged == []
    assert not closed.stream.feed(window())
    await detector.aclose()


async def test_a_listener_that_fails_does_not_deafen_the_others() -> None:
    detector, model = VoiceDetector(), CountingModel()
    await detector.start(model)

    def fail(judged: Judged) -> None:
        raise RuntimeError("a bug in a session")

    failing: VadStream = detector.open(fail)
    other = Ears(detector)
    failing.feed(window())
    other.stream.feed(window())

    await other.wait_for(1)
    while not failing.is_closed:
        await asyncio.sleep(0)
    await detector.aclose()


async def test_a_model_that_fails_says_so_in_the_status() -> None:
    changed = asyncio.Event()
    detector = VoiceDetector(changed.set)

    class Broken(CountingModel):
        def judge(self, windows: Samples, states: Samples) -> tuple[NDArray[np.float32], Samples]:
            raise RuntimeError("no such kernel")

    await detector.start(Broken())
    states = [detector.status.state]
    changed.clear()
    Ears(detector).stream.feed(window())
    await changed.wait()

    states.append(detector.status.state)
    assert states == ["ready", "missing"]
    assert "no such kernel" in (detector.status.reason or "")
    await detector.aclose()


async def test_closing_ends_the_thread() -> None:
    detector = VoiceDetector()
    before = threading.active_count()
    await detector.start(CountingModel())

    await detector.aclose()

    assert threading.active_count() <= before + 1, "asyncio keeps one for to_thread"
    assert not [thread for thread in threading.enumerate() if thread.name == "vad"]


def test_the_real_model_judges_rows_as_it_judges_them_alone() -> None:
    model = SileroModel.load()
    sound = np.random.default_rng(2).normal(0, 0.1, (3, CONTEXT + WINDOW)).astype(np.float32)

    together, _ = model.judge(sound, np.stack([new_state()] * 3, axis=1))
    alone = [model.judge(row[None, :], new_state()[:, None, :])[0][0] for row in sound]

    assert together == pytest.approx(alone, abs=1e-4)
    assert max(together) < 0.3, "noise is no voice"
