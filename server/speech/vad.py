"""Voice activity detection: one thread judges the windows of all streams, batch by batch.

A stream's windows are judged in order. What the thread found out is handed to
the event loop in one call a batch, so that a hundred talkers cost a hundred
callbacks in a row and not a hundred wake-ups.
"""

import asyncio
import importlib.util
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from server.errors import SpeechUnavailable
from server.speech.audio import SPEECH_RATE, WINDOW, Samples, brightness, level_dbfs, pcm16_to_samples
from server.wire.frames import SpeechPart

logger = logging.getLogger(__name__)

CONTEXT: Final = 64
"""Samples before a window that the model needs again."""
FLOOR_DBFS: Final = -60.0
"""Level below which windows are silence without a run of the model."""
MAX_WAITING: Final = 256
"""Windows of one stream that wait (8 s). With more than that, sent faster than real time, new ones are refused."""
MAX_BATCH: Final = 64
"""Windows a run of the model: 4-8 ms in the thread, under 2 ms in the event loop for what follows from it."""

_STATE: Final = (2, 128)
_FEW_STREAMS: Final = 8  # so many gain nothing by being batched: each is judged at once
_GATHER_S: Final = 0.016  # for more, how long windows are gathered
_FORGET_AFTER: Final = 8  # windows of silence (256 ms) after which the model starts afresh
_CONTEXT_BYTES: Final = 2 * CONTEXT


def new_state() -> Samples:
    return np.zeros(_STATE, dtype=np.float32)


