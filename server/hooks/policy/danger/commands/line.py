"""Judges what a command line would run: each simple command, and each command that another one runs."""

import re
from collections.abc import Sequence
from typing import Final

from server.hooks.policy.danger.code.other import Runner, judge_code, judge_python
from server.hooks.policy.danger.commands.programs import VERBS, fits, rules_for
from server.hooks.policy.danger.commands.services import judge_verbs, mounts_the_host
from server.hooks.policy.danger.commands.shell import MAX_CHARS, MAX_DEPTH, Command, parse, unescape
from server.hooks.policy.danger.commands.transfers import (
    DOWNLOADERS,
    SHELLS,
    downloaded_then_run,
    http_client,
    is_private_reader,
    program_of,
    reads_private,
    sends,
    serves,
)
from server.hooks.policy.danger.commands.windows import judge_windows, looks_like_windows
from server.hooks.policy.danger.commands.words import (
    CONTAINER_FLAGS,
    HARMLESS_FLAGS,
    INTERPRETERS,
    PRINTERS,
    PROGRAMS_IN_CONTAINERS,
    SQL_CLIENTS,
    SQL_FLAGS,
    WRAPPERS,
)
from server.hooks.policy.danger.paths import is_private, is_protected, is_scratch
from server.hooks.policy.danger.sql import judge_sql

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_FORK_BOMB: Final = re.compile(r"([\w:.@%]+)\s*\(\)\s*\{[^}]*\1\s*\|\s*&?\s*\1")


_BEGINNERS: Final = SHELLS | PROGRAMS_IN_CONTAINERS


def judge_shell(text: str, depth: int = 0) -> str | None:
    """Why somebody should be asked before this runs; None: nothing speaks for it."""
    if not text.strip() or depth > MAX_DEPTH:
        return "commands nested too deep" if depth > MAX_DEPTH else None
    if len(text) > MAX_CHARS:
        return "a command longer than can be looked at"
    if _FORK_BOMB.search(text[:4000]):
        return "a fork bomb"
    if looks_like_windows(text) and (reason := judge_windows(text)):
        return reason
    commands = parse(text)
    _fill_in(commands)
    pipe: list[Command] = []
    for command in commands:
        pipe = [*pipe, command] if command.reads_pipe else [command]
        if reason := _judge_command(command, pipe[:-1], depth):
            return reason
    return downloaded_then_run(commands)


_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def _fill_in(commands: list[Command]) -> None:
    """Put what the text itself assigns in the place of `$name`, which may be the whole command."""
    known: dict[str, str] = {}
    for command in commands:
        if known and any("$" in word for word in command.words):
            words = [_VARIABLE.sub(lambda m: known.get(m[1] or m[2], m[0])[:1000], word) for word in command.words]
            command.words = [part for word in words[:1] for part in word.split()] + words[1:]
        if command.words and all(_ASSIGNMENT.match(word) for word in command.words):
            parts = [word.partition("=") for word in command.words if len(known) < 100 and "+=" not in word]
            known.update((name, value) for name, _, value in parts)


def judge_argv(words: Sequence[str], depth: int = 0) -> str | None:
    """A list of arguments, the program first; one element may also be a whole command line."""
    if not words:
        return None
    if len(words) == 1:
        return judge_shell(words[0], depth)
    if " " in words[0].strip() and not words[0].startswith(("/", "C:")):
        return next((reason for word in words if (reason := judge_shell(word, depth))), None)
    return _judge_words(list(words), Command(words=list(words)), [], depth)


def _judge_command(command: Command, feeders: list[Command], depth: int) -> str | None:
    for inner in command.inner:
        if reason := judge_shell(inner, depth + 1):
            return reason
        if sends(command.words) and reads_private(inner):
            return "sends away what is private"
    return _redirects(command) or _judge_words(command.words, command, feeders, depth)


