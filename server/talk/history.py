"""The client's side of a conversation: what was said and heard, as the next `chat` sends it. Pure."""

from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]


@dataclass
class History:
    """Queued frames of a turn become messages when the turn ends, or is cut (docs/protocol.md, "Order").

    This client counts a sentence as heard when its end has arrived.
    """

    messages: list[Message] = field(default_factory=list)
    _turn: list[Message] = field(default_factory=list)
    _open: str = ""

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def take(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "sentence":
                self._open = frame["text"]
            case "sentence_end":
                self._hear(self._open)
                self._open = ""
            case "hook":
                hook = {"role": frame["role"], "content": frame["content"]}
                self._turn.append(hook | {"_hook": frame["name"], "_skill": frame["skill"], "_sig": frame["sig"]})
            case "turn_end":
                self._flush(rollback=bool(frame.get("rollback")))

    def _hear(self, text: str) -> None:
        last = self._turn[-1] if self._turn else None
        if last is not None and last["role"] == "assistant":
            last["content"] += text
        elif text:
            self._turn.append({"role": "assistant", "content": text})

    def _flush(self, *, rollback: bool) -> None:
        if rollback:
            while self.messages and self.messages.pop()["role"] != "user":
                pass
        else:
            self.messages += self._turn
        self._turn = []
        self._open = ""
