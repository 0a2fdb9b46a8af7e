"""`<voice>…</voice>` in a reply: only what it encloses is said, and the tags are never shown. Pure.

Until a model reply holds its first tag everything is said; from then on only
what is tagged. At most seven characters are withheld to tell a tag from text.
"""

from collections import deque
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
        text = self._held + delta
        shown: list[str] = []
        at = 0
        while at < len(text):
            bracket = text.find("<", at)
            at = self._take(text, at, len(text) if bracket < 0 else bracket, shown)
            head = text[at : at + _LONGEST].lower()
            tag = next((tag for tag in _TAGS if head.startswith(tag)), None)
            if tag is not None:
                self._is_voiced = _TAGS[tag]
                at += len(tag)
            elif any(tag.startswith(head) for tag in _TAGS):
                break  # the end of the text, which may go on as a tag
            else:
                at = self._take(text, at, at + 1, shown)
        self._held = text[at:]
        return "".join(shown)

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

    def _take(self, text: str, start: int, end: int, shown: list[str]) -> int:
        """That part is no tag; returns `end`."""
        if start < end:
            shown.append(text[start:end])
            self._note(text[start:end])
        return end

    def _note(self, text: str) -> None:
        if not text:
            return
        length = 0
        if self._spans and self._spans[-1][1] is self._is_voiced:
            length, _ = self._spans.pop()
        self._spans.append((length + len(text), self._is_voiced))
