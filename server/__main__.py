"""`python -m server`: arguments, configuration, run until a signal."""

import argparse
import asyncio
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from server import __version__, log
from server.app import App
from server.config import Config
from server.config_file import load_config
from server.errors import ConfigError
from server.subprocesses.child_process import kill_all

logger = logging.getLogger("server")  # __name__ is that of any program

_OPEN_FILES: Final = 10_240
_EPILOG = """\
Every setting has a default; docs/configuration.md lists them. Any of them can be
given as an environment variable PARLEY_SECTION__KEY, such as
  PARLEY_LOG__LEVEL=debug
With OPENAI_BASE_URL or OPENAI_API_KEY set, that endpoint answers; otherwise the model
that was picked on the page, or a small one on this machine, which needs no key. Ctrl-C ends the server gracefully; a
second one at once.
"""
SETTLED_S: Final = 2.0


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run until a signal; returns the exit code: 0, or 2 for a setting that is wrong."""
    options = _parse(arguments)
    try:
        settings = _read(options, environ)
        log.set_up(settings.log)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(settings, environ, lambda: _read(options, environ)))
    except ConfigError as error:
        print(f"parley: {error}", file=sys.stderr)
        return 2
    return 0


async def _serve(settings: Config, environ: Mapping[str, str], read_again: Callable[[], Config]) -> None:
    """Serve until SIGTERM or SIGINT, then drain. A second signal ends the process at once.

    SIGHUP takes over what `read_again` gives. Raises ConfigError for what keeps it from starting.
    """
    signals = Signals()
    _allow_many_connections()
    freezing = asyncio.create_task(freeze_when_loaded(), name="garbage")  # awaited below
    try:
        app = await App.build(settings, environ)
        async with app.running(_announce, signals.stop):
            app.begin(app.reload_on(signals.reload, read_again), "reload")
            await signals.stop.wait()
            logger.info("stopping: running turns have %g s", settings.listen.drain_s)
            await app.drain()
    finally:
        freezing.cancel()
        await asyncio.wait([freezing])


def _allow_many_connections() -> None:
    """Raise the limit of open files: each connection is one, and most systems start a process with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m server",
        description="Serve Parley: a voice-chat page, and its protocol at /ws, on one port.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML file (default: parley.yaml, if it is there)")
    parser.add_argument("--host", metavar="H", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="P", help="port to listen on, 0 = any free one (default: 8765)")
    parser.add_argument("--version", action="version", version=f"parley {__version__}")
    return parser.parse_args(arguments)


def _read(options: argparse.Namespace, environ: Mapping[str, str]) -> Config:
    return _override(load_config(options.config, environ), options)


def _override(settings: Config, options: argparse.Namespace) -> Config:
    given = {key: value for key in ("host", "port") if (value := getattr(options, key)) is not None}
    if not 0 <= given.get("port", 0) <= 65_535:
        raise ConfigError("--port: must be between 0 and 65535")
    return msgspec.structs.replace(settings, listen=msgspec.structs.replace(settings.listen, **given))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not built for every system; slower, otherwise the same
        return None
    return uvloop.new_event_loop


def _announce(line: str) -> None:
    print(line, flush=True)


class Signals:
    """Turns signals into events: stop, or read the configuration again.

    Listens from its construction on; needs a running loop.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        """Event set by SIGTERM or SIGINT; a second signal ends the process at once."""
        self.reload = asyncio.Event()
        """Event set by SIGHUP. One that comes because our terminal was closed means stop, as it does to any program."""
        self._had_terminal = _has_terminal()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)

    def _on_stop(self, number: int) -> None:
        if self.stop.is_set():
            kill_all()  # it would outlive us
            os._exit(128 + number)  # everything else we started ends when its pipes do
        self.stop.set()

    def _on_hangup(self) -> None:
        if self._had_terminal and not _has_terminal():
            self.stop.set()
        else:
            self.reload.set()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


async def freeze_when_loaded(
    *, settled_s: float = SETTLED_S, loaded: Callable[[], int] = lambda: len(sys.modules)
) -> None:
    """Wait until no module was loaded for `settled_s`, then hide every object from the garbage collector.

    A full collection looks at every object. With the 170,000 that packages bring along it holds the event loop
    for 0.1 s; and it comes so rarely that reference cycles (a session knows its socket, the socket its session)
    pile up by tens of megabytes in between. Frozen objects are still freed, unless they are part of a cycle.
    """
    before, now = 0, loaded()
    while now != before:
        await asyncio.sleep(settled_s)
        before, now = now, loaded()
    gc.freeze()
    gc.collect()  # of nothing: a full one is due by how much the last one has found, which was all that


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:], os.environ))
    finally:
        gc.freeze()  # all is closed: the interpreter frees it without a search for rings, which takes it 0.45 s
