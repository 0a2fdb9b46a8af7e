"""Names → the words that they are made of: `DB_PASSWORD`, `dbPassword`, `db-password` are all db + password."""

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

_PLAIN = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe"})


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Lower case, accents folded away, in order; at most the first 200 characters count."""
    folded = unicodedata.normalize("NFKD", name[:200].translate(_PLAIN))
    plain = "".join(letter for letter in folded if not "\u0300" <= letter <= "\u036f")
    return tuple(word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", plain)))
