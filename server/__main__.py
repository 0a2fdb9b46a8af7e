"""`python -m server`: arguments, configuration, run until a signal."""

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from server import __version__, log
from server.app import serve
from server.config import Config
from server.config_file import load_config
from server.errors import ConfigError
from server.runtime import freeze_when_loaded

_EPILOG = """\
Every setting has a default; docs/configuration.md lists them. Any of them can be
given as an environment variable PARLEY_SECTION__KEY, such as
  PARLEY_LOG__LEVEL=debug
With OPENAI_BASE_URL or OPENAI_API_KEY set, that endpoint answers; otherwise the model
that was picked on the page, or a small one on this machine, which needs no key. Ctrl-C ends the server gracefully; a
second one at once.
"""


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
    freezing = asyncio.create_task(freeze_when_loaded(), name="garbage")  # awaited below
    try:
        await serve(settings, environ, _announce, read_again)
    finally:
        freezing.cancel()
        await asyncio.wait([freezing])


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


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:], os.environ))
    finally:
        gc.freeze()  # all is closed: the interpreter frees it without a search for rings, which takes it 0.45 s
