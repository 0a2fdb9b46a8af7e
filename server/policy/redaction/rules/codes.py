"""Codes for one login, as messages tell them: `Your code is 123456`."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.spans import Span

_ENDS: Final = frozenset(("code", "codice"))
"""Of words in messages that tell one: Sicherheitscode, one-time-code."""
_ENDS_OF_WORDS: Final = tuple(_ENDS)
_WHOLE: Final = frozenset(
    "kode kod kodunuz kood koodi kodu codigo 2fa mfa otp pin tan one-time combination combo kombination unlock confirm verify login sign-in entsperren".split()
)
_FOREIGN: Final = frozenset("código код xác 验证码 驗證碼 認証コード 確認コード 인증번호 인증코드".split())
ANCHORS: Final = (*_ENDS, *_WHOLE, *_FOREIGN)
_BEFORE_CHARS: Final = 64
_BEHIND_CHARS: Final = 56
_DIGIT: Final = re.compile(r"\d")  # most stretches have none, which is told five times as fast
_DIGITS: Final = re.compile(r"(?<![\w.])(?:\d{4,8}(?!\w)|\d{1,4}[ -]\d{2,4}(?!\w))|[^\x00-\x7f]\d{4}|\d{4}[^\x00-\x7f]")
_CODE_NEAR: Final = re.compile(
    r"(?P<b>(?:telegram|whatsapp|facebook|google|instagram|microsoft|apple|amazon|paypal|uber|discord|steam|twitter|linkedin|github|tiktok|door|gate|alarm|schließfach|garten|keller|büro|office|building|room|vault|bike|lock|safe|entry|garage|voicemail|tür|haus|tor|tresor|verification|security|log-?in|sign-?in|one[- ]time|confirmation|authenti\w+|2fa|access|pairing|sms|"
    r"bestätigungs|verifizierungs|sicherheits|anmelde|einmal|vérification|verificación|verifica|verificação|проверки|подтверждения|"
    r"(?:your|ihr|dein|votre|ton|tu|tuo|su|seu|vaš|ваш|твой|tw[oó]j|jouw|uw|din|ditt|teie|sinun|váš|tvůj)(?: \w{2,16})?)[- ]?(?:code|kode?|kood|koodi|codigo|código|codice|код|passcode|password|passwort|pin|tan|otp)"
    r"|otp|kodunuz|mã xác \w+|验证码|驗證碼|認証コード|確認コード|인증번호)"
    r"[^\d\n]{0,24}(?:\n\s{0,8})?(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?![A-Za-z0-9_:/-]|\.\d)",
    re.IGNORECASE,
)
_CODE_BEFORE: Final = re.compile(
    r"(?<![\w.:/#+-])(?:[A-Z]-)?(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?=[^\d\n]{1,40}?(?:verification|security|log-?in|one[- ]time|"
    r"confirmation|authenti\w+|bestätigungs|sicherheits|验证|驗證|認証|인증)\w*[- ]?(?:code|pin|码|碼|コード|번호))",
    re.IGNORECASE,
)
_CODE_YOURS: Final = re.compile(
    r"(?<![\w.:/#+-])(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?=\s(?:is|ist|est|es|é|è|[-–—:])\s(?:your|the|ihr|dein|votre|ton|tu|su|il tuo|seu)\b[^\n]{0,24}(?:code|pin|otp|kode|código|codice))",
    re.IGNORECASE,
)
_CODE_TO: Final = re.compile(
    r"(?:code|pin|otp)\s(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?=\s(?:to|for)\s(?:log|sign|verif|confirm|complete|authoriz|access|your))",
    re.IGNORECASE,
)
_CODE_FOR: Final = re.compile(
    r"(?:use|enter|type|gib|benutze|introduce|saisissez|digite|usa)\s(?P<s>\d{3,4}[ -]\d{3,4}|\d{4,8})(?=\s(?:to|um|zum|para|pour|per)\s)",
    re.IGNORECASE,
)
_CODE_ALONE: Final = re.compile(
    r"\b(?:code|kode?|código|codice|код|kodu|pin|otp|tan|2fa|mfa)\s?[:：]\s?(?P<s>\d{3}[ -]\d{3})(?![\w.:/-])",
    re.IGNORECASE,
)
_LOCKS: Final = r"(?:door|gate|alarm|safe|lock|garage|entrance|house|building|office|phone|card|sim|porte|portail|immeuble|puerta|portón|porta|portone|tür|haustür|tor|karte|handy|deur|дверь|домофон\w*)"
_CODE_IS: Final = re.compile(
    rf"\b(?:code|kode?|pin|código|codice|код)\s(?:[^\W\d_][\w']{{0,11}}\s){{1,3}}{_LOCKS}\s(?:is|ist|est|es|è|é|er|är)\s(?P<s>\d{{4,8}})(?![\w:/-]|\.\d)",
    re.IGNORECASE,
)
_UNLOCKS: Final = re.compile(
    r"(?:unlock|entsperr|open|öffne|déverrouill|desbloque|ouvr|abr)\w*\s(?:[\w']{1,12}\s){0,4}?(?:with|mit|using|avec|con|com)\s(?P<s>\d{4,8})(?![\w.:/-])",
    re.IGNORECASE,
)
_COMBINATION: Final = re.compile(
    r"(?:combination|combo|kombination|combinaison|combinación|lock|locker|safe|tresor|schloss)\b[^\n\d]{0,24}(?P<s>\d{1,2}(?:[- ]\d{1,2}){2,4})(?![\w.:/-])",
    re.IGNORECASE,
)
_SHAPES: Final = (
    _CODE_NEAR,
    _CODE_BEFORE,
    _CODE_YOURS,
    _CODE_TO,
    _CODE_FOR,
    _CODE_ALONE,
    _CODE_IS,
    _UNLOCKS,
    _COMBINATION,
)


def code_spans(page: Page) -> Iterator[Span]:
    text = page.text
    for start, end in _windows(page):
        if not _DIGIT.search(text, start, end) or not _DIGITS.search(text, start, end):
            continue
        for shape in _SHAPES:
            for match in shape.finditer(text, start, end):
                if not text[match.end("s") : match.end("s") + 1].isdigit():
                    yield Span(match.start("s"), match.end("s"), "one_time_code")


def _windows(page: Page) -> Iterator[tuple[int, int]]:
    """The stretches around such words; those that touch are one, so that no letter is read twice."""
    start = end = -1
    for at in sorted(_anchors(page)):
        if at - _BEFORE_CHARS > end:
            if end >= 0:
                yield start, end
            start = max(0, at - _BEFORE_CHARS)
        end = at + _BEHIND_CHARS
    if end >= 0:
        yield start, end


def _anchors(page: Page) -> Iterator[int]:
    """Where a word stands that may mean such a code."""
    yield from (at for at, word in page.words_with(page.held & (_ENDS | _WHOLE)) if _is_code_word(word))
    for word in page.held & _FOREIGN:
        yield from page.occurrences(word)


def _is_code_word(word: str) -> bool:
    low = word.lower().rstrip(".")
    return low in _WHOLE or low.endswith(_ENDS_OF_WORDS)
