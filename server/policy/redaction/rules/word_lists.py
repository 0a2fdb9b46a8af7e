"""Words that restore a wallet, where no heading says so: twelve or more in a row, none of which a sentence can do without."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.sentence_words import IN_SENTENCES
from server.policy.redaction.rules.windows import windows
from server.policy.redaction.spans import Span

ANCHORS: Final = tuple(
    "ledger trezor metamask wallet crypto bitcoin ethereum electrum mnemonic geldbörse kryptow cartera billetera portefeuille carteira portafoglio portfel peněžen кошел метамаск крипт биткоин 助记词 钱包 ウォレット 지갑".split()
)
_NUMBER: Final = r"(?:\d{1,2}[.):]?\s{1,2})?"
_RUN: Final = re.compile(
    rf"(?<![\w-]){_NUMBER}[a-z]{{3,8}}(?:(?:[ \t]{{0,12}}\r?\n[ \t]{{0,8}}|[ \t\u3000]{{1,12}}|, ?){_NUMBER}[a-z]{{3,8}}(?![\w'-])){{11,30}}"
)
_WORD: Final = re.compile(r"[a-z]+")
_WITHIN: Final = 1000
"""Characters from a word for a wallet."""
_COUNTS: Final = (12, 15, 18, 21, 24)
"""BIP-39: so many words."""


def word_list_spans(page: Page) -> Iterator[Span]:
    text = page.text
    places = sorted(at for word in page.held.intersection(ANCHORS) for at in page.occurrences(word))
    stretches = windows(text, places, before=_WITHIN, behind=_WITHIN)
    for run in (run for start, end in stretches for run in _RUN.finditer(text, start, end)):
        for words in _between_sentences(text, run):
            if len(words) in _COUNTS and len({word[0] for word in words}) * 10 > len(words) * 9:
                yield Span(_start(run, words[0]), words[-1].end(), "seed_phrase")


def _between_sentences(text: str, run: re.Match[str]) -> Iterator[list[re.Match[str]]]:
    words: list[re.Match[str]] = []
    for word in _WORD.finditer(text, run.start(), run.end()):
        if word[0] in IN_SENTENCES:
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _start(run: re.Match[str], first: re.Match[str]) -> int:
    """With the number of the first word."""
    return run.start() if first.start() - run.start() < 5 else first.start()
