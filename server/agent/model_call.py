"""One logical model call: fitted into the context, in the roles the model takes, checked, tried again.

Tried again only while nothing of the answer was yielded, so a retry repeats no
text and injects nothing (L1-32).
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from server import config
from server.agent.chunks import LLMChunk, NoticeGiven, emit
from server.agent.messages import Conversation, Origin, find_violation
from server.agent.prompt_fit import (
    MAX_IMAGES,
    Fitted,
    adapt,
    estimate_tokens,
    estimate_tools,
    fit,
    has_image,
    limit_images,
)
from server.agent.runtime_events import RuntimeEvents
from server.agent.trace import Tracer
from server.errors import ContextTooLong, ImageRefused, ProviderError, RoleRefused, ServerError
from server.hooks.layers import TurnHooks
from server.hooks.stages import LlmCall
from server.llm.language_model import (
    Finished,
    LanguageModel,
    LateSystem,
    Message,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolSpec,
)

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
MAX_RETRY_WAIT_S = 5.0
_FIRST_BACKOFF_S = 0.3
_REPLY_SHARE = 4  # a quarter of the context is kept for the reply where max_tokens does not say
_NATIVE_HOSTS = ("api.openai.com",)


@dataclass
class EndpointMemory:
    """What calls have taught about the endpoint; lasts as long as the process."""

    late_system: LateSystem | None = None
    budget_tokens: int | None = None
    is_blind: bool = False
    """It refused a picture because it was one."""


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


class ModelCalls:
    """The calls of one turn; `memory` is shared by all turns of the process."""

    def __init__(
        self,
        model: LanguageModel,
        settings: config.LlmSettings,
        memory: EndpointMemory,
        *,
        conversation: Conversation,
        tracer: Tracer,
        rewriter: Rewriter | None = None,
        events: RuntimeEvents | None = None,
        clock_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._model = model
        self._settings = settings
        self._memory = memory
        self._conversation = conversation
        self._tracer = tracer
        self._rewriter = rewriter
        self._events = events or RuntimeEvents(None)
        self._clock_s = clock_s
        self._said_trimmed = False
        self._said_unseen = False
        self._budget_tokens: int | None = None  # of this turn, once a call of it was too long
        self._limit_tokens: int  # what the last fitting had

    async def call(
        self, request: ModelRequest, *, round_number: int | None = None, planning: PlanningPrompt | None = None
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream the answer to the conversation as it stands; `request.messages` is filled in here.

        Hooks may rewrite the call once, whatever is tried again.
        The last event is Finished. What else belongs to the turn is emitted. Raises ProviderError and TurnAborted; closing the
        generator closes the provider's stream.
        """
        given: Fitted | None = None
        if self._rewriter is not None:
            await emit(LLMChunk(held=True), *self._limit_images(None))
            request, given = await self._rewrite(self._rewriter, request, planning)
            await emit(*self._tracer.hook_reports())
        for attempt in count(1):
            await emit(*self._limit_images(given))
            fitted = self._fitting(await self._fit(request, given))
            mode = late_mode(self._settings, self._model, self._memory)
            messages = _checked(adapt(fitted.messages, mode))
            sent = replace(request, messages=messages, question=self._conversation.question)
            await emit(
                *self._tracer.before_call(sent, fitted, mode=mode, round_number=round_number, attempt=attempt),
                *self._announce(sent, fitted, attempt),
            )
            is_answered = False
            first_token_ms: float | None = None
            started_s = self._clock_s()
            try:
                async with aclosing(self._model.stream(sent)) as events:
                    async for event in events:
                        is_answered = True
                        if first_token_ms is None and isinstance(event, (TextDelta, ToolCall)):  # reasoning is no token
                            first_token_ms = (self._clock_s() - started_s) * 1000
                        if isinstance(event, Finished):
                            total_ms = (self._clock_s() - started_s) * 1000
                            await emit(*self._tracer.after_call(event, first_token_ms, total_ms))
                        yield event
                return
            except ProviderError as error:
                if is_answered:
                    raise
                await emit(*self._learn(error, request, fitted, mode, attempt))
                wait_s = _wait_s(error, attempt)
                self._events.llm_retry(
                    attempt=attempt, most=MAX_ATTEMPTS, code=error.code, error=str(error), wait_s=wait_s
                )
                await asyncio.sleep(wait_s)

    async def _rewrite(
        self, rewriter: Rewriter, request: ModelRequest, planning: PlanningPrompt | None
    ) -> tuple[ModelRequest, Fitted]:
        shown = await self._fit(request)
        rewritten = await rewriter.rewrite(request, shown.messages, model=self._model.info.name, planning=planning)
        return rewritten.request, Fitted(rewritten.messages, shown.left_out)

    def _announce(self, sent: ModelRequest, fitted: Fitted, attempt: int) -> Iterator[LLMChunk]:
        """What user and observers are told before the call is made."""
        if fitted.left_out:
            dropped, remaining = len(fitted.left_out), len(fitted.messages)
            if not self._said_trimmed:
                self._said_trimmed = True
                yield _trimmed_notice(dropped)
            self._events.compressed(dropped=dropped, remaining=remaining, is_retry=attempt > 1)
        self._events.llm_request(
            sent,
            model=self._model.info.name,
            max_tokens=self._settings.max_tokens,
            options=self._settings.options,
        )
        yield LLMChunk(model_request=True)

    async def _fit(self, request: ModelRequest, given: Fitted | None = None) -> Fitted:
        """`given`: in place of the conversation, what a hook made of it. Whether it fits, the caller has to look."""
        known = [tokens for tokens in (self._memory.budget_tokens, self._budget_tokens) if tokens is not None]
        budget = min(known, default=None)
        if budget is None:
            context = self._settings.context_tokens or await self._model.context_tokens()
            if context is None:
                return Fitted(list(self._conversation.messages if given is None else given.messages), [])
            budget = context - (self._settings.max_tokens or context // _REPLY_SHARE)
        self._limit_tokens = budget
        budget -= estimate_tools(request.tools)
        if given is None:
            return fit(self._conversation, budget_tokens=budget)
        fitted = fit(self._conversation, budget_tokens=budget, messages=given.messages)
        return replace(fitted, left_out=[*given.left_out, *fitted.left_out])

    def _fitting(self, fitted: Fitted) -> Fitted:
        if fitted.fits:
            return fitted
        raise ContextTooLong(
            f"the message and what must go with it do not fit the context of {self._model.info.name} "
            f"({self._limit_tokens} tokens for the prompt); shorten it or use a model with a larger context"
        )

    def _limit_images(self, given: Fitted | None) -> Iterator[LLMChunk]:
        """In the conversation, and in what a hook has made of it. Says once what of this turn the model cannot see."""
        is_blind = self._memory.is_blind or self._model.sees_images is False
        limit = 0 if is_blind else MAX_IMAGES
        unseen = limit_images(self._conversation.messages, limit)
        if given is not None:
            unseen += limit_images(given.messages, limit)
        is_new = any(self._conversation.origin(message).kind in ("user", "turn") for message in unseen)
        if is_blind and is_new and not self._said_unseen:
            self._said_unseen = True
            yield _unseen_notice(self._model.info.name)

    def _learn(
        self, error: ProviderError, request: ModelRequest, fitted: Fitted, mode: LateSystem, attempt: int
    ) -> Iterator[LLMChunk]:
        """What the failed call teaches for the next; raises the error where it would fail again."""
        if attempt >= MAX_ATTEMPTS:
            raise error
        if isinstance(error, RoleRefused):
            if not self._may_change_roles(mode):
                raise error
            self._memory.late_system = "user"
            yield LLMChunk(notice=_roles_notice(self._model.info.name))
        elif isinstance(error, ImageRefused):
            if not any(map(has_image, fitted.messages)):
                raise error
            self._memory.is_blind = True
        elif isinstance(error, ContextTooLong):
            if self._budget_tokens is not None and attempt > 1:
                raise error
            self._learn_length(error, request, fitted)
        elif not error.is_retryable or _wait_s(error, attempt) > MAX_RETRY_WAIT_S:
            raise error
        else:
            logger.warning("model call failed (%s), trying again: %s", error.code, error)

    def _learn_length(self, error: ContextTooLong, request: ModelRequest, fitted: Fitted) -> None:
        """This turn goes by our estimate; all others only by what one turn's pictures cannot have falsified."""
        size = sum(estimate_tokens(m) for m in fitted.messages) + estimate_tools(request.tools)
        self._budget_tokens = min(error.limit_tokens or size, size) * 3 // 4
        if error.limit_tokens:
            self._memory.budget_tokens = error.limit_tokens * 3 // 4
        elif not any(map(has_image, fitted.messages)):
            self._memory.budget_tokens = self._budget_tokens
        logger.warning("the context was too long; the turn's prompts are kept to %d tokens", self._budget_tokens)

    def _may_change_roles(self, mode: LateSystem) -> bool:
        is_auto = self._settings.late_system == "auto" and self._model.late_system is None
        return is_auto and mode == "native" and self._model.info.host not in _NATIVE_HOSTS


def late_mode(settings: config.LlmSettings, model: LanguageModel, memory: EndpointMemory) -> LateSystem:
    """How system messages inside the conversation are sent now."""
    if settings.late_system != "auto":
        return settings.late_system
    return model.late_system or memory.late_system or "native"


class IllegalMessages(ServerError):
    """A list that no provider would take was about to be sent; a defect of ours or of a hook."""


def _checked(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    if violation := find_violation(messages):
        raise IllegalMessages(f"the message list is not legal: {violation}")
    return messages


def _wait_s(error: ProviderError, attempt: int) -> float:
    if isinstance(error, (RoleRefused, ImageRefused, ContextTooLong)):
        return 0.0
    if error.retry_after_ms is not None:
        return error.retry_after_ms / 1000
    return _FIRST_BACKOFF_S * 3.0 ** (attempt - 1)


def _trimmed_notice(count: int) -> LLMChunk:
    text = f"the conversation no longer fits the model: its {count} oldest messages were left out"
    return LLMChunk(notice=NoticeGiven("history_trimmed", "info", text))


def _unseen_notice(model: str) -> LLMChunk:
    text = f"{model} cannot see pictures; it is only told that there is one"
    return LLMChunk(notice=NoticeGiven("image_unseen", "warning", text))


def _roles_notice(model: str) -> NoticeGiven:
    text = f"{model} takes no system message inside a conversation; such messages are now sent as the user's, wrapped"
    return NoticeGiven("late_system_as_user", "info", text)
