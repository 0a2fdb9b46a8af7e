"""`<voice>…</voice>` in a reply: only what it encloses is said, and the tags are never shown. Pure.

Until a model reply holds its first tag everything is said; from then on only
what is tagged. At most seven characters are withheld to tell a tag from text.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

_TAGS: Final = {"<voice>": True, "</voice>": False}
_LONGEST: Final = max(map(len, _TAGS))


class VoiceTags:
    """Takes the tags out of a stream and remembers which characters were tagged."""

    def __init__(self) -> None:
        self._held = ""
        self._is_voiced = True
        self._spans: deque[tuple[int, bool]] = deque()  # of what was given out and not yet asked about

    def feed(self, delta: str) -> str:
        """The text to show, as far as it is certain."""
        self._held += delta
        return "".join(self._certain())

    def flush(self) -> str:
        """The reply is over: what was withheld was no tag."""
        held, self._held = self._held, ""
        self._note(held)
        return held

    def begin_reply(self) -> None:
        """After `flush`: what follows is another reply, which is said until it holds a tag of its own."""
        self._is_voiced = True

    def voiced(self, text: str) -> str | None:
        """Of the next slice of the text given out, what is to be said; None: all of it."""
        at, said = 0, []
        while at < len(text) and self._spans:
            length, is_voiced = self._spans.popleft()
            taken = min(length, len(text) - at)
            if taken < length:
                self._spans.appendleft((length - taken, is_voiced))
            if is_voiced:
                said.append(text[at : at + taken])
            at += taken
        spoken = "".join(said)
        return None if len(spoken) == len(text) else spoken

    def _certain(self) -> Iterator[str]:
        while self._held:
            before, bracket, rest = self._held.partition("<")
            if before:
                self._note(before)
                yield before
            self._held = bracket + rest
            if not bracket:
                return
            head = self._held[:_LONGEST].lower()
            tag = next((tag for tag in _TAGS if head.startswith(tag)), None)
            if tag is not None:
                self._is_voiced = _TAGS[tag]
                self._held = self._held[len(tag) :]
            elif any(tag.startswith(head) for tag in _TAGS):
                return
            else:
                self._note("<")
                yield "<"
                self._held = self._held[1:]

    def _note(self, text: str) -> None:
        if text:
            self._spans.append((len(text), self._is_voiced))
