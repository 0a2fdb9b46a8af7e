"""Ten thousand frames and more, good and bad, each with the answer that the protocol page asks for.

`frame(number)` is the frame of that number, always the same one: a valid frame
with at most one mistake, so there is nothing to shrink. Where the page leaves
open whether something is wrong, the verdict is EITHER: at most one error.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

from tests.hostile.kinds import any_value, write_object, wrong_type
from tests.hostile.protocol import FRAMES

SEED = "parley.v1"
MAX_BINARY_BYTES = 65_536
MAX_MESSAGES = 2000


class Verdict(Enum):
    VALID = "valid"
    INVALID = "invalid"
    EITHER = "either"


@dataclass(frozen=True)
class Frame:
    what: str
    data: bytes
    verdict: Verdict
    path: str | None = None
    """Of an invalid frame: where the mistake is. The error names it or a place inside."""
    code: str | None = None
    """Of an invalid frame, where the page determines it."""
    is_text: bool = True
    is_chat: bool = False
    """Valid, and starts a turn."""


def frame(number: int) -> Frame:
    rng = Random(f"{SEED} {number}")
    make = rng.choices([make for _, make in _KINDS], [weight for weight, _ in _KINDS])[0]
    return make(rng)


def _good(rng: Random) -> Frame:
    kind = rng.choice(list(FRAMES))
    return Frame(f"good {kind}", _good_text(rng, kind).encode(), Verdict.VALID, is_chat=kind in ("chat", "respond"))


def _bad_field(rng: Random) -> Frame:
    kind = rng.choice(["configure", "configure", "chat", "respond", "history", "interrupt", "playback", "approval"])
    fields, at = FRAMES[kind].bad_fields(rng)
    text = write_object({"type": json.dumps(kind), **fields})
    return Frame(f"{kind} wrong at ${at}", text.encode(), Verdict.INVALID, f"${at}", "frame_invalid")


def _bad_type(rng: Random) -> Frame:
    names = ["", "PING", "ping ", "ready", "turn_end", "__init__", "ping\x00", "chat.completion", "p" * 50_000, "消息"]
    if rng.random() < 0.6:
        text = write_object({"type": json.dumps(rng.choice(names)), "t": "1"})
        return Frame("unknown type", text.encode(), Verdict.INVALID, "$.type", "frame_type_unknown")
    if rng.random() < 0.5:
        text = write_object({"type": wrong_type(rng, "string").json, "t": "1"})
        return Frame("type is no string", text.encode(), Verdict.INVALID, "$.type")
    return Frame("no type", write_object({"Type": '"ping"', "t": "1"}).encode(), Verdict.INVALID, "$")


def _no_object(rng: Random) -> Frame:
    return Frame("no object", wrong_type(rng, "object").json.encode(), Verdict.INVALID, "$")


def _malformed(rng: Random) -> Frame:
    text = _good_text(rng, rng.choice(list(FRAMES)))
    spoil = rng.choice(_SPOILERS)
    # A parser may stumble over a wrong field before it comes to the place where the JSON ends.
    code = None if spoil in (_truncated, _depth) else "frame_malformed"
    return Frame(f"malformed by{spoil.__name__.replace('_', ' ')}", spoil(rng, text), Verdict.INVALID, "$", code)


def _truncated(rng: Random, text: str) -> bytes:
    return text[: rng.randrange(len(text))].encode()


def _comma(_rng: Random, text: str) -> bytes:
    return f"{text[:-1]}, }}".encode()


def _more(rng: Random, text: str) -> bytes:
    return f"{text}{rng.choice(['}', text, ' x', ',', chr(0)])}".encode()


def _quotes(_rng: Random, text: str) -> bytes:
    return text.replace('"', "'").encode()


def _literal(rng: Random, text: str) -> bytes:
    literals = [
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "None",
        "True",
        "0x10",
        "01",
        ".5",
        "+1",
        "1.",
        "1e",
        "--1",
    ]
    return f'{{"x": {rng.choice(literals)}, {text[1:]}'.encode()


def _string(rng: Random, text: str) -> bytes:
    strings = ['"\\x41"', '"\\u12"', '"a\nb"', '"a\tb"', '"\\"', '"a', '"\x01"', "'a'", "`a`"]
    return f'{{"x": {rng.choice(strings)}, {text[1:]}'.encode()


def _comment(rng: Random, text: str) -> bytes:
    return rng.choice([f"/* hi */ {text}", f"{text} // hi", f"# hi\n{text}"]).encode()


def _encoding(rng: Random, text: str) -> bytes:
    sequence = rng.choice([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xbd", b"\x80"])
    return b'{"type": "interrupt", "turn_id": "' + sequence + b'"}' if rng.random() < 0.9 else text.encode("utf-16")


def _depth(rng: Random, _text: str) -> bytes:
    return rng.choice([b"[" * 100_000, b'{"type": "ping", "t": 1, "x": ' + b'{"a":' * 20_000, b"[[[["])


_SPOILERS: Sequence[Callable[[Random, str], bytes]] = (
    _truncated,
    _truncated,
    _comma,
    _more,
    _quotes,
    _literal,
    _string,
    _comment,
    _encoding,
    _depth,
)


def _sound(rng: Random) -> Frame:
    match rng.choice(["good", "odd", "odd", "large", "empty"]):
        case "good":
            return Frame("sound", rng.randbytes(2 * rng.randint(1, 400)), Verdict.VALID, is_text=False)
        case "odd":
            data = rng.randbytes(2 * rng.randint(0, 400) + 1)
            return Frame("half a sample", data, Verdict.INVALID, "$", "audio_misaligned", is_text=False)
        case "large":
            data = bytes(MAX_BINARY_BYTES + 2 * rng.randint(1, 50))
            return Frame("too much sound", data, Verdict.INVALID, "$", "message_too_large", is_text=False)
        case _:
            return Frame("no sound", b"", Verdict.EITHER, is_text=False)


def _too_many_messages(rng: Random) -> Frame:
    messages = ", ".join(['{"role": "user", "content": "a"}'] * (MAX_MESSAGES + 1))
    fields = rng.choice(['"chat"', '"history", "utterance": "u1"'])
    text = f'{{"type": {fields}, "messages": [{messages}]}}'
    return Frame("too many messages", text.encode(), Verdict.INVALID, "$.messages", "message_too_large")


def _undecided(rng: Random) -> Frame:
    """Odd, and not forbidden by the page; the server may take it or refuse it, once."""
    kind = rng.choice(list(_ODD))
    return Frame(f"odd: {kind}", rng.choice(_ODD[kind]).encode("utf-8", "surrogatepass"), Verdict.EITHER)


_USER = '{"role": "user", "content": "Hello"}'
_ODD: Mapping[str, Sequence[str]] = {
    "a key twice": [
        '{"type": "ping", "t": 1, "t": 2}',
        '{"type": "ping", "type": "nonsense", "t": 1}',
        '{"type": "nonsense", "type": "ping", "t": 1}',
        f'{{"type": "chat", "messages": [], "messages": [{_USER}]}}',
    ],
    "depth in a field that is ignored": [
        '{"type": "interrupt", "x": ' + opening * depth + closing * depth + "}"
        for opening, closing in (("[", "]"), ('{"a":', "}"))
        for depth in (900, 5000, 100_000)
        if opening == "["
    ],
    "lone surrogates": [
        '{"type": "interrupt", "turn_id": "\\ud800"}',
        '{"type": "chat", "messages": [{"role": "user", "content": "a\\udfffb"}]}',
        '{"type": "configure", "conversation": "\\ud83d"}',
    ],
    "a byte order mark": ['\ufeff{"type": "interrupt"}'],
    "white space": [' \r\n\t{"type": "interrupt"}\n\n'],
    "null for left out": [
        *(f'{{"type": "configure", "{name}": null}}' for name in ("voice", "turn_detection", "input", "trace")),
        f'{{"type": "chat", "messages": [{_USER}], "id": null}}',
    ],
    "t of any type": [f'{{"type": "ping", "t": {value}}}' for value in ('"now"', "null", "[1]", "1e400", "9" * 400)],
    "no t": ['{"type": "ping"}'],
    "skills that are paths": [
        f'{{"type": "{kind}", "skills": {json.dumps([name])}}}'
        for kind in ("configure",)
        for name in ("../../etc", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "a\x00b", "x" * 100_000, "CON", "~")
    ],
    "nobody asks": ['{"type": "chat", "messages": [{"role": "assistant", "content": "I ask myself"}]}'],
    "nothing said": [
        '{"type": "chat", "messages": [{"role": "user", "content": ""}]}',
        '{"type": "chat", "messages": [{"role": "user", "content": null}]}',
        '{"type": "chat", "messages": [{"role": "user", "content": []}]}',
    ],
    "no content": [
        '{"type": "chat", "messages": [{"role": "assistant", "content": null, "tool_calls": []}, ' + _USER + "]}",
    ],
    "calls that are none": [
        f'{{"type": "chat", "messages": [{{"role": "assistant", "content": "", "tool_calls": {calls}}}, {_USER}]}}'
        for calls in (
            "[null]",
            "[{}]",
            '[{"id": 5}]',
            '[{"id": "c", "type": "function", "function": {"name": 5, "arguments": {}}}]',
            '[{"id": "c", "type": "function", "function": {"name": "x", "arguments": "{"}}]',
        )
    ],
    "languages there are not": [
        f'{{"type": "configure", "language": {json.dumps(name)}}}' for name in ("", "!!", "x" * 100_000, "de\nen")
    ],
    "an image that is none": [
        f'{{"type": "chat", "messages": [{{"role": "user", "content": [{part}]}}]}}'
        for part in (
            '{"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}',
            '{"type": "image_url", "image_url": {"url": "data:image/png,"}}',
            '{"type": "image_url", "image_url": {"url": "data:IMAGE/PNG;base64,AAAA"}}',
        )
    ],
    "a playback from nowhere": [
        '{"type": "playback", "turn_id": "t1", "index": 0, "ms": -5, "state": "playing"}',
        '{"type": "playback", "turn_id": "t1", "index": 999999999999, "ms": 1e300, "state": "playing"}',
    ],
}


_KINDS: Sequence[tuple[int, Callable[[Random], Frame]]] = (
    (450, _bad_field),
    (150, _good),
    (150, _malformed),
    (50, _bad_type),
    (20, _no_object),
    (80, _sound),
    (2, _too_many_messages),
    (98, _undecided),
)


def _good_text(rng: Random, kind: str) -> str:
    fields = FRAMES[kind].good_fields(rng)
    if kind == "chat":
        fields.pop("id", None)  # an id may be used once; a reused one is a mistake of its own
    if "unheard_of" in fields:
        fields["unheard_of"] = any_value(rng)
    return write_object({"type": json.dumps(kind), **fields})
