"""The real server with scripted engines: it understands what the test says, and its voice is as long as the test says."""

from pathlib import Path
from typing import Any

from tests.support.client import client
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint
from tests.support.speech_server import SpeechServer


def talking_server(
    folder: Path, model: OpenAIServer, speech: SpeechServer, *, port: int = 0, **settings: Any
) -> ServerProcess:
    """One that plans nothing; `settings` are further sections of its file."""
    engine = {"provider": "openai", "base_url": speech.base_url, "api_key": "scripted", "model": "scripted"}
    environ = {**endpoint(model.url), **{f"PARLEY_SPEECH__{kind}__PROVIDER": "openai" for kind in ("STT", "TTS")}}
    own = {"agent": {"planning": False}, "speech": {"stt": engine, "tts": engine}}
    return ServerProcess(folder, environ=environ, settings=own | settings, arguments=("--port", str(port)))


async def hearing(ws_url: str, **options: Any) -> None:
    """Return once the server's speech engines are loaded."""
    async with client(ws_url, greeted=False, **options) as listener:
        loading = True
        while loading:
            frame = await listener.until("ready", "speech")
            speech = frame.get("speech", frame)
            loading = any(speech[part]["state"] == "loading" for part in ("stt", "vad", "tts"))
