"""The floor: the openai package by itself against the same model, as people use it.

`python -m benchmarks.bare_client BASE_URL TURNS_AT_ONCE TURNS_EACH` prints one JSON
object: milliseconds from the call to the request's arrival, and from each token's
writing to its arrival.
"""

import asyncio
import json
import random
import sys
import time

import uvloop
from openai import AsyncOpenAI, DefaultAioHttpClient

from benchmarks.stamps import Stamps


async def turns(client: AsyncOpenAI, count: int, stamps: Stamps) -> None:
    await asyncio.sleep(random.uniform(0, 0.8))  # about one turn: they do not all begin together
    for _ in range(count):
        started_ns = time.monotonic_ns()
        stream = await client.chat.completions.create(
            model="time-teller", messages=[{"role": "user", "content": "What time is it?"}], stream=True
        )
        async for chunk in stream:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                stamps.read(text, started_ns=started_ns)


async def measure(base_url: str, at_once: int, each: int) -> Stamps:
    stamps = Stamps()
    async with AsyncOpenAI(base_url=base_url, api_key="none", http_client=DefaultAioHttpClient()) as client:
        await turns(client, 2, Stamps())  # connections and imports
        async with asyncio.TaskGroup() as group:
            for number in range(at_once):
                group.create_task(turns(client, each, stamps), name=f"turns-{number}")
    return stamps


if __name__ == "__main__":
    result = uvloop.run(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    print(json.dumps({"request_ms": result.request_ms, "chunk_ms": result.chunk_ms}))
