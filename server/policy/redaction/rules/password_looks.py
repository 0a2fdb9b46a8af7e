"""How people make passwords: words joined by signs, digits put behind or in place of letters; and what only looks like that."""

import re
from functools import lru_cache
from typing import Final

from server.policy.redaction.key_names import strength_of
from server.policy.redaction.plausible import SAID_OF_PASSWORDS, is_placeholder
from server.policy.redaction.rules.sentence_words import IN_SENTENCES

TOKEN: Final = r"[^;\s\"'“”„«»‘’`<>()（）「」『』【】，。、；：・|│\[\]{}\x00\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]"
"""What a password in prose is made of."""
_TRIM: Final = ".,;:!?…"
_JOINTS: Final = re.compile(r"[-_.+&/!@#$%*~^§=]")
_SIGN_INSIDE: Final = re.compile(r"[^\W_][!#$%&*+~^§?@]+[^\W_]")
_IDS: Final = re.compile(
    r"(?:https?|www|ftp|ssh|mailto|file)\b|.*://|.*@[\w-]+\.\w|.*\.(?:com|org|net|de|io|example|local|internal|lan|test|dev|fr|es|it|nl|uk|jp|cn|"
    r"txt|pdf|docx?|xlsx?|ods|odt|csv|json|ya?ml|py|js|ts|sh|zip|kdbx|png|jpe?g|gif|mp[34]|html?|php|md|conf|cfg|ini|env|log|key|pem|crt|sql|db|exe|toml|xml)(?:[:/?#].*)?\Z"
    r"|(?:\d{1,3}\.){3}\d|[/~.\\]|.*[\\]|.*/.*/|--?\w|[$%{&]|[A-Z]{1,5}-?\d+\Z|\d+(?:[-.,:/x]\d+)*(?:st|nd|rd|th|er|ème|º|ª|%|€|h|am|pm|px|gb|mb|kb|ms|s|min)?\Z"
    r"|[\w.]+\(|v?\d+\.\d|[a-z]+=|\w+::",
    re.IGNORECASE,
)
_NEVER: Final = re.compile(
    r".*@[\^~]|\d{4}-\d\d-\d\d|.*::|[0-9a-f]{1,4}:[0-9a-f]{1,4}:|[a-z_]+[.][A-Za-z_]+[(]|(?=.*_).*[.]|\d{1,2}:\d\d|[\w.-]{1,40}\.[a-z]{1,4}:\d+|(?:[0-9a-f]{2}:){2,}|[A-Za-z_][\w.-]*=|##|[\w.]+\(|[A-Za-z_]\w*(?:->|::|\?\.)|.*(?:</|=>|\$\{|\{\{|\*\*\*|###|xxx|XXX|••|…)"
    r"|0x[0-9a-fA-F]+\Z|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|[0-9a-f]{7}(?:[0-9a-f]{13}|[0-9a-f]{25}|[0-9a-f]{33}|[0-9a-f]{57})?\Z|sha\d+[:-]|e\.target|[a-z]+\d{0,3}\.[a-z]+\.[a-z]+\("
)
_UPPER_ID: Final = re.compile(r"[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*\Z")
_SMALL_PAIR: Final = re.compile(r"[^\W\d_]{2,24}(?:[-_.][^\W\d_]{2,24}){1,4}\Z")
_SNAKE: Final = re.compile(r"[a-z]+(?:_[a-z]+)*\Z")
_DEVICE: Final = re.compile(
    r"(?:iphone|ipad|ipod|windows|win|android|ubuntu|debian|macos|ios|python|java|php|mysql|postgres|ps|xbox|usb|hdmi|mp|utf|sha|md|aes|rsa|ipv|http|tls|ssl|wpa|wep|oauth|saml|"
    r"base|covid|web|office|microsoft|fritz!?box|galaxy|pixel|gpt|claude|s|m|f|y|e|x|ec|rds|k|level|room|day|week|q|h|fy|ws|ws-|pc|pc-|nas|srv|db|vm|host|node)[- ]?\d[\d.]*(?:\w{0,3}\Z|-)",
    re.IGNORECASE,
)


def trimmed(value: str) -> str:
    """Without the signs that end a clause."""
    return value.rstrip(_TRIM) if not value.endswith(("!!", "??")) else value


