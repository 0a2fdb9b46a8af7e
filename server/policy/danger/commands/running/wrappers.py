"""Programs that run the command behind them: as somebody else, later, elsewhere, for each line of a list."""

import re
import shlex
from dataclasses import dataclass, replace
from typing import Final

from server.policy.danger.commands.running import shells
from server.policy.danger.commands.running.jobs import rewrites
from server.policy.danger.commands.shell import Command
from server.policy.danger.commands.step import HARMLESS, Judge, Step
from server.policy.danger.commands.transfers import SHELLS, is_private_reader, program_of, sends

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How far a program's own words go."""

    with_value: str = ""
    """Letters of the flags that take a value."""
    own_words: int = 0
    """How many words of its own stand before the command."""


# programs, `-` and the letters of flags that take a value, how many words stand before the command
_TABLE: Final = """
sudo -ughpCrtTDRU
doas -uC
pkexec runuser run0 gksudo kdesudo setpriv -u
chpst -u
env -uCS
nice -n
ionice -cnp
choom -np
time -fo
timeout gtimeout -ks 1
stdbuf -ioe
nsenter -tSG
xargs -adEeIiLlnPs
exec -a
strace ltrace -eopsu
flock -wE 1
caffeinate -tw
systemd-run -puGtEM
watch -nd
proot -rbw
parallel -jaI
sem rush -j
taskset -cp 1
chrt chroot gosu su-exec setarch sg setuidgid s6-setuidgid 1
systemd-nspawn -DMu
schroot lxc-attach -cnu
cgexec -g
srun mpirun mpiexec -n
perf faketime 1
valgrind daemonize tini dumb-init catchsegv arch watchexec reflex onchange nodemon
aws-vault direnv 2
proxychains4 -f
wsl wsl.exe -du
npx -p
dotenv -ef
hyperfine -wrmn
nix-shell -pI
flatpak-spawn distrobox-host-exec host-spawn nohup setsid unshare command builtin chronic script busybox toybox fakeroot firejail torsocks proxychains
dbus-run-session xvfb-run rlwrap unbuffer ts entr bunx uvx op-run eatmydata prlimit coproc start
then do else if elif while until ! {
"""
_LONG_WITH_VALUE: Final = frozenset(
    "user group chdir signal kill-after interval adjustment max-args replace delimiter arg-file unset distribution "
    "property setenv".split()
)
_TAKING_LINES: Final = frozenset("watch parallel entr hyperfine script sg flock nix-shell systemd-run xargs".split())
"""Their command may be one word, as a shell reads it."""
_TAKING_ALL: Final = ("kill", "umount", "pkill", "killall", "unlink", "swapoff", "loginctl")
_BECOMING: Final = frozenset("sudo doas pkexec run0 gksudo kdesudo gosu".split())
_RUNNERS_OF_PACKAGES: Final = ("npx", "bunx", "uvx")
_DELETING_PACKAGES: Final = ("rimraf", "del-cli", "trash-cli")


def _read(table: str) -> dict[str, Wrapper]:
    wrappers: dict[str, Wrapper] = {}
    for line in table.strip().splitlines():
        words = line.split()
        flags = next((word[1:] for word in words if word[0] == "-"), "")
        own = int(words[-1]) if words[-1].isdigit() else 0
        programs = [word for word in words if word[0] != "-" and not word.isdigit()]
        wrappers.update(dict.fromkeys(programs, Wrapper(flags, own)))
    return wrappers


_WRAPPERS: Final = _read(_TABLE)


def _by_wrapper(step: Step) -> str:
    words = _command(step)
    if not words:
        return HARMLESS
    if step.name in _BECOMING and _is_bare_shell(words, step):
        return "becomes another user"
    if step.name in _TAKING_LINES and " " in words[0]:
        return step.nested.line(" ".join(words)) or HARMLESS
    if step.name in _RUNNERS_OF_PACKAGES and words[0] in _DELETING_PACKAGES:
        return "deletes files"
    inner = Command(words=words, redirects=step.command.redirects, inner=step.command.inner)
    if step.name != "xargs":
        return step.nested.words(words, inner, step.feeders) or HARMLESS
    program = program_of(words[0])
    if rewrites(words):
        return "rewrites many files"
    if sends(words) and any(map(is_private_reader, step.feeders)):
        return "sends away what is private"
    if program in _TAKING_ALL:
        return "stops or takes away each of many"
    if program in SHELLS:
        feeders = step.feeders if len(words) < 3 else ()
        return shells.by_shell(replace(step, name=program, rest=words[1:], command=inner, feeders=feeders)) or HARMLESS
    return step.nested.words(words, inner) or HARMLESS


def _is_bare_shell(words: list[str], step: Step) -> bool:
    """A shell for somebody to type in; one that reads a script is judged by that."""
    is_shell = program_of(words[0]) in SHELLS and all(word in ("-i", "-l", "-", "--login") for word in words[1:])
    return is_shell and not step.feeders and not step.command.redirects


def _command(step: Step) -> list[str]:
    """The words behind the wrapper's own."""
    wrapper = _WRAPPERS[step.name]
    words = list(step.rest)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        if words and _takes_value(word, wrapper):
            words.pop(0)
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    words = words[wrapper.own_words :]
    if step.name == "parallel" and ":::" in words:
        return words[: words.index(":::")]
    return words


def _takes_value(flag: str, wrapper: Wrapper) -> bool:
    if flag.startswith("--"):
        return flag[2:] in _LONG_WITH_VALUE
    return len(flag) == 2 and flag[1] in wrapper.with_value


# --- what stands out about some of them


def _by_sudo(step: Step) -> str | None:
    if not step.rest or step.rest[0] in ("-l", "-v", "-k", "-K", "--list", "-V"):
        return HARMLESS
    if step.rest[0] in ("-s", "-i", "su") and len(step.rest) < 3 and not step.feeders:
        return "becomes another user"
    return None


def _by_env(step: Step) -> str | None:
    behind = step.rest[step.rest.index("-S") + 1 :] if "-S" in step.rest else []
    return (step.nested.line(" ".join([*behind[:1], *map(shlex.quote, behind[1:])])) or HARMLESS) if behind else None


def _by_command(step: Step) -> str | None:
    return HARMLESS if step.rest[:1] in (["-v"], ["-V"]) else None


def _by_wsl(step: Step) -> str | None:
    stops = {"--unregister", "--shutdown", "--terminate", "-t"} & set(step.rest)
    return "removes or stops a Linux installation" if stops else None


def _by_package(step: Step) -> str | None:
    is_foreign = bool(step.rest) and step.rest[0].startswith(("http", "github:", "git+"))
    return "runs a stranger's code" if is_foreign else None


def _by_parallel(step: Step) -> str | None:
    """Without a command of its own it runs the lines that it reads."""
    if _command(step):
        return None
    reasons = (step.nested.line(" ".join(feeder.words[1:])) for feeder in step.feeders)
    return next((reason for reason in reasons if reason), None)


ASKING: Final[dict[str, Judge]] = {
    "sudo": _by_sudo,
    "doas": _by_sudo,
    "env": _by_env,
    "command": _by_command,
    "wsl": _by_wsl,
    "wsl.exe": _by_wsl,
    "npx": _by_package,
    "bunx": _by_package,
    "parallel": _by_parallel,
}
JUDGES: Final[dict[str, Judge]] = dict.fromkeys(_WRAPPERS, _by_wrapper)
