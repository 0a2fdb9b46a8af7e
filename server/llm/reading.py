"""What the embedded model reads before it is asked: the beginning of a turn that is about to come. Pure.

Reading a prompt costs this model most of its time, and while somebody speaks it
has nothing to do. What it has read stays in its memory of prefixes; a guess that
was wrong has cost time that nobody waited for.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from server.llm.compact import EXAMPLES, Turn
from server.llm.types import Message

MAX_CHOICES: Final = 64


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What is known of a coming turn; `question` "" while the user still speaks."""

    system: str
    history: tuple[Message, ...]
    instructions: tuple[str, ...]
    """Those of the turn before: mostly the same hooks speak again."""
    question: str
    tool_names: tuple[str, ...]

    def begins(self, turn: Turn) -> bool:
        """Whether having read this helps with that turn."""
        return (
            self.system == turn.system
            and self.history == turn.history[: len(self.history)]
            and self.instructions in ((), turn.instructions)
            and self.question in ("", turn.question)
        )

    def messages(self) -> list[Message]:
        """As `answer_messages` begins, as far as it is known."""
        head: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        asked = "\n\n".join(filter(None, [*self.instructions, self.question]))
        return [*head, *EXAMPLES, *self.history, *([{"role": "user", "content": asked}] if asked else [])]


class Choices:
    """Decisions that were made, by prompt: asked the same again, the model says the same. The last 64 are kept."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, str] = OrderedDict()

    def find(self, prompt: str) -> str | None:
        if prompt in self._made:
            self._made.move_to_end(prompt)
        return self._made.get(prompt)

    def keep(self, prompt: str, choice: str) -> None:
        self._made[prompt] = choice
        while len(self._made) > MAX_CHOICES:
            self._made.popitem(last=False)
