"""Items of a Realtime conversation: kept while the socket lives, bounded, changed by the client, read by a turn. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final, Literal

import msgspec

from server.errors import FrameError
from server.realtime import client_events as client
from server.realtime.server_events import Event, EventFactory
from server.realtime.session_config import SoundFormat, coding_of
from server.wire import frames as wire

MAX_IMAGE_CHARS: Final = 7_000_000
MIN_SOUND_MS: Final = 100
MAX_SOUND_MS: Final = 60_000
MAX_PICTURE_BYTES: Final = 16 << 20
"""All pictures of a conversation, as they are sent; they do not count as text."""
MAX_WAITING_SOUND_BYTES: Final = 16 << 20
"""Sound of items, as PCM, that may wait to be recognised when another item with sound comes."""
_OVERHEAD_BYTES: Final = 512  # of an item, beside its parts
_PART_BYTES: Final = 256  # of a part, beside its text
_IMAGE: Final = re.compile(r"data:image/(?:png|jpeg|webp);base64,(?P<data>[A-Za-z0-9+/]+={0,2})")
_WORD_END: Final = re.compile(
    r"(?<=\w)(?=\W)|(?<=\S)(?=\s)|(?<=[^\x00-\u2e7f])"
)  # after a word, after each character of CJK
_ALLOWED_PARTS: Final = {
    "system": ("input_text",),
    "user": ("input_text", "input_audio", "input_image"),
    "assistant": ("output_text", "output_audio"),
}


def word_ends(text: str) -> list[int]:
    """Return the places within a text where words end, none inside a character of several code points."""
    ends = (found.start() for found in _WORD_END.finditer(text))
    return [end for end in ends if 0 < end < len(text) and not _is_joined(text[end - 1], text[end])]


def _is_joined(before: str, after: str) -> bool:
    is_flag = min(before, after) >= "\U0001f1e6" and max(before, after) <= "\U0001f1ff"
    is_mark = unicodedata.category(after) in ("Mn", "Mc", "Me", "Sk", "Cf")  # accents, vowels, skin tones, joiners
    return is_flag or is_mark or before == "\u200d"


@dataclass(slots=True)
class SpokenPiece:
    """A sentence of a reply with its place in the sound of its item."""

    text: str
    start_ms: float
    duration_ms: float = 0.0
    words: Sequence[tuple[int, float]] = ()

    def heard(self, ms: float) -> str:
        """Return the text of which the first `ms` of the item's sound have been heard, back to a word."""
        heard_ms = ms - self.start_ms
        if heard_ms >= self.duration_ms:
            return self.text if heard_ms >= 0 else ""
        if heard_ms <= 0:
            return ""
        if self.words:
            begun = [offset for offset, start_ms in self.words if start_ms <= heard_ms]
            return self.text[: begun[-1] if begun else 0].rstrip()
        share = int(len(self.text) * heard_ms / self.duration_ms)
        ends = [end for end in word_ends(self.text) if end <= share]
        return self.text[: ends[-1] if ends else 0].rstrip()


@dataclass(frozen=True)
class ItemSound:
    """Sound of a client's item, PCM16 at `rate`, and the place of its words."""

    pcm: bytes
    rate: int
    content_index: int

    @property
    def ms(self) -> float:
        return len(self.pcm) / 2 * 1000 / self.rate


