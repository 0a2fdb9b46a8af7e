"""Health, readiness and metrics: what the server's stages and figures are, and the routes that show them."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from server.gateway.auth import Authenticator
from server.gateway.routes import Access, Routes
from server.log import lines_left_out
from server.metrics import CONTENT_TYPE, Metrics
from server.speech.providers import WorkerProvider
from server.speech.service import SpeechService
from server.speech.worker import SpeechWorker
from server.storage.storage import Storage

StageState = Literal["loading", "ready", "failed", "missing"]
"""State of a stage; missing: the server works without it and says so (a speech engine not installed or off)."""


@dataclass(frozen=True, slots=True)
class ReadinessStage:
    name: str
    state: StageState
    detail: str | None = None


class Readiness:
    """Stages of loading, in the order in which they were first set."""

    def __init__(self) -> None:
        self.is_draining = False
        self._stages: dict[str, ReadinessStage] = {}
        self._settled: dict[str, asyncio.Event] = {}

    @property
    def stages(self) -> list[ReadinessStage]:
        return list(self._stages.values())

    @property
    def is_ready(self) -> bool:
        return not self.is_draining and all(stage.state in ("ready", "missing") for stage in self._stages.values())

    def set(self, name: str, state: StageState, detail: str | None = None) -> None:
        self._stages[name] = ReadinessStage(name, state, detail)
        event = self._settled.setdefault(name, asyncio.Event())
        if state != "loading":
            event.set()

    async def settled(self, name: str) -> None:
        """Wait until the stage was ready, or failed, for the first time; its next use says which."""
        await self._settled[name].wait()


class Probes:
    """`/healthz`, `/readyz`, `/stages` and `/metrics`."""

    def __init__(self, authenticator: Authenticator, readiness: Readiness, metrics: Metrics) -> None:
        self._authenticator = authenticator
        self._readiness = readiness
        self._metrics = metrics

    def add_routes(self, routes: Routes) -> None:
        routes.get("/healthz", self._health, Access.PROBE)
        routes.get("/readyz", self._ready, Access.PROBE)
        routes.get("/stages", self._show_stages)
        routes.get("/metrics", self._show_metrics, Access.OPERATOR)

    async def _health(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n", headers={"Cache-Control": "no-store"})

    async def _ready(self, request: web.Request) -> web.Response:
        return self._stages(request, status=200 if self._readiness.is_ready else 503)

    async def _show_stages(self, request: web.Request) -> web.Response:
        """Answer pages with 200 always: a browser writes an error into its console for every 503."""
        return self._stages(request, status=200)

    def _stages(self, request: web.Request, *, status: int) -> web.Response:
        """Show operators alone why a stage is not ready: probes come from anywhere."""
        readiness = self._readiness
        shows_detail = self._authenticator.principal(request).is_operator
        body = {
            "ready": readiness.is_ready,
            "draining": readiness.is_draining,
            "stages": [
                {"name": stage.name, "state": stage.state, "detail": stage.detail if shows_detail else None}
                for stage in readiness.stages
            ],
        }
        return web.json_response(body, status=status, headers={"Cache-Control": "no-store"})

    async def _show_metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})


def show_storage(metrics: Metrics, storage: Storage) -> None:
    """Let /metrics ask for the storage's figures when it is read."""
    database, audit = storage.database, storage.audit
    metrics.show("parley_storage_up", "1: the database serves; asked every 2 s", lambda: database.is_up)
    metrics.show("parley_audit_queued", "Entries of the audit log to be written", lambda: audit.queued)
    metrics.show("parley_audit_lost", "Entries of the audit log lost since the start", lambda: audit.dropped)
    metrics.show("parley_audit_left_out", "Entries left out as their users caused too many", lambda: audit.left_out)
    metrics.show("parley_log_left_out", "Log lines left out as their clients caused too many", lines_left_out)


def show_speech(metrics: Metrics, speech: SpeechService) -> None:
    """Let /metrics show the figures of voice detection and of the queues before embedded engines."""
    show = metrics.show
    if (detector := speech.detector).failure is None:
        show("parley_vad_windows", "Windows of 32 ms that voice detection has judged", lambda: detector.windows)
        show("parley_vad_skipped", "Of these, quieter than the energy floor", lambda: detector.skipped)
        show("parley_vad_refused", "Windows that came faster than they could be judged", lambda: detector.refused)
        show("parley_vad_busy_seconds", "CPU time of voice detection", lambda: detector.busy_s)
    for engine, provider in (("stt", speech.recognizer), ("tts", speech.synthesizer)):
        if isinstance(provider, WorkerProvider):
            _show_queue(metrics, engine, provider.worker)


def _show_queue(metrics: Metrics, engine: str, worker: SpeechWorker) -> None:
    def observe(waited_s: float, late_s: float) -> None:
        metrics.speech_wait.labels(engine).observe(waited_s)
        metrics.speech_late.labels(engine).observe(late_s)

    worker.on_begin = observe
    metrics.speech_waiting.labels(engine).set_function(lambda: worker.waiting)