@lru_cache(maxsize=4096)
def looks_chosen(value: str) -> int:
    """0: no; 1: a word, or some joined; 2: several words, or a word and a number; 3: what nobody writes but as a password."""
    if len(value) < 4 or len(value) > 64 or is_placeholder(value) or not any(letter.isalpha() for letter in value):
        return 0
    if not value[0].isalnum() or _NEVER.match(value):
        return 0
    has_number = any(letter.isdigit() for letter in value)
    if _SIGN_INSIDE.search(value) and len(value) >= 6 and "://" not in value and not _is_address(value):
        return 3 if has_number or value.lower() != value or "!" in value or "&" in value else 2
    if value.isalpha():
        return 1
    if _SMALL_PAIR.match(value) and not _IDS.match(value):
        return 2 if _is_joined(value) else 1
    if (_IDS.match(value) or _UPPER_ID.match(value) or _SNAKE.match(value)) and not _is_joined(value):
        return 0
    if _DEVICE.match(value) and len(value) < 10:
        return 0
    is_mixed = value[1:].lower() != value[1:]
    if has_number:
        if len(value) < 6:
            return 0
        parts = [part for part in _JOINTS.split(value) if part]
        words = [part for part in parts if len(part) >= 3 and part.isalpha()]
        if len(parts) > 1 and words:
            return 3 if value[0].isupper() or is_mixed or len(words) > 1 or len(parts[-1]) > 1 else 2
        return 3 if is_mixed and len(value) >= 8 else 2
    return 2 if _is_joined(value) else 0


def _is_address(value: str) -> bool:
    return re.search(r"@[\w-]+\.\w", value) is not None


def _is_joined(value: str) -> bool:
    """`raspberry-jam-on-toast`, `Amsel.Drossel.Fink`, `Quorum-Not-Reached`."""
    if _IDS_ADDRESS.match(value):
        return False
    parts = re.split(r"[-._/+]", value)
    if not all(part.isalnum() for part in parts) or len(value) < 10:
        return False
    words = [part for part in parts if part.isalpha()]
    if len(words) < 2 or value.isupper():
        return False
    if "_" in value and value.islower():
        return any(not part.isalpha() for part in parts)
    return (
        len(parts) > 2
        or any(not part.isalpha() for part in parts)
        or ("-" in value and all(part[:1].isupper() for part in parts))
    )


_IDS_ADDRESS: Final = re.compile(
    r".*://|.*@|.*\.(?:com|org|net|de|io|example|local|internal|lan|test|dev|fr|es|it|nl|uk|jp|cn|txt|pdf|docx?|xlsx?|ods|odt|csv|json|ya?ml|py|js|ts|sh|zip|kdbx|png|jpe?g|"
    r"gif|mp[34]|html?|php|md|conf|cfg|ini|env|log|key|pem|crt|sql|db|exe|toml|xml)\b|(?:https?|www)\b|/|~|\d+[-./:]\d+[-./:]\d",
    re.IGNORECASE,
)


_ADJECTIVE: Final = re.compile(
    r".*(?:ed|ing|able|ible|ful|less|ive|ent|ant|ary|ory|ous|al|ly|ic|lich|ig|isch|bar|bel|ido|ida|ado|ada|é|ée|to|ta|ung|heit|keit|tion|ity|ness)\Z"
)
_PARTS: Final = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
_JOINED_WORDS: Final = re.compile(r"[^\W\d_]+(?:[-_.&+][^\W\d_]+){0,4}!?\Z")
_IN_COMPOUNDS: Final = frozenset(
    "throw raise return new null insecure mismatch entry prompt login user name file path case sensitive insensitive only side way based free end time line word text code key app plain self auto built pre non multi read write up out".split()
)


def is_odd_word(value: str, *, is_quoted: bool) -> bool:
    """Two words joined may be a password, too: `laterne-laterne`, `TournesolJaune`."""
    words = [word.lower() for word in _PARTS.findall(value)]
    if (
        len(value) < 5
        or not _JOINED_WORDS.match(value)
        or not (IN_SENTENCES | SAID_OF_PASSWORDS | _IN_COMPOUNDS).isdisjoint(words)
        or strength_of(value) is not None
        or (len(words) == 1 and _ADJECTIVE.match(words[0]))
    ):
        return False
    return is_quoted or value[:1].isupper() or len(words) > 1 or len(value) >= 6
