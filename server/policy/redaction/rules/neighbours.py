"""Secrets without a name of their own: a generated key near the word for one, a login told as a pair."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.chosen import is_chosen, is_no_identifier
from server.policy.redaction.page import Page, matches
from server.policy.redaction.plausible import has_digit, is_plausible, is_random
from server.policy.redaction.spans import Span

_LONG_WORDS: Final = (
    "key",
    "token",
    "secret",
    "password",
    "credential",
    "passwor",
    "schlüssel",
    "api:",
    "密钥",
    "令牌",
    "clé",
    "clave",
)
_PUBLIC: Final = (
    "public key",
    "ssh-",
    "aaaa",
    "page_token",
    "pagetoken",
    "next",
    "cursor",
    "sha",
    "nonce",
    "tracking",
    "request",
    "etag",
    "verification=",
    "kid",
    "key id",
    "key_id",
    "token id",
    "fingerprint",
    "integrity",
    "public_key",
    "publickey",
    "cid=",
    "price_",
    "p=mi",
)


_LONG_ENOUGH: Final = range(28, 129)
_EDGE: Final = ".~$-"
_IN_A_PATH: Final = frozenset("/+=@%#?&\\")


def pointed_spans(page: Page) -> Iterator[Span]:
    for word, places in page.long_words.items():
        if _is_generated(word.rstrip(_EDGE)):
            for at in places:
                end = at + len(word.rstrip(_EDGE))
                if _is_pointed_at(page.text, at, end):
                    yield Span(at, end, "named")


def _is_pointed_at(text: str, at: int, end: int) -> bool:
    if text[max(0, at - 1) : at] in _IN_A_PATH or text[end : end + 1] in _IN_A_PATH:
        return False
    first = max(text.rfind("\n", 0, at) + 1, at - 60)
    last = text.find("\n", end, end + 60)
    near = f"{text[first:at]} {text[end : last if last >= 0 else end + 60]}".lower()
    return any(word in near for word in _LONG_WORDS) and not any(word in near for word in _PUBLIC)


def _is_generated(value: str) -> bool:
    return (
        len(value) in _LONG_ENOUGH
        and has_digit(value)
        and not value.islower()
        and not value.isupper()
        and "." not in value
        and is_random(value, at_least=28)
    )


_MAIL_AND: Final = re.compile(
    r"@[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,4}+(?:\s{1,3}/\s{1,3}|:(?!//)|\s\|\s)(?P<s>[^\s,;|<>\"'/]{6,64})(?=[\s,;|\"']|\Z)"
)


_ADMIN_AND: Final = re.compile(
    r"(?<![\w/.@-])(?<!chown )(?:admin|root|administrator|sa|postgres|guest):(?P<s>(?=[^\s:]*[^\W\d_])(?=[^\s:]*\d)[^\s:/,;|<>\"']{6,64})(?=[\s,;|\"']|\Z)"
)
_ADMINS: Final = frozenset(("admin:", "root:", "administrator:", "sa:", "postgres:", "guest:"))
ANCHORS: Final = (" / ", "@", *_ADMINS)
_USER_AND: Final = re.compile(r" / (?P<s>[^\s,;|<>\"'/]{6,64})(?=[\s,;|\"']|\Z)")
_USER: Final = re.compile(
    r"(?:^|[\s:=])(?:admin|root|user|guest|administrator|login|benutzer|deploy|service)\w{0,8}\Z", re.IGNORECASE
)


def pair_spans(page: Page) -> Iterator[Span]:
    """`anna@example.org / secret` and `admin / secret`, as people send logins to each other."""
    for match in matches(page, " / ", _USER_AND):
        head = page.text[max(0, match.start() - 24) : match.start()]
        value = match["s"]
        is_odd = has_digit(value) or is_no_identifier(value) or "-" in value or "_" in value
        if _USER.search(head) and is_odd and (is_plausible(value, is_quoted=False) or is_chosen(value, is_quoted=True)):
            yield Span(match.start("s"), match.end("s"), "login")
    for user in page.held & _ADMINS:
        for match in matches(page, user, _ADMIN_AND):
            if is_plausible(match["s"], is_quoted=False):
                yield Span(match.start("s"), match.end("s"), "login")
    for match in _MAIL_AND.finditer(page.text) if "@" in page.held else ():
        value = match["s"]
        is_odd = has_digit(value) or value.endswith("!") or "&" in value or "+" in value
        if is_odd and is_plausible(value, is_quoted=False) and any(c.isalpha() for c in value):
            yield Span(match.start("s"), match.end("s"), "login")
