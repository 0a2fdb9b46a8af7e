"""Lists of codes that look alike, below the word for them: recovery codes, TANs; and single long keys to recover by."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.windows import end_of
from server.policy.redaction.spans import Span

_HEADINGS: Final = (
    "codes",
    "codici",
    "códigos",
    "codigos",
    "kody",
    "kódy",
    "koder",
    "koodit",
    "kodlar",
    "коды",
    "коди",
    "kodes",
    "tan-list",
    "tan list",
    "tanlist",
    "itan",
    "backup",
    "back-up",
    "recovery",
    "wiederherstell",
    "notfall",
    "secours",
    "recupera",
    "recupero",
    "respaldo",
    "einmal",
    "one-time",
    "ersatz",
    "zapasow",
    "záložn",
    "återställ",
    "vouchers",
    "voucher",
    "バックアップコード",
    "リカバリーコード",
    "备用",
    "恢复码",
    "恢復碼",
    "백업 코드",
    "복구",
    "coduri",
    "kurtarma",
    "yedek",
    "palautus",
    "резервн",
    "восстановлен",
)
_KEYS: Final = (
    "recovery key",
    "wiederherstellungsschlüssel",
    "restore key",
    "backup key",
    "64-digit",
    "48-digit",
    "clé de récupération",
    "clave de recuperación",
    "chiave di recupero",
    "ключ восстановлен",
    "herstelsleutel",
    "filevault",
    "bitlocker",
    "emergency kit",
    "復旧キー",
    "回復キー",
    "恢复密钥",
    "secret key",
    "verschlüsselungsschlüssel",
    "encryption key",
    "product key",
    "license key",
    "licence key",
    "lizenzschlüssel",
    "seriennummer office",
    "chave de recuperação",
    "återställningsnyckel",
    "klucz odzyskiwania",
    "kurtarma anahtarı",
    "복구 키",
    "clé de secours",
)
ANCHORS: Final = (*_HEADINGS, *_KEYS)
_LOOK: Final = 1200
_HEAD: Final = 220
_ITEM: Final = re.compile(
    r"(?<![\w.,:/@=+-])(?:\d{4} \d{4}(?: \d{4})?|[A-Za-z0-9]{2,8}(?:-[A-Za-z0-9]{2,8}){1,7}|[A-Za-z0-9]{6,24})(?![\w@/:=]|[.,]\d)"
)
_BETWEEN: Final = re.compile(
    r"(?:[\s,;|•·*\"'`\[\]☐☑✓✔xX~-]|(?:\d{1,3}[.):]?(?=\s))|\\n|\([^()\n]{0,48}\)|<[^<>\n]{0,24}>){0,24}"
)
_GROUPED: Final = re.compile(
    r"(?<![\w-])(?:[A-Za-z0-9]{4,8}-){3,11}[A-Za-z0-9]{4,8}(?![\w-])|(?<![\w ])(?:[a-f0-9]{4} ){7,15}[a-f0-9]{4}(?! ?\w)|(?<![\w])(?:[A-Z0-9]{4,6} ){3,11}[A-Z0-9]{4,6}(?!\w)"
)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")
_LEAST: Final = 3
_NUMBERED: Final = re.compile(r"[A-Za-z]{3,}\d{1,3}")
_PUBLIC: Final = re.compile(r"certificate|fingerprint|checksum|sha\d|md5|\bhash", re.IGNORECASE)
_NO_LIST: Final = re.compile(
    r"error|status|exit|zip|postal|country|fehler|rabatt|promo|discount|gutschein|product|artikel|produkt|isin|hs |color|farb|barcode|qr",
    re.IGNORECASE,
)


def list_spans(page: Page) -> Iterator[Span]:
    text = page.text
    done = 0
    for at in sorted(at for word in page.held.intersection(_HEADINGS) for at in page.occurrences(word)):
        if at < done or _NO_LIST.search(text, max(0, at - 12), at):
            continue
        done = at + _HEAD
        if _PUBLIC.search(text, max(0, at - 16), at + _HEAD):
            continue
        for run in _runs(text, at):
            done = run[-1].end
            yield from run
            break
    for word in page.held.intersection(_KEYS):
        for at in page.occurrences(word):
            found = _GROUPED.search(text, at, end_of(text, at, _HEAD))
            if found and any(c.isdigit() for c in found[0]) and not _UUID.match(found[0]):
                yield Span(found.start(), found.end(), "recovery_code")


def _runs(text: str, at: int) -> Iterator[list[Span]]:
    """Items of one shape, with nothing but bullets and numbers between them."""
    run: list[Span] = []
    shape = ""
    for item in _ITEM.finditer(text, at, end_of(text, at, _LOOK)):
        own = _shape(item[0])
        if not own or (not run and item.start() - at > _HEAD):
            continue
        between = _BETWEEN.match(text, run[-1].end) if run else None
        if run and own == shape and between is not None and between.end() >= item.start():
            run.append(Span(item.start(), item.end(), "recovery_code"))
        else:
            if len(run) >= _LEAST:
                break
            run, shape = [Span(item.start(), item.end(), "recovery_code")], own
    items = [text[span.start : span.end] for span in run]
    if (
        len(run) >= _LEAST
        and sum(any(c.isdigit() for c in item) for item in items) * 2 > len(run)
        and not are_names(items)
    ):
        yield run


def are_names(items: list[str]) -> bool:
    """Bits, as `011001`; types and things that are numbered, as `uint16`, `float32`."""
    return all(set(item) <= set("01") for item in items) or all(map(_NUMBERED.fullmatch, items))


def _shape(value: str) -> str:
    """`4-4`, `6`; nothing for what no code is."""
    if value.isalpha() and (value.islower() or value.istitle() or value.isupper()):
        return ""
    shape = re.sub(r"[A-Za-z0-9]+", lambda run: str(len(run[0])), value)
    if "-" in value and len(value) == 10 and shape == "4-2-2":
        return ""  # a date
    return shape
