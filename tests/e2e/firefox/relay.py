"""Firefox as Playwright would have it: `python -m tests.e2e.firefox.relay FIREFOX ARGUMENTS…`.

Playwright drives a stock Firefox by WebDriver BiDi, but asks newer commands of
it than an extended-support release knows, and gives up at the first refusal. This
starts that Firefox and stands between the two: what may be left undone without
harm is answered as done, everything else goes through as it is. The address is
announced as Firefox announces its own.
"""

import asyncio
import json
import re
import sys
from typing import Final

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

DISPENSABLE: Final = frozenset({"emulation.setMediaFeaturesOverride"})
"""Unknown up to Firefox 153; the tests set what they need of it by preferences."""
_ANNOUNCED: Final = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_MAX_LINE_BYTES: Final = 1 << 20


async def relay(playwright: ServerConnection, firefox_url: str) -> None:
    """Both directions, until either side leaves."""
    async with connect(f"{firefox_url}/session", max_size=None, compression=None, ping_interval=None) as firefox:

        async def ask() -> None:
            async for message in playwright:
                command = json.loads(message)
                if command["method"] in DISPENSABLE:
                    await playwright.send(json.dumps({"type": "success", "id": command["id"], "result": {}}))
                else:
                    await firefox.send(message)
            await firefox.close()

        async def answer() -> None:
            async for message in firefox:
                await playwright.send(message)
            await playwright.close()

        async with asyncio.TaskGroup() as directions:
            directions.create_task(ask(), name="to Firefox")
            directions.create_task(answer(), name="to Playwright")


async def main(command: list[str]) -> int:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, limit=_MAX_LINE_BYTES)
    assert process.stderr is not None
    async for line in process.stderr:
        said = line.decode(errors="replace").rstrip()
        if announced := _ANNOUNCED.search(said):
            url = announced[1]
            break
        say(said)
    else:
        return await process.wait()

    async def met(playwright: ServerConnection) -> None:
        await relay(playwright, url)

    async with serve(met, "127.0.0.1", 0, max_size=None, compression=None, ping_interval=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        say(f"WebDriver BiDi listening on ws://127.0.0.1:{port}")
        async for line in process.stderr:
            say(line.decode(errors="replace").rstrip())
        return await process.wait()


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(sys.argv[1:])))
