"""Programs that send to other machines: what they send, and whom they show files to."""

import re
from typing import Final

from server.policy.danger.commands.http_clients import http_client
from server.policy.danger.commands.shell import SUBSTITUTED, parse
from server.policy.danger.commands.step import Step
from server.policy.danger.commands.transfers import DOWNLOADERS, is_private_reader, program_of, reads_private
from server.policy.danger.paths import is_private

_COPIERS: Final = frozenset(
    "scp rsync sftp rclone croc wormhole magic-wormhole ftp nc ncat netcat curlftpfs gh aws gsutil mail mailx mutt".split()
)
_WHOLE_HOMES: Final = frozenset("/ ~ ~/ $HOME $HOME/ /home /home/ /root /root/ /etc /etc/".split())
_CONFIDENTIAL: Final = re.compile(
    r"(?i:contracts?|payroll|salar(?:y|ies)|patients?|medical|confidential|vertraulich|personalakt\w*|gehalt\w*|mandant\w*|befunde?|passports?|tax(?:es)?|steuer\w*|nda|kunden\w*)(?:[/._-]|\Z)"
)
_SOCKETS: Final = frozenset("nc ncat netcat telnet socat openssl".split())
_ASKING_NAMES: Final = frozenset("ping dig nslookup host".split())
_ASKED_OUTSIDE: Final = DOWNLOADERS | _ASKING_NAMES
_TELLING: Final = frozenset(
    "hostname uname ifconfig ip ps netstat cat base64 env printenv whoami id history xxd gzip tar".split()
)
_SERVERS: Final = frozenset("python python3 php ruby busybox npx http-server serve darkhttpd caddy".split())
_EVERYTHING: Final = re.compile(r"(?:--directory|-d)[ =](?:/|~|\$HOME)(?:\s|\Z)|--bind[ =]0\.0\.0\.0|-b 0\.0\.0\.0")


def by_sender(step: Step) -> str | None:
    name, rest = step.name, step.rest
    if not rest:
        return None
    if name in _ASKED_OUTSIDE and any(SUBSTITUTED in word for word in rest) and any(map(_tells, step.command.inner)):
        return "tells others about this machine"
    if name in DOWNLOADERS:
        return http_client(name, rest, step.feeders)
    if name in _COPIERS and (
        any(is_private(word) or word in _WHOLE_HOMES or _CONFIDENTIAL.search(word) for word in rest)
        or any(map(is_private_reader, step.feeders))
    ):
        return "sends away what is private"
    if name in _SOCKETS and (step.feeders or any(redirect.sign == "<" for redirect in step.command.redirects)):
        return "sends data to another machine"
    if name in _ASKING_NAMES and any("$(" in word or "`" in word for word in rest):
        return "leaks data through DNS" if any(map(reads_private, step.command.inner)) else None
    if name in _SERVERS and _serves_everything(name, " ".join(rest)):
        return "shows files to the network"
    return None


def _tells(script: str) -> bool:
    return any(command.words and program_of(command.words[0]) in _TELLING for command in parse(script))


def _serves_everything(name: str, text: str) -> bool:
    if any(server in text for server in ("http.server", "SimpleHTTPServer", "pyftpdlib")):
        return bool(_EVERYTHING.search(text))
    return name != "python" and "0.0.0.0" in text and " -S " in f" {text} "
