"""Ears, model and voice that take no time: one OpenAI-compatible server that answers at once and tells when.

Every sentence of the model ends in `t<nanoseconds>. `, the monotonic clock when
it was written. The sound of a sentence begins with a little silence and then has
two numbers instead of samples (`STAMPS`): the nanoseconds from that stamp to the
request for its sound, and the clock when the sound was written. Started by `python -m
benchmarks.voice_engines [BYTES [speech]]`, it prints its base URL; a sentence has so many bytes of silence, or speech.
"""

import asyncio
import contextlib
import re
import struct
import sys
import time
from functools import partial
from typing import Final

import numpy as np
import uvloop
from aiohttp import web
from aiohttp.typedefs import Handler

from server.speech.audio import SPEECH_RATE, PcmResampler, samples_to_pcm16
from server.speech.pcm_reader import RAW_RATE

STAMPS: Final = struct.Struct("<8xqq")  # silence first: a number may begin like AAC
HEARD: Final = "What time is it?"

_SENTENCES: Final = 3
_SOUND_BYTES: Final = 2400  # 50 ms
_BETWEEN_S: Final = 0.03
_STAMP: Final = re.compile(r"t(\d+)\.")


@web.middleware
async def bear_with_leavers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Who is interrupted does not wait for the rest: that is no error here."""
    try:
        return await handler(request)
    except ConnectionResetError:
        return web.Response()


async def chat(http: web.Request) -> web.StreamResponse:
    await http.read()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(http)
    for number in range(_SENTENCES):
        if number:
            await asyncio.sleep(_BETWEEN_S)
        await response.write(_chunk(f"It is now t{time.monotonic_ns()}. "))
    await response.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    await response.write_eof()
    return response


async def transcribe(http: web.Request) -> web.Response:
    await http.read()
    return web.json_response({"text": HEARD})


async def speak(http: web.Request, sound: bytes) -> web.StreamResponse:
    text = (await http.json())["input"]
    asked_ns = time.monotonic_ns()
    found = _STAMP.search(text)
    assert found is not None, "the model says nothing without its stamp"
    response = web.StreamResponse(headers={"Content-Type": f"audio/pcm;rate={RAW_RATE}"})
    await response.prepare(http)
    now_ns = time.monotonic_ns()
    await response.write(
        sound if any(sound) else STAMPS.pack(asked_ns - int(found[1]), now_ns).ljust(len(sound), b"\0")
    )
    await response.write_eof()
    return response


async def models(_http: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "time-teller", "object": "model"}]})


def _chunk(text: str) -> bytes:
    return (
        'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":0,"model":"time-teller",'
        f'"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}\n\n'
    ).encode()


def _speech(size: int) -> bytes:
    from tests.support.speech_corpus import SENTENCES, VOICES, spoken

    sound = np.concatenate([spoken(text, VOICES[0]) for text in SENTENCES[:4]])
    return (PcmResampler(SPEECH_RATE, RAW_RATE).feed(samples_to_pcm16(sound)) * 9)[:size]


async def serve(sound: bytes) -> None:
    app = web.Application(client_max_size=16 << 20, middlewares=[bear_with_leavers])
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/v1/audio/transcriptions", transcribe)
    app.router.add_post("/v1/audio/speech", partial(speak, sound=sound))
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        size = int(sys.argv[1]) if sys.argv[1:] else _SOUND_BYTES
        uvloop.run(serve(_speech(size) if sys.argv[2:] == ["speech"] else bytes(size)))
