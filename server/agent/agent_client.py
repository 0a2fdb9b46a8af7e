"""`chat_stream`: the planning round, the agent loop and the five timings (seed 004 §5, HOOKS "The turn").

The text below follows the flow chart of the seed line by line: what is
inserted, what is taken out again, and what the model reads in between.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count

from server.agent.chunks import LLMChunk, NoticeGiven, ToolFinished, ToolStarted
from server.agent.messages import Conversation, Origin, assistant_message, tool_message
from server.agent.model_call import EndpointMemory, ModelCalls
from server.agent.prompts import COMPACT, FULL, PromptSet, system_prompt
from server.agent.roles import adapt
from server.agent.tags import TagReader, ThinkReader
from server.agent.trace import Tracer
from server.config import Agent as AgentSettings
from server.config import Llm as LlmSettings
from server.llm.types import (
    Finished,
    LanguageModel,
    Message,
    ModelEvent,
    ModelRequest,
    Purpose,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)
from server.tools.arguments import parse_arguments
from server.tools.executor import ToolExecutor
from server.tools.registry import ToolRegistry
from skills_engine import HookInfo, HookManager

REPLY_SEPARATOR = "\n\n"


@dataclass(frozen=True, kw_only=True)
class TurnOptions:
    """What a turn has beyond its messages, hooks and tools."""

    catalog: str = ""
    """The skills catalogue that the model reads."""
    language: str | None = None
    trace: bool = False
    max_persistent: int = 64
    """How many persistent hooks the turn injects at most (L1-30)."""


class AgentClient:
    """Answers turns, any number at once; keeps nothing of them."""

    def __init__(
        self, model: LanguageModel, executor: ToolExecutor, *, config: AgentSettings, llm: LlmSettings
    ) -> None:
        self._model = model
        self._executor = executor
        self._settings = config
        self._llm = llm
        self._memory = EndpointMemory()

    @property
    def prompts(self) -> PromptSet:
        return COMPACT if self._model.is_compact else FULL

    @property
    def catalog_budget_tokens(self) -> int:
        """How large a catalogue of skills this model can be given."""
        return self.prompts.catalog_budget_tokens

    def system_prompt(self, options: TurnOptions) -> str:
        """The head of every call of a turn; also what a local model is warmed up with."""
        return system_prompt(
            self.prompts, override=self._settings.system_prompt, catalog=options.catalog, language=options.language
        )

    @property
    def reads_ahead(self) -> bool:
        """Whether `read_ahead` does anything: only where every token takes time and none costs money."""
        return self._model.is_compact

    def read_ahead(
        self, messages: Sequence[Message], question: str, enable_tools: bool, *, options: TurnOptions
    ) -> None:
        """Let the model read what a turn that may come begins with; returns at once (`LanguageModel.read_ahead`).

        `messages` end before the user's new words, which `question` holds as far as they are known.
        """
        conversation = Conversation(self.system_prompt(options), messages)
        names = self._executor.registry.names if enable_tools and self._settings.planning else ()
        self._model.read_ahead(
            adapt(conversation.messages, self._model.late_system or "user"), question=question, tool_names=names
        )

    async def chat_stream(
        self,
        messages: Sequence[Message],
        hooks: Sequence[HookInfo],
        enable_tools: bool,
        *,
        options: TurnOptions | None = None,
    ) -> AsyncGenerator[LLMChunk, None]:
        """Answer the last user message, chunk by chunk, in the order in which things happen.

        `messages` is not changed. Raises ProviderError, also after text was
        yielded. Closing the generator, or cancelling the task that reads it,
        closes the model's stream and cancels the tools; nothing stays behind
        (L1-32).
        """
        options = options or TurnOptions()
        turn = _Turn(self, messages, hooks, options)
        has_tools = enable_tools and bool(turn.tools.specs)
        async with aclosing(turn.run(planning=self._settings.planning, has_tools=has_tools)) as chunks:
            async for chunk in chunks:
                yield chunk


@dataclass
class _Reply:
    """What one model call has answered so far."""

    text: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)


class _Turn:
    def __init__(
        self, client: AgentClient, messages: Sequence[Message], hooks: Sequence[HookInfo], options: TurnOptions
    ) -> None:
        self._prompts = client.prompts
        self._executor = client._executor.pinned()
        self._max_rounds = client._settings.max_rounds
        self._conversation = Conversation(client.system_prompt(options), messages)
        self._hooks = HookManager(self._conversation.messages, list(hooks), max_persistent=options.max_persistent)
        self._tracer = Tracer(self._conversation, hooks, is_on=options.trace)
        self._calls = ModelCalls(
            client._model, client._llm, client._memory, conversation=self._conversation, tracer=self._tracer
        )
        self._has_spoken = False
        self._needs_tools = True  # unless the planning reply says otherwise
        self._cap_told = False
        self._acknowledgement = ""
        self._call_ids: set[str] = set()

    @property
    def tools(self) -> ToolRegistry:
        """As they were when the turn began."""
        return self._executor.registry

    async def run(self, *, planning: bool, has_tools: bool) -> AsyncGenerator[LLMChunk, None]:
        for chunk in self._start():
            yield chunk
        if not has_tools:
            stages = [self._answer_directly()]
        elif planning:
            stages = [self._plan(), self._loop()]
        else:
            stages = [self._loop()]
        for stage in stages:
            async with aclosing(stage) as chunks:
                async for chunk in chunks:
                    yield chunk
        if not self._has_spoken:
            yield LLMChunk(notice=NoticeGiven("reply_empty", "warning", "the model gave an empty reply; try again"))
        for chunk in self._tracer.end():
            yield chunk

    def _start(self) -> Iterator[LLMChunk]:
        if dropped := self._conversation.dropped:
            text = f"{dropped} tool call(s) or result(s) without their counterpart were left out of the history"
            yield LLMChunk(notice=NoticeGiven("tool_messages_unpaired", "warning", text))
        yield from self._inject("after_user_input")

    async def _answer_directly(self) -> AsyncGenerator[LLMChunk, None]:
        async with aclosing(self._say(ModelRequest(messages=(), purpose="direct"), _Reply())) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _plan(self) -> AsyncGenerator[LLMChunk, None]:
        for chunk in self._inject("before_planning"):
            yield chunk
        names = self.tools.names
        prompt = self._inject_prompt("planning_prompt", self._prompts.planning_prompt(names))
        head = TagReader()
        reply = _Reply()
        request = ModelRequest(messages=(), purpose="planning", tool_names=names)
        async with aclosing(self._say(request, reply, head=head)) as chunks:
            async for chunk in chunks:
                yield chunk
        self._hooks.remove_prompt(prompt)
        self._hooks.remove("before_planning")
        self._needs_tools = head.needs_tools
        self._acknowledgement = "".join(reply.text)

    async def _loop(self) -> AsyncGenerator[LLMChunk, None]:
        if not self._needs_tools:
            return
        for number in count(1):
            is_last = number > self._max_rounds
            reply = _Reply()
            async with aclosing(self._round(number, reply, is_last=is_last)) as chunks:
                async for chunk in chunks:
                    yield chunk
            if not reply.calls or is_last:
                break
        self._hooks.remove("before_first_agent")
        self._hooks.remove("after_tool_call")

    async def _round(self, number: int, reply: _Reply, *, is_last: bool) -> AsyncGenerator[LLMChunk, None]:
        if is_last:
            text = f"the limit of {self._max_rounds} rounds of tool calls is reached; answering with what is known"
            yield LLMChunk(notice=NoticeGiven("max_rounds_reached", "warning", text))
        self._hooks.remove("before_each_agent")
        for chunk in self._inject("before_each_agent"):
            yield chunk
        if number == 1:
            for chunk in self._inject("before_first_agent"):
                yield chunk
        step = self._inject_step_prompt(number, is_last=is_last)
        purpose: Purpose = "last" if is_last else "round"
        request = ModelRequest(
            messages=(),
            tools=self.tools.specs,
            tool_choice="none" if is_last else "auto",
            purpose=purpose,
        )
        async with aclosing(self._say(request, reply, round_number=number)) as chunks:
            async for chunk in chunks:
                yield chunk
        if reply.calls and not is_last:
            async with aclosing(self._use_tools(reply)) as chunks:
                async for chunk in chunks:
                    yield chunk
        self._hooks.remove_prompt(step)

    async def _use_tools(self, reply: _Reply) -> AsyncGenerator[LLMChunk, None]:
        """Run the batch, append call and results, then let after_tool_call follow (L1-26, L1-28)."""
        calls = [self._with_own_id(call) for call in reply.calls]
        parsed = [parse_arguments(call.arguments) for call in calls]
        asked = assistant_message(
            "".join(reply.text), [(c.id, c.name, p.as_json) for c, p in zip(calls, parsed, strict=True)]
        )
        for call, arguments in zip(calls, parsed, strict=True):
            yield LLMChunk(tool_call=ToolStarted(call.id, call.name, arguments.value))
        results: list[Message] = []
        ran: list[str] = []
        async with aclosing(self._executor.run_batch(calls)) as outcomes:
            async for outcome in outcomes:
                results.append(tool_message(outcome.id, outcome.name, outcome.content))
                ran.append(outcome.name)
                yield LLMChunk(
                    tool_result=ToolFinished(
                        id=outcome.id,
                        name=outcome.name,
                        content=outcome.content,
                        is_error=outcome.is_error,
                        duration_ms=outcome.duration_ms,
                    )
                )
        for message in (asked, *results):
            self._conversation.append(message, Origin(kind="turn"))
        self._tracer.tools_ran += ran
        self._hooks.remove("after_tool_call")
        for name in ran:
            for chunk in self._inject("after_tool_call", tool_name=name):
                yield chunk

    async def _say(
        self,
        request: ModelRequest,
        reply: _Reply,
        *,
        head: TagReader | None = None,
        round_number: int | None = None,
    ) -> AsyncGenerator[LLMChunk, None]:
        """Make one model call and yield what of it is for the user; `reply` collects the rest."""
        think = ThinkReader()
        async with aclosing(self._calls.call(request, round_number=round_number)) as events:
            async for event in events:
                for chunk in self._read(event, reply, think, head):
                    yield chunk
        reasoning, text = think.end()
        if reasoning:
            yield LLMChunk(reasoning=reasoning)
        if head:
            text = head.feed(text) + head.end()
        for chunk in self._speak(text, reply):
            yield chunk
        if reply.text:
            self._has_spoken = True
            yield LLMChunk(reply_end=True)

    def _read(
        self, event: ModelEvent | LLMChunk, reply: _Reply, think: ThinkReader, head: TagReader | None
    ) -> Iterator[LLMChunk]:
        match event:
            case TextDelta(text):
                reasoning, text = think.feed(text)
                if reasoning:
                    yield LLMChunk(reasoning=reasoning)
                if text:
                    yield from self._speak(head.feed(text) if head else text, reply)
            case ReasoningDelta(text):
                yield LLMChunk(reasoning=text)
            case ToolCall():
                reply.calls.append(event)
            case Finished():
                yield LLMChunk(usage=event.usage)
                if event.reason == "length":
                    text = "the model's reply was cut off at its limit of tokens"
                    yield LLMChunk(notice=NoticeGiven("reply_cut", "warning", text))
            case LLMChunk():
                yield event

    def _speak(self, text: str, reply: _Reply) -> Iterator[LLMChunk]:
        if not reply.text:
            text = text.lstrip()  # white space alone, as some models put it before their calls, is no reply
        if not text:
            return
        if not reply.text and self._has_spoken:
            yield LLMChunk(text=REPLY_SEPARATOR)
        reply.text.append(text)
        yield LLMChunk(text=text)

    def _inject(self, timing: str, **kwargs: str) -> Iterator[LLMChunk]:
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

    def _inject_step_prompt(self, number: int, *, is_last: bool) -> Message:
        if is_last:
            return self._inject_prompt("agent_loop_prompt", self._prompts.last_step)
        if number == 1:
            return self._inject_prompt("first_step_prompt", self._prompts.first_step_prompt(self._acknowledgement))
        return self._inject_prompt("agent_loop_prompt", self._prompts.agent_loop)

    def _inject_prompt(self, name: str, content: str) -> Message:
        prompt = self._hooks.inject_prompt(content)
        self._conversation.mark(prompt, Origin(kind="prompt", name=name))
        return prompt

    def _with_own_id(self, call: ToolCall) -> ToolCall:
        """Providers reuse ids or leave them out; in a turn every call has its own."""
        call_id = wanted = call.id or "call"
        number = 1
        while call_id in self._call_ids:
            number += 1
            call_id = f"{wanted}_{number}"
        self._call_ids.add(call_id)
        return ToolCall(call_id, call.name, call.arguments)
