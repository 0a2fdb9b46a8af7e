"""Every frame that a client may send, field by field, as the protocol page describes it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tests.hostile.kinds import (
    Boolean,
    Cases,
    Fields,
    Items,
    Kind,
    Nullable,
    Number,
    OneOf,
    Text,
    Wrong,
    write_object,
    wrong_type,
)

_PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
_TURN_ID = Text(
    ["t1", "A-b_9", "x" * 64],
    bad_texts=["", "x" * 65, "a b", "ä", "a/b", "../t", "a\n", "a.b", "x" * 100_000, "\x00"],
)
_SKILLS = Nullable(Items(Text(["companion", "no-such-skill", "books"])))


def _part(**fields: object) -> str:
    return json.dumps(fields)


def _image(url: object) -> str:
    return _part(type="image_url", image_url={"url": url})


_PARTS = Items(
    Cases(
        [_part(type="text", text="look"), _image(_PNG)],
        [
            Wrong(_part(type="text", text=5), ".text"),
            Wrong(_part(type="text")),
            Wrong(_part(type="sound", text="a"), ".type"),
            Wrong(_part(text="a")),
            Wrong(_part(type=["text"], text="a"), ".type"),
            Wrong(_part(type="image_url")),
            Wrong(_part(type="image_url", image_url=_PNG), ".image_url"),
            *(
                Wrong(_image(url), ".image_url.url")
                for url in (
                    "http://169.254.169.254/latest/meta-data",
                    "https://example.org/a.png",
                    "file:///etc/passwd",
                    "javascript:alert(1)",
                    "data:text/html,<script>alert(1)</script>",
                    "data:image/svg+xml;base64,PHN2Zz4=",
                    "media://1",
                    "//example.org/a.png",
                    "",
                    7,
                    None,
                )
            ),
        ],
        types=("object",),
    ),
    least=1,
)
_CONTENT = Text(["Hello", "你好", "<img src=x onerror=alert(1)>", "a\u2028b", "\U0001f600", "x" * 3000])
_BOOKKEEPING = Cases(
    ["null", "0", '"v1.k.AAAA"', '"v1..//"', '{"a": [1]}', '"' + "A" * 2000 + '"'],
    [],
)
_KEPT = {"_hook": _BOOKKEEPING, "_skill": _BOOKKEEPING, "_sig": _BOOKKEEPING, "_x": _BOOKKEEPING}


@dataclass(frozen=True)
class _Message:
    """One message. Everything that may be wrong in one is wrong whatever its role."""

    role: str

    def good(self, rng: Random) -> str:
        return write_object(self._fields(rng))

    def bad(self, rng: Random) -> Wrong:
        if rng.random() < 0.1:
            return wrong_type(rng, "object")
        fields = self._fields(rng)
        wrongs: Mapping[str, Callable[[], Wrong]] = {
            "role": lambda: OneOf(["system", "user", "assistant", "tool"]).bad(rng),
            "content": lambda: _bad_content(rng),
            "tool_calls": lambda: wrong_type(rng, "array", "null"),
            "tool_call_id": lambda: wrong_type(rng, "string", "null"),
            "name": lambda: wrong_type(rng, "string", "null"),
        }
        name = rng.choice(list(wrongs))
        if name == "role" and rng.random() < 0.3:
            del fields["role"]
            return Wrong(write_object(fields))
        wrong = wrongs[name]()
        fields[name] = wrong.json
        return Wrong(write_object(fields), f".{name}{wrong.at}")

    def _fields(self, rng: Random) -> dict[str, str]:
        content = _PARTS.good(rng) if self.role == "user" and rng.random() < 0.3 else _CONTENT.good(rng)
        fields = {"role": json.dumps(self.role), "content": content}
        if self.role == "tool":
            fields["tool_call_id"] = json.dumps(rng.choice(["c1", "c2", "nobody"]))
        if self.role == "assistant" and rng.random() < 0.2:
            call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
            fields["tool_calls"] = json.dumps([call])
        fields.update({key: kind.good(rng) for key, kind in _KEPT.items() if rng.random() < 0.15})
        return fields


def _bad_content(rng: Random) -> Wrong:
    if rng.random() < 0.4:
        return wrong_type(rng, "string", "array", "null")
    wrong = _PARTS.bad(rng)
    while not wrong.at:
        wrong = _PARTS.bad(rng)
    return wrong


@dataclass(frozen=True)
class _Messages:
    """A history: any roles in any order, calls without results and results without calls (those are dropped)."""

    is_chat: bool

    def good(self, rng: Random) -> str:
        return "[" + ", ".join(message.good(rng) for message in self._roles(rng)) + "]"

    def bad(self, rng: Random) -> Wrong:
        if rng.random() < 0.2:
            return Wrong("[]") if self.is_chat and rng.random() < 0.3 else wrong_type(rng, "array")
        messages = self._roles(rng)
        texts = [message.good(rng) for message in messages]
        place = rng.randrange(len(texts))
        wrong = messages[place].bad(rng)
        texts[place] = wrong.json
        return Wrong("[" + ", ".join(texts) + "]", f"[{place}]{wrong.at}")

    def _roles(self, rng: Random) -> list[_Message]:
        roles = rng.choices(["system", "user", "assistant", "tool"], k=rng.randint(0, 4))
        return [*map(_Message, roles), _Message("user" if self.is_chat else "assistant")]


_RATE = Number(["8000", "16000", "48000"], ["7999", "48001", "0", "-16000", "1e400", "9" * 400])
_INPUT = Fields(optional={"format": OneOf(["pcm16"]), "sample_rate": _RATE})
_OUTPUT = Fields(optional={"format": OneOf(["pcm16"]), "max_ahead_ms": Number(["30000", "100"])})

_DETECTION = Cases(
    [
        *('"server_vad"', '"push_to_talk"'),
        *(_part(mode="server_vad", eagerness=eagerness) for eagerness in ("low", "medium", "high", None)),
        _part(mode="server_vad", threshold=0.5, silence_ms=192, prefix_ms=2000),
        _part(mode="push_to_talk", prefix_ms=0, create_response=True),
    ],
    [
        *(Wrong(text) for text in ('"semantic_vad"', '"SERVER_VAD"', '""', "{}", '{"Mode": "server_vad"}')),
        *(Wrong(_part(mode=mode), ".mode") for mode in (None, 0, "none", ["server_vad"])),
        *(Wrong(_part(mode="server_vad", threshold=value), ".threshold") for value in (0.19, 0.96, -1, "0.5", True)),
        *(Wrong(_part(mode="server_vad", silence_ms=value), ".silence_ms") for value in (191, 10_001, 0.5, "500")),
        *(Wrong(_part(mode="server_vad", prefix_ms=value), ".prefix_ms") for value in (-1, 2001, [300], 2**80)),
        *(Wrong(_part(mode="server_vad", eagerness=value), ".eagerness") for value in ("auto", "", 1)),
    ],
    types=("string", "object"),
)
_OF_A_TURN: Mapping[str, Kind] = {
    "skills": _SKILLS,
    "enable_tools": Boolean(),
    "voice": Boolean(),
    "language": Nullable(Text(["de", "en-GB", "zh-Hant-TW"])),
    "speaker": Nullable(Text(["ann", "x" * 64], bad_texts=["", "x" * 65])),
    "speed": Number(["0.25", "2", "1.1"], ["0.2", "2.01", "-1", "0"]),
}

_FRAMES: Mapping[str, Fields] = {
    "configure": Fields(
        optional={
            **_OF_A_TURN,
            "turn_detection": _DETECTION,
            "respond": OneOf(["auto", "manual"]),
            "barge_in": Boolean(),
            "input": _INPUT,
            "output": _OUTPUT,
            "conversation": Nullable(
                Text(["c", "x" * 64, "some conversation"], bad_texts=["", "x" * 65, "x" * 10_000])
            ),
            "trace": Boolean(),
        }
    ),
    "chat": Fields(
        required={"messages": _Messages(is_chat=True)},
        optional={"id": _TURN_ID, **_OF_A_TURN},
    ),
    "respond": Fields(
        required={"messages": _Messages(is_chat=False)},
        optional={
            "id": _TURN_ID,
            "utterance": Cases(["null"], [Wrong('""'), Wrong(json.dumps("u" * 65))], types=("null", "string")),
            **_OF_A_TURN,
        },
    ),
    "history": Fields(required={"utterance": Text(["u1"]), "messages": _Messages(is_chat=False)}),
    "speech_start": Fields(),
    "speech_end": Fields(),
    "speech_cancel": Fields(),
    "interrupt": Fields(optional={"turn_id": Nullable(Text(["t1", "nobody"]))}),
    "playback": Fields(
        required={
            "turn_id": Text(["t1", "nobody"]),
            "index": Number(["0", "7"], ["-1", "0.5", "1e400"]),
            "ms": Number(["0", "120", "88.5"]),
            "state": OneOf(["started", "playing", "stopped"]),
        }
    ),
    "approval": Fields(
        required={"id": Text(["a1"]), "approved": Boolean()},
        optional={
            "reason": Text(["because"]),
            "arguments": Cases(["{}", '{"path": ["a", null]}'], [], types=("object",)),
            "remember": OneOf(["no", "conversation", "always"]),
        },
    ),
    "ping": Fields(required={"t": Number(["0", "12.5", "1e15"])}),
}
_REF = Text(["r1", "x" * 64, ""], bad_texts=["x" * 65, "x" * 100_000])
FRAMES: Mapping[str, Fields] = {
    kind: Fields(required=fields.required, optional={**fields.optional, "ref": _REF})
    for kind, fields in _FRAMES.items()
}
