"""The one estimate of tokens: for budgets, tests, costs and the catalogue. Without a tokenizer, by script (L1-47)."""

import re
from collections import Counter
from functools import lru_cache
from string import ascii_letters, whitespace
from typing import Final

_WEIGHTS: Final = (
    (re.compile(r"[A-Za-z\s\u00c0-\u024f\u1e00-\u1eff]"), 25),
    (re.compile(r"[\x00-\x7f]"), 50),
    (re.compile(r"[\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 70),
    (re.compile(r"[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]"), 68),
    (re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"), 60),
    (re.compile(r"[\u0e00-\u0e7f]"), 40),
    (re.compile(r"[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]"), 33),
    (re.compile(r"[\u0400-\u052f]"), 27),
    (re.compile(r"[\u200d\u2600-\u27bf\ufe0f\U0001f000-\U0001faff]"), 125),
    (re.compile(r"(?s:.)"), 35),
)
"""Tokens of a hundred characters: Latin and white space, other ASCII, Han, kana, Hangul, Thai, Arabic, Cyrillic, emoji,
all others. Fitted to o200k, which needs up to a quarter more or less."""


_LIGHT: Final = f"{ascii_letters}{whitespace}\x1c\x1d\x1e\x1f".encode()
"""ASCII characters that count 25."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model reads the text as, rounded up."""
    if text.isascii():  # at a hundredth of the time
        signs = len(text.encode().translate(None, _LIGHT))
        return -(-(25 * len(text) + 25 * signs) // 100)
    return -(-sum(count * _weight(character) for character, count in Counter(text).items()) // 100)


@lru_cache(maxsize=8192)
def _weight(character: str) -> int:
    return next(weight for characters, weight in _WEIGHTS if characters.match(character))
