"""Programs that send, fetch or serve."""

import re
from typing import Final

from server.hooks.policy.danger.commands.shell import Command, parse
from server.hooks.policy.danger.paths import is_private, is_protected

SHELLS: Final = frozenset("sh bash zsh dash ksh ash fish csh tcsh mksh rbash busybox-sh".split())


DOWNLOADERS: Final = frozenset("curl wget fetch aria2c http https xh lynx lwp-request".split())


_LETTERS: Final = re.compile(r"^(?:[A-Za-z]:)?[\\/]?[\w .\\/:+-]*[\\/]")


def serves(rest: list[str], name: str) -> bool:
    text = " ".join(rest)
    if "http.server" in text or "SimpleHTTPServer" in text or "pyftpdlib" in text:
        return bool(
            re.search(r"(?:--directory|-d)[ =](?:/|~|\$HOME)(?:\s|\Z)|--bind[ =]0\.0\.0\.0|-b 0\.0\.0\.0", text)
        )
    return name != "python" and "0.0.0.0" in text and "-S" in rest


def http_client(name: str, rest: list[str], feeders: list[Command]) -> str | None:
    method = ""
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        if word in ("-X", "--request", "--method"):
            method = following
        elif word.startswith(("-X", "--request=", "--method=")):
            method = word.partition("=")[2] or word[2:]
        elif name in ("http", "https", "xh") and word.isupper():
            method = word
        if word in ("-T", "--upload-file", "--post-file", "--body-file") or word.startswith(
            ("--upload-file=", "--post-file=", "--body-file=", "-T")
        ):
            return "sends a file away"
        if (
            word in ("-d", "--data", "--data-binary", "--data-raw", "-F", "--form", "--data-urlencode")
            and "@" in following
        ):
            path = following.partition("@")[2].partition(";")[0]
            if path == "-" or is_private(path) or path.startswith(("/etc", "~", "/home", "/root", "$HOME")):
                return "sends a file away"
    if method.upper() in ("DELETE", "PUT", "PATCH"):
        return "deletes or changes over HTTP"
    if feeders and any(w in ("-d", "--data", "--data-binary", "-T", "-F", "--data-raw") for w in rest):
        return "sends data away"
    if any(
        f"_{verb}" in w or f"/{verb}" in w
        for w in rest
        if "://" in w
        for verb in ("delete_by_query", "shutdown", "_shutdown", "reboot", "restart", "factory")
    ) and "_search" not in " ".join(rest):
        return "stops or deletes over HTTP"
    body = next(
        (
            following
            for word, following in zip(rest, [*rest[1:], ""], strict=True)
            if word in ("-d", "--data", "--data-raw", "--data-binary", "--json")
        ),
        "",
    )
    if re.search(
        r"\bmutation\b[^}]{0,200}(?:delete|remove|destroy|transfer)|\"(?:action|method|op)\" ?: ?\"(?:delete|remove|destroy|shutdown|wipe)",
        body,
        re.IGNORECASE,
    ):
        return "deletes over HTTP"
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        target = following if word in ("-o", "-O", "--output", "--output-document", "-P") else ""
        if target and is_protected(target):
            return "writes where the system or the login is set up"
    return None


def downloaded_then_run(commands: list[Command]) -> str | None:
    """`curl -o x … && chmod +x x && ./x`"""
    fetched: set[str] = set()
    for command in commands:
        words = command.words
        if not words:
            continue
        name = program_of(words[0])
        if name in DOWNLOADERS:
            for word, following in zip(words, [*words[1:], ""], strict=True):
                if word in ("-o", "-O", "--output", "--output-document") and following:
                    fetched.add(following.lstrip("./"))
                elif "://" in word:
                    fetched.add(word.rsplit("/", 1)[-1])
            fetched |= {r.target.lstrip("./") for r in command.redirects if ">" in r.sign}
            continue
        start = (
            words[1:2]
            if name in (*SHELLS, "python", "python3", "sudo", "source", ".", "node", "perl", "ruby", "chmod")
            else words[:1]
        )
        if name == "chmod":
            start = words[2:3]
        if any(word.lstrip("./") in fetched - {""} for word in start):
            return "runs what it has just downloaded"
    return None


def sends(words: list[str]) -> bool:
    return bool(words) and program_of(words[0]) in (DOWNLOADERS | {"nc", "ncat", "dig", "nslookup", "host", "ping"})


def reads_private(script: str) -> bool:
    return any(is_private_reader(c) for c in parse(script))


def is_private_reader(command: Command) -> bool:
    if not command.words:
        return False
    name = program_of(command.words[0])
    return (name in ("env", "printenv", "history") and len(command.words) == 1) or any(
        is_private(w) for w in command.words[1:]
    )


def program_of(word: str) -> str:
    """A program without its folder and `.exe`."""
    word = word[:300]
    name = _LETTERS.sub("", word) if ("/" in word or "\\" in word) else word
    lower = name.lower()
    return name[:-4] if lower.endswith(".exe") else name