def _redirects(command: Command) -> str | None:
    name = program_of(command.words[0]) if command.words else ""
    for redirect in command.redirects:
        target = redirect.target
        if ">" not in redirect.sign or not target:
            if redirect.sign == "<" and name in (SQL_CLIENTS | SHELLS):
                return "runs a file unseen"
            continue
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            return "opens a connection to another machine"
        if is_protected(target) or (redirect.sign != ">>" and target.startswith(("/dev/sd", "/dev/nvme", "/dev/disk"))):
            return "writes where the system or the login is set up"
        if redirect.sign == ">>" or is_scratch(target) or target.startswith("/dev/"):
            continue
        words = command.words
        if name in ("", ":", "true") or (name == "cat" and words[1:] == ["/dev/null"]):
            return "empties a file"
        if name in ("echo", "printf") and not "".join(w for w in words[1:] if w not in ("-n", "-e", "")).strip():
            return "empties a file"
        if name in ("yes", "cat") and (
            name == "yes" or any(w.startswith(("/dev/zero", "/dev/random", "/dev/urandom")) for w in words)
        ):
            return "fills the disk"
    return None


def _judge_words(words: list[str], command: Command, feeders: list[Command], depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return "commands nested too deep"
    words = list(words)
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        if name in ("LD_PRELOAD", "PATH", "BASH_ENV", "PROMPT_COMMAND", "GIT_SSH_COMMAND") and not words:
            return None
        if not words and (" " in value) and (reason := judge_shell(value, depth + 1)):
            return reason
    if not words:
        return None
    name = program_of(words[0])
    rest = words[1:]
    if words[0].startswith(("$", "`")) and len(rest) > 0 and rest[0] in ("-rf", "-fr", "-r", "-R"):
        return "runs a hidden command with -r"
    if name == "alias" and any(judge_shell(word.partition("=")[2], depth + 1) for word in rest if "=" in word):
        return "makes a command do something else"
    if name in ("sudo", "doas") and (not rest or rest[0] in ("-l", "-v", "-k", "-K", "--list", "-V")):
        return None
    if name in ("sudo", "doas") and rest and rest[0] in ("-s", "-i", "su") and len(rest) < 3 and feeders == []:
        return "becomes another user"
    if name == "su" and "-c" in rest:
        return judge_shell(_after(rest, "-c"), depth + 1)
    if name == "command" and rest[:1] in (["-v"], ["-V"]):
        return None
    if (reason := _runs_another(name, rest, command, feeders, depth)) is not None:
        return reason or None
    if HARMLESS_FLAGS & set(rest) and not (name in ("git", "systemctl", "sudo") and "--list" in rest):
        return None
    if name in ("make", "gmake", "ninja", "just"):
        return _make(rest, depth)
    if name in PRINTERS:
        return None
    if (name in ("rsync", "git") and rest[:1] == ["-n"]) or (
        name == "rsync" and any(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", w) for w in rest)
    ):
        return None
    if name in ("apt", "apt-get", "aptitude") and "-s" in rest:
        return None
    return _by_rules(name, rest) or _by_kind(name, rest, command, feeders)


def _by_rules(name: str, rest: list[str]) -> str | None:
    if name == "git":
        rest = _without_git_options(rest)
        if rest[:1] == ["help"] or "-h" in rest[1:2]:
            return None
        if rest[:1] and rest[0] in ("push", "clean", "rm", "add", "mv", "prune") and "-n" in rest:
            return None
    for rule in rules_for(name):
        if rule.reason == VERBS:
            if reason := judge_verbs(rest):
                return reason
        elif fits(rule, rest):
            return rule.reason
    return None


def _by_kind(name: str, rest: list[str], command: Command, feeders: list[Command]) -> str | None:
    if name in ("cp", "mv", "install", "ln", "rename") and rest:
        plain = [w for w in rest if not w.startswith("-")]
        if len(plain) > 1 and is_protected(plain[-1]):
            return "writes where the system or the login is set up"
        if name == "mv" and any(is_protected(w) for w in plain):
            return "takes files of the system away"
    if name in ("touch", "mkdir") or not rest:
        return None
    if name in ("chmod", "chown") and any(is_protected(w) and w.startswith("/") for w in rest):
        return "changes the system's rights"
    if name in DOWNLOADERS:
        return http_client(name, rest, feeders)
    if name in (
        "scp",
        "rsync",
        "sftp",
        "rclone",
        "croc",
        "wormhole",
        "magic-wormhole",
        "ftp",
        "nc",
        "ncat",
        "netcat",
        "curlftpfs",
        "gh",
        "aws",
        "gsutil",
        "mail",
        "mailx",
        "mutt",
    ) and (any(is_private(w) for w in rest) or any(is_private_reader(f) for f in feeders)):
        return "sends away what is private"
    if name in ("nc", "ncat", "netcat", "telnet", "socat", "openssl") and (
        feeders or any(r.sign == "<" for r in command.redirects)
    ):
        return "sends data to another machine"
    if name in ("ping", "dig", "nslookup", "host") and any("$(" in w or "`" in w for w in rest):
        return next((("leaks data through DNS") for inner in command.inner if reads_private(inner)), None)
    if name in ("bash", "sh", "zsh") and "-i" in rest and any("/dev/tcp" in r.target for r in command.redirects):
        return "opens a connection to another machine"
    if name in (
        "python",
        "python3",
        "php",
        "ruby",
        "busybox",
        "npx",
        "http-server",
        "serve",
        "darkhttpd",
        "caddy",
    ) and serves(rest, name):
        return "shows files to the network"
    return None


def _runs_another(name: str, rest: list[str], command: Command, feeders: list[Command], depth: int) -> str | None:
    """The reason of the command inside; "": there is one, and it is harmless; None: this runs no other."""
    if name in SHELLS or name in ("eval", "source", ".") or (name == "su" and rest):
        return _shell(name, rest, command, feeders, depth)
    if name == "find" or name in ("fd", "fdfind"):
        return _find(name, rest, depth)
    if name in ("ssh", "rsh", "mosh", "plink", "autossh"):
        return _remote(rest, depth)
    if name in (
        "docker",
        "podman",
        "nerdctl",
        "kubectl",
        "k",
        "oc",
        "lxc",
        "incus",
        "docker-compose",
        "crictl",
        "ctr",
        "machinectl",
        "vagrant",
        "multipass",
        "heroku",
        "flyctl",
        "fly",
        "gcloud",
        "ansible",
        "nsenter",
    ):
        return _in_container(name, rest, depth)
    if name in ("powershell", "powershell.exe", "pwsh", "pwsh.exe", "cmd", "cmd.exe"):
        return judge_windows(" ".join([name, *rest])) or ""
    if name in SQL_CLIENTS and (reason := _sql_client(name, rest, command, feeders)):
        return reason
    if name in ("mongosh", "mongo") and (code := _after(rest, "--eval")):
        return judge_code(code, RUNNER) or ""
    if name in INTERPRETERS and (reason := _interpreter(name, rest, command, feeders)) is not None:
        return reason
    if name == "trap" and len(rest) > 1:
        return judge_shell(rest[0], depth + 1) or ""
    if name == "crontab" and any(_feeds_danger(f, depth) for f in feeders):
        return "schedules what is asked about"
    if name in ("at", "batch") and feeders:
        return next((reason for f in feeders if (reason := judge_shell(" ".join(f.words[1:]), depth + 1))), None)
    if name == "git" and rest[:2] == ["bisect", "run"]:
        return _judge_words(rest[2:], command, [], depth + 1) or ""
    if name == "git" and rest[:2] == ["submodule", "foreach"]:
        return judge_shell(" ".join(rest[2:]), depth + 1) or ""
    if name in ("tmux", "screen", "zellij"):
        return next(
            (reason for w in rest if " " in w and (reason := judge_shell(w, depth + 1))),
            "kills sessions" if any(w.startswith("kill-") for w in rest) else "",
        )
    if name in ("npx", "bunx") and rest[:1] and (rest[0].startswith(("http", "github:", "git+"))):
        return "runs a stranger's code"
    if name in WRAPPERS:
        return _wrapped(name, rest, command, feeders, depth)
    return None


def _wrapped(name: str, rest: list[str], command: Command, feeders: list[Command], depth: int) -> str:
    with_value, own = WRAPPERS[name]
    words = list(rest)
    if name == "env" and "-S" in words:
        return judge_shell(_after(words, "-S"), depth + 1) or ""
    if (name == "wsl" or name == "wsl.exe") and {"--unregister", "--shutdown", "--terminate", "-t"} & set(words):
        return "removes or stops a Linux installation"
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        if word[:2] != "--" and len(word) == 2 and word[1] in with_value and words:
            value = words.pop(0)
            if name in ("su", "script", "runuser") and word == "-c":
                return judge_shell(value, depth + 1) or ""
        elif (
            word.startswith("--")
            and "=" not in word
            and word[2:]
            in (
                "user",
                "group",
                "host",
                "chdir",
                "signal",
                "kill-after",
                "interval",
                "adjustment",
                "max-args",
                "replace",
                "delimiter",
                "arg-file",
                "unset",
                "distribution",
                "property",
                "setenv",
            )
            and words
        ):
            words.pop(0)
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    words = words[own:]
    if name == "parallel":
        words = words[: words.index(":::")] if ":::" in words else words
        if not words and feeders:
            return next((r for f in feeders if (r := judge_shell(" ".join(f.words[1:]), depth + 1))), "")
    if not words:
        return ""
    if name in (
        "watch",
        "parallel",
        "entr",
        "hyperfine",
        "script",
        "sg",
        "flock",
        "nix-shell",
        "systemd-run",
        "xargs",
    ) and (" " in words[0]):
        return judge_shell(" ".join(words), depth + 1) or ""
    if name in ("npx", "bunx", "uvx") and words[0] in ("rimraf", "del-cli", "trash-cli"):
        return "deletes files"
    inner = Command(words=words, redirects=command.redirects, inner=[])
    if name == "xargs" and program_of(words[0]) in SHELLS:
        return _shell(program_of(words[0]), words[1:], inner, feeders if len(words) < 3 else [], depth + 1) or ""
    return _judge_words(words, inner, feeders if name != "xargs" else [], depth + 1) or ""


def _shell(name: str, rest: list[str], command: Command, feeders: list[Command], depth: int) -> str | None:
    if name == "eval":
        return judge_shell(" ".join(rest), depth + 1) or (
            "runs what a variable holds" if "$" in " ".join(rest) and command.inner else ""
        )
    if name in ("source", "."):
        return "runs a stranger's script" if any(sends(parse(i)[0].words) for i in command.inner if parse(i)) else ""
    for at, word in enumerate(rest):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c") and len(rest) > at + 1:
            script = rest[at + 1]
            if any(sends(c.words) for i in command.inner for c in parse(i)) and "$(" in script:
                return "runs a stranger's script"
            return judge_shell(script, depth + 1) or ""
        if not word.startswith(("-", "+")):
            return "" if not word.startswith(("http", "/dev/stdin", "/dev/fd", "(")) else "runs a stranger's script"
    for redirect in command.redirects:
        if redirect.sign in ("<<", "<<<", "<<-"):
            return judge_shell(redirect.target, depth + 1) or ""
        if redirect.sign == "<":
            return "runs a file unseen"
    if any(sends(parse(i)[0].words) for i in command.inner if parse(i)):
        return "runs a stranger's script"
    return _fed(feeders, depth)


def _fed(feeders: list[Command], depth: int) -> str | None:
    """A shell that reads its commands from a pipe."""
    if not feeders:
        return ""
    last = feeders[-1]
    names = [program_of(f.words[0]) if f.words else "" for f in feeders]
    if any(n in DOWNLOADERS or n in ("nc", "ssh", "scp") for n in names) or any(sends(f.words) for f in feeders):
        return "runs a stranger's script"
    decoders = (
        "base64",
        "base32",
        "xxd",
        "openssl",
        "gunzip",
        "zcat",
        "rev",
        "tr",
        "gzip",
        "bunzip2",
        "xz",
        "uudecode",
        "hexdump",
        "od",
        "python",
        "python3",
        "perl",
        "ruby",
        "php",
        "sed",
        "awk",
    )
    if any(n in decoders for n in names):
        return "runs hidden commands"
    if names[-1] in ("echo", "printf"):
        text = unescape(" ".join(w for w in last.words[1:] if w not in ("-e", "-n", "-E")))
        return judge_shell(text, depth + 1) or ""
    for redirect in last.redirects:
        if redirect.sign in ("<<", "<<<"):
            return judge_shell(redirect.target, depth + 1) or ""
    if names[-1] in ("cat", "head", "tail"):
        return "runs a file unseen"
    return ""


def _find(name: str, rest: list[str], depth: int) -> str | None:
    starts = ("-exec", "-execdir", "-ok", "-okdir") if name == "find" else ("-x", "-X", "--exec", "--exec-batch")
    for at, word in enumerate(rest):
        if word == "-delete" or (word in ("-fprint", "-fls") and name == "find"):
            return "deletes what it finds" if word == "-delete" else None
        if word in starts:
            inner = list(rest[at + 1 :])
            stop = next((i for i, w in enumerate(inner) if w in (";", "+", "\\;")), len(inner))
            if reason := _judge_words(inner[:stop], Command(), [], depth + 1):
                return reason
    return ""


def _remote(rest: list[str], depth: int) -> str | None:
    words = list(rest)
    with_value = "bcDEeFIiJLlmOopQRSWw"
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word[1:2] in ("R", "L", "D", "w") or "R" in word[1:3]:
            return "opens a tunnel"
        if len(word) == 2 and word[1] in with_value and words:
            words.pop(0)
    if len(words) < 2:
        return ""
    command = " ".join(words[1:])
    return judge_shell(command, depth + 1) or ""


def _in_container(name: str, rest: list[str], depth: int) -> str | None:
    if "--" in rest and name not in ("docker", "podman", "nerdctl"):
        at = rest.index("--")
        reason = judge_verbs(rest[:at]) if "exec" not in rest[:at] else None
        return reason or _judge_words(rest[at + 1 :], Command(), [], depth + 1) or ""
    plain = [w for w in rest if not w.startswith("-")]
    if "exec" in plain[:2] or "run" in plain[:2]:
        start = next(i for i, w in enumerate(rest) if w in ("exec", "run"))
        if (reason := mounts_the_host(rest)) is not None:
            return reason
        words = rest[start + 1 :]
        for at in range(len(words)):  # the command begins somewhere behind options and the image's name
            if words[at].startswith("-") or at == 0:
                continue
            if words[at - 1] in CONTAINER_FLAGS:
                continue
            if program_of(words[at]) in PRINTERS:
                break
            if program_of(words[at]) in _BEGINNERS and (reason := _judge_words(words[at:], Command(), [], depth + 1)):
                return reason
        return ""
    if name == "gcloud" and "--command" in " ".join(rest):
        command = next(
            (
                w.partition("=")[2] or (rest[i + 1] if i + 1 < len(rest) else "")
                for i, w in enumerate(rest)
                if w.startswith("--command")
            ),
            "",
        )
        return judge_shell(command, depth + 1) or ""
    if name in ("vagrant", "machinectl") and "-c" in rest:
        return judge_shell(_after(rest, "-c"), depth + 1) or ""
    return None


def _sql_client(name: str, rest: list[str], command: Command, feeders: list[Command]) -> str | None:
    texts = [r.target for r in command.redirects if r.sign in ("<<<", "<<")]
    for at, word in enumerate(rest):
        if word in SQL_FLAGS and at + 1 < len(rest):
            texts.append(rest[at + 1])
        elif word.startswith(("--execute=", "--command=", "--query=", "-e", "-c")) and len(word) > 3:
            texts.append(word.partition("=")[2] or word[2:])
    if name in ("sqlite3", "sqlite", "duckdb", "bq") and rest:
        texts += [w for w in rest[1:] if " " in w or w.startswith(".")]
    for feeder in feeders[-1:]:
        if feeder.words and program_of(feeder.words[0]) in ("echo", "printf"):
            texts.append(" ".join(feeder.words[1:]))
        elif feeder.words and program_of(feeder.words[0]) in (
            "cat",
            "zcat",
            "gunzip",
            "xz",
            "curl",
            "mysqldump",
            "pg_dump",
        ):
            return "runs SQL unseen"
    for text in texts:
        if reason := judge_sql(text):
            return reason
        if re.match(r"\s*\\(?:!|copy|o|w)\b|\s*\.(?:shell|system|restore|import|save|read)\b", text):
            return "reaches beyond the tables"
    return None


def _interpreter(name: str, rest: list[str], command: Command, feeders: list[Command]) -> str | None:
    flag = INTERPRETERS[name]
    judge = judge_python if name.startswith(("python", "pypy", "ipython")) else judge_code
    if name in ("awk", "gawk"):
        return judge_code(rest[0], RUNNER) if rest and "system(" in rest[0] else None
    for at, word in enumerate(rest):
        if (
            word == flag
            or (flag == "-e" and word in ("-E", "-pe", "-ne", "-p", "--eval", "-lane", "--print", "-le", "-nle"))
        ) and at + 1 < len(rest):
            return judge(rest[at + 1], RUNNER) or None
    for redirect in command.redirects:
        if redirect.sign in ("<<", "<<<"):
            return judge(redirect.target, RUNNER) or ""
    if feeders and (not rest or rest == ["-"]):
        names = [program_of(f.words[0]) for f in feeders if f.words]
        if any(n in DOWNLOADERS for n in names):
            return "runs a stranger's code"
        if any(n in ("base64", "xxd", "openssl") for n in names):
            return "runs hidden code"
        return next((r for f in feeders[-1:] if (r := judge(" ".join(f.words[1:]), RUNNER))), "")
    if rest and program_of(rest[0]) in ("manage.py", "artisan", "wp-cli.phar", "occ", "console"):
        return _by_rules(program_of(rest[0]), rest[1:]) or ""
    if rest[:2] == ["-m", "pip"]:
        return _by_rules("pip", rest[2:]) or ""
    return None


def _make(rest: list[str], depth: int) -> str | None:
    if any(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", w) for w in rest) or "--just-print" in rest or "--dry-run" in rest:
        return None
    for word in rest:
        if _ASSIGNMENT.match(word) and (reason := judge_shell(word.partition("=")[2], depth + 1)):
            return reason
        if not word.startswith("-") and set(re.split(r"[-_:./]", word.lower())) & {
            "nuke",
            "destroy",
            "wipe",
            "purge",
            "drop",
            "publish",
            "deploy",
            "release",
            "reset",
            "uninstall",
            "distclean",
            "mrproper",
            "teardown",
            "flash",
            "flush",
        }:
            return "makes what cannot be taken back"
    return None


def _feeds_danger(command: Command, depth: int) -> bool:
    for script in command.inner:
        if judge_shell(script, depth + 1):
            return True
    words = command.words[1:]
    text = " ".join(words)
    return judge_shell(re.sub(r"^(?:[\d*/,-]+\s+){5}|^@\w+\s+", "", text), depth + 1) is not None or bool(words)


def _without_git_options(rest: list[str]) -> list[str]:
    words = list(rest)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") and words:
            words.pop(0)
    return words


def _after(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1] if flag in words and words.index(flag) + 1 < len(words) else ""


RUNNER: Final = Runner(judge_shell, judge_argv)
