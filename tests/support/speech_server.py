"""An OpenAI-compatible speech server that does as the test says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from server.config import Secret, SpeechProviderSettings


@dataclass
class SpeechServer:
    """What it got, and what it answers with."""

    text: str = "Hello there."
    body: bytes | None = None
    """Of a transcription, instead of `text` as JSON."""
    pieces: list[bytes] = field(default_factory=lambda: [b"\1\0" * 100])
    content_type: str = "application/octet-stream"
    status: int = 200
    refusals: list[str] = field(default_factory=list)
    """Values of Retry-After with which the next requests are refused as too many."""
    stalls_after: int | None = None
    """Pieces after which nothing more comes, the connection left open."""
    breaks_after: int | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    base_url: str = ""
    is_given_up: asyncio.Event = field(default_factory=asyncio.Event)
    """The client has gone while the server stalled."""

    def provider(self, **more: Any) -> SpeechProviderSettings:
        return SpeechProviderSettings(provider="openai", base_url=self.base_url, api_key=Secret("sk-secret"), **more)

    async def transcribe(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        got: dict[str, Any] = dict(form)
        upload = form["file"]
        assert isinstance(upload, web.FileField)
        with upload.file as file:
            got["file"] = file.read()
        self.requests.append(got | {"authorization": request.headers.get("Authorization")})
        if self._refuses:
            return self._refusal()
        if self.stalls_after is not None:
            await self._stall()
        if self.body is not None:
            return web.Response(body=self.body, content_type="application/json")
        return web.json_response({"text": self.text})

    async def speak(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json() | {"authorization": request.headers.get("Authorization")})
        if self._refuses:
            return self._refusal()
        response = web.StreamResponse(headers={"Content-Type": self.content_type})
        await response.prepare(request)
        for number, piece in enumerate([*self.pieces, b""]):
            if number == self.stalls_after:
                await self._stall()
            if number == self.breaks_after:
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(piece)
        await response.write_eof()
        return response

    @property
    def _refuses(self) -> bool:
        return self.status != 200 or bool(self.refusals)

    def _refusal(self) -> web.Response:
        status, headers = (429, {"Retry-After": self.refusals.pop(0)}) if self.refusals else (self.status, {})
        return web.json_response({"error": {"message": "no sk-secret here"}}, status=status, headers=headers)

    async def _stall(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.is_given_up.set()


@asynccontextmanager
async def speech_server(**answers: Any) -> AsyncIterator[SpeechServer]:
    server = SpeechServer(**answers)
    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", server.transcribe)
    app.router.add_post("/v1/audio/speech", server.speak)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()
