"""What before_llm makes of a model call, as the call is then made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server import config
from server.agent.messages import Conversation, Origin, find_violation
from server.hooks.interception.stages import LlmCall
from server.hooks.layers import TurnHooks
from server.llm.types import Message, ModelRequest, ToolSpec


@dataclass(frozen=True, kw_only=True)
class PlanningPrompt:
    """The message that names the tools, and how it reads with other names."""

    message: Message
    naming: Callable[[Sequence[str]], str]


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    request: ModelRequest
    messages: list[Message]
    """In place of the conversation, for this call."""


class Rewriter:
    """Asks the hooks of one turn."""

    def __init__(
        self, hooks: TurnHooks, conversation: Conversation, settings: config.LlmSettings, registered: Sequence[ToolSpec]
    ) -> None:
        self._hooks = hooks
        self._conversation = conversation
        self._options = dict(settings.options)
        if settings.max_tokens:
            self._options = {"max_tokens": settings.max_tokens, **self._options}
        self._registered = tuple(registered)
        self._names = frozenset(tool.name for tool in registered)

    async def rewrite(
        self, request: ModelRequest, messages: Sequence[Message], *, model: str, planning: PlanningPrompt | None
    ) -> Rewritten:
        """Raises TurnAborted. A planning call shows hooks the tools of the rounds to come, though it carries none."""
        tools = self._registered if planning is not None else request.tools
        call = LlmCall(model=model, messages=list(messages), tools=list(tools), options=self._options)
        result = await self._hooks.pipeline.before_llm(call, registered=self._names, check=find_violation)
        given = result.messages
        changes: dict[str, Any] = {"options": _differing(self._options, result.options)}
        if result.model != model:
            changes["model"] = result.model
        if planning is not None:
            names = [tool.name for tool in result.tools]
            changes["tool_names"] = names
            if names != [tool.name for tool in tools]:
                given = _with_prompt(given, planning, names)
        elif request.purpose != "direct":  # there no tools are wanted
            changes["tools"] = tuple(result.tools)
        for message in given:
            if not self._conversation.knows(message):
                self._conversation.mark(message, Origin(kind="process_hook"))
        return Rewritten(request=replace(request, **changes), messages=given)


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in after.items() if key not in before or before[key] != value}


def _with_prompt(messages: Sequence[Message], planning: PlanningPrompt, names: Sequence[str]) -> list[Message]:
    """The planning prompt names the tools as hooks left them, unless a hook wrote another prompt."""
    prompt = {**planning.message, "content": planning.naming(names)}
    return [prompt if message is planning.message else message for message in messages]
