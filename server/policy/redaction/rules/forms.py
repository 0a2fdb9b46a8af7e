"""Credentials with a form of their own: tokens in three parts, URLs, headers, hashes of passwords.

Each form has a text without which it cannot fit; it is searched for first.
All repetitions are bounded or possessive: no text takes more than linear time.
"""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.forms.calls import CALLS
from server.policy.redaction.forms.checks import Check
from server.policy.redaction.forms.devices import DEVICES
from server.policy.redaction.forms.dialogs import DIALOGS
from server.policy.redaction.forms.hashes import HASHES
from server.policy.redaction.forms.headers import HEADERS
from server.policy.redaction.forms.keys import KEYS
from server.policy.redaction.forms.links import LINKS
from server.policy.redaction.page import Page, matches
from server.policy.redaction.spans import Span

_BEHIND: Final[dict[str, re.Pattern[str]]] = {
    # what the secret is when it stands before the anchor; looked for in the 200 characters before it
    "telegram_token": re.compile(r"(?<!\d)\d{8,11}\Z"),
    "azure_client_secret": re.compile(r"[\w.~-]{3}\d\Z"),
    "mailchimp_key": re.compile(r"(?<![a-f0-9])[a-f0-9]{32}\Z"),
    "maxmind_key": re.compile(r"(?<!\w)[A-Za-z0-9]{6}_[A-Za-z0-9]{29}\Z"),
    "deepl_key": re.compile(r"(?<!\w)[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}\Z"),
    "azure_devops_token": re.compile(r"(?<!\w)[A-Za-z0-9]{75}\Z"),
    "char_array": re.compile(r"[\"'](?P<s>[^\"'\n\\]{4,128})\\?[\"']\Z"),
    "secure_string_piped": re.compile(r"[\"'](?P<s>[^\"'\n]{4,128})[\"']\)? ?\Z"),
    "smb_hash": re.compile(r":(?P<s>[A-F0-9]{32}):\[[A-Z ]{6,16}\]\Z"),
    "ntlm_hash": re.compile(r"(?<=:)[a-fA-F0-9]{32}:[a-fA-F0-9]{32}\Z"),
    "url_password": re.compile(r"[\w.-]{1,64}:(?P<s>[^\s/\"'<>]{1,128})\Z"),
}


_LONGEST_MARK: Final = 5
"""Characters of an anchor that is no part of what it marks."""
_Rule = tuple[str, str, re.Pattern[str], Check]
_BY_ANCHOR: Final[dict[str, list[_Rule]]] = {}
for _kind, _anchor, _shape, _check in (*LINKS, *HEADERS, *HASHES, *KEYS, *CALLS, *DIALOGS, *DEVICES):
    _BY_ANCHOR.setdefault(_anchor, []).append((_kind, _anchor, re.compile(_shape), _check))
ANCHORS: Final = tuple(_BY_ANCHOR)


def form_spans(page: Page) -> Iterator[Span]:
    for anchor in page.held & _BY_ANCHOR.keys():
        for rule in _BY_ANCHOR[anchor]:
            yield from _fits(page, rule)


def _fits(page: Page, rule: _Rule) -> Iterator[Span]:
    kind, anchor, shape, check = rule
    group = "s" if "s" in shape.groupindex else 0
    for match in matches(page, anchor, shape):
        if kind in _BEHIND and anchor != "://":
            yield from _with_what_stands_before(page.text, kind, match)
        elif check(match[group]):
            yield Span(match.start(group), match.end(group), kind)


def _with_what_stands_before(text: str, kind: str, match: re.Match[str]) -> Iterator[Span]:
    at = match.start()
    offset = max(0, at - 160)
    behind = _BEHIND[kind].search(text, offset, at)
    if behind is None:
        return
    if "s" in behind.re.groupindex:
        yield Span(behind.start("s"), behind.end("s"), kind)
    else:
        yield Span(behind.start(), at if match.end() - at <= _LONGEST_MARK else match.end(), kind)
