"""Keys that people pass on: `the stream key: k3fx-9w2p-hh7m-41zq`, `Wahlschlüssel: …`, `暗号化キー …`."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.plausible import has_digit, is_placeholder
from server.policy.redaction.spans import Span

_KEYS: Final = (
    "schlüssel",
    "clé",
    "clave",
    "chiave",
    "chave",
    "klucz",
    "klíč",
    "ключ",
    "キー",
    "密钥",
    "金鑰",
    "権杖",
    "權杖",
    "令牌",
    "키",
    "nyckel",
    "nøkkel",
    "nøgle",
    "avain",
    "sleutel",
    "anahtar",
    "kulcs",
    "cheie",
    "κλειδί",
    "מפתח",
    "مفتاح",
    "khóa",
    "stream key",
    "api key",
    "network key",
    "security key",
    "wifi key",
    "wi-fi key",
    "free key",
    "pro key",
    "product key",
    "activation key",
    "license key",
    "licence key",
    "setup key",
    "election key",
    "host key:",
    "voucher",
    "setup code",
    "homekit",
    "pairing code",
)
_KEY: Final = re.compile(
    r"[^\W\d_]{0,8}(?:[ -](?:\(?[^\W\d][\w.-]{0,20}\)?[ ]?)){0,4}?\s?(?:[:：=→.|]{1,30}|は|是|[ 　])\s{0,3}(?:\n\s*)?[\"'“„«`*]{0,2}"
    r"(?P<s>[A-Za-z0-9]{4}(?: [A-Za-z0-9]{2,4}){3,11}(?![\w])|[A-Za-z0-9]{3,8}(?:-[A-Za-z0-9]{2,8}){2,11}(?::\w{1,4})?|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?::\w{2})?|[A-Za-z0-9]{8,64})(?![\w@/=-]|\.\w)"
)
ANCHORS: Final = _KEYS
_PUBLIC: Final = re.compile(
    r"public|öffentlich|publique|pública|fingerprint|fingerabdruck|signatur|gpg|pgp|ssh-|dsa|rsa|primary|foreign|primär|fremd|\bid\b|hash|prüf|checksum|nummer|number|\bnr\b|cache|ordner|schlüsselwort",
    re.IGNORECASE,
)


def said_key_spans(page: Page) -> Iterator[Span]:
    text = page.text
    for word in page.held.intersection(_KEYS):
        for at in page.occurrences(word):
            found = _KEY.match(text, at + len(word))
            if found is None:
                continue
            value = found["s"]
            if (
                has_digit(value)
                and not value.isdigit()
                and any(c.isalpha() for c in value)
                and not is_placeholder(value)
                and not _is_sentence(value)
                and not _PUBLIC.search(text, max(0, at - 24), found.start("s"))
            ):
                yield Span(found.start("s"), found.end("s"), "key")


def _is_sentence(value: str) -> bool:
    """`kept for 60 days`: groups of a key that have digits are more than one."""
    return " " in value and sum(map(has_digit, value.split(" "))) < 2
