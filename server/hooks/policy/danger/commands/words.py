"""Words of command lines: flags that make them harmless, programs that print, and programs that run others."""

from typing import Final

HARMLESS_FLAGS: Final = frozenset(
    "--help --version --dry-run --dryrun --simulate --just-print --no-act --what-if --whatif --dry-run=client --dry-run=server "
    "--dry-run=true --dry --pretend --noop --check-only -WhatIf --list --usage /? -help --plan --preview".split()
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
# wrapper → its flags that take a value, and how many words of its own come before the command
WRAPPERS: Final[dict[str, tuple[str, int]]] = {
    "sudo": ("ughpCrtTDRU", 0), "doas": ("uC", 0), "env": ("uCS", 0), "nohup": ("", 0), "nice": ("n", 0), "ionice": ("cnp", 0),
    "time": ("fo", 0), "timeout": ("ks", 1), "gtimeout": ("ks", 1), "stdbuf": ("ioe", 0), "setsid": ("", 0), "chroot": ("", 1), "unshare": ("", 0), "nsenter": ("tSG", 0),
    "xargs": ("adEeIiLlnPs", 0), "command": ("", 0), "builtin": ("", 0), "exec": ("a", 0), "strace": ("eopsu", 0), "ltrace": ("eopsu", 0),
    "flock": ("wE", 1), "chronic": ("", 0), "caffeinate": ("tw", 0), "systemd-run": ("puGtEM", 0), "watch": ("nd", 0), "script": ("", 0), "proot": ("rbw", 0),
    "busybox": ("", 0), "toybox": ("", 0), "parallel": ("jaI", 0), "fakeroot": ("", 0), "firejail": ("", 0), "pkexec": ("u", 0), "gosu": ("", 1), "runuser": ("u", 0), "su-exec": ("", 1),
    "taskset": ("cp", 1), "chrt": ("", 1), "torsocks": ("", 0), "proxychains": ("", 0), "proxychains4": ("f", 0), "dbus-run-session": ("", 0), "xvfb-run": ("", 0), "rlwrap": ("", 0), "unbuffer": ("", 0), "ts": ("", 0),
    "entr": ("", 0), "wsl": ("du", 0), "wsl.exe": ("du", 0), "npx": ("p", 0), "bunx": ("", 0), "uvx": ("", 0), "aws-vault": ("", 2), "op-run": ("", 0), "dotenv": ("ef", 0), "direnv": ("", 2), "hyperfine": ("wrmn", 0), "eatmydata": ("", 0), "setarch": ("", 1), "choom": ("np", 0), "prlimit": ("", 0), "sg": ("", 1), "then": ("", 0), "do": ("", 0), "else": ("", 0), "if": ("", 0), "elif": ("", 0), "while": ("", 0), "until": ("", 0), "!": ("", 0), "{": ("", 0), "coproc": ("", 0), "nix-shell": ("pI", 0), "start": ("", 0), "sem": ("j", 0), "rush": ("j", 0),
}  # fmt: skip
# of docker run and exec: flags that take a value, and programs by which the command is told from the image's name
CONTAINER_FLAGS: Final = frozenset(
    "-e --env --name -w --workdir -u --user -v --volume -p --publish --network --entrypoint".split()
)
PROGRAMS_IN_CONTAINERS: Final = frozenset(
    "rm dd mkfs kill shutdown psql mysql redis-cli mongosh sqlite3 dropdb python python3 find curl sudo env artisan rails php manage.py truncate chmod chown mysqladmin unlink".split()
)
