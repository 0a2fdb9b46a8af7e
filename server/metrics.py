"""Counters and timings of the server, in a registry of its own (Prometheus text at /metrics)."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
HOLD_INTERVAL_S: Final = 0.05

_TURN_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_HOLD_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)


class Metrics:
    """All counters and timings of the process; the parts that count are given this object."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self.connections = Gauge("parley_connections", "Open WebSocket connections", registry=registry)
        self.refused = Counter(
            "parley_refused_handshakes", "Handshakes refused, by cause", ["cause"], registry=registry
        )
        self.turns_running = Gauge("parley_turns_running", "Turns under way", registry=registry)
        self.turns = Counter("parley_turns", "Turns that ended, by reason", ["reason"], registry=registry)
        self.errors = Counter("parley_errors", "`error` frames, by code", ["code"], registry=registry)
        self.frames_in = Counter("parley_frames_in", "Messages received, by type", ["type"], registry=registry)
        self.frames_out = Counter("parley_frames_out", "Messages sent, by type", ["type"], registry=registry)
        self.hook_frames = Counter("parley_hook_frames", "Persistent hooks sent to clients", registry=registry)
        self.slow_clients = Counter("parley_slow_clients", "Connections closed with 4408", registry=registry)
        self._tasks = Gauge("parley_tasks", "Tasks of the event loop; a leak is one that grows", registry=registry)
        self.first_token = _histogram(registry, "parley_first_token_seconds", "chat received → first text")
        self.first_sentence = _histogram(registry, "parley_first_sentence_seconds", "chat received → first sentence")
        self.transcript = _histogram(registry, "parley_transcript_seconds", "end of speech → transcript")
        self.first_audio = _histogram(
            registry, "parley_first_audio_seconds", "end of speech or chat → first sound sent"
        )
        self.first_audible = _histogram(
            registry, "parley_first_audible_seconds", "end of speech or chat → first audible sample, as clients tell"
        )
        self.speech_waiting = Gauge(
            "parley_speech_waiting", "Requests that wait for an embedded engine", ["engine"], registry=registry
        )
        self.speech_wait = _histogram(
            registry, "parley_speech_wait_seconds", "request → an embedded engine begins with it", ["engine"]
        )
        self.speech_late = _histogram(
            registry, "parley_speech_late_seconds", "request due → an embedded engine begins with it", ["engine"]
        )
        self.turn_total = _histogram(registry, "parley_turn_seconds", "chat received → turn_end")
        self.loop_hold = Histogram(
            "parley_loop_hold_seconds",
            f"How late the event loop woke a timer of {HOLD_INTERVAL_S} s: the loop was held, or no processor was free",
            buckets=_HOLD_BUCKETS,
            registry=registry,
        )
        self.loop_time = Histogram(
            "parley_loop_time_seconds",
            "Processor time of one step of reading, writing or answering a user's messages, as the user is charged for it",
            buckets=_HOLD_BUCKETS,
            registry=registry,
        )
        self._out: dict[str, Callable[[], None]] = {}
        self._in: dict[str, Callable[[], None]] = {}

    def count_in(self, kind: str) -> None:
        """Count a frame that came in. `kind` is one of ours, never a client's word: each is a time series for ever."""
        _bound(self._in, self.frames_in, kind)()

    def count_out(self, kind: str) -> None:
        _bound(self._out, self.frames_out, kind)()

    def show(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge that asks for its value when it is read; called once for each name."""
        Gauge(name, text, registry=self._registry).set_function(value)

    def render(self) -> bytes:
        """Return the metrics as text; called in the event loop, whose tasks are counted."""
        self._tasks.set(len(asyncio.all_tasks()))
        return generate_latest(self._registry)

    async def watch_loop(self) -> None:
        """Measure how long the event loop is held; runs until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + HOLD_INTERVAL_S
            await asyncio.sleep(HOLD_INTERVAL_S)
            self.loop_hold.observe(max(0.0, loop.time() - due))


def _histogram(registry: CollectorRegistry, name: str, text: str, labels: Sequence[str] = ()) -> Histogram:
    return Histogram(name, text, labels, buckets=_TURN_BUCKETS, registry=registry)


def _bound(known: dict[str, Callable[[], None]], counter: Counter, kind: str) -> Callable[[], None]:
    """Return the counter's child for `kind`; looking it up anew each time would cost more than the frame."""
    if kind not in known:
        known[kind] = counter.labels(kind).inc
    return known[kind]
