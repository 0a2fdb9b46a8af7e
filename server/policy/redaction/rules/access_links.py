"""Links that open an account, a file or a meeting to whoever has them."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page, matches
from server.policy.redaction.plausible import has_digit, is_placeholder
from server.policy.redaction.rules.windows import around
from server.policy.redaction.spans import Span

_END: Final = r"(?=/?(?:[\s\"'<>)?#&\]]|\Z))"
_PATH_WORDS: Final = (
    "reset|password|passwort|passwd|recover|restore|reinit|reinitialis\\w*|reinitialiser|recuperar|recuperacion|recupero|zuruecksetzen|verify|verif\\w*|confirm\\w*|bestaetig\\w*|activate|activation|"
    "aktivier\\w*|activar|ativar|magic|login|signin|sign-in|sso|einladung|invite|invites|invitation|invito|convite|invitacion|join|unlock|auth|token|t|l|s|d|p|share|shared|"
    "share_link|teilen|partage|compartir|moje|my|guest|gast|r|u|unsubscribe|optin|opt-in|download|dl|f|i|x|enrol|enroll|request|feed|private|priv|recover|claim|collect|manage|rsvp|ballot|vote|secret|personal"
)
_PATHED: Final = re.compile(
    rf"://[\w.:-]{{3,80}}(?:/[\w.~%-]{{1,40}}){{0,4}}?/(?P<w>{_PATH_WORDS})(?:/[a-z0-9]{{1,12}}){{0,2}}?/(?P<s>[\w~=-]{{5,256}})(?:/[\w-]{{1,24}}\.(?:ics|xml|rss|json|csv))?{_END}",
    re.IGNORECASE,
)
_QUERIED: Final = re.compile(
    r"[?&;#](?:\w{1,24}[_-](?:token|key|code|auth|secret|ticket)|c|st|data|share|t|tk|tok|token|jeton|ticket|key|k|code|auth|authkey|hash|h|sig|secret|pwd|pass|pw|passcode|otp|nonce|magic|invite|resourcekey|tkn|access|reset|id_token|oobcode|clave|codigo|schluessel|cle|klucz)"
    r"=(?P<s>[\w~.%=-]{16,512})" + _END,
    re.IGNORECASE,
)
_LONG_PATHS: Final = frozenset("t l s d p share shared my moje r u f i x download dl guest gast".split())
_SHORT: Final = frozenset("join invite invites invitation einladung".split())
_INVITES: Final = re.compile(
    r"(?:discord\.gg|discord\.com/invite|t\.me/(?:\+|joinchat/)|chat\.whatsapp\.com|signal\.group/#|invite\.gg)/?(?P<s>[\w-]{6,64})"
)
_LAST_PART: Final = re.compile(
    rf"://[\w.:-]{{3,80}}(?:/[\w.~%-]{{1,60}}){{0,5}}?[/?][\w-]{{0,24}}=?(?P<s>[\w~-]{{12,256}}){_END}"
)
_PERSONAL: Final = re.compile(
    r"\b(?:personal|persönlich\w*|osobn\w+|osobist\w+|personnel\w*|personale|personlig\w*|persoonlijk\w*|henkilökoht\w*|личн\w+|yours (?:alone|only)|just for you|only for you|nur für (?:dich|sie)|"
    r"(?:don['’]t|do not|not|never|nicht|niemals|ne (?:le |la |les )?(?:pas )?|no (?:lo|la)|não|non|nie|niet|ikke|inte|не) (?:\w+ ){0,2}?(?:pass|share|forward|weiter\w+|teilen|partage\w*|transfér\w*|compart\w*|reenv\w*|inoltr\w*|condivi\w*|"
    r"udostępni\w*|przekazu\w*|doorstur\w*|delen|dela|del |prosljeđ\w*|peredavaj\w*|передав\w*|пересыл\w*))",
    re.IGNORECASE,
)
_SAID_BEFORE: Final = 160
_SAID_BEHIND: Final = 120
ANCHORS: Final = ("://", "discord.gg/", "discord.com/invite/", "t.me/", "signal.group/", "?", "&")
_REVISION: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


def link_spans(page: Page) -> Iterator[Span]:
    if "://" in page.held:
        yield from _personal_spans(page)
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


def _personal_spans(page: Page) -> Iterator[Span]:
    """Whatever is random in an address of which is said that it is one's own."""
    for match in matches(page, "://", _LAST_PART):
        if _is_made(match["s"], 12):
            said = around(page.text, match.start(), before=_SAID_BEFORE, behind=len(match[0]) + _SAID_BEHIND)
            if _PERSONAL.search(said):
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
