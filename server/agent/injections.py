"""What is put into a turn's conversation beside its messages: hooks of skills, and the built-in prompts."""

from collections.abc import Iterator, Sequence

from server.agent.chunks import LLMChunk, NoticeGiven
from server.agent.messages import Conversation, Origin
from server.llm.types import Message
from skills_engine import HookInfo, HookManager


class Injections:
    def __init__(self, conversation: Conversation, hooks: Sequence[HookInfo], *, max_persistent: int) -> None:
        self._conversation = conversation
        self._hooks = HookManager(conversation.messages, list(hooks), max_persistent=max_persistent)
        self._cap_told = False

    def inject(self, timing: str, **kwargs: str) -> Iterator[LLMChunk]:
        """Insert the hooks of a timing; the persistent ones go to the client at this place (L1-29)."""
        messages = self._conversation.messages
        start = len(messages)
        persistent = self._hooks.inject(timing, **kwargs)
        for message in messages[start:]:
            hook = self._hooks.origin(message)
            assert hook is not None  # inject appends nothing else
            self._conversation.mark(
                message,
                Origin(kind="hook", hook=hook.name, skill=hook.skill, timing=timing, persistent=hook.persistent),
            )
        for fired in persistent:
            yield LLMChunk(hook=fired)
        if self._hooks.dropped_persistent and not self._cap_told:
            self._cap_told = True
            text = "the limit of persistent hooks for one turn is reached; further ones are not injected"
            yield LLMChunk(notice=NoticeGiven("hook_limit_reached", "warning", text))

    def remove(self, timing: str) -> None:
        self._hooks.remove(timing)

    def inject_prompt(self, name: str, content: str) -> Message:
        prompt = self._hooks.inject_prompt(content)
        self._conversation.mark(prompt, Origin(kind="prompt", name=name))
        return prompt

    def remove_prompt(self, prompt: Message) -> None:
        self._hooks.remove_prompt(prompt)
