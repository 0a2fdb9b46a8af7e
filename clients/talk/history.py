"""The client's side of a conversation: what was said and heard, as the next `chat` sends it. Pure."""

from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]


@dataclass
class History:
    """Queued frames of a turn become messages when the turn ends, or is cut (docs/protocol.md, "Order").

    This client counts a sentence as heard when its end has arrived. It shows text as it comes, so that a reply which the
    user cuts by typing was read.
    """

    messages: list[Message] = field(default_factory=list)
    state: str | None = None
    """Memory of the server's hooks after the last turn in `messages`; each `chat` and `history` takes it along."""
    _turn: list[Message] = field(default_factory=list)
    _open: str = ""
    _unheard: str = ""  # text that was shown and is in no sentence that was heard
    _is_spoken: bool = False
    _turn_id: str | None = None  # of the turn that runs
    _is_nudged: bool = False  # no message of the user began it
    _cut_id: str | None = None  # of the one that was cut and whose `turn_end` has not come

    def user(self, text: str, *, is_typed: bool = False) -> None:
        """Append what the user says next; it cuts a turn that runs, of which typed words keep all that was shown."""
        if self._turn_id is not None:
            self._cut_id = self._turn_id
            self._flush(rollback=False, is_read=is_typed)
        self.messages.append({"role": "user", "content": text})

    def cut(self) -> None:
        """Keep what was heard of a turn whose end will not come; if it is not spoken, what was shown."""
        self._flush(rollback=False, is_read=not self._is_spoken)
        self._cut_id = None

    def take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "turn_end" and not frame.get("rollback"):
            self.state = frame.get("state", self.state)
        if frame.get("turn_id") is not None and frame["turn_id"] == self._cut_id:
            self._take_late(frame)
            return
        match frame["type"]:
            case "turn_start":
                self._turn_id, self._is_nudged = frame["turn_id"], frame.get("trigger") == "nudge"
            case "text":
                self._unheard += frame["delta"]
            case "sentence":
                self._open = frame["text"]
                self._is_spoken = self._is_spoken or frame.get("audio") is not None
            case "sentence_end":
                self._hear(self._open)
                self._open = ""
            case "hook":
                self._turn.append(_message_of(frame))
            case "turn_end":
                self._flush(rollback=bool(frame.get("rollback")))

    def _take_late(self, frame: dict[str, Any]) -> None:
        """Keep only the hooks of a turn that was cut, before the new user message: the model has read them."""
        if frame["type"] == "hook":
            self.messages.insert(len(self.messages) - 1, _message_of(frame))
        elif frame["type"] == "turn_end":
            self._cut_id = None

    def _hear(self, text: str) -> None:
        self._unheard = self._unheard.removeprefix(text)
        last = self._turn[-1] if self._turn else None
        if last is not None and last["role"] == "assistant":
            last["content"] += text
        elif text:
            self._turn.append({"role": "assistant", "content": text})

    def _flush(self, *, rollback: bool, is_read: bool = False) -> None:
        if is_read:
            self._hear(self._unheard)
        if rollback:
            while not self._is_nudged and self.messages and self.messages.pop()["role"] != "user":
                pass
        else:
            self.messages += self._turn
        self._turn = []
        self._open = self._unheard = ""
        self._is_spoken = False
        self._turn_id = None


def _message_of(hook: dict[str, Any]) -> Message:
    message = {"role": hook["role"], "content": hook["content"]}
    return message | {"_hook": hook["name"], "_skill": hook["skill"], "_sig": hook["sig"]}
