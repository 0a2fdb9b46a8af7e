"""Talk that a structure holds in many texts: read once more as one text, a line each, so that an answer is read below its question."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from server.policy.redaction.spans import Span, merged

SPEECH: Final = frozenset(
    "text txt body content message msg heard said say reply question answer prompt response transcript utterance nachricht frage antwort texto mensaje pregunta respuesta mensagem messaggio".split()
)
"""Keys under which a turn stands."""
LINES: Final = frozenset("paragraphs lines steps notes notas messages turns zeilen".split())
"""Keys of lists of texts that are read on."""
_LONGEST: Final = 20_000
"""Characters of a talk; more is a file, whose parts are read each by itself."""


class Dialog:
    """In order; what the turns hold of one another's line ends does not part them."""

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = turns
        self.text = "\n".join(turns) if sum(map(len, turns)) <= _LONGEST else ""

    def share(self, found: dict[str, list[Span]]) -> None:
        """Adds to what was found in each turn what was found in the whole."""
        spans = found.get(self.text, [])
        begins = list(accumulate((len(turn) + 1 for turn in self._turns), initial=0))
        for start, end, kind in spans:
            for which in range(bisect_right(begins, start) - 1, bisect_left(begins, end)):
                turn, at = self._turns[which], begins[which]
                inside = Span(max(0, start - at), min(len(turn), end - at), kind)
                if inside.start < inside.end:
                    found[turn] = merged((*found.get(turn, ()), inside))
