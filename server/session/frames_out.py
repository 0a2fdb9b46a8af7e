"""The one way to a client: frames are counted, encoded and put into its outbox."""

from msgspec import UNSET

from server.metrics import Metrics
from server.session.outbox import Kind, Outbox
from server.wire import codec
from server.wire import frames as wire


class FramesOut:
    """Every method returns at once."""

    def __init__(self, outbox: Outbox, metrics: Metrics) -> None:
        self._outbox = outbox
        self._metrics = metrics

    def send(self, frame: wire.ServerFrame) -> None:
        if isinstance(frame, wire.Error):
            self._metrics.errors.labels(frame.code).inc()
        self._metrics.count_out(frame.__struct_config__.tag)  # type: ignore[arg-type]  # our tags are str
        self._outbox.put(Kind.TEXT, codec.encode(frame))

    def send_sound(self, pcm: bytes) -> None:
        self._metrics.count_out("binary")
        self._outbox.put(Kind.BINARY, pcm)

    def notify(self, code: str, message: str) -> None:
        self.send(wire.Notice(code=code, level="info", message=message))

    def refuse(
        self, code: wire.ErrorCode, message: str, *, path: str | None = None, retry_after_ms: int | None = None
    ) -> None:
        """An error of no turn: the connection goes on."""
        self.send(
            wire.Error(
                code=code,
                message=message,
                path=UNSET if path is None else path,
                retry_after_ms=UNSET if retry_after_ms is None else retry_after_ms,
            )
        )
