"""Events of a client that create, delete, retrieve and truncate items. Pure."""

from collections.abc import Sequence
from typing import assert_never

from server.errors import FrameError
from server.realtime.client_events import (
    ItemCreate,
    ItemDelete,
    ItemReference,
    ItemRetrieve,
    ItemTruncate,
    NewItem,
)
from server.realtime.conversation_items import Item, ItemList, new_item
from server.realtime.server_events import Event, EventFactory

ItemEvent = ItemCreate | ItemDelete | ItemRetrieve | ItemTruncate


class ItemRequests:
    """Answers what a client asks of the items of its conversation."""

    def __init__(self, events: EventFactory, conversation: ItemList) -> None:
        self._events = events
        self._conversation = conversation

    def answer(self, event: ItemEvent) -> list[Event]:
        """Raises FrameError for an item that is not there or cannot be."""
        match event:
            case ItemCreate():
                return self._create(event)
            case ItemDelete():
                self._find(event.item_id, "item_delete_invalid_item_id")
                self._conversation.remove(event.item_id)
                return [self._events.event("conversation.item.deleted", item_id=event.item_id)]
            case ItemRetrieve():
                item = self._find(event.item_id, "item_retrieve_invalid_item_id")
                return [self._events.event("conversation.item.retrieved", item=item.shown(with_images=True))]
            case ItemTruncate():
                return [self._truncate(event)]
            case _:
                assert_never(event)

    def items_of(self, given: Sequence[NewItem | ItemReference], *, at: str) -> list[Item]:
        """Return the items that a response is to answer instead of the conversation's. Raises FrameError."""
        items = []
        for index, each in enumerate(given):
            if isinstance(each, ItemReference):
                found = self._conversation.get(each.id)
                if found is None:
                    raise FrameError("invalid_value", f"there is no item {each.id!r}", path=f"{at}[{index}].id")
                items.append(found)
            else:
                items.append(new_item(each, self._events.new_id("item"), at=f"{at}[{index}]"))
        self._conversation.check_input(items, at=at)
        return items

    def _create(self, event: ItemCreate) -> list[Event]:
        item = new_item(event.item, self._events.new_id("item"))
        if item.kind == "function_call_output" and not self._has_call(item.data["call_id"]):
            text = f"no function_call with the call_id {item.data['call_id'][:128]!r} is in the conversation"
            raise FrameError("item_create_unknown_call_id", text, path="item.call_id")
        self._conversation.insert(item, event.previous_item_id)
        placed = {"previous_item_id": self._conversation.before(item), "item": item.shown()}
        return [self._events.event(f"conversation.item.{what}", **placed) for what in ("added", "done")]

    def _has_call(self, call_id: str) -> bool:
        return any(
            item.kind == "function_call" and item.data["call_id"] == call_id for item in self._conversation.items
        )

    def _truncate(self, event: ItemTruncate) -> Event:
        item = self._find(event.item_id, "item_truncate_invalid_item_id")
        part = next(iter(item.data.get("content", ())), {"type": None})
        if part["type"] != "output_audio" or event.content_index != 0:
            text = "only the sound of an assistant's message can be truncated; it is content 0"
            raise FrameError("invalid_value", text, path="content_index" if event.content_index else "item_id")
        ms = item.truncate(event.audio_end_ms)
        self._conversation.count(item)
        place = {"item_id": item.id, "content_index": 0, "audio_end_ms": ms}
        return self._events.event("conversation.item.truncated", **place)

    def _find(self, item_id: str, code: str) -> Item:
        item = self._conversation.get(item_id)
        if item is None:
            text = f"there is no item {item_id[:128]!r} in the conversation"
            raise FrameError(code, text, path="item_id")
        return item
