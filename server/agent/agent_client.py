"""The agent's door: `answer`, and `chat_stream` over it; the turn behind it stands in loop.py."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec import structs

from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven, streamed
from server.agent.costs import CostMeter
from server.agent.loop import AgentTurn
from server.agent.messages import Conversation
from server.agent.model_call import EndpointMemory, ModelCalls, late_mode
from server.agent.prompt_fit import adapt
from server.agent.prompts import COMPACT, FULL, PromptSet, system_prompt
from server.agent.tool_use import ToolUse
from server.agent.trace import Tracer
from server.agent.turn_context import RuntimeEvents, Status, TurnContext
from server.bounded.fair_share import FairShare
from server.config import AgentSettings, LlmSettings
from server.errors import Closed, ServerError
from server.hooks.layers import NO_LAYERS, TurnHooks, TurnLayers
from server.llm.language_model import LanguageModel, Message
from server.tools.client_tools import ClientTool
from server.tools.executor import ToolExecutor
from server.tools.registry import ToolRegistry
from server.tools.tool_calls import TurnAborted
from server.wire.frames import TurnSettings
from skills_engine import HookFacts, HookInfo, HookManager
from skills_engine.turn_sequence import TurnSequence

_SEARCH_THREADS: Final = 2
"""Threads in which conditions search long texts, one for each user."""


@dataclass(frozen=True, kw_only=True)
class TurnOptions:
    settings: TurnSettings = TurnSettings()  # noqa: RUF009  # frozen
    catalog: str = ""
    client_tools: Sequence[ClientTool] = ()
    max_persistent: int = 64
    """The most persistent hooks that the turn injects (L1-30)."""
    hooks_off: Sequence[HookInfo] = ()
    """Hooks of skills that are switched off, for the trace to name."""
    costs: CostMeter = field(default_factory=CostMeter)
    """Meter that compares, for the trace, the first model call with the last one of the turn before, if known."""
    notices: set[str] = field(default_factory=set)
    """Codes of the notices that the connection has been given once and for all."""
    facts: HookFacts = field(default_factory=HookFacts)
    """The facts of the turn that hooks ask for; its model and tools are added when it starts."""
    layers: TurnLayers = NO_LAYERS
    """Process hooks, policy and media."""


def prompts_for(model: LanguageModel) -> PromptSet:
    return COMPACT if model.is_compact else FULL


class ModelInUse:
    """A model, what was learnt about its endpoint, and the number of turns that answer with it."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.memory = EndpointMemory()
        self.turns = 0
        self.is_replaced = False
        self.unused = asyncio.Event()
        """Event that is set when the model is replaced and its last turn has ended."""

    def check(self) -> None:
        if self.is_replaced and not self.turns:
            self.unused.set()


