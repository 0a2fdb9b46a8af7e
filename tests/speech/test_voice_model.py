"""server/speech/voice_model.py"""

import pytest

from server.speech.voice_model import durations_output


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes((number << 3 | 2, len(content))) + content


def node(kind: bytes, output: bytes) -> bytes:
    return field(1, field(1, b"input") + field(2, output) + field(4, kind))


def model(*nodes: bytes) -> bytes:
    """An ONNX model: its version, its producer, its graph."""
    return b"\x08\x08" + field(2, b"test") + field(7, b"".join(nodes) + field(2, b"graph"))


def test_what_a_ceil_node_makes_becomes_an_output_of_the_graph() -> None:
    given = model(node(b"Exp", b"/Exp"), node(b"Ceil", b"/Ceil"), node(b"Mul", b"/Mul"))

    assert durations_output(given) == field(7, field(12, field(1, b"/Ceil")))


def test_numbers_and_lengths_of_any_size_are_passed_over() -> None:
    noise = b"\x09" + bytes(8) + b"\x0d" + bytes(4) + b"\x08\xff\xff\xff\x7f" + b"\x2a\x80\x02" + bytes(256)

    assert durations_output(noise + model(node(b"Ceil", b"/Ceil"))) == field(7, field(12, field(1, b"/Ceil")))


@pytest.mark.parametrize(
    "given",
    [
        b"",
        model(node(b"Exp", b"/Exp")),
        model(node(b"Ceil", b"/a"), node(b"Ceil", b"/b")),
        model(node(b"Ceil", b"/Ceil")) + b"\x07",
        model(node(b"Ceil", b"/Ceil")) + b"\xff",
    ],
    ids=["empty", "none", "two", "no protobuf", "cut off"],
)
def test_a_model_that_does_not_tell_it_stays_as_it_is(given: bytes) -> None:
    assert durations_output(given) is None
