"""Words of command lines: flags that make them harmless, programs that print, and programs that read commands."""

from collections.abc import Iterable, Sequence
from typing import Final

HARMLESS_FLAGS: Final = frozenset(
    "--help --version --dry-run --dryrun --simulate --just-print --no-act --what-if --whatif --dry-run=client --dry-run=server "
    "--dry-run=true --dry --pretend --check-only -WhatIf --list --usage /? -help --plan --preview --preview-only --diff-only --check --noop --no-execute --just-print --recon --test-run".split()
)
PRINTERS: Final = frozenset(
    "echo printf cat man which whereis type apropos info help whatis command-not-found say espeak espeak-ng notify-send grep egrep fgrep rg ag ack zgrep head tail less more wc diff cmp test [ [[ true false : ls stat file basename dirname readlink realpath shellcheck tldr cheat logger figlet cowsay git-grep locate".split()
)
INTERPRETERS: Final = {
    "python": "-c", "python2": "-c", "python3": "-c", "pypy3": "-c", "ipython": "-c", "node": "-e", "nodejs": "-e", "deno": "eval", "bun": "-e", "perl": "-e",
    "ruby": "-e", "php": "-r", "lua": "-e", "Rscript": "-e", "osascript": "-e", "groovy": "-e", "elixir": "-e", "julia": "-e", "tclsh": "-c", "awk": "", "gawk": "",
}  # fmt: skip
SQL_CLIENTS: Final = frozenset(
    "mysql mariadb psql sqlite3 sqlite sqlcmd cqlsh clickhouse-client clickhouse duckdb usql cockroach snowsql bq beeline hive trino presto isql".split()
)
SQL_FLAGS: Final = frozenset("-e --execute -c --command -q -Q --query -cmd --sql -s".split())
# of docker run and exec: flags that take a value, and programs by which the command is told from the image's name
CONTAINER_FLAGS: Final = frozenset(
    "-e --env --name -w --workdir -u --user -v --volume -p --publish --network --entrypoint".split()
)
PROGRAMS_IN_CONTAINERS: Final = frozenset(
    "rm dd mkfs kill shutdown psql mysql redis-cli mongosh sqlite3 dropdb python python3 find curl sudo env artisan rails php manage.py truncate chmod chown mysqladmin unlink".split()
)


def followed(words: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Each word with the one behind it; the last one with nothing."""
    return zip(words, [*words, ""][1:], strict=True)
