"""What restores an account or a wallet: lists of recovery codes, the words of a seed phrase."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.plausible import has_digit
from server.policy.redaction.rules.code_lists import are_names
from server.policy.redaction.rules.windows import windows
from server.policy.redaction.spans import Span

_RECOVERY: Final = re.compile(
    r"(?:recovery|backup|one[- ]time|einmal|rescue|emergency|scratch|wiederherstellungs|notfall|ersatz|secours|recuperación|recuperação|恢复|備用|备用|回復|リカバリー)"
    r"[-_ ]?(?:codes?|keys?|schlüssel|códigos|码|代码|コード)(?:[^\n:：]{0,80}[:：\n]|\s)",
    re.IGNORECASE,
)
_RECOVERY_WORDS: Final = frozenset(
    "one-time einmal recovery backup rescue emergency scratch wiederherst notfall ersatz secours recupera 恢复 備用 备用 回復 リカバリー".split()
)
_FIRST_WORDS: Final = frozenset(
    f"{word}{end}"
    for word in "one-time einmal recovery backup rescue emergency scratch wiederherstellungs notfall ersatz secours".split()
    for end in ("", "-code", "-codes", "_code", "_codes", "code", "codes", "-key", "_key", "-keys", "_keys")
)
_RECOVERY_ITEM: Final = re.compile(
    r"[A-Za-z0-9]{3,12}(?:-[A-Za-z0-9]{3,12}){1,7}\Z|(?=[A-Za-z]*\d)[A-Za-z0-9]{5,16}\Z|\d{4}\Z"
)
_BULLET: Final = re.compile(r"(?:[-*•#|]|\d{1,2}[.)]?|)\Z")
_TOKEN: Final = re.compile(r"[^\s,;]+")
_NUMBER: Final = r"(?:\d{1,2}[.):]\s?)?"
_SEED: Final = re.compile(
    r"(?:seed|mnemonic|phrase|wallet|words?|wörter|助记词|助記詞|ニーモニック|니모닉|시드|semilla|мнемо\w*|фраз\w)[\"']?[^\n:=：]{0,60}?(?:[:=：]|\bis\b)[ \t\r\n\"'\[]{0,8}"
    rf"(?P<s>{_NUMBER}[^\W\d_]{{1,10}}(?:[ ,\"'\r\n\t\u3000]{{1,4}}{_NUMBER}[^\W\d_]{{1,10}}){{11,23}})(?![^\W\d_])",
    re.IGNORECASE,
)
_SEED_WORDS: Final = frozenset(
    "seed mnemonic phrase wallet words: wörter: 助记词 助記詞 ニーモニック 니모닉 시드 semilla мнемо фраз".split()
)
_IN_NO_LIST: Final = frozenset("and with for the that this you are not but from have und der die das mit".split())
_APP: Final = (
    "app password",
    "app passwort",
    "app-passwor",
    "apppasswor",
    "anwendungspasswort",
    "mot de passe d'application",
    "contraseña de aplicación",
    "senha de app",
    "password per le app",
    "app-wachtwoord",
    "hasło aplikacji",
)
_APP_PASSWORD: Final = re.compile(r"(?<![\w-])[a-z]{4}(?: [a-z]{4}){3}(?! ?[a-z]{4}\b)(?![\w'-])")
_NO_VOWEL: Final = re.compile(r"(?<![a-z])[b-df-hj-np-tv-xz]{4}(?![a-z])")
_APP_WITHIN: Final = 300
ANCHORS: Final = (*_RECOVERY_WORDS, *_SEED_WORDS, *_APP)
_LONGEST_LIST: Final = 800


def recovery_code_spans(page: Page) -> Iterator[Span]:
    words = page.held & _RECOVERY_WORDS
    if page.is_ascii and not any(word.lower() in _FIRST_WORDS for _, word in page.words_with(words)):
        return
    for word in words:
        done = 0
        for at in page.occurrences(word):
            if at >= done and (heading := _RECOVERY.match(page.text, at)):
                items = list(_items(page.text, heading.end()))
                done = items[-1].end if items else heading.end()
                codes = [page.text[item.start : item.end] for item in items]
                with_digits = sum(map(has_digit, codes))
                if len(items) >= 2 and with_digits * 2 >= len(items) and not are_names(codes):
                    yield from items


def _items(text: str, at: int) -> Iterator[Span]:
    """What looks like a code, up to the first word that does not."""
    for token in _TOKEN.finditer(text, at, at + _LONGEST_LIST):
        value = token[0].strip("\"'`.[]")
        if _RECOVERY_ITEM.match(value):
            begin = token.start() + token[0].index(value)
            yield Span(begin, begin + len(value), "recovery_code")
        elif not _BULLET.match(value):
            return


def app_password_spans(page: Page) -> Iterator[Span]:
    """Four times four letters, as Google shows them, near the word for one; not all four are words."""
    places = sorted(at for word in page.held.intersection(_APP) for at in page.occurrences(word))
    for start, end in windows(page.text, places, before=_APP_WITHIN, behind=_APP_WITHIN):
        for found in _APP_PASSWORD.finditer(page.text, start, end):
            if _NO_VOWEL.search(found[0]):
                yield Span(found.start(), found.end(), "app_password")


def seed_phrase_spans(page: Page) -> Iterator[Span]:
    for word in page.held & _SEED_WORDS:
        for at in page.occurrences(word):
            if (phrase := _SEED.match(page.text, at)) and _is_seed(phrase["s"]):
                yield Span(phrase.start("s"), phrase.end("s"), "seed_phrase")


def _is_seed(phrase: str) -> bool:
    """Words of three to eight letters, as all lists of such words have them, or single signs."""
    words = re.findall(r"[^\W\d_]+", phrase)
    return _IN_NO_LIST.isdisjoint(word.lower() for word in words) and all(
        not word.isascii() or 3 <= len(word) <= 8 for word in words
    )
