"""Microphone and loudspeaker, by the module `sounddevice` where it is installed."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, Final

from clients.talk.playout import Playout, Resampler
from clients.talk.sound import FRAME_S, SoundError

WANTED_RATE: Final = 16_000
_MAX_FRAMES: Final = 50  # a second of microphone; what does not fit any more is dropped
_LOST_AFTER_S: Final = 3.0  # a microphone that lives gives a frame every 20 ms, of silence too
_LATENCY_S: Final = 0.1
_FLOWS_AFTER_S: Final = 1.0
_TRIES: Final = 10
_WITHOUT: Final = "or use --wav FILE, or type"

SoundDevice = Any
"""The module, which has no types."""


def sounddevice() -> SoundDevice:
    """Import the module. Raises SoundError where it, or the PortAudio that it loads, is not installed."""
    try:
        import sounddevice
    except ImportError as error:
        raise SoundError(f"no microphone here: `pip install sounddevice`, {_WITHOUT}") from error
    except OSError as error:
        raise SoundError(f"no microphone here: install PortAudio (`apt install libportaudio2`), {_WITHOUT}") from error
    return sounddevice


def microphone_rate(device: SoundDevice) -> int:
    """Return 16 kHz, else the rate that the default microphone has. Raises SoundError where there is none."""
    try:
        own_rate: int = round(device.query_devices(kind="input")["default_samplerate"])
    except (device.PortAudioError, ValueError) as error:
        raise SoundError(f"no microphone was found: plug one in, {_WITHOUT} ({error})") from error
    try:
        device.check_input_settings(channels=1, dtype="int16", samplerate=WANTED_RATE)
    except device.PortAudioError:
        return own_rate
    return WANTED_RATE


async def microphone_frames(
    device: SoundDevice, sample_rate: int, *, lost_after_s: float = _LOST_AFTER_S
) -> AsyncGenerator[bytes, None]:
    """Yield the default microphone's sound, 20 ms a frame. Raises SoundError, also when it is unplugged."""
    loop = asyncio.get_running_loop()
    frames: asyncio.Queue[bytes] = asyncio.Queue(_MAX_FRAMES)

    def take(pcm: bytes) -> None:
        if not frames.full():
            frames.put_nowait(pcm)

    def on_sound(data: object, *_: object) -> None:
        loop.call_soon_threadsafe(take, bytes(data))  # type: ignore[call-overload]  # a buffer of cffi

    try:
        stream = device.RawInputStream(
            samplerate=sample_rate,
            channels=1,
            dtype="int16",
            blocksize=round(sample_rate * FRAME_S),
            callback=on_sound,
        )
        stream.start()
    except device.PortAudioError as error:
        raise SoundError(
            f"the microphone cannot be opened: close other programs that use it, {_WITHOUT} ({error})"
        ) from error
    try:
        while True:
            yield await asyncio.wait_for(frames.get(), lost_after_s)
    except TimeoutError as error:
        raise SoundError("the microphone gives no more sound: plug it in again and restart") from error
    finally:
        stream.abort(ignore_errors=True)
        stream.close(ignore_errors=True)


class Loudspeaker:
    """Plays what comes through the default device. Raises SoundError where there is none.

    One stream lives as long as the conversation, silent in between. Only `_fill` runs in the thread of the device.
    """

    def __init__(self, device: SoundDevice) -> None:
        self._device = device
        try:
            self._own_rate = round(device.query_devices(kind="output")["default_samplerate"])
        except (device.PortAudioError, ValueError) as error:
            raise SoundError(f"no loudspeaker was found: connect one, or use --save FILE ({error})") from error
        self._lock = threading.Lock()
        self._playout = Playout()
        self._resampler = Resampler(self._own_rate, self._own_rate)
        self._stream: Any = None
        self._played_bytes = 0  # by this stream
        self._enough_bytes = 0
        self._is_flowing: Callable[[], object] = _nobody_asks  # called once it has played so many

    async def start(self, sample_rate: int, *, patience_s: float = _FLOWS_AFTER_S) -> None:
        """Open the device and return when sound flows. Raises SoundError.

        ALSA's way to PulseAudio takes a first buffer of many a stream and then nothing more: such a one is opened anew.
        """
        loop = asyncio.get_running_loop()
        for _ in range(_TRIES):
            flowing = asyncio.Event()
            self._is_flowing = partial(loop.call_soon_threadsafe, flowing.set)
            self._restart(sample_rate)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(flowing.wait(), patience_s)
                return
        self.close()
        raise SoundError("the loudspeaker accepts no sound: choose another as the system's default, or use --save FILE")

    def open(self, sample_rate: int) -> None:
        """Prepare for sound of that rate. Raises SoundError when the device went away."""
        if self._stream is None or not self._stream.active:
            self._restart(sample_rate)
        with self._lock:
            self._resampler = Resampler(sample_rate, round(self._stream.samplerate))

    def write(self, pcm: bytes) -> None:
        with self._lock:
            self._playout.add(self._resampler.feed(pcm))

    def pause(self) -> None:
        self._playout.is_paused = True

    def resume(self) -> None:
        self._playout.is_paused = False

    def cut(self) -> None:
        with self._lock:
            self._playout.cut()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.abort(ignore_errors=True)
            self._stream.close(ignore_errors=True)
            self._stream = None

    def _restart(self, sample_rate: int) -> None:
        """Open the stream anew at that rate, else at the device's own. Raises SoundError."""
        self.close()
        try:
            self._stream = self._started(sample_rate)
        except self._device.PortAudioError:
            try:
                self._stream = self._started(self._own_rate)
            except self._device.PortAudioError as error:
                raise SoundError(f"the loudspeaker cannot be opened: is it connected? ({error})") from error

    def _started(self, sample_rate: int) -> Any:
        self._played_bytes = 0
        self._enough_bytes = round(2 * sample_rate * 3 * _LATENCY_S)
        stream = self._device.RawOutputStream(
            samplerate=sample_rate, channels=1, dtype="int16", latency=_LATENCY_S, callback=self._fill
        )
        stream.start()
        return stream

    def _fill(self, out: memoryview, *_: object) -> None:
        with self._lock:
            out[:] = self._playout.take(len(out))
        self._played_bytes += len(out)
        if self._played_bytes >= self._enough_bytes:
            self._is_flowing()
            self._is_flowing = _nobody_asks


def _nobody_asks() -> None:
    """Ignore that sound flows: `start` does not wait for it now."""
