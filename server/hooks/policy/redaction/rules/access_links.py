"""Links that open an account, a file or a meeting to whoever has them."""

import re
from collections.abc import Iterator
from typing import Final

from server.hooks.policy.redaction.page import Page, matches
from server.hooks.policy.redaction.plausible import has_digit, is_placeholder
from server.hooks.policy.redaction.spans import Span

_END: Final = r"(?=/?(?:[\s\"'<>)?#&\]]|\Z))"
_PATH_WORDS: Final = (
    "reset|password|passwort|passwd|recover|restore|reinit|reinitialis\\w*|reinitialiser|recuperar|recuperacion|recupero|zuruecksetzen|verify|verif\\w*|confirm\\w*|bestaetig\\w*|activate|activation|"
    "aktivier\\w*|activar|ativar|magic|login|signin|sign-in|sso|einladung|invite|invites|invitation|invito|convite|invitacion|join|unlock|auth|token|t|l|s|d|p|share|shared|"
    "share_link|teilen|partage|compartir|moje|my|guest|gast|r|u|unsubscribe|optin|opt-in|download|dl|f|i|x"
)
_PATHED: Final = re.compile(
    rf"://[\w.:-]{{3,80}}(?:/[\w.~%-]{{1,40}}){{0,4}}?/(?P<w>{_PATH_WORDS})(?:/[a-z0-9]{{1,12}}){{0,2}}?/(?P<s>[\w~=-]{{5,256}}){_END}",
    re.IGNORECASE,
)
_QUERIED: Final = re.compile(
    r"[?&;#](?:t|tk|tok|token|jeton|ticket|key|k|code|auth|authkey|hash|h|sig|secret|pwd|pass|pw|passcode|otp|nonce|magic|invite|resourcekey|tkn|access|reset|id_token|oobcode|clave|codigo|schluessel|cle|klucz)"
    r"=(?P<s>[\w~.%=-]{16,512})" + _END,
    re.IGNORECASE,
)
_LONG_PATHS: Final = frozenset("t l s d p share shared my moje r u f i x download dl guest gast".split())
_SHORT: Final = frozenset("join invite invites invitation einladung".split())
_INVITES: Final = re.compile(
    r"(?:discord\.gg|discord\.com/invite|t\.me/(?:\+|joinchat/)|chat\.whatsapp\.com|signal\.group/#|invite\.gg)/?(?P<s>[\w-]{6,64})"
)
ANCHORS: Final = ("://", "discord.gg/", "discord.com/invite/", "t.me/", "signal.group/", "?", "&")
_REVISION: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_PUBLIC: Final = re.compile(r"(?:[0-9a-f]{7,40}|\d+|v?\d[\d.]*)\Z")


def link_spans(page: Page) -> Iterator[Span]:
    if "://" in page.held:
        for match in matches(page, "://", _PATHED):
            if _opens(match["s"], match["w"].lower()):
                yield Span(match.start("s"), match.end("s"), "link")
        if page.held & {"?", "&"}:
            for match in _QUERIED.finditer(page.text):
                if (
                    _is_made(match["s"], 16)
                    and not _is_revision(page.text, match)
                    and "://" in page.text[max(0, match.start() - 200) : match.start()]
                ):
                    yield Span(match.start("s"), match.end("s"), "link")
    for anchor in page.held & {"discord.gg/", "discord.com/invite/", "t.me/", "signal.group/"}:
        for match in matches(page, anchor, _INVITES):
            if "](" not in page.text[max(0, match.start() - 12) : match.start()] and any(
                c.isupper() or c.isdigit() for c in match["s"]
            ):
                yield Span(match.start("s"), match.end("s"), "link")


def _is_revision(text: str, match: re.Match[str]) -> bool:
    """`…;a=commit;h=` and a hash, as a browser of sources has it."""
    return text[match.start() : match.start("s")] == ";h=" and _REVISION.match(match["s"]) is not None


def _opens(value: str, word: str) -> bool:
    if word in _SHORT:
        return _is_made(value, 6) and value.lower() != value
    if word in _LONG_PATHS:
        return _is_made(value, 16) and value.lower() != value
    return _is_made(value, 16)


def _is_made(value: str, at_least: int) -> bool:
    longest = max(len(part) for part in re.split(r"[-_.~=%]", value))
    return (
        len(value) >= at_least
        and longest >= min(at_least, 12)
        and has_digit(value)
        and not value.isdigit()
        and not is_placeholder(value)
    )
