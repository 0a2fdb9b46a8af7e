"""curl, wget and their like: the method, what is sent, and where the answer is written."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from server.hooks.policy.danger.commands.shell import Command
from server.hooks.policy.danger.commands.words import followed
from server.hooks.policy.danger.paths import is_private, is_protected

_METHOD_FLAGS: Final = ("-X", "--request", "--method")
_JOINED_METHOD_FLAGS: Final = ("-X", "--request=", "--method=")
_WITH_METHOD_AS_WORD: Final = ("http", "https", "xh")
_FILE_FLAGS: Final = ("-T", "--upload-file", "--post-file", "--body-file")
_JOINED_FILE_FLAGS: Final = ("--upload-file=", "--post-file=", "--body-file=", "-T")
_DATA_FLAGS: Final = ("-d", "--data", "--data-binary", "--data-raw", "-F", "--form", "--data-urlencode")
_FED_FLAGS: Final = frozenset(("-d", "--data", "--data-binary", "-T", "-F", "--data-raw"))
_BODY_FLAGS: Final = ("-d", "--data", "--data-raw", "--data-binary", "--json")
_OUTPUT_FLAGS: Final = ("-o", "-O", "--output", "--output-document", "-P")
_HOMES: Final = ("/etc", "~", "/home", "/root", "$HOME")
_ACTING_URL: Final = re.compile(r"[_/](?:delete_by_query|shutdown|_shutdown|reboot|restart|factory)")
_ACTING_BODY: Final = re.compile(
    r"\bmutation\b[^}]{0,200}(?:delete|remove|destroy|transfer)|\"(?:action|method|op)\" ?: ?\"(?:delete|remove|destroy|shutdown|wipe)",
    re.IGNORECASE,
)


def http_client(name: str, rest: list[str], feeders: Sequence[Command]) -> str | None:
    pairs = list(followed(rest))
    if any(_sends_file(word, following) for word, following in pairs):
        return "sends a file away"
    if any(method.upper() in ("DELETE", "PUT", "PATCH") for method in _methods(name, pairs)):
        return "deletes or changes over HTTP"
    if feeders and _FED_FLAGS & set(rest):
        return "sends data away"
    if any("://" in word and _ACTING_URL.search(word) for word in rest) and "_search" not in " ".join(rest):
        return "stops or deletes over HTTP"
    if any(word in _BODY_FLAGS and _ACTING_BODY.search(following) for word, following in pairs):
        return "deletes over HTTP"
    if any(word in _OUTPUT_FLAGS and following and is_protected(following) for word, following in pairs):
        return "writes where the system or the login is set up"
    return None


def _methods(name: str, pairs: list[tuple[str, str]]) -> Iterator[str]:
    for word, following in pairs:
        if word in _METHOD_FLAGS:
            yield following
        elif word.startswith(_JOINED_METHOD_FLAGS):
            yield word.partition("=")[2] or word[2:]
        elif name in _WITH_METHOD_AS_WORD and word.isupper():
            yield word


def _sends_file(word: str, following: str) -> bool:
    if word in _FILE_FLAGS or word.startswith(_JOINED_FILE_FLAGS):
        return True
    if word not in _DATA_FLAGS or "@" not in following:
        return False
    path = following.partition("@")[2].partition(";")[0]
    return path == "-" or is_private(path) or path.startswith(_HOMES)