class AgentClient:
    """Answers turns, any number at once; keeps nothing of them."""

    def __init__(
        self, model: LanguageModel, executor: ToolExecutor, *, config: AgentSettings, llm: LlmSettings
    ) -> None:
        self._current = ModelInUse(model)
        self._executor = executor
        self._settings = config
        self._llm = llm
        self._threads = FairShare(_SEARCH_THREADS, per_user=1, name="conditions")

    def use_model(self, model: LanguageModel) -> asyncio.Event:
        """Answer with this model from the next turn on. Return an event that is set when no turn uses the one before."""
        before, self._current = self._current, ModelInUse(model)
        before.is_replaced = True
        before.check()
        return before.unused

    @property
    def prompts(self) -> PromptSet:
        return prompts_for(self._current.model)

    @property
    def tool_names(self) -> Sequence[str]:
        """Names of the server's tools, which no tool of a client may have."""
        return self._executor.tool_names

    @property
    def catalog_budget_tokens(self) -> int:
        return self.prompts.catalog_budget_tokens

    def system_prompt(self, options: TurnOptions) -> str:
        """Build the head of every call of a turn; a local model is also warmed up with it."""
        settings = options.settings
        return system_prompt(
            self.prompts,
            settings,
            override=self._settings.system_prompt,
            catalog=options.catalog,
            tool_instructions=self._executor.instructions if settings.enable_tools else "",
        )

    @property
    def does_prefill(self) -> bool:
        """Return whether `prefill` does anything: only where every token takes time and none costs money."""
        return self._current.model.is_compact

    def prefill(self, messages: Sequence[Message], question: str, *, options: TurnOptions) -> None:
        """Let the model read the beginning of a turn that may come; returns at once (`LanguageModel.prefill`).

        `messages` end before the user's new words, which `question` holds as far as they are known.
        """
        conversation = Conversation(self.system_prompt(options), messages)
        names = self.tool_names if options.settings.enable_tools and self._settings.planning else ()
        mode = late_mode(self._llm, self._current.model, self._current.memory)
        messages = adapt(conversation.messages, mode, secrets.token_hex(8))
        self._current.model.prefill(messages, question=question, tool_names=names)

    def chat_stream(
        self,
        messages: Sequence[Message],
        hooks: Sequence[HookInfo],
        enable_tools: bool,
        *,
        options: TurnOptions | None = None,
    ) -> AsyncGenerator[LLMChunk, None]:
        """Answer the last user message, chunk by chunk, in the order in which things happen.

        `messages` is not changed. Raises ProviderError, also after text was
        yielded, and TurnAborted where a hook ends the turn. Closing the generator,
        or cancelling the task that reads it, closes the model's stream, cancels
        the tools and abandons hooks; nothing stays behind (L1-32).
        """
        options = options or TurnOptions()
        options = replace(options, settings=structs.replace(options.settings, enable_tools=enable_tools))
        return streamed(lambda out: self.answer(messages, hooks, out=out, options=options))

    async def answer(
        self,
        messages: Sequence[Message],
        hooks: Sequence[HookInfo],
        *,
        out: ChunkChannel,
        options: TurnOptions,
    ) -> None:
        """Answer as `chat_stream`, into a channel, in the caller's task: cancelling that ends everything."""
        used, context = self._current, self._context(messages, out, options)
        executor = self._executor.pinned(context.hooks, client_tools=options.client_tools)
        enable_tools = options.settings.enable_tools and options.settings.tool_choice != "none"
        turn = self._turn(used, context, executor, hooks, options, enable_tools=enable_tools)
        events = context.events
        events.turn_start(context.conversation.question, messages)
        status: Status = "aborted"
        used.turns += 1
        try:
            if enable_tools:
                await out.put(*_hidden(options.client_tools, executor.registry))
            has_tools = enable_tools and bool(turn.tools or context.hooks.pipeline.has("before_llm"))  # may add some
            await turn.run(planning=self._settings.planning, has_tools=has_tools)
            status = "completed"
        except TurnAborted as aborted:
            status = "aborted" if aborted.rollback else "error"
            await out.put(*context.tracer.hook_reports())  # what hooks did last
            raise
        except Closed:
            raise  # no failure: the turn is aborted
        except Exception as error:
            status = "error"
            events.failed("llm", str(error) if isinstance(error, ServerError) else type(error).__name__)
            raise
        finally:
            used.turns -= 1
            used.check()
            events.turn_end(status)

    def _context(self, messages: Sequence[Message], out: ChunkChannel, options: TurnOptions) -> TurnContext:
        settings, hooks = options.settings, TurnHooks(options.layers, is_traced=options.settings.trace)
        conversation = Conversation(self.system_prompt(options), messages)
        tracer = Tracer(conversation, hooks, is_on=settings.trace, hooks_off=options.hooks_off, costs=options.costs)
        events = RuntimeEvents(hooks)
        return TurnContext(
            settings=settings,
            out=out,
            conversation=conversation,
            hooks=hooks,
            tracer=tracer,
            events=events,
            given_for_good=options.notices,
        )

    def _turn(
        self,
        used: ModelInUse,
        context: TurnContext,
        executor: ToolExecutor,
        hooks: Sequence[HookInfo],
        options: TurnOptions,
        *,
        enable_tools: bool,
    ) -> AgentTurn:
        tools, info = executor.registry.specs, used.model.info
        names = frozenset(tool.name for tool in tools if enable_tools)
        facts = replace(options.facts, model=info.name, is_local=info.location == "local", tools=names)
        messages = context.conversation.messages
        manager = HookManager(messages, hooks, max_persistent=options.max_persistent, facts=facts)
        return AgentTurn(
            turn=context,
            prompts=self.prompts,
            sequence=TurnSequence(manager),
            manager=manager,
            calls=ModelCalls(used.model, self._llm, used.memory, context, tools=tools),
            tools=tools,
            threads=self._threads,
            tool_use=ToolUse(turn=context, executor=executor),
            model_name=info.name,
            max_rounds=self._settings.max_rounds,
        )


def _hidden(client_tools: Sequence[ClientTool], registry: ToolRegistry) -> Iterator[LLMChunk]:
    """Report the tools of the client whose names are taken: the server got tools of those names since it gave them."""
    for tool in client_tools:
        if registry.get(tool.name) is not tool:
            text = f"the server now has a tool {tool.name}, which is used instead of yours; give yours another name"
            yield LLMChunk(notice=NoticeGiven("client_tool_hidden", "warning", text))
