"""The time of each word in the sound of a text, from how long the voice says each phoneme. Pure.

Piper's model computes that and keeps it to itself (VITS: the only tensor that a Ceil node makes). A message of Protocol
Buffers that is appended to another one is merged into it: twenty bytes behind the file name the tensor as an output.

A voice phonemises a sentence as a whole: "of the" becomes one group of phonemes, "1984" four. So each word is
phonemised alone, too, and the two rows are laid side by side: where a word begins in the one, it begins in the other.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Final

_WORD: Final = re.compile(r"\S+")
_STRESS: Final = frozenset("ˈˌ")
_PAUSES: Final = frozenset(" ,.;:!?\"'()-—…")
_MAX_UNLIKE: Final = 8
"""Phonemes in a row that only one of the rows has: with more of them the beginnings of words are unknown."""
# A node of kind Ceil in ONNX: NodeProto's output (field 2), its name (3) if it has one, its op_type (4).
_CEIL: Final = b'"\x04Ceil'
_BEFORE_CEIL: Final = re.compile(rb"\x12([\x01-\x64])([ -~]+)(?:\x1a.[ -~]+)?\Z", re.DOTALL)
_MAX_NODE_BYTES: Final = 400


def word_starts(
    text: str, phonemes: Sequence[Sequence[str]], phonemes_of: Callable[[str], Sequence[str]]
) -> list[tuple[int, int, int]] | None:
    """Return (offset in `text`, sentence, phoneme in it) of each word, in order; None if that is unknown.

    phonemes: the phonemes of the text, sentence by sentence, as the voice says them.
    """
    words = [word for word in _WORD.finditer(text) if any(map(str.isalnum, word[0]))]
    alone = [list(filter(_is_sound, phonemes_of(word[0]))) for word in words]
    if not words or not all(alone):
        return None
    places = [(number, at) for number, row in enumerate(phonemes) for at, sound in enumerate(row) if _is_sound(sound)]
    begins = [0, *accumulate(map(len, alone))]
    matcher = SequenceMatcher(
        None, [phonemes[number][at] for number, at in places], [sound for row in alone for sound in row], autojunk=False
    )
    starts: list[tuple[int, int, int]] = []
    for kind, in_all, in_all_end, in_words, in_words_end in matcher.get_opcodes():
        if kind != "equal" and max(in_all_end - in_all, in_words_end - in_words) > _MAX_UNLIKE:
            return None
        while len(starts) < len(words) and begins[len(starts)] < in_words_end:
            at = min(in_all + begins[len(starts)] - in_words, in_all_end)
            if at >= len(places):
                return None
            starts.append((words[len(starts)].start(), *_before_stress(phonemes, *places[at])))
    return starts


def starts_ms(
    starts: Sequence[tuple[int, int, int]], sentence: int, samples: Sequence[int], sample_rate: int
) -> list[tuple[int, float]]:
    """Return (offset in the text, ms from the beginning of that sentence's sound) of the words in it.

    samples: how long its phonemes last, the mark of its beginning in front of them.
    """
    until = [0, *accumulate(samples)]
    return [(offset, until[at + 1] * 1000 / sample_rate) for offset, number, at in starts if number == sentence]


def _is_sound(phoneme: str) -> bool:
    return phoneme not in _STRESS and phoneme not in _PAUSES


def _before_stress(phonemes: Sequence[Sequence[str]], number: int, at: int) -> tuple[int, int]:
    while at > 0 and phonemes[number][at - 1] in _STRESS:
        at -= 1
    return number, at


def durations_output(model: bytes) -> bytes | None:
    """Return the bytes that, appended, make the durations a second output; None if their tensor is not to be found."""
    if model.count(_CEIL) != 1:
        return None
    end = model.index(_CEIL)
    output = _BEFORE_CEIL.search(model, max(0, end - _MAX_NODE_BYTES), end)
    if output is None or output[1][0] != len(output[2]):
        return None
    graph, graph_output, value_name = 7, 12, 1  # fields of ModelProto, GraphProto and ValueInfoProto
    return _field(graph, _field(graph_output, _field(value_name, output[2])))


def _field(number: int, content: bytes) -> bytes:
    return bytes((number << 3 | 2, len(content))) + content