@dataclass(slots=True, eq=False)
class Item:
    """One item. `data` is what the client sees of it; the rest is ours."""

    data: dict[str, Any]
    utterance: str | None = None
    """Id of the utterance whose words the item has."""
    silence_ms: int | None = None
    """Silence that the item stands for, which the model reads as the user's message."""
    is_waiting: bool = False
    """Whether the item's words are still being recognised."""
    sound: ItemSound | None = None
    """Sound that is to be recognised, until its words are known."""
    failure: FrameError | None = None
    """Error that ended the recognition of the item's sound."""
    hook: wire.Message | None = None
    """The persistent hook that the item stands for, as it goes back to the model."""
    state: str | None = None
    """The hooks' memory after the turn that this item is the last of."""
    rounds: list[wire.Message] = field(default_factory=list)
    """Calls and results of our own tools in the turn that ended with this call, before its batch."""
    siblings: list[tuple[wire.MessageToolCall, str]] = field(default_factory=list)
    """Calls of our own tools in its batch, each with its result."""
    response_id: str | None = None
    pieces: list[SpokenPiece] = field(default_factory=list)
    audio_ms: float = 0.0
    counted_bytes: int = 0
    """Size of the item in bytes as the conversation has counted it."""
    message: wire.Message | None = None
    """Message that the model reads of it, kept until it changes."""
    is_cut: bool = False
    """Whether the item was truncated: what its reply goes on to say is not kept."""

    @property
    def id(self) -> str:
        return self.data["id"]  # type: ignore[no-any-return]  # an id of ours or of the client's

    @property
    def kind(self) -> str:
        return self.data["type"]  # type: ignore[no-any-return]  # one of three

    @property
    def role(self) -> str | None:
        return self.data.get("role")

    @property
    def text(self) -> str:
        """Words of the item: written, spoken or recognised."""
        parts = self.data.get("content", ())
        return "\n".join(words for part in parts if (words := part.get("text") or part.get("transcript")))

    @property
    def size(self) -> int:
        """Size of the item in bytes without its pictures, as the conversation's limit counts it."""
        parts = self.data.get("content", ())
        strings = [value for part in parts for name, value in part.items() if value and name != "image_url"]
        strings += [self.data.get("arguments", ""), self.data.get("output", "")]
        strings += [message.content for message in self.rounds if isinstance(message.content, str)]
        strings += [result for _, result in self.siblings]
        return _OVERHEAD_BYTES + _PART_BYTES * len(parts) + sum(map(len, strings))

    @property
    def picture_bytes(self) -> int:
        return sum(len(part.get("image_url", "")) for part in self.data.get("content", ()))

    def shown(self, *, with_images: bool = False) -> dict[str, Any]:
        """Return a copy for an event. Images, which the client has, only where it asks for the item."""
        copy = dict(self.data)
        if "content" in copy:
            hidden = () if with_images else ("image_url",)
            copy["content"] = [{k: v for k, v in part.items() if k not in hidden} for part in copy["content"]]
        return copy

    def truncate(self, ms: float) -> int:
        """Keep what was heard in the first `ms` of its sound; return that time, at most the length of the sound."""
        ms = min(max(0.0, ms), self.audio_ms)
        if ms < self.audio_ms or self.data["status"] == "in_progress":
            self.data["content"][0]["transcript"] = "".join(piece.heard(ms) for piece in self.pieces)
            self.audio_ms, self.is_cut = ms, True
            self.pieces = [piece for piece in self.pieces if piece.start_ms < ms]
        return int(ms)


