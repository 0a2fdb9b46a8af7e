"""Way from a client's request to the agent: messages are checked, and hooks, skills and tools of the turn added."""

import hmac
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from server import config
from server.agent.agent_client import TurnOptions
from server.agent.chunks import ChunkChannel, LLMChunk
from server.agent.messages import Verify, admit, attachments_of, last_reply, user_texts
from server.approval.asking import AskHuman
from server.errors import TurnError
from server.hooks.layers import NO_LAYERS, HookLayers, TurnLayers
from server.llm.language_model import Message
from server.session.settings import TurnRequest
from server.tools.client_tools import ClientTool
from skills_engine import HookFacts, HookInfo
from skills_engine.conditions.turn_facts import zone_of


class Agent(Protocol):
    """The agent, as a turn needs it; AgentClient is the real one."""

    @property
    def catalog_budget_tokens(self) -> int: ...

    @property
    def does_prefill(self) -> bool: ...

    @property
    def tool_names(self) -> Collection[str]: ...

    def prefill(self, messages: Sequence[Message], question: str, *, options: TurnOptions) -> None: ...

    async def answer(
        self,
        messages: Sequence[Message],
        hooks: Sequence[HookInfo],
        *,
        out: ChunkChannel,
        options: TurnOptions,
    ) -> None: ...


class ChatHandler:
    """Answers turns through the agent; keeps nothing of them, so one serves all connections."""

    def __init__(
        self,
        agent: Agent,
        *,
        verify: Verify,
        limits: config.LimitsSettings,
        model_ready: Callable[[], Awaitable[None]],
        layers: HookLayers | None = None,
        filler: config.FillerSettings | None = None,
        hook_tokens: int | None = None,
        draw_key: bytes = b"",
    ) -> None:
        """`hook_tokens`: most tokens of skills' hooks in one model call, or None for no limit.

        `draw_key`: the secret that decides what hooks draw at random.
        """
        self._agent = agent
        self._verify = verify
        self._limits = limits
        self._model_ready = model_ready
        self._layers = layers or HookLayers(config.HooksSettings())
        self.filler = filler or config.FillerSettings()
        self.hook_tokens = hook_tokens
        self._draw_key = draw_key

    @property
    def tool_names(self) -> Collection[str]:
        """Names of the server's tools, which no tool of a client may have."""
        return self._agent.tool_names

    def prefill(self, request: TurnRequest, words: str) -> None:
        """Let the model read the history while the user still speaks, and the words as far as they are known.

        Returns at once; a quicker turn is all that can be seen of it. What `answer` would refuse is left to it.
        """
        if not self._agent.does_prefill:
            return
        try:
            admitted = admit(request.messages, policy=request.system_messages, verify=self._verify)
        except TurnError:
            return
        self._agent.prefill(admitted.messages, words, options=self._options(request))

    async def answer(
        self,
        request: TurnRequest,
        out: ChunkChannel,
        *,
        ask: AskHuman | None = None,
        tools: Sequence[ClientTool] = (),
    ) -> None:
        """Let the agent answer into the channel. Raises what the agent raises, and TurnError.

        `ask` asks the user of the client; without it, what needs a human's yes is refused. `tools`: the client's.
        """
        admitted = admit(request.messages, policy=request.system_messages, verify=self._verify)
        await out.put(*(LLMChunk(notice=notice) for notice in admitted.notices))
        await self._model_ready()
        hooks = [*request.snapshot.hooks(request.skills), *request.extra_hooks]
        with self._layers.for_turn(request.facts, ask) as layers:  # a reload counts from the next turn
            options = self._options(request, tools, layers)
            await self._agent.answer(admitted.messages, hooks, out=out, options=options)

    def _options(
        self,
        request: TurnRequest,
        tools: Sequence[ClientTool] = (),
        layers: TurnLayers = NO_LAYERS,
    ) -> TurnOptions:
        catalog = request.snapshot.catalog(request.skills, budget_tokens=self._agent.catalog_budget_tokens)
        return TurnOptions(
            settings=request.settings,
            catalog=catalog.text,
            client_tools=tools,
            hooks_off=request.snapshot.hooks_off(request.skills) if request.settings.trace else (),
            costs=request.costs,
            notices=request.notices,
            max_persistent=self._limits.max_hook_frames_per_turn,
            facts=self.hook_facts(request),
            layers=layers,
        )

    def hook_facts(self, request: TurnRequest) -> HookFacts:
        """Return the facts of a turn that are known before the agent has it: all but its model and tools."""
        principal, context = request.principal, request.settings.context
        drawn = f"{request.session_id} {request.drawn_for}".encode()
        return replace(
            request.hook_facts,
            user_messages=user_texts(request.messages),
            last_reply=last_reply(request.messages, goes_on=request.trigger == "nudge"),
            attachments=attachments_of(request.messages),
            context=context,
            seed=hmac.digest(self._draw_key, drawn, "sha256").hex(),
            started_at=datetime.now().astimezone(zone_of(context)),
            language=request.settings.language,
            user=principal.account if principal.is_logged_in else None,
            is_operator=principal.is_operator,
            skills=frozenset(request.skills),
            hook_tokens=self.hook_tokens,
        )
