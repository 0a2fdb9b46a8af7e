"""Logins told as a pair, without a word for the second part: `WLAN „Gast“ / …`, `anna@example.org …`, `Portal: anna / …`."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page, matches
from server.policy.redaction.rules.password_looks import TOKEN, is_odd_word, looks_chosen, trimmed
from server.policy.redaction.spans import Span

_VALUE: Final = rf"[\"'“„«`*‘「『（( ]{{0,3}}(?P<s>{TOKEN}{{4,64}})"
_NETWORKS: Final = (
    "wifi",
    "wi-fi",
    "wlan",
    "ssid",
    "hotspot",
    "와이파이",
    "ワイファイ",
    "无线",
    "無線",
    "internet",
    "broadband",
    "starlink",
    "network",
    "netzwerk",
    "вай-фай",
    "guest:",
    "router",
)
_NETWORK: Final = re.compile(
    rf"[^\n\x00]{{0,60}}?(?:[/／|+:：=→,，、(（]|[-–—] |\.{{3,}}|\s{{2,}}|(?<!\w)(?:with|mit|con|avec|com|met|is|ist|est|es|è|je|jest|er|är))\s{{0,3}}{_VALUE}"
)
_NETWORK_KEY: Final = re.compile(
    rf"[^\n\x00]{{0,60}}?[\s,;(](?:key|schlüssel|clé|clave|chiave|chave|sleutel|klucz|klíč|ключ|nyckel|nøkkel|nøgle|avain|code|kod|kode)(?: (?:is|ist|est|es|è|je|jest|er|är))?[ :=]{{1,3}}{_VALUE}",
    re.IGNORECASE,
)
_MAIL: Final = re.compile(
    rf"@[\w-]{{1,63}}+(?:\.[\w-]{{1,63}}+){{1,4}}+(?P<lead>(?:[\"'`)]?(?:\s[/|→]\s|[／：])|[,;，:]\s|[\"'`)]?\s(?:with|and|mit|und|con|y|avec|et|e|met|en|i|и|with the|/|[–—-])\s|[ \t]{{1,12}}))"
    rf"(?:(?:p|pw|pass|pwd|pass ?wort|kennwort|mdp|mot de passe|clave|contraseña|senha|hasło|heslo)[ :=]{{1,3}})?{_VALUE}",
    re.IGNORECASE,
)
_LOGINS: Final = (
    "login",
    "log in",
    "log-in",
    "inlog",
    "anmeldung",
    "zugang",
    "logon",
    "sign in",
    "signin",
    "kennung",
    "identifiant",
    "accès",
    "acceso",
    "acesso",
    "accesso",
    "portal",
    "admin",
    "логин",
    "logowanie",
    "přihlášení",
    "ログイン",
    "账号",
    "帳號",
    "계정",
)
_LOGIN: Final = re.compile(
    rf"[^\n\x00.!?]{{0,50}}?(?:\s/\s|／|:\s{{1,2}}|[,，]\s|\s→\s|\.{{3,}}\s|\s{{2,}}|(?<=\s))(?P<at>){_VALUE}"
)
ANCHORS: Final = (*_NETWORKS, *_LOGINS, "@", " / ")
_AFTER: Final = re.compile(
    r"[\"'”»`*’)」』）]{0,3}(?:\s*(?:\n|\\n|\Z|\x00)|[.,;!?、。]|\s+[(–—-]|\s{2,}|\s(?:until|till|bis|all|and|und|y|et|e|ok|is|for)\b|[」』）<│|])"
)
_FAILS: Final = re.compile(
    r"fail|invalid|unknown|error|denied|ungültig|gescheitert|fehl|[={}]|\bfrom\b|\bby\b|\bfor\b|\bid\b|\bnr\b|\.(?=\s)|MAC|\bIP\b",
    re.IGNORECASE,
)
_KEY_GOES_ON: Final = re.compile(r"[\w:.]{1,128}+\"\s?:|\"\s?:\s?\"[a-f0-9]{12,}\"|x as \w| import ")
"""`"NetworkAcl":`, where the cue is but the beginning of a key."""
_IDENTIFIER_GOES_ON: Final = re.compile(r"_[a-z]|[A-Z][a-z]")
_CODE: Final = re.compile(r"[={}\[\]]|\w\(")
_MOST_PER_CUE: Final = 4


_USER: Final = re.compile(
    rf"(?:^|[\n:,→(|•*]|\.\.|\s\s|login|sign-in|user|konto|account|compte|cuenta|conta)[ \t]*[\"'`„“«]?(?P<u>{TOKEN}{{3,40}})[\"'`“”»]?\Z",
    re.IGNORECASE,
)
_ARGUMENT: Final = re.compile(r"\w\([\w.]+\Z")
"""Of a call, which is divided or a path."""
_OTHER: Final = re.compile(rf" / [\"'`„“«]?(?P<s>{TOKEN}{{6,64}})")


def _slashed(page: Page) -> Iterator[Span]:
    """`wed-admin / …`, where what follows can be nothing else."""
    for match in matches(page, " / ", _OTHER):
        value = trimmed(match["s"])
        start = match.start("s")
        if looks_chosen(value) < 3 or not _AFTER.match(page.text, start + len(value)):
            continue
        before = page.text[max(0, match.start() - 60) : match.start()]
        user = _USER.search(before)
        if user is not None and not user["u"].isdigit() and not _ARGUMENT.search(before):
            yield Span(start, start + len(value), "login")


def login_spans(page: Page) -> Iterator[Span]:
    text = page.text
    for match in _MAIL.finditer(text) if "@" in page.held else ():
        value = trimmed(match["s"])
        look = looks_chosen(value)
        least = 3 if not match["lead"].strip(" \t\"'`)") or match["lead"].strip() in (",", ";") else 2
        if look >= least and _AFTER.match(text, match.start("s") + len(value)):
            yield Span(match.start("s"), match.start("s") + len(value), "login")
    yield from _slashed(page)
    for cues, shape, least in ((_NETWORKS, _NETWORK, 2), (_LOGINS, _LOGIN, 3)):
        for cue in page.held.intersection(cues):
            for at in page.occurrences(cue):
                if at and (text[at - 1].isalnum() or text[at - 1] in "_/.-@") and cue.isascii() and cue != "login":
                    continue
                yield from _pair(text, at + len(cue), shape, least)
                if shape is _NETWORK:
                    yield from _keyed(text, at + len(cue))


def _keyed(text: str, at: int) -> Iterator[Span]:
    """`WLAN Büro: Name Planlos, Schlüssel …`"""
    match = _NETWORK_KEY.match(text, at, at + 140)
    if (
        match is None
        or _KEY_GOES_ON.match(text, at)
        or _is_identifier(text, at)
        or _CODE.search(text, at, match.start("s"))
    ):
        return
    value = trimmed(match["s"])
    start = match.start("s")
    if (looks_chosen(value) >= 2 or is_odd_word(value, is_quoted=False)) and _AFTER.match(text, start + len(value)):
        yield Span(start, start + len(value), "login")


def _is_identifier(text: str, at: int) -> bool:
    """Of which the cue is but the beginning: `networkType`, `network_type`."""
    return text[at - 1 : at].islower() and _IDENTIFIER_GOES_ON.match(text, at) is not None


def _pair(text: str, at: int, shape: re.Pattern[str], least: int) -> Iterator[Span]:
    if _KEY_GOES_ON.match(text, at) or _is_identifier(text, at):
        return
    end = at
    for _ in range(_MOST_PER_CUE):
        match = shape.match(text, end, at + 110)
        if match is None:
            return
        value = trimmed(match["s"])
        start = match.start("s")
        if (
            looks_chosen(value) >= least
            and not _FAILS.search(text, at, start)
            and _AFTER.match(text, start + len(value))
        ):
            yield Span(start, start + len(value), "login")
            return
        end = match.end()
