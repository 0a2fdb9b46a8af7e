"""One turn: the planning round, the agent loop and the five timings (docs/hooks.md, "The turn").

The code follows the flow chart there line by line: what is inserted, what the
model reads, and what is taken out again.
"""

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count

from server.agent.chunks import HookRecord, LLMChunk
from server.agent.messages import Origin
from server.agent.model_call import ModelCalls, PlanningPrompt
from server.agent.prompts import PromptSet
from server.agent.reply import ModelReply, StreamGate, TagReader
from server.agent.tool_use import ToolUse
from server.agent.turn_context import TurnContext
from server.bounded.fair_share import FairShare, ShareFull
from server.errors import TurnError
from server.llm.language_model import Finished, Message, ModelRequest, ToolSpec
from server.wire.frames import ToolByName
from skills_engine import CallFacts, HookManager, Timing
from skills_engine.turn_sequence import HookFrame, TurnSequence


@dataclass(kw_only=True, eq=False)
class AgentTurn:
    turn: TurnContext
    prompts: PromptSet
    sequence: TurnSequence
    manager: HookManager
    calls: ModelCalls
    tools: Sequence[ToolSpec]
    tool_use: ToolUse
    threads: FairShare
    """Threads in which conditions search long texts."""
    model_name: str
    max_rounds: int
    _has_spoken: bool = False
    _needs_tools: bool = True  # unless the planning reply says otherwise
    _acknowledgement: str = ""

    async def run(self, *, planning: bool, has_tools: bool) -> None:
        await self._start()
        if not has_tools:
            self.turn.events.begin_round(1)
            await self._stream_reply(ModelRequest(purpose="direct"), ModelReply())
            await self._check_choice(())
        else:
            if planning and self.turn.settings.tool_choice == "auto" and not self.turn.conversation.answered:
                await self._plan()
            if self._needs_tools:
                await self._loop()
        if not self._has_spoken and not self.tool_use.is_handled and not self.tool_use.is_left_open:
            await self.turn.notify("reply_empty", "warning", "the model gave an empty reply; try again")
        await self.turn.out.put(*self.turn.tracer.end(self.sequence.silent_hooks()))

    async def _start(self) -> None:
        if self.turn.tracer.is_on or self.sequence.state is not None:
            record = HookRecord(
                state=lambda: self.sequence.state,
                not_fired=lambda: self.turn.tracer.not_fired(self.sequence.silent_hooks()),
            )
            await self.turn.out.put(LLMChunk(hook_record=record))
        if dropped := self.turn.conversation.dropped:
            text = f"{dropped} tool call(s) or result(s) without their counterpart were left out of the history"
            await self.turn.notify("tool_messages_unpaired", "warning", text)
        await self.turn.out.put(*self.turn.tracer.begin(self.manager.facts, self.manager.values))
        await self._search("after_user_input")
        await self._report_injected(self.sequence.start())
        if answered := self.turn.conversation.answered:
            await self.tool_use.take_outputs(answered)
            await self._end_batch()

    async def _search(self, *timings: Timing, calls: Sequence[CallFacts] = ()) -> None:
        """Search in threads what takes long for the next step, so that the event loop goes on. Raises TurnError."""
        try:
            for search in self.sequence.searches(*timings, calls=calls):
                await self.threads.in_thread(search)
        except ShareFull as error:
            raise TurnError("too_many_turns", str(error)) from None

    async def _end_batch(self) -> None:
        await self.turn.out.put(*self.turn.tracer.ran(self.tool_use.ran))
        await self._search("after_tool_call", calls=self.tool_use.ran)
        await self._report_injected(self.sequence.end_batch(self.tool_use.ran))

    async def _report_injected(self, persistent: Iterable[HookFrame], *, prompt: str = "") -> None:
        """Mark the origin of what a step has put in; the persistent hooks go to the client at this place (L1-29).

        `prompt` is the name of the built-in prompt, where the step put one in.
        """
        for message in reversed(self.turn.conversation.messages):
            if self.turn.conversation.knows(message):
                break
            self.turn.conversation.mark(message, self._origin(message, prompt))
        await self.turn.out.put(*(LLMChunk(hook=fired) for fired in persistent))
        await self.turn.out.put(*(LLMChunk(trace=event) for event in self.turn.tracer.changed(self.manager.changes)))
        if any(one.reason == "variables_full" for one in self.manager.not_fired):
            text = "a skill's variables have no room left in the state; a change of them was not applied"
            await self.turn.notify("variables_full", "warning", text, once=True)
        if self.manager.has_withheld_context:
            text = "hooks hold values of `context`, which clients that may not instruct cannot put into texts"
            await self.turn.notify("context_not_in_texts", "info", text, for_good=True)
        if self.manager.dropped_persistent:
            text = "the limit of persistent hooks for one turn is reached; further ones are not injected"
            await self.turn.notify("hook_limit_reached", "warning", text, once=True)

    def _origin(self, message: Message, prompt: str) -> Origin:
        hook = self.manager.origin(message)
        if hook is None:
            return Origin(kind="prompt", name=prompt)
        return Origin(kind="hook", hook=hook.name, skill=hook.skill, timing=hook.timing, persistent=hook.persistent)

    async def _plan(self) -> None:
        names = [tool.name for tool in self.tools]
        await self._search("before_planning")
        persistent = self.sequence.begin_planning(self.prompts.planning_prompt(names))
        await self._report_injected(persistent, prompt="planning_prompt")
        prompt = self.turn.conversation.messages[-1]
        head = TagReader()
        reply = ModelReply(head)
        request = ModelRequest(purpose="planning", tool_names=names)
        await self._stream_reply(
            request, reply, planning=PlanningPrompt(message=prompt, naming=self.prompts.planning_prompt)
        )
        self.sequence.end_planning()
        self._needs_tools = head.needs_tools
        self._acknowledgement = reply.content

    async def _loop(self) -> None:
        for number in count(1):
            is_last = number > self.max_rounds
            reply = ModelReply()
            await self._round(number, reply, is_last=is_last)
            if not reply.calls or is_last or self.tool_use.is_handled or self.tool_use.is_left_open:
                break
        self.sequence.end_loop()

    async def _round(self, number: int, reply: ModelReply, *, is_last: bool) -> None:
        self.turn.events.begin_round(number)
        if is_last:
            text = f"the limit of {self.max_rounds} rounds of tool calls is reached; answering with what is known"
            await self.turn.notify("max_rounds_reached", "warning", text)
        name, prompt = self._step_prompt(number, is_last=is_last)
        timings: tuple[Timing, ...] = ("before_each_agent", "before_first_agent")
        await self._search(*timings[: 2 if number == 1 else 1])
        await self._report_injected(self.sequence.begin_round(prompt), prompt=name)
        request = ModelRequest(
            tools=self.tools,
            tool_choice="none" if is_last else self.turn.settings.tool_choice if number == 1 else "auto",
            purpose="last" if is_last else "round",
            denied=self.tool_use.denied,
        )
        await self._stream_reply(request, reply, round_number=number)
        if number == 1:
            await self._check_choice(call.name for call in reply.calls)
        if reply.calls and not is_last:
            await self.tool_use.run(reply)
            if not self.tool_use.is_left_open:  # else after_tool_call follows when the outputs come (L1-26)
                await self._end_batch()
        self.sequence.end_round()

    async def _check_choice(self, called: Iterable[str]) -> None:
        """Say that the reply is not what the client's choice wanted, if so. `called`: the tools that it calls."""
        names, choice = set(called), self.turn.settings.tool_choice
        if choice not in ("auto", "none") and not (choice.name in names if isinstance(choice, ToolByName) else names):
            await self.calls.notify_choice_ignored()

    async def _stream_reply(
        self,
        request: ModelRequest,
        reply: ModelReply,
        *,
        planning: PlanningPrompt | None = None,
        round_number: int | None = None,
    ) -> None:
        gate = StreamGate(self.turn.hooks, self.turn.out, model=self.model_name, has_spoken=self._has_spoken)
        async with aclosing(self.calls.call(request, round_number=round_number, planning=planning)) as events:
            async for event in events:
                text, aside = reply.read(event)
                if aside:
                    await self.turn.out.put(*aside)
                if text:
                    await gate.pass_on(text)
                if isinstance(event, Finished):  # before the connection is read to its end, which may take a while
                    await self._end_reply(request, reply, gate)

    async def _end_reply(self, request: ModelRequest, reply: ModelReply, gate: StreamGate) -> None:
        text, aside = reply.end()
        await self.turn.out.put(*aside)
        await gate.pass_on(text)
        by_model = reply.calls
        await gate.close(reply)
        if request.purpose != "round" and (added := [call.name for call in reply.calls if call not in by_model]):
            text = f"a hook added tool calls where none are run ({request.purpose}): {', '.join(added)}"
            await self.turn.notify("tool_call_ignored", "warning", text)
        await self.turn.out.put(*self.turn.tracer.hook_reports())
        self._has_spoken |= gate.has_shown
        self.turn.events.llm_response(reply)

    def _step_prompt(self, number: int, *, is_last: bool) -> tuple[str, str]:
        """Return the name and the text of the step's built-in prompt."""
        if is_last:
            return "agent_loop_prompt", self.prompts.last_step
        if number == 1 and not self.turn.conversation.answered:
            return "first_step_prompt", self.prompts.first_step_prompt(self._acknowledgement)
        return "agent_loop_prompt", self.prompts.agent_loop
