"""Sound in items: while it is recognised, the connection goes on, and what needs its words waits for them"""

import asyncio
import base64
from typing import Any

from tests.realtime.dialect_client import DialectClient
from tests.session.speech_fakes import FakeRecognizer, Held
from tests.support.waiting import LIMIT_S

RECOGNIZED = "conversation.item.input_audio_transcription.completed"
SOUND: dict[str, Any] = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_audio", "audio": base64.b64encode(bytes(48_000)).decode()}],
}


async def test_events_behind_sound_are_answered_at_once_and_its_words_come_in_order() -> None:
    held = Held("One.")
    async with DialectClient(recognizer=FakeRecognizer(held, "Two.", "Three.")) as client, asyncio.timeout(LIMIT_S):
        await client.say("session.update", session={"audio": {"input": {"transcription": {}}}})
        for item_id in "abc":
            await client.say("conversation.item.create", item={**SOUND, "id": item_id})
        await client.say("response.create", response={"output_modalities": ["text"]})

        await client.say("conversation.item.retrieve", item_id="a")
        assert await client.until("conversation.item.retrieved")
        assert client.count(RECOGNIZED) == 0

        held.resume.set()
        await client.until("response.done")

    order = [(event["type"], event.get("transcript")) for event in client.frames]
    ends = [each for each in order if each[0] in (RECOGNIZED, "response.output_text.delta", "response.done")]
    assert ends == [
        *((RECOGNIZED, words) for words in ("One.", "Two.", "Three.")),
        ("response.output_text.delta", None),
        ("response.done", None),
    ]
