"""One logical model call: fitted into the context, in the roles the model takes, checked, tried again.

Tried again only while nothing of the answer was yielded, so a retry repeats no
text and injects nothing (L1-32).
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import msgspec

from server import config
from server.agent.chunks import LLMChunk
from server.agent.messages import Origin, find_violation
from server.agent.prompt_fit import (
    MAX_IMAGES,
    Fitted,
    adapt,
    defuse,
    estimate_tokens,
    estimate_tools,
    fit,
    has_image,
    limit_images,
)
from server.agent.turn_context import TurnContext
from server.errors import ContextTooLong, ImageRefused, ProviderError, RoleRefused, ServerError, ToolChoiceRefused
from server.hooks.stages import PLACEHOLDER_OPTIONS, LlmCall
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
from server.wire.frames import ToolByName, ToolChoice

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
MAX_RETRY_WAIT_S = 5.0
_FIRST_BACKOFF_S = 0.3
_REPLY_SHARE = 4  # a quarter of the context is kept for the reply where max_tokens does not say
_LIMITS = ("max_tokens", "max_completion_tokens")  # in llm.options
_NATIVE_HOSTS = ("api.openai.com",)


@dataclass
class EndpointMemory:
    """Facts that calls have taught about the endpoint; lasts as long as the process."""

    late_system: LateSystem | None = None
    budget_tokens: int | None = None
    is_blind: bool = False
    """Whether the endpoint refused a picture because it takes none at all."""
    refused_choices: set[str] = field(default_factory=set)
    """Kinds of `tool_choice` that the endpoint refused: `required`, `name`."""


@dataclass(frozen=True, kw_only=True)
class PlanningPrompt:
    """The message that names the tools, and how it reads with other names."""

    message: Message
    naming: Callable[[Sequence[str]], str]


class ModelCalls:
    """The calls of one turn; `memory` is shared by all turns of the process."""

    def __init__(
        self,
        model: LanguageModel,
        settings: config.LlmSettings,
        memory: EndpointMemory,
        context: TurnContext,
        *,
        tools: Sequence[ToolSpec] = (),
        clock_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._model = model
        self._settings, self._wishes = _limited(settings, model, context.settings.max_tokens)
        self._memory = memory
        self._turn = context
        self._tools = tools
        self._clock_s = clock_s
        self._mark = secrets.token_hex(8)  # one for the turn: its calls begin alike, so that prompts stay cached
        self._budget_tokens: int | None = None  # of this turn, once a call of it was too long
        self._limit_tokens = 0  # what the last fitting had

    async def call(
        self, request: ModelRequest, *, round_number: int | None = None, planning: PlanningPrompt | None = None
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream the answer to the conversation as it stands; `request.messages` is filled in here.

        Hooks may rewrite the call once, whatever is tried again. The last event is
        Finished; what else belongs to the turn is put into its channel. Raises ProviderError and
        TurnAborted; closing the generator closes the provider's stream.
        """
        request = replace(request, options=self._wishes)
        given: Fitted | None = None
        if self._turn.hooks.pipeline.has("before_llm"):
            await self._turn.out.put(LLMChunk(held=True))
            await self._limit_images(None)
            request, given = await self._rewrite(request, planning)
            await self._turn.out.put(*self._turn.tracer.hook_reports())
        for attempt in count(1):
            request = await self._with_possible_choice(request)
            await self._limit_images(given)
            fitted = await self._fit(request, given)
            if not fitted.fits:
                raise ContextTooLong(
                    f"the message and what must go with it do not fit the context of {self._model.info.name} "
                    f"({self._limit_tokens} tokens for the prompt); shorten it or use a model with a larger context"
                )
            mode = late_mode(self._settings, self._model, self._memory)
            messages = adapt(fitted.messages, mode, self._mark)
            if violation := find_violation(messages):
                raise IllegalMessages(f"the message list is invalid: {violation}")
            question = self._turn.conversation.question
            sent = replace(request, messages=messages, question=defuse(question) if mode == "user" else question)
            shown = self._turn.tracer.before_call(
                sent, fitted, mode=mode, mark=self._mark, round_number=round_number, attempt=attempt
            )
            await self._turn.out.put(*shown)
            await self._announce(sent, fitted, attempt)
            is_answered = False
            planned = ""
            first_token_ms: float | None = None
            started_s = self._clock_s()
            try:
                async with aclosing(self._model.stream(sent)) as events:
                    async for event in events:
                        is_answered = True
                        if first_token_ms is None and isinstance(event, (TextDelta, ToolCall)):  # reasoning is no token
                            first_token_ms = (self._clock_s() - started_s) * 1000
                        if request.purpose == "planning" and isinstance(event, TextDelta):
                            planned += event.text
                        if isinstance(event, Finished):
                            total_ms = (self._clock_s() - started_s) * 1000
                            await self._turn.out.put(
                                *self._turn.tracer.after_call(event, first_token_ms, total_ms, planned=planned)
                            )
                        yield event
                return
            except ProviderError as error:
                if is_answered:
                    raise
                await self._learn(error, request, fitted, mode, attempt)
                wait_s = _wait_s(error, attempt)
                self._turn.events.llm_retry(
                    attempt=attempt, most=MAX_ATTEMPTS, code=error.code, error=str(error), wait_s=wait_s
                )
                await asyncio.sleep(wait_s)

    async def _rewrite(self, request: ModelRequest, planning: PlanningPrompt | None) -> tuple[ModelRequest, Fitted]:
        """Let before_llm rewrite the call. Raises TurnAborted.

        A planning call shows hooks the tools of the rounds to come, though it carries none.
        """
        shown = await self._fit(request)
        model = self._model.info.name
        options = self._options_shown()
        tools = list(request.tools if planning is None else self._tools)
        result = await self._turn.hooks.pipeline.before_llm(
            LlmCall(
                model=model,
                messages=list(shown.messages),
                tools=tools,
                options=options,
                question=self._turn.conversation.question,
                origin_of=self._origin_of,
            ),
            registered={tool.name for tool in self._tools},
            check=find_violation,
        )
        messages = result.messages
        changed_options = {k: v for k, v in result.options.items() if k not in options or options[k] != v}
        if "max_tokens" in changed_options and self._settings.options.get("max_completion_tokens"):
            limit = changed_options.pop("max_tokens")  # an endpoint takes one of the two names
            changed_options.setdefault("max_completion_tokens", limit)
        request = replace(
            request, options={**self._wishes, **changed_options}, model=None if result.model == model else result.model
        )
        if planning is not None:
            names = [tool.name for tool in result.tools]
            request = replace(request, tool_names=names)
            if names != [tool.name for tool in tools]:  # unless a hook wrote another prompt, ours names the new ones
                prompt = {**planning.message, "content": planning.naming(names)}
                messages = [prompt if message is planning.message else message for message in messages]
        elif request.purpose != "direct":  # there no tools are wanted
            request = replace(request, tools=tuple(result.tools))
        for message in messages:
            if not self._turn.conversation.knows(message):
                self._turn.conversation.mark(message, Origin(kind="process_hook"))
        return request, replace(shown, messages=messages)

    def _options_shown(self) -> dict[str, Any]:
        """Return the options in force as hooks see them: with a number for each of PLACEHOLDER_OPTIONS."""
        placeholders = {**PLACEHOLDER_OPTIONS, **self._model.info.options}
        configured = self._settings.options
        limit = configured.get("max_completion_tokens") or self._settings.max_tokens or placeholders["max_tokens"]
        shown = {**placeholders, "max_tokens": limit, **configured}
        return shown | {name: placeholders[name] for name in PLACEHOLDER_OPTIONS if shown[name] is None}

    async def notify_choice_ignored(self) -> None:
        """Say, once a turn, that the client's choice of tools is not followed."""
        text = f"{self._model.info.name} did not call a tool as tool_choice wanted"
        await self._turn.notify("tool_choice_ignored", "warning", text, once=True)

    async def _with_possible_choice(self, request: ModelRequest) -> ModelRequest:
        """Leave the choice to the model where the tool is not there, or its endpoint has refused such a choice."""
        choice = request.tool_choice
        is_missing = isinstance(choice, ToolByName) and choice.name not in {tool.name for tool in request.tools}
        if not is_missing and _kind(choice) not in self._memory.refused_choices:
            return request
        await self.notify_choice_ignored()
        return replace(request, tool_choice="auto")

    def _origin_of(self, message: Message) -> Mapping[str, Any]:
        known = self._turn.conversation.knows(message)
        return (self._turn.conversation.origin(message) if known else Origin(kind="process_hook")).facts()

    async def _announce(self, sent: ModelRequest, fitted: Fitted, attempt: int) -> None:
        """Report the call to user and observers before it is made."""
        if dropped := len(fitted.left_out):
            text = f"the conversation no longer fits the model: its {dropped} oldest messages were left out"
            await self._turn.notify("history_trimmed", "info", text, once=True)
            self._turn.events.compressed(dropped=dropped, remaining=len(fitted.messages), is_retry=attempt > 1)
        settings, model = self._settings, self._model.info.name
        self._turn.events.llm_request(sent, model=model, max_tokens=settings.max_tokens, options=settings.options)
        await self._turn.out.put(LLMChunk(model_request=True))

    async def _fit(self, request: ModelRequest, given: Fitted | None = None) -> Fitted:
        """Fit the conversation, or what a hook made of it, into the context; `fits` says whether that succeeded."""
        known = [tokens for tokens in (self._memory.budget_tokens, self._budget_tokens) if tokens is not None]
        budget = min(known, default=None)
        if budget is None:
            context = self._settings.context_tokens or await self._model.context_tokens()
            if context is None:
                return Fitted(list(self._turn.conversation.messages if given is None else given.messages), [])
            budget = context - (self._settings.max_tokens or context // _REPLY_SHARE)
        self._limit_tokens = budget
        if not self._model.is_compact:
            budget -= estimate_tools(request.tools)
        if given is None:
            return fit(self._turn.conversation, budget_tokens=budget)
        fitted = fit(self._turn.conversation, budget_tokens=budget, messages=given.messages)
        shortened = [*(m for m in given.shortened if m not in fitted.shortened), *fitted.shortened]
        return replace(fitted, left_out=[*given.left_out, *fitted.left_out], shortened=shortened)

    async def _limit_images(self, given: Fitted | None) -> None:
        """Limit the images of the conversation and of what a hook made of it; report once what the model cannot see."""
        is_blind = self._memory.is_blind or self._model.sees_images is False
        limit = 0 if is_blind else MAX_IMAGES
        unseen = limit_images(self._turn.conversation.messages, limit)
        if given is not None:
            unseen += limit_images(given.messages, limit)
        is_new = any(self._turn.conversation.origin(message).kind in ("user", "turn") for message in unseen)
        if is_blind and is_new:
            text = f"{self._model.info.name} accepts no images; it is only told that there is one"
            await self._turn.notify("image_unseen", "warning", text, once=True)

    async def _learn(
        self, error: ProviderError, request: ModelRequest, fitted: Fitted, mode: LateSystem, attempt: int
    ) -> None:
        """Note what the failed call teaches for the next; raise the error where it would fail again."""
        if attempt >= MAX_ATTEMPTS:
            raise error
        match error:
            case RoleRefused() if self._may_change_roles(mode):
                self._memory.late_system = "user"
                text = (
                    f"{self._model.info.name} accepts no system message inside a conversation; "
                    "such messages are now sent as wrapped user messages"
                )
                await self._turn.notify("late_system_as_user", "info", text)
            case ImageRefused() if any(map(has_image, fitted.messages)):
                self._memory.is_blind = True
            case ToolChoiceRefused() if request.tool_choice not in ("auto", "none"):
                self._memory.refused_choices.add(_kind(request.tool_choice))
            case ContextTooLong() if self._budget_tokens is None or attempt == 1:
                self._learn_length(error, request, fitted)
            case RoleRefused() | ImageRefused() | ToolChoiceRefused() | ContextTooLong():
                raise error
            case _ if error.is_retryable and _wait_s(error, attempt) <= MAX_RETRY_WAIT_S:
                logger.warning("model call failed (%s), trying again: %s", error.code, error)
            case _:
                raise error

    def _learn_length(self, error: ContextTooLong, request: ModelRequest, fitted: Fitted) -> None:
        """Keep this turn to our estimate, and all others only to what one turn's pictures or limit cannot have falsified."""
        size = sum(estimate_tokens(m) for m in fitted.messages) + estimate_tools(request.tools)
        self._budget_tokens = min(error.limit_tokens or size, size) * 3 // 4
        if error.limit_tokens:
            self._memory.budget_tokens = error.limit_tokens * 3 // 4
        elif not self._wishes and not any(map(has_image, fitted.messages)):
            self._memory.budget_tokens = self._budget_tokens
        logger.warning("the context was too long; the turn's prompts are limited to %d tokens", self._budget_tokens)

    def _may_change_roles(self, mode: LateSystem) -> bool:
        is_auto = self._settings.late_system == "auto" and self._model.late_system is None
        return is_auto and mode == "native" and self._model.info.host not in _NATIVE_HOSTS


def _limited(
    settings: config.LlmSettings, model: LanguageModel, limit: int | None
) -> tuple[config.LlmSettings, dict[str, Any]]:
    """Return the settings and the fields of the request under the limit; both as they are where the operator's is no higher."""
    allowed = [settings.max_tokens or model.info.options.get("max_tokens"), *map(settings.options.get, _LIMITS)]
    if limit is None or any(isinstance(most, int) and most <= limit for most in allowed):
        return settings, {}
    options = {name: value for name, value in settings.options.items() if name not in _LIMITS}
    replaced = dict.fromkeys(settings.options.keys() & {_LIMITS[1]})  # None takes it out: one name is enough
    return msgspec.structs.replace(settings, max_tokens=limit, options=options), {**replaced, "max_tokens": limit}


def _kind(choice: ToolChoice) -> str:
    return choice if isinstance(choice, str) else "name"


def late_mode(settings: config.LlmSettings, model: LanguageModel, memory: EndpointMemory) -> LateSystem:
    if settings.late_system != "auto":
        return settings.late_system
    return model.late_system or memory.late_system or "native"


class IllegalMessages(ServerError):
    """A list that no provider would take was about to be sent; a defect of ours or of a hook."""


def _wait_s(error: ProviderError, attempt: int) -> float:
    if isinstance(error, (RoleRefused, ImageRefused, ToolChoiceRefused, ContextTooLong)):
        return 0.0
    if error.retry_after_ms is not None:
        return error.retry_after_ms / 1000
    return _FIRST_BACKOFF_S * 3.0 ** (attempt - 1)