class ItemList:
    """The items in their order, at most `max_items` of at most `max_bytes` in all, and what a client asks of them."""

    def __init__(self, events: EventFactory, *, max_items: int, max_bytes: int) -> None:
        self._events = events
        self._max_items = max_items
        self._max_bytes = max_bytes
        self.items: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self._bytes = 0  # sum of their counted_bytes
        self._picture_bytes = 0
        self._sound_bytes = 0  # that wait to be recognised

    @property
    def _most(self) -> str:
        return f"{self._max_items} items, {self._max_bytes} bytes of text and {MAX_PICTURE_BYTES >> 20} MiB of pictures"

    def _is_too_much(self, count: int, text_bytes: int, picture_bytes: int = 0) -> bool:
        return count > self._max_items or text_bytes > self._max_bytes or picture_bytes > MAX_PICTURE_BYTES

    def get(self, item_id: str) -> Item | None:
        return self._by_id.get(item_id)

    def before(self, item: Item) -> str | None:
        """Return the id before that item, which is in the conversation."""
        place = self.items.index(item)
        return self.items[place - 1].id if place else None

    def state(self) -> str | None:
        """Return the hooks' memory after the last turn."""
        return next((item.state for item in reversed(self.items) if item.state), None)

    def awaits_output(self) -> bool:
        """Return whether the last tool calls still wait for the client's output."""
        last = list(takewhile(lambda item: item.kind != "message", reversed(self.items)))
        answered = {item.data["call_id"] for item in last if item.kind == "function_call_output"}
        return any(item.data["call_id"] not in answered for item in last)

    def event(self, what: Literal["added", "done"], item: Item) -> Event:
        """Return the event for an item that is in the conversation."""
        return self._events.event(f"conversation.item.{what}", previous_item_id=self.before(item), item=item.shown())

    # --- events of the client; each raises FrameError for a missing or impossible item

    def delete(self, event: client.ItemDelete) -> Event:
        self._drop(self._find(event.item_id, "item_delete_invalid_item_id"))
        return self._deleted(event.item_id)

    def retrieve(self, event: client.ItemRetrieve) -> Event:
        item = self._find(event.item_id, "item_retrieve_invalid_item_id")
        return self._events.event("conversation.item.retrieved", item=item.shown(with_images=True))

    def items_of(
        self, given: Sequence[client.NewItem | client.ItemReference], sound: SoundFormat, *, at: str
    ) -> list[Item]:
        """Return the items that a response is to answer instead of the conversation's; `sound`: format of theirs.

        Raises FrameError, also for more than a conversation holds; each counts as often as it is there.
        """
        items: list[Item] = []
        for index, each in enumerate(given):
            if not isinstance(each, client.ItemReference):
                items.append(self._new(each, sound, at=f"{at}[{index}]"))
            elif (known := self.get(each.id)) is not None:
                items.append(known)
            else:
                raise FrameError("invalid_value", f"there is no item {each.id!r}", path=f"{at}[{index}].id")
        if self._is_too_much(len(items), sum(item.size for item in items), sum(item.picture_bytes for item in items)):
            text = f"a response reads at most {self._most}; leave some out"
            raise FrameError("input_too_large", text, path=at)
        return items

    def create(self, event: client.ItemCreate, sound: SoundFormat) -> tuple[Item, list[Event]]:
        """Add an item of the client's, whose sound has that format."""
        item = self._new(event.item, sound, at="item")
        call_ids = {each.data["call_id"] for each in self.items if each.kind == "function_call"}
        if item.kind == "function_call_output" and item.data["call_id"] not in call_ids:
            text = f"no function_call with the call_id {item.data['call_id'][:128]!r} is in the conversation"
            raise FrameError("item_create_unknown_call_id", text, path="item.call_id")
        self._insert(item, event.previous_item_id)
        return item, [self.event("added", item), self.event("done", item)]

    def _new(self, given: client.NewItem, sound: SoundFormat, *, at: str) -> Item:
        item = new_item(given, self._events.new_id("item"), sound, at=at)
        if item.sound is not None and self._sound_bytes > MAX_WAITING_SOUND_BYTES:
            text = "too much sound waits to be recognised; wait for words of items that you have sent"
            raise FrameError("too_much_sound", text, path=at)
        return item

    def count_sound(self, count: int) -> None:
        """Count bytes of sound that begin to wait to be recognised, or, below zero, that no longer do."""
        self._sound_bytes += count

    def truncate(self, event: client.ItemTruncate) -> Event:
        item = self._find(event.item_id, "item_truncate_invalid_item_id")
        part = next(iter(item.data.get("content", ())), {"type": None})
        if part["type"] != "output_audio" or event.content_index != 0:
            text = "only the sound of an assistant's message can be truncated; it is content 0"
            raise FrameError("invalid_value", text, path="content_index" if event.content_index else "item_id")
        ms = item.truncate(event.audio_end_ms)
        self.count(item)
        place = {"item_id": item.id, "content_index": 0, "audio_end_ms": ms}
        return self._events.event("conversation.item.truncated", **place)

    def _find(self, item_id: str, code: str) -> Item:
        if (item := self.get(item_id)) is None:
            text = f"there is no item {item_id[:128]!r} in the conversation"
            raise FrameError(code, text, path="item_id")
        return item

    def _insert(self, item: Item, after: str | None) -> None:
        """Add a client's item behind the item with the id `after`: at the end if that is None, first if "root".

        Raises FrameError where the place is unknown, the id is taken or the conversation is full.
        """
        if item.id in self._by_id:
            text = f"an item {item.id[:128]!r} is there already; use another id"
            raise FrameError("item_create_duplicate_item_id", text, path="item.id")
        pictures = self._picture_bytes + item.picture_bytes
        if self._is_too_much(len(self.items) + 1, self._bytes + item.size, pictures):
            text = f"the conversation holds at most {self._most}; delete some first (conversation.item.delete)"
            raise FrameError("conversation_full", text, path="item")
        place = len(self.items)
        if after == "root":
            place = 0
        elif after is not None:
            if after not in self._by_id:
                text = f"there is no item {after[:128]!r}"
                raise FrameError("item_create_invalid_previous_item_id", text, path="previous_item_id")
            place = self.items.index(self._by_id[after]) + 1
        self.items.insert(place, item)
        self._picture_bytes += item.picture_bytes
        self._by_id[item.id] = item
        self.count(item)

    # --- items of the server

    def append(self, item: Item) -> list[Event]:
        """Add an item of the server's; return events for those that had to go for it.

        They are the oldest, and one under the same id, which a client can foresee.
        """
        events = self.remove([item.id])
        while self.items and self._is_too_much(len(self.items) + 1, self._bytes + item.size):
            events += self.remove([self.items[0].id])
        self.items.append(item)  # whatever its size: the reply is being said
        self._by_id[item.id] = item
        self.count(item)
        return events

    def remove(self, item_ids: Iterable[str]) -> list[Event]:
        """Remove those items that are in the conversation, and return events for them."""
        events = []
        for item_id in item_ids:
            if (item := self._by_id.get(item_id)) is not None:
                self._drop(item)
                events.append(self._deleted(item_id))
        return events

    def _drop(self, item: Item) -> None:
        self._by_id.pop(item.id, None)
        self.items.remove(item)
        self._bytes -= item.counted_bytes
        self._picture_bytes -= item.picture_bytes

    def _deleted(self, item_id: str) -> Event:
        return self._events.event("conversation.item.deleted", item_id=item_id)

    def count(self, item: Item) -> None:
        """Measure an item that is new or has changed; one that is not in the conversation counts for nothing."""
        item.message = None
        if self._by_id.get(item.id) is item:
            self._bytes -= item.counted_bytes
            item.counted_bytes = item.size
            self._bytes += item.counted_bytes


