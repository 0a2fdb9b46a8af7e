"""server/gateway/gauges.py"""

from pathlib import Path

from aiohttp import ClientSession

from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

HEARING = {"stt": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "none"}}


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
