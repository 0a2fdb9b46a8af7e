"""An engine that does as it is told, in a worker process of its own.

`python -m tests.support.fake_speech_engine [crash | refuse]`. A request says: `parts` how many,
`size` of each in bytes, `do` = crash, fail, hang or print on the way, `echo` to give the payload back,
`until` a file that has to be there before it begins.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from server.speech.worker_child import Header, run


class FakeEngine:
    def __init__(self) -> None:
        self._made = 0

    def load(self, progress: Callable[[str], None]) -> Header:
        progress("warming up")
        if "refuse" in sys.argv:
            raise ImportError("no such engine")
        if "crash" in sys.argv:
            os._exit(9)
        return {"name": "fake", "languages": ["en", "zh"], "sample_rate": 22_050}

    def run(self, request: Header, payload: bytes) -> Iterator[tuple[Header, bytes]]:
        while "until" in request and not Path(request["until"]).exists():
            time.sleep(0.005)
        if request.get("do") == "print":
            print("a library that is talkative")
        if request.get("do") == "fail":
            raise ValueError("cannot say that")
        if "text" in request and "parts" not in request:
            request = {**request, "parts": len(request["text"].split())}
        for number in range(request.get("parts", 1)):
            if number and request.get("do") == "crash":
                os._exit(9)
            if number and request.get("do") == "hang":
                time.sleep(3600)
            if number and request.get("do") == "wait":
                time.sleep(0.05)
            self._made += 1
            data = payload if request.get("echo") else bytes(request.get("size", 4))
            yield (
                {
                    "number": number,
                    "made": self._made,
                    "pid": os.getpid(),
                    "sample_rate": 22_050,
                    "text": "to-day is [noise] fine",
                },
                data,
            )

    def idle(self) -> None:
        pass


if __name__ == "__main__":
    raise SystemExit(run(FakeEngine()))