def item_data(item_id: str, kind: str, *, status: str = "completed", **fields: Any) -> dict[str, Any]:
    """Return an item as the client sees it."""
    return {"id": item_id, "object": "realtime.item", "type": kind, "status": status, **fields}


def new_item(given: client.NewItem, item_id: str, sound: SoundFormat, *, at: str) -> Item:
    """Make an item of what the client gave, with sound of that format. Raises FrameError for content that cannot be kept."""
    item_id = given.id or item_id
    match given:
        case client.MessageItem():
            content = [_part(part, given.role, f"{at}.content[{i}]") for i, part in enumerate(given.content)]
            heard = _sound(given.content, sound, at)
            data = item_data(item_id, "message", role=given.role, content=content)
            return Item(data, is_waiting=heard is not None, sound=heard)
        case client.FunctionCallItem():
            call = {"name": given.name, "call_id": given.call_id or item_id, "arguments": given.arguments or "{}"}
            try:
                msgspec.json.decode(call["arguments"], type=dict[str, msgspec.Raw])
            except (msgspec.MsgspecError, RecursionError):
                raise FrameError("invalid_value", "a JSON object as text is expected", path=f"{at}.arguments") from None
            return Item(item_data(item_id, "function_call", **call))
        case client.FunctionOutputItem():
            return Item(item_data(item_id, "function_call_output", call_id=given.call_id, output=given.output))


def _part(part: client.ItemPart, role: str, at: str) -> dict[str, Any]:
    if part.type not in _ALLOWED_PARTS[role]:
        text = f"a message of role {role} holds {' or '.join(_ALLOWED_PARTS[role])}, not {part.type}"
        raise FrameError("invalid_value", text, path=f"{at}.type")
    match part.type:
        case "input_text" | "output_text":
            if part.text is None:
                raise FrameError("missing_required_parameter", "give its `text`", path=f"{at}.text")
            return {"type": part.type, "text": part.text}
        case "input_audio" | "output_audio":
            if part.transcript is None and (part.type == "output_audio" or part.audio is None):
                raise FrameError("missing_required_parameter", "give its `transcript`", path=f"{at}.transcript")
            return {"type": part.type, "transcript": part.transcript}
    url = part.image_url or ""
    found = _IMAGE.fullmatch(url) if len(url) <= MAX_IMAGE_CHARS else None
    if found is None or (found.end() - found.start("data")) % 4:
        text = "send the image itself, as a data: URL (PNG, JPEG, WebP; base64) of at most 5 MiB: no address is fetched"
        raise FrameError("invalid_value", text, path=f"{at}.image_url")
    return {"type": part.type, "image_url": url, "detail": part.detail or "auto"}


