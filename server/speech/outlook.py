"""Do the words so far sound complete? Pure; a hint for how long a silence must be, no more."""

import re
from typing import Final

from server.speech.sentences import CLAUSE_STOPS, SENTENCE_ENDS, WIDE_CLAUSE_STOPS

_DANGLING: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "my",
        "your",
        "his",
        "their",
        "our",
        "and",
        "or",
        "but",
        "because",
        "although",
        "while",
        "if",
        "unless",
        "until",
        "whenever",
        "whether",
        "than",
        "into",
        "onto",
        "with",
        "from",
        "of",
        "for",
        "at",
        "i'm",
        "i've",
        "i'd",
        "i'll",
        "we're",
        "we've",
        "it's",
        "that's",
        "there's",
        "um",
        "uh",
        "er",
        "erm",
        "hmm",
        "i",
        "we",
        "they",
        "he",
        "she",
        "tell",
        "give",
    ]
)
"""English words that hardly ever end a sentence. `on`, `is` or `more` often do and stay out: a wrong guess costs a second."""

_DANGLING_TAIL: Final = re.compile(
    r"(?:因为|但是|可是|然后|所以|如果|还有|以及|和|跟|或者|的话|けど|から|それで|でも|あの|えっと|、|，)$"
)
_UNFINISHED_MARKS: Final = (*CLAUSE_STOPS, *WIDE_CLAUSE_STOPS, "-", "...", "…")


def sounds_complete(text: str) -> bool | None:
    """True: end the utterance soon. False: wait, there is more to come. None: the words do not tell."""
    text = text.strip().rstrip("\"'”’」』)")
    if not text:
        return None
    if text.endswith(_UNFINISHED_MARKS):
        return False
    bare = text.rstrip(SENTENCE_ENDS).lower()
    if _DANGLING_TAIL.search(bare):
        return False
    words = bare.replace("’", "'").split()
    last = words[-1] if words else ""
    is_question = text.endswith(("?", "？", "؟"))
    if last in _DANGLING and not is_question:
        return False
    return True if text[-1] in SENTENCE_ENDS else None
