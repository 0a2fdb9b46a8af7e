"""A telephone line: Twilio's media streams on one side, the server's /v1/realtime on the other.

    PARLEY_KEY=… python examples/clients/twilio_bridge.py ws://localhost:8765/v1/realtime 8090

It needs the package `websockets`. Let the number in Twilio answer with this TwiML, and a proxy with TLS pass
wss://bridge.example.com/ on to port 8090. Anybody who knows that address can talk to the server: let the
proxy check Twilio's signature.

    <Response><Connect><Stream url="wss://bridge.example.com/" /></Connect></Response>

Both sides speak G.711 µ-law at 8 kHz, so no sound is converted here. The bridge greets the caller, and passes on
the keys that are pressed: a number ends with #, or after two seconds.

All calls are connections of one user, the one of PARLEY_KEY, and each reply is a turn of theirs. Beside the limits of
the whole server (`limits.connections`, `limits.turns`), these count: 20 connections and 10 turns of one user, and, if
the bridge runs on another machine, 50 connections of one address (`limits.per_address`). Give the bridge a token of
its own, with limits of its own:

    security:
      tokens:
        - {user: telephone, token: {env: PARLEY_KEY}, limits: {connections: 200, turns: 100}}

A caller beyond them hears nothing: the server refuses the connection with 503, and the bridge hangs up.
"""

import asyncio
import json
import os
import sys
from dataclasses import dataclass

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus

SERVER = sys.argv[1] if len(sys.argv) > 1 else "ws://localhost:8765/v1/realtime"
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 8090
PCMU = {"type": "audio/pcmu"}
MANNERS = "You answer the telephone. Be brief, and never use lists or links."
GREETING = {"instructions": f"{MANNERS} Somebody has just called: greet them, and ask what you can do for them."}
KEYS_PAUSE_MS = 2000
SESSION = {
    "type": "realtime",
    "instructions": MANNERS,
    "audio": {"input": {"format": PCMU, "turn_detection": {"type": "server_vad"}}, "output": {"format": PCMU}},
}


@dataclass
class Call:
    """What the caller is hearing; times are Twilio's, in milliseconds of the call."""

    stream: str = ""
    now_ms: int = 0
    item: str = ""
    began_ms: int = 0
    unheard: int = 0
    """Pieces of sound that Twilio has not yet played to their end."""
    is_answering: bool = False
    """Whether a response was asked for, or has begun, that is not done."""
    is_cancelled: bool = False
    keys: str = ""
    """Keys that were pressed and not passed on yet."""
    pressed_ms: int = 0


async def answer(phone: ServerConnection) -> None:
    """One call; ends when either side hangs up."""
    key = os.environ.get("PARLEY_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with connect(SERVER, additional_headers=headers, max_size=None) as server:
            await serve_call(phone, server)
    except InvalidStatus as refusal:
        print(f"[the server refuses the call: {refusal.response.status_code}]", flush=True)


async def serve_call(phone: ServerConnection, server: ClientConnection) -> None:
    await send(server, "session.update", session=SESSION)
    call = Call()
    directions = [asyncio.create_task(hear(phone, server, call)), asyncio.create_task(speak(phone, server, call))]
    try:
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)


async def send(server: ClientConnection, type_: str, **fields: object) -> None:
    await server.send(json.dumps({"type": type_, **fields}))


async def hear(phone: ServerConnection, server: ClientConnection, call: Call) -> None:
    """The caller's sound and keys to the server."""
    try:
        async for message in phone:
            event = json.loads(message)
            match event["event"]:
                case "start":
                    call.stream = event["start"]["streamSid"]
                    call.is_answering = True
                    await send(server, "response.create", response=GREETING)
                case "media":
                    call.now_ms = int(event["media"]["timestamp"])
                    audio = event["media"]["payload"]  # base64 on both sides
                    await send(server, "input_audio_buffer.append", audio=audio)
                    is_number = call.keys.endswith("#") or call.now_ms - call.pressed_ms >= KEYS_PAUSE_MS
                    if call.keys and is_number:
                        await pass_on_keys(phone, server, call)
                case "dtmf":
                    call.keys += event["dtmf"]["digit"]
                    call.pressed_ms = call.now_ms
                case "mark":
                    call.unheard = max(0, call.unheard - 1)
                case "stop":
                    return
    except ConnectionClosed:
        return


async def pass_on_keys(phone: ServerConnection, server: ClientConnection, call: Call) -> None:
    """The keys as a message of the caller's, as soon as the reply that is being said has ended; it is cut."""
    if call.is_answering:
        if not call.is_cancelled:
            call.is_cancelled = True
            await stop_speaking(phone, server, call)
            await send(server, "response.cancel")
        return
    await stop_speaking(phone, server, call)
    keys, call.keys = call.keys.removesuffix("#") or "#", ""
    content = [{"type": "input_text", "text": f"(The caller has pressed the keys {' '.join(keys)}.)"}]
    await send(server, "conversation.item.create", item={"type": "message", "role": "user", "content": content})
    call.is_answering, call.is_cancelled = True, False
    await send(server, "response.create")


async def stop_speaking(phone: ServerConnection, server: ClientConnection, call: Call) -> None:
    """Drop the rest of the reply on both sides."""
    if call.unheard:
        heard_ms = call.now_ms - call.began_ms
        await send(server, "conversation.item.truncate", item_id=call.item, content_index=0, audio_end_ms=heard_ms)
        await phone.send(json.dumps({"event": "clear", "streamSid": call.stream}))


async def speak(phone: ServerConnection, server: ClientConnection, call: Call) -> None:
    """The replies to the caller; when he speaks, the rest of a reply is dropped on both sides."""
    try:
        async for message in server:
            event = json.loads(message)
            match event["type"]:
                case "response.output_audio.delta":
                    if event["item_id"] != call.item:
                        call.item, call.began_ms = event["item_id"], call.now_ms
                    call.unheard += 1
                    media = {"event": "media", "streamSid": call.stream, "media": {"payload": event["delta"]}}
                    await phone.send(json.dumps(media))
                    mark = {"event": "mark", "streamSid": call.stream, "mark": {"name": event["item_id"]}}
                    await phone.send(json.dumps(mark))
                case "input_audio_buffer.speech_started":
                    await stop_speaking(phone, server, call)
                case "response.created" | "response.done":
                    call.is_answering = event["type"] == "response.created"
                    call.is_cancelled &= call.is_answering
                case "error":
                    print(f"[{event['error']['code']}: {event['error']['message']}]", flush=True)
    except ConnectionClosed:
        return


async def main() -> None:
    async with serve(answer, "127.0.0.1", PORT) as listener:
        print(f"listening on port {next(iter(listener.sockets)).getsockname()[1]}", flush=True)
        await listener.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