class SileroModel:
    """Silero's voice activity model, in the onnxruntime session that all streams share.

    The weights are those of the wheel of silero-vad, which is not imported: its package wants torch.
    `load` takes 0.1-0.5 s and 26 MB; `judge` may be called from any one thread at a time.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._rate = np.array(SPEECH_RATE, dtype=np.int64)

    @classmethod
    def load(cls) -> "SileroModel":
        """Load the model. Raises SpeechUnavailable where a package is missing or does not run on this machine."""
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before the import, which else writes an id of the machine
        try:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1  # a window is too small to share
            options.inter_op_num_threads = 1
            options.log_severity_level = 3
            session = onnxruntime.InferenceSession(
                str(_weights()), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except (ImportError, OSError) as error:
            raise SpeechUnavailable(
                f"voice detection cannot be loaded: {error}; push-to-talk works without it"
            ) from error
        return cls(session)

    def judge(self, windows: Samples, states: Samples) -> tuple[NDArray[np.float32], Samples]:
        """Take rows of context and window and states (2, rows, 128); return a probability a row and the new states."""
        probabilities, after = self._session.run(None, {"input": windows, "state": states, "sr": self._rate})
        return probabilities[:, 0], after


def _weights() -> Path:
    spec = importlib.util.find_spec("silero_vad")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the package silero-vad is not installed")
    return Path(spec.submodule_search_locations[0]) / "data" / "silero_vad.onnx"


@dataclass(frozen=True, slots=True)
class Judged:
    pcm: bytes = field(repr=False)
    probability: float
    level_dbfs: float
    brightness: float


OnJudged = Callable[[Judged], None]


class VadStream:
    """The windows of one microphone. Belongs to the event loop; `_state` and what follows it to the thread."""

    def __init__(self, detector: "VoiceDetector", on_judged: OnJudged) -> None:
        self._detector = detector
        self._on_judged = on_judged
        self._waiting: deque[bytes] = deque()
        self.is_queued = False  # in the detector's queue, or being judged
        self.is_closed = False
        self._state = new_state()
        self._context = bytes(_CONTEXT_BYTES)  # the end of the window before
        self._silent = 0  # windows in a row below the floor

    def feed(self, pcm: bytes) -> bool:
        """Take WINDOW samples of PCM16 at 16 kHz, to be judged; return False, and count it, if too many wait."""
        if self.is_closed or len(self._waiting) >= MAX_WAITING:
            self._detector.refused += 1
            return False
        self._waiting.append(pcm)
        self._detector.enqueue(self)
        return True

    def next_window(self) -> bytes | None:
        """Return the window that waited longest, if the stream has not been closed meanwhile. For the thread."""
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def advance(self, pcm: bytes, *, is_silent: bool) -> None:
        self._context = pcm[-_CONTEXT_BYTES:]
        self._silent = self._silent + 1 if is_silent else 0
        if self._silent == _FORGET_AFTER:
            self._state = new_state()

    def close(self) -> None:
        """End the stream: no callback comes after this. May be called twice."""
        self.is_closed = True
        self._waiting.clear()
        self._detector.forget(self)


class VoiceDetector:
    """The detector of all streams. `start` it before the first one; `aclose` ends the thread."""

    def __init__(self, on_change: Callable[[], None] = lambda: None, *, failure: str | None = None) -> None:
        """`on_change` is called in the event loop when `status` has changed; with a `failure` it never starts."""
        self._on_change = on_change
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # guards _queue and the streams' is_queued
        self._queue: deque[VadStream] = deque()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._open: set[VadStream] = set()
        self.windows = 0
        self.skipped = 0
        """Number of `windows` below the energy floor."""
        self.refused = 0
        """Windows that were dropped because too many of their stream waited."""
        self.busy_s = 0.0
        """CPU time of the thread."""
        self.failure = failure
        """Reason why the detector judges no more, or None while it works."""

    @property
    def status(self) -> SpeechPart:
        if self.failure is not None:
            return SpeechPart(state="missing", reason=self.failure)
        return SpeechPart(state="ready" if self._thread is not None else "loading", name="silero")

    async def start(self, model: SileroModel | None = None) -> None:
        """Load the model and start the thread. Raises SpeechUnavailable, which `status` then shows too."""
        try:
            model = model or await asyncio.to_thread(SileroModel.load)
        except SpeechUnavailable as error:
            self._fail(str(error))
            raise
        arguments = (model, asyncio.get_running_loop())
        self._thread = threading.Thread(target=self._run, args=arguments, name="vad", daemon=True)
        self._thread.start()
        self._on_change()

    async def aclose(self) -> None:
        """Close every stream and end the thread, which takes one batch at most."""
        for stream in list(self._open):
            stream.close()
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    def open(self, on_judged: OnJudged) -> VadStream:
        """Return a stream of its own state; `on_judged` is called in the event loop, in the windows' order."""
        stream = VadStream(self, on_judged)
        self._open.add(stream)
        return stream

    def forget(self, stream: VadStream) -> None:
        self._open.discard(stream)

    def enqueue(self, stream: VadStream) -> None:
        with self._lock:
            if stream.is_queued:
                return
            stream.is_queued = True
            self._queue.append(stream)
        self._wake.set()

    def _run(self, model: SileroModel, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while not self._stop.is_set():
                self._wake.wait()
                self._wake.clear()
                if len(self._open) > _FEW_STREAMS:
                    self._stop.wait(_GATHER_S)
                while (batch := self._next_batch()) and not self._stop.is_set():
                    self._post(loop, batch, self._judge(model, batch))
        except Exception as error:  # the boundary to the model: without it voice detection would end unnoticed
            logger.exception("voice detection stopped")
            self._call(loop, self._fail, f"voice detection failed: {error}; restart the server")

    def _next_batch(self) -> list[VadStream]:
        """Return the next streams to judge one window of, those that waited longest first."""
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(MAX_BATCH, len(self._queue)))]
        return [stream for stream in batch if not stream.is_closed]

    def _judge(self, model: SileroModel, batch: Sequence[VadStream]) -> list[tuple[VadStream, Judged]]:
        windows = [(stream, pcm) for stream in batch if (pcm := stream.next_window()) is not None]
        if not windows:
            return []
        rows = pcm16_to_samples(b"".join(stream._context + pcm for stream, pcm in windows))
        rows = rows.reshape(len(windows), CONTEXT + WINDOW)
        levels, brightnesses = level_dbfs(rows[:, CONTEXT:]), brightness(rows[:, CONTEXT:])
        is_loud = levels > FLOOR_DBFS
        probabilities = np.zeros(len(windows), dtype=np.float32)
        loud = np.flatnonzero(is_loud)
        if loud.size:
            heard = [windows[row][0] for row in loud]
            states = np.stack([stream._state for stream in heard], axis=1)
            probabilities[loud], states = model.judge(rows[loud], states)
            for index, stream in enumerate(heard):
                stream._state = states[:, index].copy()  # a view would keep the whole batch alive
        for (stream, pcm), is_heard in zip(windows, is_loud, strict=True):
            stream.advance(pcm, is_silent=not is_heard)
        self.windows += len(windows)
        self.skipped += len(windows) - int(loud.size)
        self.busy_s = time.thread_time()
        results = zip(windows, probabilities.tolist(), levels.tolist(), brightnesses.tolist(), strict=True)
        return [(stream, Judged(pcm, p, level, bright)) for (stream, pcm), p, level, bright in results]

    def _post(
        self, loop: asyncio.AbstractEventLoop, batch: Sequence[VadStream], judged: list[tuple[VadStream, Judged]]
    ) -> None:
        with self._lock:
            for stream in batch:
                stream.is_queued = bool(stream._waiting)
                if stream.is_queued:
                    self._queue.append(stream)
        if judged and not self._stop.is_set():
            self._call(loop, _deliver, judged)

    def _call(self, loop: asyncio.AbstractEventLoop, function: Callable[[Any], None], argument: object) -> None:
        try:
            loop.call_soon_threadsafe(function, argument)
        except RuntimeError:
            self._stop.set()  # the loop is closed

    # --- back in the event loop

    def _fail(self, reason: str) -> None:
        self.failure = reason
        self._on_change()


def _deliver(judged: list[tuple[VadStream, Judged]]) -> None:
    for stream, result in judged:
        if stream.is_closed:
            continue
        try:
            stream._on_judged(result)
        except Exception:  # the boundary to a session: its failure must not stop the others
            stream.close()
            logger.exception("a session failed to handle voice detection; its stream is closed")
