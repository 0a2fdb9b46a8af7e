"""Files that hold nothing but logins, a line each: `/etc/rsyncd.secrets`, `chap-secrets`, `sasl_passwd`, `jmxremote.password`.

What is in them is told by the file's name alone, in a comment, in a command that prints it, or over a part of a listing.
"""

import re
from collections.abc import Generator, Iterator
from typing import Final

from server.policy.redaction.chosen import is_chosen
from server.policy.redaction.page import Page
from server.policy.redaction.plausible import is_placeholder, is_plausible
from server.policy.redaction.spans import Span

ANCHORS: Final = tuple(
    "secrets sasl_passwd chap-secrets pap-secrets jmxremote.password auth.txt userpass userlist.txt .pgpass credentials.txt passwords.txt logins.txt vncpasswd "
    "router.db smbcredentials .nascred htdigest".split()
)
_ANCHORS: Final = frozenset(ANCHORS)
_HEADING: Final = re.compile(
    r"(?:[#;]+ ?|(?=[/~])|//+ ?|==> ?|-- ?|[^\n]{0,60}[$#>] ?(?:sudo )?(?:cat|head|tail|type|less|more) (?:-\S+ ){0,3})(?:\S{0,120}[/\\])?[\w.-]{0,40}\Z"
)
_TWO_LINED: Final = "auth.txt"
_PROGRAM: Final = re.compile(r"[\w-]{2,16} \Z")
_REST: Final = re.compile(r"[\w.-]{0,24}(?: ?<==| ?\([^)\n]{0,40}\)| ?:)?[ \t]*\r?\n")
_LOGIN: Final = re.compile(
    r"[ \t]*(?P<u>[\"']?[\w.@*\[\]/-][^\s:=#]{0,120}?[\"']?)(?::\d{1,5})?(?:[ \t]*[:=][ \t]*|[ \t]+(?:[\w.@*-]{1,64}(?:[ \t]+|:))?)(?P<s>[\"'][^\"'\n]{4,100}[\"']|[^\s\"']{4,128})[^\S\n]*(?:[ \t]\S{1,40})?(?:\r?\n|\Z)"
)
_TWO_LINES: Final = re.compile(r"[^\s:=]{2,64}\r?\n(?P<s>[^\s$#][^\s]{3,127})[ \t]*(?:\r?\n|\Z)")
_MOST_LINES: Final = 64


def credential_file_spans(page: Page) -> Iterator[Span]:
    text = page.text
    for anchor in page.held & _ANCHORS:
        done = 0
        for at in page.occurrences(anchor):
            start = text.rfind("\n", max(0, at - 200), at) + 1
            is_heading = _HEADING.match(text[start:at]) or (anchor == _TWO_LINED and _PROGRAM.match(text[start:at]))
            if at >= done and is_heading and (rest := _REST.match(text, at + len(anchor))):
                done = yield from _logins(text, rest.end(), is_two_lines=anchor == _TWO_LINED)


def _logins(text: str, at: int, *, is_two_lines: bool) -> Generator[Span, None, int]:
    """A line each, or, as OpenVPN reads them, two lines; up to the first that is none."""
    if is_two_lines:
        if pair := _TWO_LINES.match(text, at):
            yield Span(pair.start("s"), pair.end("s"), "login")
        return at
    for _ in range(_MOST_LINES):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if login := _LOGIN.match(line):
            value = login["s"].strip("\"'")
            if not is_placeholder(value) and (is_plausible(value, is_quoted=True) or is_chosen(value, is_quoted=True)):
                start = at + login.start("s") + login["s"].index(value)
                yield Span(start, start + len(value), "login")
        elif line.strip() and not line.lstrip().startswith(("#", ";")):
            break
        if end < 0:
            break
        at = end + 1
    return at
