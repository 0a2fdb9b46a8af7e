"""A Piper voice's model file, made to tell how long it says each phoneme. Pure.

The model computes that and keeps it to itself (VITS: the only tensor that a Ceil node makes). A message of Protocol
Buffers that is appended to another one is merged into it: some twenty bytes behind the file name the tensor as an output.
"""

from collections.abc import Iterator
from typing import Final

# Fields of ONNX's ModelProto, GraphProto, NodeProto and ValueInfoProto.
_GRAPH: Final = 7
_GRAPH_NODE: Final = 1
_GRAPH_OUTPUT: Final = 12
_NODE_OUTPUT: Final = 2
_NODE_KIND: Final = 4
_VALUE_NAME: Final = 1


def durations_output(model: bytes) -> bytes | None:
    """What makes it a second output when appended; None where there is no such tensor, or it cannot be told which it is."""
    try:
        names = list(_durations_of(memoryview(model)))
    except (IndexError, ValueError):
        return None
    if len(names) != 1:
        return None
    return _message(_GRAPH, _message(_GRAPH_OUTPUT, _message(_VALUE_NAME, names[0])))


def _durations_of(model: memoryview) -> Iterator[bytes]:
    for graph in _messages(model, _GRAPH):
        for node in _messages(graph, _GRAPH_NODE):
            if [bytes(kind) for kind in _messages(node, _NODE_KIND)] == [b"Ceil"]:
                yield from map(bytes, _messages(node, _NODE_OUTPUT))


def _messages(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The contents of that field, wherever it occurs. Raises IndexError or ValueError for what is no message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:  # how it is encoded: a number, eight bytes, so many bytes as it says, four bytes
            case 0:
                _, at = _varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                if key >> 3 == wanted:
                    yield message[at : at + length]
                at += length
            case 5:
                at += 4
            case kind:
                raise ValueError(f"a field of kind {kind}")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """The number at that place, and the place behind it."""
    number = shift = 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def _message(field: int, content: bytes) -> bytes:
    return _as_varint(field << 3 | 2) + _as_varint(len(content)) + content


def _as_varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
