"""The real server, `python -m server --port 0`, in a process of its own.

    with ServerProcess(tmp_path, environ=endpoint(model.url)) as server:
        server.url          # http://127.0.0.1:PORT
        server.ws_url       # ws://127.0.0.1:PORT/ws
        server.lines        # what it has printed so far
        server.log()        # what it has logged

Also `async with`, which starts and stops it in a thread, so that a model server
in the test's own event loop can answer meanwhile. Of our environment it gets
PATH only; its data, home and log stand in the folder it is given.
"""

import asyncio
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

ROOT = Path(__file__).parent.parent.parent
START_LIMIT_S = 60.0
STOP_LIMIT_S = 30.0


def endpoint(url: str, *, model: str = "scripted") -> dict[str, str]:
    """The environment that points the server at an OpenAI-compatible endpoint."""
    return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "test-key", "OPENAI_MODEL": model}


class ServerProcess:
    def __init__(
        self,
        folder: Path,
        *,
        environ: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        arguments: Sequence[str] = ("--port", "0"),
        command: Sequence[str] = (sys.executable, "-m", "server"),
    ) -> None:
        """`settings` is what stands in the YAML file, such as {"limits": {"turns": 1}}."""
        self.folder = folder
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "PARLEY_DATA__DIR": str(folder / "data"),
            "PARLEY_LOG__FORMAT": "text",
            "PARLEY_SPEECH__STT__PROVIDER": "none",  # most tests do without: the engines take seconds and 500 MB
            "PARLEY_SPEECH__TTS__PROVIDER": "none",
            **(environ or {}),
        }
        self.settings = settings
        self.arguments = arguments
        self._command = [*command, *arguments]
        self.lines: list[str] = []
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self._arrivals = queue.Queue[str | None]()
        self._reader: threading.Thread | None = None

    @property
    def ws_url(self) -> str:
        return self.url.replace("http", "ws", 1) + "/ws"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def start(self) -> None:
        """Returns when it listens; raises AssertionError with its log if it ends before. Once stopped, it may be started again."""
        self._arrivals = queue.Queue()
        arguments = list(self._command)
        if self.settings is not None:
            file = self.folder / "parley.yaml"
            file.write_text(yaml.safe_dump(dict(self.settings)), "utf-8")
            arguments += ["--config", str(file)]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                arguments,
                cwd=ROOT,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, name="server output", daemon=True)
        self._reader.start()
        prefix = "listening on "
        self.url = self.wait_for_line(prefix).removeprefix(prefix)

    def wait_for_line(self, prefix: str) -> str:
        """The next printed line that begins so; those before it are in `lines`."""
        while True:
            try:
                line = self._arrivals.get(timeout=START_LIMIT_S)
            except queue.Empty:
                line = None
            assert line is not None, f"the server printed no {prefix!r}; its log:\n{self.log()}"
            self.lines.append(line)
            if line.startswith(prefix):
                return line

    def signal(self, number: int = signal.SIGTERM) -> None:
        assert self._process is not None, "not started"
        self._process.send_signal(number)

    def wait(self) -> int:
        """Its exit code, once it has ended by itself."""
        assert self._process is not None, "not started"
        return self._process.wait(STOP_LIMIT_S)

    def stop(self) -> int:
        """End it, gently at first. Idempotent; returns the exit code."""
        process = self._process
        if process is None:
            return 0
        if process.poll() is None:
            process.terminate()
        try:
            code = process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if self._reader is not None:
            self._reader.join()
        if process.stdout is not None:
            process.stdout.close()
        return code

    def log(self) -> str:
        return (self.folder / "server.log").read_text("utf-8", errors="replace")

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._arrivals.put(line.rstrip("\n"))
        self._arrivals.put(None)


@contextmanager
def running_together(servers: Sequence[ServerProcess]) -> Iterator[None]:
    """All started, and stopped, at the same time: half as long as one after the other."""
    with ThreadPoolExecutor(len(servers)) as threads:
        try:
            list(threads.map(ServerProcess.start, servers))
            yield
        finally:
            list(threads.map(ServerProcess.stop, servers))
