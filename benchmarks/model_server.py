"""A model that tells the time: an OpenAI-compatible server whose tokens are time stamps.

Every token is `t<nanoseconds> `, the monotonic clock when it was written; the
first one is `r<nanoseconds> `, the clock when the request had been read. Whoever
receives one can tell how long it was on its way. Started by `python -m
benchmarks.model_server TOKENS INTERVAL_S [TEXT]`, it prints its base URL; with
a TEXT every reply is that, one word a token.
"""

import asyncio
import contextlib
import sys
import time

import uvloop
from aiohttp import web


class TimeTeller:
    def __init__(self, tokens: int, interval_s: float, text: str = "") -> None:
        self._tokens = tokens
        self._interval_s = interval_s
        self._words = text.split()

    async def chat(self, http: web.Request) -> web.StreamResponse:
        await http.read()
        arrived_ns = time.monotonic_ns()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(http)
        for word in self._words:
            await asyncio.sleep(self._interval_s)
            await response.write(_chunk(f"{word} "))
        if not self._words:
            await response.write(_chunk(f"r{arrived_ns} "))
        for number in range(1, self._tokens):
            await asyncio.sleep(self._interval_s)
            end = ". " if number % 12 == 0 else " "
            await response.write(_chunk(f"t{time.monotonic_ns()}{end}"))
        await response.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        await response.write_eof()
        return response

    async def models(self, _http: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "time-teller", "object": "model"}]})


def _chunk(text: str) -> bytes:
    return (
        (
            '{"id":"chatcmpl-0","object":"chat.completion.chunk","created":0,"model":"time-teller",'
            f'"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}'
        )
        .join(("data: ", "\n\n"))
        .encode()
    )


async def serve(tokens: int, interval_s: float, text: str = "") -> None:
    teller = TimeTeller(tokens, interval_s, text)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", teller.chat)
    app.router.add_get("/v1/models", teller.models)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(serve(int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:4]))
