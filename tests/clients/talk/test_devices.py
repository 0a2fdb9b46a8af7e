"""clients/talk/devices.py, before a module that does as the test says."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from clients.talk.devices import Loudspeaker, microphone_frames, microphone_rate
from clients.talk.sound import SoundError

OWN_RATE = 48_000


class PortAudioError(Exception):
    pass


class Stream:
    def __init__(self, samplerate: int, callback: Callable[..., None], moves: list[bytes | memoryview]) -> None:
        self.samplerate = samplerate
        self.callback = callback
        self.moves = moves
        self.active = False
        self.is_closed = False

    def start(self) -> None:
        self.active = True
        for sound in self.moves:
            self.callback(sound)

    def abort(self, *, ignore_errors: bool) -> None:
        self.active = False

    def close(self, *, ignore_errors: bool) -> None:
        self.is_closed = True

    def play(self, samples: int) -> bytes:
        """What a loudspeaker asks for."""
        out = bytearray(2 * samples)
        self.callback(memoryview(out), samples)
        return bytes(out)


@dataclass
class FakeDevices:
    """In place of the module `sounddevice`."""

    rates: set[int] = field(default_factory=lambda: {16_000, 24_000, OWN_RATE})
    """That streams can have; none = nothing is plugged in."""
    hears: list[bytes] = field(default_factory=list)
    """What a microphone gives as soon as it is open; nothing comes after it."""
    stalls: int = 0
    """Loudspeakers that will take a first buffer and nothing more."""
    streams: list[Stream] = field(default_factory=list)
    PortAudioError: type[Exception] = PortAudioError

    def query_devices(self, *, kind: str) -> dict[str, Any]:
        if not self.rates:
            raise PortAudioError("Error querying device -1")
        return {"default_samplerate": float(OWN_RATE)}

    def check_input_settings(self, *, samplerate: int, **_: Any) -> None:
        if samplerate not in self.rates:
            raise PortAudioError("Invalid sample rate")

    def _open(self, samplerate: int, callback: Callable[..., None], moves: list[bytes | memoryview]) -> Stream:
        self.check_input_settings(samplerate=samplerate)
        self.streams.append(Stream(samplerate, callback, moves))
        return self.streams[-1]

    def RawInputStream(self, *, samplerate: int, callback: Callable[..., None], **_: Any) -> Stream:  # noqa: N802  theirs
        return self._open(samplerate, callback, [*self.hears])

    def RawOutputStream(self, *, samplerate: int, callback: Callable[..., None], **_: Any) -> Stream:  # noqa: N802
        self.stalls -= 1
        buffers = 10 if self.stalls < 0 else 1
        return self._open(samplerate, callback, [memoryview(bytearray(samplerate // 5)) for _ in range(buffers)])


def listen(devices: FakeDevices, **terms: Any) -> AsyncGenerator[bytes, None]:
    return microphone_frames(devices, 16_000, **terms)


def test_the_microphone_is_asked_for_16_khz() -> None:
    assert microphone_rate(FakeDevices()) == 16_000


def test_a_microphone_that_refuses_16_khz_has_its_own_rate() -> None:
    assert microphone_rate(FakeDevices({OWN_RATE})) == OWN_RATE


def test_no_microphone_names_the_cure() -> None:
    with pytest.raises(SoundError, match=r"no microphone was found: plug one in, or use --wav FILE, or type"):
        microphone_rate(FakeDevices(set()))


async def test_what_the_microphone_hears_comes_in_order_until_nobody_wants_it() -> None:
    devices = FakeDevices(hears=[b"\1\0", b"\2\0", b"\3\0"])
    async with aclosing(listen(devices)) as frames:
        heard = [await anext(frames), await anext(frames)]

    assert heard == [b"\1\0", b"\2\0"]
    assert devices.streams[0].is_closed


async def test_a_microphone_that_falls_silent_was_unplugged() -> None:
    devices = FakeDevices(hears=[b"\1\0"])
    frames = listen(devices, lost_after_s=0.01)
    assert await anext(frames) == b"\1\0"

    with pytest.raises(SoundError, match="gives no more sound: plug it in again"):
        await anext(frames)
    assert devices.streams[0].is_closed


async def test_a_microphone_that_cannot_be_opened_names_the_cure() -> None:
    with pytest.raises(SoundError, match="cannot be opened: close other programs that use it"):
        await anext(listen(FakeDevices({OWN_RATE})))


def test_the_loudspeaker_plays_can_wait_and_is_cut() -> None:
    devices = FakeDevices()
    loudspeaker = Loudspeaker(devices)
    loudspeaker.open(24_000)
    [stream] = devices.streams
    loudspeaker.write(b"\1\0\2\0\3\0")
    assert stream.play(1) == b"\1\0"
    loudspeaker.pause()
    assert stream.play(1) == b"\0\0"
    loudspeaker.resume()
    assert stream.play(1) == b"\2\0"
    loudspeaker.cut()
    assert stream.play(1) == b"\0\0"
    loudspeaker.close()

    assert stream.is_closed


@pytest.mark.parametrize("rates", [{24_000}, {OWN_RATE}])
def test_what_is_said_at_another_rate_than_the_device_has_keeps_its_length(rates: set[int]) -> None:
    devices = FakeDevices(rates)
    loudspeaker = Loudspeaker(devices)
    for rate in (24_000, 16_000):
        loudspeaker.open(rate)
        loudspeaker.write(np.full(rate // 10, 99, "<i2").tobytes())

    [stream] = devices.streams
    assert stream.samplerate in rates
    heard = np.frombuffer(stream.play(stream.samplerate), "<i2")
    assert np.count_nonzero(heard) == pytest.approx(0.2 * stream.samplerate, abs=6)  # ends of two pieces


async def test_a_loudspeaker_that_takes_a_first_buffer_only_is_opened_anew() -> None:
    devices = FakeDevices(stalls=2)
    loudspeaker = Loudspeaker(devices)
    await loudspeaker.start(24_000, patience_s=0.01)

    assert [stream.is_closed for stream in devices.streams] == [True, True, False]


async def test_a_loudspeaker_that_never_takes_any_sound_is_told() -> None:
    devices = FakeDevices(stalls=99)
    with pytest.raises(SoundError, match="the loudspeaker accepts no sound: choose another"):
        await Loudspeaker(devices).start(24_000, patience_s=0.001)

    assert all(stream.is_closed for stream in devices.streams)


def test_no_loudspeaker_names_the_cure() -> None:
    with pytest.raises(SoundError, match="no loudspeaker was found: connect one, or use --save FILE"):
        Loudspeaker(FakeDevices(set()))


def test_a_loudspeaker_that_went_away_is_opened_anew_or_missed() -> None:
    devices = FakeDevices()
    loudspeaker = Loudspeaker(devices)
    loudspeaker.open(24_000)
    devices.streams[0].active = False
    loudspeaker.open(24_000)
    assert [stream.active for stream in devices.streams] == [False, True]

    devices.rates.clear()
    devices.streams[1].active = False
    with pytest.raises(SoundError, match="the loudspeaker cannot be opened: is it connected"):
        loudspeaker.open(24_000)
