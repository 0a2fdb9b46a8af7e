"""The voice for each part of a text. Pure: scripts and languages, no engine.

Piper's voice speaks one language. Anything else - another script, or a language
asked for in its own - is spoken by espeak-ng.
"""

import re
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

from server.speech.sentences import CLAUSE_STOPS, STOPS, TERMINALS, WIDE_CLAUSE_STOPS

MAX_PIECE_CHARS: Final = 160
"""Longest part; others are cut at a clause, where a cancelled synthesis stops and other sessions get their turn."""

# Script → its characters, and the languages written in it: the first one reads it, unless another is asked for.
_SCRIPTS: Final = {
    "kana": (r"[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]", "ja"),
    "han": (r"[\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]", "cmn yue hak ja"),
    "hangul": (r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]", "ko"),
    "latin": (r"[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\uff21-\uff5a]", ""),
    "cyrillic": (r"[\u0400-\u052f]", "ru uk bg sr mk be kk ky tt ba cv"),
    "greek": (r"[\u0370-\u03ff\u1f00-\u1fff]", "el grc"),
    "hebrew": (r"[\u0590-\u05ff]", "he"),
    "arabic": (r"[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff]", "ar fa ur sd ug"),
    "devanagari": (r"[\u0900-\u097f]", "hi mr ne kok"),
    "bengali": (r"[\u0980-\u09ff]", "bn as"),
    "tamil": (r"[\u0b80-\u0bff]", "ta"),
    "thai": (r"[\u0e00-\u0e7f]", "th"),
    "georgian": (r"[\u10a0-\u10ff]", "ka"),
    "armenian": (r"[\u0530-\u058f]", "hy"),
}
_CHARACTERS: Final = {script: re.compile(characters) for script, (characters, _) in _SCRIPTS.items()}
_READERS: Final = {script: readers.split() for script, (_, readers) in _SCRIPTS.items() if readers}
_ALIASES: Final = {"zh": "cmn", "no": "nb", "iw": "he", "in": "id", "tl": "fil"}
_CLAUSE: Final = re.compile(rf"(?<=[{re.escape(STOPS + CLAUSE_STOPS)}])\s+|(?<=[{TERMINALS}…{WIDE_CLAUSE_STOPS}])\s*")


@dataclass(frozen=True, slots=True)
class LanguageRun:
    """A run of text in one language, as espeak-ng and Piper name it (`en`, `cmn`)."""

    language: str
    text: str


def primary(language: str | None) -> str | None:
    """Return the language alone: `de-AT` → `de`, `zh-Hant-TW` → `cmn`."""
    if not language:
        return None
    tag = language.replace("_", "-").split("-")[0].lower()
    return _ALIASES.get(tag, tag)


def language_runs(text: str, language: str | None, *, latin: str = "en") -> list[LanguageRun]:
    """Split `text` into runs of one language each, in order; none if there is nothing to say.

    `language` (BCP 47) is what the listener wants to hear, `latin` how Latin
    script is read without it. Digits and punctuation belong to the run before them.
    """
    listened = primary(language)
    is_japanese = _CHARACTERS["kana"].search(text) is not None
    known = [_language_of(character, listened, latin, is_japanese=is_japanese) for character in text]
    if not (first := next(filter(None, known), "")):
        return [LanguageRun(listened or latin, text)] if any(map(str.isalnum, text)) else []
    language_now = first
    filled = [language_now := each or language_now for each in known]
    runs = groupby(zip(filled, text, strict=True), key=itemgetter(0))
    return [LanguageRun(each, "".join(character for _, character in run)) for each, run in runs]


def pieces(text: str) -> list[str]:
    """Cut `text` at clauses, so that no piece is much longer than MAX_PIECE_CHARS; joined they are `text`."""
    parts: list[str] = []
    while len(text) > MAX_PIECE_CHARS:
        ends = [match.end() for match in _CLAUSE.finditer(text, 0, MAX_PIECE_CHARS) if match.end() >= 40]
        spaces = [at + 1 for at in (text.rfind(" ", 40, MAX_PIECE_CHARS),) if at > 0]
        cut = (ends or spaces or [MAX_PIECE_CHARS])[-1]
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text] if text else parts


def _language_of(character: str, listened: str | None, latin: str, *, is_japanese: bool) -> str:
    """Return the language in which the character is read, or "" for a digit, punctuation and the like."""
    script = next((script for script, characters in _CHARACTERS.items() if characters.match(character)), None)
    if script is None:
        return ""
    if script == "latin":
        return latin if listened is None or any(listened in readers for readers in _READERS.values()) else listened
    if script in ("han", "kana") and is_japanese:  # kanji and kana are one text
        return "ja"
    readers = _READERS[script]
    return listened if listened in readers else readers[0]