def _sound(parts: Sequence[client.ItemPart], sound: SoundFormat, at: str) -> ItemSound | None:
    """Return the sound that is to be recognised, if a part has some without its words."""
    coding = coding_of(sound)
    sounds: list[ItemSound] = []
    for index, part in enumerate(parts):
        if part.audio is None or part.type != "input_audio" or part.transcript is not None:
            continue
        try:
            sounds.append(ItemSound(coding.decode(part.audio), coding.rate, index))
        except FrameError as error:
            raise FrameError(error.code, str(error), path=f"{at}.content[{index}].audio") from None
    if len(sounds) > 1 or (sounds and not MIN_SOUND_MS <= sounds[0].ms <= MAX_SOUND_MS):
        text = f"a message has at most one piece of sound without `transcript`, of {MIN_SOUND_MS} ms to {MAX_SOUND_MS // 1000} s"
        raise FrameError("invalid_value", text, path=f"{at}.content")
    return sounds[0] if sounds else None


def messages_of(items: Sequence[Item]) -> list[wire.Message]:
    """Return the history that the items are; a call without its output is left out, and an output without its call."""
    outputs = {item.data["call_id"]: item for item in items if item.kind == "function_call_output"}
    messages: list[wire.Message] = []
    batch: list[Item] = []  # neighbouring calls of one response
    for item in items:
        if batch and (item.kind != "function_call" or item.response_id != batch[0].response_id):
            messages += _answered(batch, outputs)
            batch = []
        if item.kind == "function_call":
            batch.append(item)
        elif item.kind == "message" and (message := item.message or _message_of(item)) is not None:
            messages.append(message)
    return [*messages, *_answered(batch, outputs)]


def _answered(batch: Sequence[Item], outputs: dict[str, Item]) -> Iterator[wire.Message]:
    """Yield the calls that have an output, with what belongs to them. An output answers one call, the first."""
    answered = [
        (message_call(call.data["call_id"], call.data["name"], call.data["arguments"]), output.data["output"])
        for call in batch
        if (output := outputs.pop(call.data["call_id"], None)) is not None
    ]
    if answered:
        for call in batch:
            yield from call.rounds
        yield from round_of([*(sibling for call in batch for sibling in call.siblings), *answered])


def round_of(calls: Sequence[tuple[wire.MessageToolCall, str]]) -> list[wire.Message]:
    """Return the message that makes the calls, and their results right behind it."""
    results = [wire.Message(role="tool", tool_call_id=call.id, content=result) for call, result in calls]
    return [wire.Message(role="assistant", tool_calls=[call for call, _ in calls]), *results]


def message_call(call_id: str, name: str, arguments: str) -> wire.MessageToolCall:
    return wire.MessageToolCall(id=call_id, function=wire.FunctionCall(name=name, arguments=arguments))


def _message_of(item: Item) -> wire.Message | None:
    """Return the message that an item is, if it has words."""
    if item.hook is not None:
        return item.hook
    role: wire.Role = item.data["role"]
    content: str | list[wire.TextPart | wire.ImagePart] = item.text
    if item.silence_ms is not None:
        content = f"(The user has said nothing for {item.silence_ms / 1000:g} seconds.)"
    if any(part["type"] == "input_image" for part in item.data["content"]):
        content = [
            wire.ImagePart(image_url=wire.ImageUrl(url=part["image_url"]))
            if part["type"] == "input_image"
            else wire.TextPart(text=part.get("text") or part.get("transcript") or "")
            for part in item.data["content"]
        ]
    message = wire.Message(role=role, content=content) if content else None
    if item.data["status"] != "in_progress":
        item.message = message
    return message
