"""What the embedded model reads before it is asked: the beginning of a turn that is about to come. Pure.

Reading a prompt costs this model most of its time, and while somebody speaks it
has nothing to do. What it has read stays in its memory of prefixes; a guess that
was wrong has cost time that nobody waited for.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from server.llm.compact import EXAMPLES, Turn
from server.llm.types import Message

MAX_CHOICES: Final = 64


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What is known of a coming turn; `question` "" while the user still speaks."""

    system: str
    history: tuple[Message, ...]
    question: str
    tool_names: tuple[str, ...]

    def begins(self, turn: Turn) -> bool:
        """Whether having read this helps with that turn."""
        return (
            self.system == turn.system
            and self.history == turn.history[: len(self.history)]
            and self.question in ("", turn.question)
        )

    def messages(self) -> list[Message]:
        """As `answer_messages` begins, as far as it is known."""
        head: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        asked: list[Message] = [{"role": "user", "content": self.question}] if self.question else []
        return [*head, *EXAMPLES, *self.history, *asked]


class Choices:
    """Decisions that were made: asked the same again, the model says the same. The last 64 are kept."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, Any] = OrderedDict()

    def find(self, messages: Sequence[Message]) -> tuple[Any] | None:
        """The decision in a tuple, as None is one too."""
        key = repr(messages)
        if key not in self._made:
            return None
        self._made.move_to_end(key)
        return (self._made[key],)

    def keep(self, messages: Sequence[Message], choice: Any) -> None:
        self._made[repr(messages)] = choice
        while len(self._made) > MAX_CHOICES:
            self._made.popitem(last=False)
