"""The marks that end sentences and clauses, in every living script."""

from typing import Final

TERMINALS: Final = (  # from Unicode's Sentence_Terminal; ． (U+FF0E) stands behind numbers of lists
    "。！？｡﹖﹗‼‽⁇⁈⁉"
    "।॥۔؟։"  # Devanagari and its relatives, Urdu, Arabic, Armenian
    "܀܁܂߹።፧፨"  # Syriac, N'Ko, Ethiopic
    "။។៕།༎᠃᠉"  # Burmese, Khmer, Tibetan, Mongolian
    "᙮᥄᥅᪨᪩᪪᪫᭚᭛᭞᭟᰻᰼᱾᱿꓿꘎꘏꛳꛷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫"
)
"""End a sentence whatever follows."""
STOPS: Final = ".!?"
"""End one before white space, where they are no part of a number, a name or an abbreviation."""
SENTENCE_ENDS: Final = STOPS + TERMINALS + "…"
CLAUSE_STOPS: Final = ",;:–—،؛՝፣፤፥"
"""End a clause before white space."""
WIDE_CLAUSE_STOPS: Final = "，、；：､၊"
"""End one whatever follows."""
CLOSERS: Final = "\"'”’)]}»«」』）】》"
"""Belong to the sentence that they close."""
