"""server/speech/word_times.py"""

import pytest

from server.speech.word_times import durations_output, starts_ms, word_starts

ALONE = {
    "It": "ɪt",
    "is": "ɪz",
    "Is": "ɪz",
    "in": "ɪn",
    "the": "ðə",
    "evening,": "ˈiːvnɪŋ,",
    "of": "ˈʌv",
    "two": "tˈuː",
    "1984": "nˈaɪntiːn ˈeɪɾi fˈɔːɹ",
    "strange": "bdfghklmnp",
    "mute": "",
}


def starts(text: str, *said: str) -> list[tuple[str, str]] | None:
    """(word, what is said from its beginning to the end of the sentence)"""
    found = word_starts(text, [list(sentence) for sentence in said], lambda word: list(ALONE[word]))
    return (
        None
        if found is None
        else [(text[offset:].split(maxsplit=1)[0], said[number][at:]) for offset, number, at in found]
    )


def test_a_word_begins_where_its_phonemes_do_its_stress_included() -> None:
    assert starts("It is two", "ɪt ɪz tˈuː") == [("It", "ɪt ɪz tˈuː"), ("is", "ɪz tˈuː"), ("two", "tˈuː")]
    assert starts("is evening,", "ɪz ˈiːvnɪŋ,") == [("is", "ɪz ˈiːvnɪŋ,"), ("evening,", "ˈiːvnɪŋ,")]


def test_words_that_are_said_as_one_have_a_beginning_each() -> None:
    assert starts("is in the evening, of the two", "ɪz ɪnðɪʲ ˈiːvnɪŋ, ʌvðə tˈuː") == [
        ("is", "ɪz ɪnðɪʲ ˈiːvnɪŋ, ʌvðə tˈuː"),
        ("in", "ɪnðɪʲ ˈiːvnɪŋ, ʌvðə tˈuː"),
        ("the", "ðɪʲ ˈiːvnɪŋ, ʌvðə tˈuː"),
        ("evening,", "ˈiːvnɪŋ, ʌvðə tˈuː"),
        ("of", "ʌvðə tˈuː"),
        ("the", "ðə tˈuː"),
        ("two", "tˈuː"),
    ]


def test_a_number_is_one_word_however_many_are_said() -> None:
    found = starts("in 1984 is", "ɪn nˈaɪntiːn ˈeɪɾi fˈɔːɹ ɪz")

    assert found == [("in", "ɪn nˈaɪntiːn ˈeɪɾi fˈɔːɹ ɪz"), ("1984", "nˈaɪntiːn ˈeɪɾi fˈɔːɹ ɪz"), ("is", "ɪz")]


def test_words_are_found_in_the_sentence_that_the_voice_says_them_in() -> None:
    assert starts("It Is", "ɪt.", "ɪz") == [("It", "ɪt."), ("Is", "ɪz")]


def test_what_is_no_word_is_no_word() -> None:
    assert starts("It — is", "ɪt, ɪz") == [("It", "ɪt, ɪz"), ("is", "ɪz")]


@pytest.mark.parametrize(
    ("text", "said"), [("It strange is", "ɪt wwwwwwwwww ɪz"), ("It mute", "ɪt"), ("…", ""), ("It is", "")]
)
def test_where_the_words_cannot_be_told_apart_no_times_are_given(text: str, said: str) -> None:
    assert starts(text, said) is None


def test_a_word_is_said_after_all_samples_before_it() -> None:
    found = [(0, 0, 0), (4, 0, 2), (9, 1, 0)]

    assert starts_ms(found, 0, [100, 200, 300, 400, 500], 1000) == [(0, 100), (4, 600)]
    assert starts_ms(found, 1, [50, 10], 1000) == [(9, 50)]


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes((number << 3 | 2, len(content))) + content


def node(kind: bytes, output: bytes, name: bytes = b"") -> bytes:
    return field(1, field(1, b"input") + field(2, output) + (field(3, name) if name else b"") + field(4, kind))


def model(*nodes: bytes) -> bytes:
    """An ONNX model: its version, its producer, its graph."""
    return b"\x08\x08" + field(2, b"test") + field(7, b"".join(nodes) + field(2, b"graph"))


def test_what_a_ceil_node_makes_becomes_an_output_of_the_graph() -> None:
    for ceil in (node(b"Ceil", b"/Ceil_output_0", b"/Ceil"), node(b"Ceil", b"/Ceil_output_0")):
        given = model(node(b"Exp", b"/Exp"), ceil, node(b"Mul", b"/Mul"))

        assert durations_output(given) == field(7, field(12, field(1, b"/Ceil_output_0")))


@pytest.mark.parametrize(
    "given",
    [
        b"",
        model(node(b"Exp", b"/Exp")),
        model(node(b"Ceil", b"/a"), node(b"Ceil", b"/b")),
        b"/Ceil_output_0" + field(4, b"Ceil"),
        model(node(b"Ceil", b"/" * 101)),
    ],
    ids=["empty", "none", "two", "no node", "long name"],
)
def test_a_model_that_does_not_tell_it_stays_as_it_is(given: bytes) -> None:
    assert durations_output(given) is None
