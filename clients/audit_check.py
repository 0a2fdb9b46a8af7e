"""`python -m server.storage audit verify`: checks that the audit log is what was written."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy.exc import ProgrammingError

from server.config_file import data_dir_of, load_config
from server.errors import ConfigError, StorageError
from server.storage.audit_query import verify
from server.storage.database import Database

_LONGEST_S = 3600.0
_EPILOG = """\
Prints each day of each replica with its last hash, as the server logged it when it
closed the day, days that were deleted as too old, and every place where the log differs from what was written. Exit code 0:
the log is intact; 1: it is not; 2: it could not be read.
"""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    options = _parse(arguments)
    try:
        settings = load_config(options.config, environ)
        folder = data_dir_of(settings, environ)
        if settings.storage.url is None and not (folder / "parley.db").exists():
            raise ConfigError(f"data.dir: there is no {folder / 'parley.db'}; the server prints its folder at start")
        database = Database(settings.storage, folder, statement_s=_LONGEST_S)
        return asyncio.run(_verify(database, keep_days=settings.storage.audit_days))
    except (ConfigError, StorageError) as error:
        print(f"parley: {error}", file=sys.stderr)
        return 2


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m server.storage",
        description="Inspect what Parley stores.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML file (default: parley.yaml, if it is there)")
    parser.add_argument("part", choices=["audit"])
    parser.add_argument("action", choices=["verify"])
    return parser.parse_args(arguments)


async def _verify(database: Database, *, keep_days: int) -> int:
    """Writes nothing, not even tables."""
    try:
        found = await verify(database, keep_days=keep_days)
    except ProgrammingError as error:
        raise ConfigError("storage.url: there is no audit log in this database; is it the server's?") from error
    finally:
        await database.aclose()
    for gone in found.pruned:
        print(f"{gone.replica} {gone.day} pruned, {gone.entries} entries, last hash {gone.last_hash}")
    for day in found.days:
        state = "closed" if day.is_closed else "open"
        print(f"{day.replica} {day.day} {state} {day.entries} entries, last hash {day.last_hash}")
    for problem in found.problems:
        print(f"BROKEN {problem}")
    entries = sum(day.entries for day in found.days)
    print(f"{len(found.days)} days, {entries} entries: {'BROKEN' if found.problems else 'as written'}")
    return 1 if found.problems else 0
