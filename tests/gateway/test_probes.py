"""server/gateway/probes.py, and the headers on every answer"""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from server.gateway.probes import Readiness, show_speech
from server.gateway.responses import SECURITY_HEADERS
from server.metrics import Metrics
from server.speech.service import SpeechService
from server.speech.stt import NoRecognizer
from server.speech.tts import EmbeddedSynthesizer, SpeechRequest
from server.speech.worker import SpeechWorker
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

HEARING = {"stt": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "none"}}


async def ready(http: ClientSession, url: str) -> Any:
    async with asyncio.timeout(30):
        while True:
            async with http.get(f"{url}/readyz") as answer:
                if answer.status == 200:
                    return await answer.json()


async def test_readyz_tells_the_stages_and_healthz_and_metrics_answer(server: Parley, tmp_path: Path) -> None:
    async with ClientSession() as http:
        assert await ready(http, server.url) == {
            "ready": True,
            "draining": False,
            "stages": [
                {"name": "skills", "state": "ready", "detail": None},
                {"name": "model", "state": "ready", "detail": "scripted"},
                {"name": "storage", "state": "ready", "detail": f"the database {tmp_path / 'data' / 'parley.db'}"},
                *(
                    {"name": name, "state": "missing", "detail": reason}
                    for name, reason in (
                        ("speech recognition", "switched off (speech.stt.provider: none)"),
                        ("voice detection", "nothing is recognised (speech.stt.provider: none)"),
                        ("voice", "switched off (speech.tts.provider: none)"),
                    )
                ),
            ],
        }
        async with http.get(f"{server.url}/readyz", headers={"X-Forwarded-For": "1.2.3.4"}) as answer:
            assert {stage["detail"] for stage in (await answer.json())["stages"]} == {None}
        async with http.get(f"{server.url}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")
        async with http.get(f"{server.url}/metrics") as answer:
            assert answer.status == 200
            assert "parley_connections 0.0" in await answer.text()
        async with http.get(f"{server.url}/metrics", headers={"X-Forwarded-For": "1.2.3.4"}) as answer:
            assert answer.status == 401


async def test_pages_are_told_of_loading_by_a_200_and_probes_by_a_503(tmp_path: Path) -> None:
    unnamed = {"llm": {"model": None}}  # an endpoint that is away cannot tell its model's name
    async with (
        parley(tmp_path, "http://127.0.0.1:9/v1", unnamed) as server,
        ClientSession(server.url) as http,
        http.get("/readyz") as probed,
        http.get("/stages") as shown,
    ):
        assert (probed.status, shown.status) == (503, 200)
        assert (await shown.json())["ready"] is False
        assert [stage["name"] for stage in (await shown.json())["stages"]][:2] == ["skills", "model"]
        assert shown.headers["Cache-Control"] == "no-store"


async def test_every_answer_carries_the_security_headers(server: Parley) -> None:
    async with ClientSession() as http:
        for path, headers in (("/", {}), ("/nothing", {}), ("/healthz", {}), ("/", {"Host": "evil.example"})):
            async with http.get(server.url + path, headers=headers) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith(
                    "default-src 'self'; connect-src 'self'; img-src 'self' blob: data:; worker-src 'self' blob:;"
                )
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Server"] == "parley"
        async with http.get(server.url, headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403
        async with http.get(server.url, headers={"Via": "1.1 proxy"}) as answer:
            assert answer.status == 401
            assert "security.auth" in await answer.text()


async def test_a_malformed_request_of_a_stranger_has_the_security_headers_and_is_no_line_in_the_log(
    server: Parley, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    head = (await reader.read()).partition(b"\r\n\r\n")[0].decode()
    writer.close()
    assert head.startswith("HTTP/1.0 400")
    headers = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    assert SECURITY_HEADERS.items() <= headers.items()

    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_metrics_tell_of_the_database_the_audit_log_and_voice_detection(
    tmp_path: Path, model: OpenAIServer
) -> None:
    async with (
        parley(tmp_path, model.url, {"speech": HEARING}) as server,
        ClientSession() as http,
        http.get(f"{server.url}/metrics") as answer,
    ):
        lines = set((await answer.text()).splitlines())

    assert {"parley_storage_up 1.0", "parley_audit_queued 0.0", "parley_audit_lost 0.0"} <= lines
    assert {"parley_vad_windows 0.0", "parley_vad_skipped 0.0", "parley_vad_refused 0.0"} <= lines


async def test_metrics_tell_who_waits_for_an_engine_and_how_long_others_waited() -> None:
    metrics = Metrics()
    worker = SpeechWorker("the fake", [sys.executable, "-m", "tests.support.fake_speech_engine"])
    show_speech(metrics, SpeechService(NoRecognizer(), EmbeddedSynthesizer(worker), None))
    async with asyncio.TaskGroup() as group:
        for text in ("one", "two"):
            group.create_task(_synthesize(worker, text))
        await asyncio.sleep(0)
        assert 'parley_speech_waiting{engine="tts"} 2.0' in metrics.render().decode()
        worker.start()
    await worker.aclose()

    lines = set(metrics.render().decode().splitlines())
    assert {'parley_speech_waiting{engine="tts"} 0.0', 'parley_speech_wait_seconds_count{engine="tts"} 2.0'} <= lines
    assert {
        'parley_speech_late_seconds_count{engine="tts"} 2.0',
        'parley_speech_late_seconds_sum{engine="tts"} 4.0',
    } <= lines


async def _synthesize(worker: SpeechWorker, text: str) -> None:
    async with aclosing(EmbeddedSynthesizer(worker).synthesize(SpeechRequest(text, due_in_s=lambda: -2.0))) as chunks:
        async for _ in chunks:
            pass


def test_ready_is_when_every_stage_is_and_nobody_is_leaving() -> None:
    readiness = Readiness()
    readiness.set("skills", "ready")
    readiness.set("model", "loading")
    states = [readiness.is_ready]
    readiness.set("model", "ready")
    states.append(readiness.is_ready)
    readiness.is_draining = True
    states.append(readiness.is_ready)

    assert states == [False, True, False]


def test_stages_keep_their_order_and_tell_why() -> None:
    readiness = Readiness()
    readiness.set("skills", "ready")
    readiness.set("model", "loading")
    readiness.set("model", "failed", "no memory")

    assert [(s.name, s.state, s.detail) for s in readiness.stages] == [
        ("skills", "ready", None),
        ("model", "failed", "no memory"),
    ]


async def test_a_turn_waits_while_a_stage_loads_and_not_after_it_failed() -> None:
    readiness = Readiness()
    readiness.set("model", "loading")
    waiter = asyncio.create_task(readiness.settled("model"), name="waiter")
    await asyncio.sleep(0)
    assert not waiter.done()

    readiness.set("model", "failed", "no memory")
    await waiter
    readiness.set("model", "loading")
    await readiness.settled("model")
