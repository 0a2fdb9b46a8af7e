"""How codes for doors, cards and logins are written, and what only looks like one: prices, times, years, numbers of rooms."""

import re
from collections.abc import Iterator
from typing import Final

_SPACED: Final = r"\d(?: [–-] \d){2,7}|\d(?:[ ·-]\d){2,9}(?![ -]?\d)(?:[ -]?[A-Z#*](?!\w))?"
_LETTERED: Final = r"[A-Z0-9](?:-[A-Z0-9]){2,7}|[A-Z](?: [A-Z0-9]){3,7}"
_GROUPED: Final = r"[A-Z]?-?\d{2,4}(?:[ -][A-Z]?\d{2,4}){1,3}(?:[ -]?[A-Z#*](?![\w]))?"
_PLAIN: Final = r"[#*]?[A-ZА-Я]{0,2}\d{3,10}[A-ZА-Я]{0,2}[#*]?|\d{2,4}[A-ZА-Я]\d{2,5}|\d{1,3} (?:key|ключ|klucz|kulcs|clé|schlüssel|llave|K|B|zvonek|klíč|anahtar) \d{3,5}"
_MIXED: Final = (
    r"(?=[A-Z\d]{0,9}\d)(?=[A-Z\d]{0,9}[A-Z])[A-Z\d]{3,10}|(?=[A-Za-z\d]{0,11}\d)(?=[A-Z\d]{0,11}[a-z])[A-Za-z\d]{5,12}"
)
_PARTS: Final = r"(?=[A-Za-z-]{0,20}\d)[A-Za-z0-9]{2,6}(?:-[A-Za-z0-9]{2,6}){1,7}"
_SIDE: Final = r"(?:\d ?[x×] )?(?i:(?:left|right|links|rechts|gauche|droite|izquierda|derecha|sinistra|destra)(?: (?:to|at|auf|bis|à|a|al|op|naar))?|l|r) ?\d{1,2}"
_DIAL: Final = (
    rf"(?:{_SIDE}(?:,? (?i:then|dann|puis|luego|poi|and|und) |[ ,–-]{{1,3}})){{1,4}}{_SIDE}|"
    r"\d{1,2}(?: [–-] \d{1,2}){2,4}|(?:\d{1,2} [^\W\d_]{4,12}, ?){2,4}\d{1,2} [^\W\d_]{4,12}|(?:[左右]に?\d回?[ 　]?\d{1,2}[、,]?){2,4}"
)
CODE: Final = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<s>(?:{_DIAL}|{_SPACED}|{_GROUPED}|{_LETTERED}|{_PARTS}|{_PLAIN}|{_MIXED}))(?![A-Za-z0-9_])"
)
"""What may be a code; `is_code` judges it."""
_MAY_BE_CODE: Final = re.compile(r"\d|[A-Z][ -][A-Z]")
"""Stands in every code, and is looked for ten times as fast."""
_ODD: Final = re.compile(
    r"\d(?:[ ·]\d){3,}|[A-Z0-9](?:-[A-Z0-9]){2,}\Z|\d.*[#*]\Z|[#*]\d{3}|[A-Z]-?\d\d?-|\d{1,2}-\d{1,2}-\d{1,2}\Z|\d [–-] \d [–-]|(?:left|right|links|rechts|[左右])",
    re.IGNORECASE,
)
_UNIT: Final = re.compile(
    r" ?(?:[€$£%°¥₽]|(?:k?g|k?m|cm|mm|ml|l|min|mins|minutes?|minuten|sec|secs?|seconds?|uhr|h|hrs?|hours?|std|stunden|tage|days?|"
    r"digits?|zeichen|characters?|chars|stellen|eur|euros?|usd|gbp|chf|kč|zł|kr|mb|gb|kb|px|bit|bits|ms|am|pm|x|"
    r"円|元|位|年|月|日|分|р|руб|cifre|cifras|chiffres|lines?|zeilen|rows?|items?|bytes?|files?|times|tokens?|requests?|users?|points?|punkte|was|were|returned|means|layers|errors?)(?![^\W\d]))",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(r"\w|\]?[(\[]|[*•]|[.,:/-]\d|[@/\\=]|\.\w|, ?(?:19|20)\d\d\b")
_BEFORE: Final = re.compile(
    r"(?:[\w.@/\\+§=$€£-]|\d[,:.]|\b(?:rfc|pep|iso|ieee|din|noqa:|http|port|line|page|zeile|seite|utf|pos|u|0x) ?|(?:nr|no|n°|№|tel|ref|art)\.? ?|[#] |\b(?:closes|fix(?:es|ed|ing)|lp|bug|bug id|issue|other than|equal to):? ?#?| [<>%]=? )\Z",
    re.IGNORECASE,
)
_BARGAIN: Final = re.compile(
    r"[^\n]{0,32}(?:%|\boff\b|discount|rabatt|descuento|réduction|remise|sconto|desconto|korting|free shipping|versandkosten)",
    re.IGNORECASE,
)
_TECHNICAL: Final = re.compile(
    r"(?:win|mingw|utf|latin|base|sha|md|ascii|ipv|sqlite|python|ecma|cortex|rc|ieee|iso|rfc|pep|pr)-?[a-z]?\d{1,4}\w{0,3}\Z|0x[0-9a-f]+\Z|0o[0-7]+\Z|\d+-bit\Z|(?-i:[A-Z]{2}-[A-Z0-9]{1,3}\Z)|cve-|[a-z]{3,}v\d\Z",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(r"#\d+\Z|[A-Z]{3,4}\d{1,3}\Z")
"""An issue, an abbreviation; in parentheses."""
_YEAR: Final = re.compile(r"(?:19|20)\d\d\Z")
_DATE: Final = re.compile(r"(?:\d{1,2}[.-]\d{1,2}[.-]\d{2,4}|(?:19|20)\d\d[ -](?:19|20)\d\d)\Z")
_ISO_DATE: Final = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d\Z")


_TYPED: Final = re.compile(r"[#*]?\d(?:[ -]?\d){2,9}[#*]?\Z")


def is_typed(value: str) -> bool:
    """Digits, as a lock or a card takes them, where it is plain that a code stands."""
    return _TYPED.match(value) is not None


def codes_in(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """What may be codes there, in order."""
    return CODE.finditer(text, start, end) if _MAY_BE_CODE.search(text, start, end) else iter(())


def is_plain(value: str) -> bool:
    """Digits, or capitals among digits; no `latin1`, `Base64`, `PEP-8`."""
    return (
        sum(letter.isdigit() for letter in value) >= 3
        or (value.upper() == value and re.search(r"\d[A-Z]", value) is not None)
        or is_odd(value)
    )


def is_odd(value: str) -> bool:
    """Written as nothing but a code is: `0 7 1 9`, `K-8-0-2`, `#2951`, `16-2-38`."""
    return _ODD.match(value) is not None


def is_code(text: str, start: int, end: int, *, is_sure: bool) -> bool:
    """Whether what fits `CODE` is one. `is_sure`: a year, three digits and small letters may be one too."""
    value = text[start:end]
    if text[start - 1 : start] == "(" and text[end : end + 1] == ")" and _ASIDE.match(value):
        return False
    if _BEHIND.match(text, end) or _UNIT.match(text, end) or _BEFORE.search(text, max(0, start - 11), start):
        return False
    if (_DATE.match(value) and not (is_sure and "-" in value)) or (
        len(value) < 5 and not any(letter.isdigit() for letter in value)
    ):
        return False
    if not value.isalnum() and value.replace(" ", "").replace("-", "") in "0123456789":
        return False
    if _BARGAIN.match(text, end) or _TECHNICAL.match(value) or _ISO_DATE.match(value):
        return False
    if is_sure:
        return True
    return not (
        _YEAR.match(value)
        or (len(value) == 3 and value.isdigit())
        or (any(c.islower() for c in value.replace("-", "")[:12]) and value.islower())
    )
