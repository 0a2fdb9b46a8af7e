"""Tags `<voice>…</voice>` in a reply: only the text between them is spoken, and they are never shown. Pure.

Until a model reply holds its first tag everything is spoken; from then on only
what is tagged. An opening tag may have attributes, which mean nothing. In code,
fenced or in backticks, a tag is text. What may become a tag is withheld, at most
MAX_ATTRIBUTES_CHARS and a few.
"""

import re
from collections import deque
from typing import Final

MAX_ATTRIBUTES_CHARS: Final = 128

_TAGS: Final = ("<voice>", "</voice>")
_ATTRIBUTES: Final = rf"[ \t][^<>\n]{{0,{MAX_ATTRIBUTES_CHARS}}}"
_TAG: Final = re.compile(rf"<(/?)voice({_ATTRIBUTES})?>", re.IGNORECASE)
_BEGUN_TAG: Final = re.compile(rf"</?voice{_ATTRIBUTES}", re.IGNORECASE)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_BACKTICKS: Final = re.compile("`+")
_MAX_HEAD_CHARS: Final = 32


class VoiceTags:
    """Takes the tags out of a stream and remembers which characters were tagged."""

    def __init__(self) -> None:
        self._held = ""
        self._is_voiced = True
        self._is_open = False
        self._code = _Code()  # of what was given out
        self._spans: deque[tuple[int, bool]] = deque()  # of what was given out and not yet passed to `voiced`

    def feed(self, delta: str) -> str:
        """Return the text to show, as far as it is certain."""
        text = self._held + delta
        shown: list[str] = []
        at = 0
        while at < len(text):
            bracket = text.find("<", at)
            at = self._take(text, at, len(text) if bracket < 0 else bracket, shown)
            if at == len(text):
                break
            tag = None if self._code.is_open else _tag(text, at)
            if tag is not None:
                self._turn(is_closing=tag[1] == "/")
                at += len(tag)
            elif not self._code.is_open and _may_become_tag(text, at):
                break
            else:
                at = self._take(text, at, at + 1, shown)
        self._held = text[at:]
        return "".join(shown)

    def flush(self) -> str:
        """Return what was withheld: the reply is over, so it was no tag."""
        held, self._held = self._held, ""
        self._record(held)
        return held

    def begin_reply(self) -> None:
        """Begin another reply, after `flush`; it is spoken until it holds a tag of its own."""
        self._is_voiced = True
        self._is_open = False
        self._code = _Code()

    def voiced(self, text: str) -> str | None:
        """Return the part to be spoken of the next slice of the text given out; None: all of it."""
        at, pieces = 0, []
        while at < len(text) and self._spans:
            length, is_voiced = self._spans.popleft()
            taken = min(length, len(text) - at)
            if taken < length:
                self._spans.appendleft((length - taken, is_voiced))
            if is_voiced:
                pieces.append(text[at : at + taken])
            at += taken
        spoken = "".join(pieces)
        return None if len(spoken) == len(text) else spoken

    def _turn(self, *, is_closing: bool) -> None:
        """Handle a tag. One that closes what was never opened changes nothing."""
        if self._is_open or not is_closing:
            self._is_voiced = self._is_open = not is_closing

    def _take(self, text: str, start: int, end: int, shown: list[str]) -> int:
        """Show that part, which is no tag; return `end`."""
        if start < end:
            shown.append(text[start:end])
            self._record(text[start:end])
            self._code.feed(text[start:end])
        return end

    def _record(self, text: str) -> None:
        if not text:
            return
        length = 0
        if self._spans and self._spans[-1][1] is self._is_voiced:
            length, _ = self._spans.pop()
        self._spans.append((length + len(text), self._is_voiced))


class _Code:
    """The code in a text: whether what follows stands in a fenced block, or between backticks on its line."""

    def __init__(self) -> None:
        self._fence: str | None = None  # what closes the block
        self._head = ""  # of the line: its first characters
        self._opener = 0  # backticks that opened code on this line; 0: it is closed
        self._run = 0  # backticks in a row at the very end

    @property
    def is_open(self) -> bool:
        """Whether it is code if no further backtick follows."""
        return self._fence is not None or self._opener_after_run() > 0 or _FENCE.match(self._head) is not None

    def feed(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self._end_line()
            self._head = (self._head + line[:_MAX_HEAD_CHARS])[:_MAX_HEAD_CHARS]
            line = "`" * self._run + line
            for found in _BACKTICKS.finditer(line):
                self._run = len(found[0])
                if found.end() < len(line):
                    self._opener, self._run = self._opener_after_run(), 0

    def _opener_after_run(self) -> int:
        return {0: self._run, self._run: 0}.get(self._opener, self._opener)

    def _end_line(self) -> None:
        if mark := _FENCE.match(self._head):
            if self._fence is None:
                self._fence = mark[1]
            elif mark[1].startswith(self._fence):
                self._fence = None
        self._head, self._opener, self._run = "", 0, 0


def _tag(text: str, at: int) -> str | None:
    found = _TAG.match(text, at)
    if found is None:
        return None
    attributes = (found[2] or "").strip()
    return found[0] if not attributes or ("=" in attributes and not found[1]) else None


def _may_become_tag(text: str, at: int) -> bool:
    head = text[at : at + len(_TAGS[1])].lower()
    return any(tag.startswith(head) for tag in _TAGS) or _BEGUN_TAG.fullmatch(text, at) is not None
