"""curl, wget and their like: the method, what is sent, and where the answer is written."""

from collections.abc import Iterator, Sequence
from typing import Final

from server.policy.danger.commands.shell import Command
from server.policy.danger.commands.words import followed
from server.policy.danger.paths import is_private, is_protected
from server.policy.danger.requests import judge_request

_METHOD_FLAGS: Final = ("-X", "--request", "--method")
_JOINED_METHOD_FLAGS: Final = ("-X", "--request=", "--method=")
_WITH_METHOD_AS_WORD: Final = ("http", "https", "xh", "curlie")
_FILE_FLAGS: Final = ("-T", "--upload-file", "--post-file", "--body-file")
_JOINED_FILE_FLAGS: Final = ("--upload-file=", "--post-file=", "--body-file=", "-T")
_DATA_FLAGS: Final = frozenset(
    "-d --data --data-binary --data-raw --data-ascii -F --form --data-urlencode --json --post-data --body-data --form-string".split()
)
_FED_FLAGS: Final = frozenset(("-d", "--data", "--data-binary", "-T", "-F", "--data-raw", "--post-file"))
_OUTPUT_FLAGS: Final = ("-o", "-O", "--output", "--output-document", "-P")
_HOMES: Final = ("/etc", "~", "/home", "/root", "$HOME")


def http_client(name: str, rest: list[str], feeders: Sequence[Command]) -> str | None:
    pairs = list(followed(rest))
    if any(_sends_file(word, following) for word, following in pairs):
        return "sends a file away"
    if feeders and _FED_FLAGS & set(rest):
        return "sends data away"
    body = "\n".join(_bodies(pairs))
    method = next(_methods(name, pairs), "POST" if body and not {"-G", "--get"} & set(rest) else "").upper()
    if method in ("DELETE", "PUT", "PATCH"):
        return "deletes or changes over HTTP"
    for url in (word for word in rest if "://" in word or ("/" in word and "." in word and not word.startswith("-"))):
        if reason := judge_request(method, url, body):
            return reason
    if any(word in _OUTPUT_FLAGS and following and is_protected(following) for word, following in pairs):
        return "writes where the system or the login is set up"
    return None


def _methods(name: str, pairs: list[tuple[str, str]]) -> Iterator[str]:
    for word, following in pairs:
        if word in _METHOD_FLAGS:
            yield following
        elif word.startswith(_JOINED_METHOD_FLAGS):
            yield word.partition("=")[2] or word[2:]
        elif name in _WITH_METHOD_AS_WORD and word.upper() in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            yield word


def _bodies(pairs: list[tuple[str, str]]) -> Iterator[str]:
    for word, following in pairs:
        flag, sign, value = word.partition("=")
        if flag in _DATA_FLAGS:
            yield value if sign else following


def _sends_file(word: str, following: str) -> bool:
    if word in _FILE_FLAGS or word.startswith(_JOINED_FILE_FLAGS):
        return True
    if word not in _DATA_FLAGS or "@" not in following:
        return False
    path = following.partition("@")[2].partition(";")[0]
    return path == "-" or is_private(path) or path.startswith(_HOMES)
