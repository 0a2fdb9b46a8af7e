"""The batch of tool calls of one round: announced, run, and put into the conversation."""

import asyncio
import base64
import json
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from server.agent.chunks import LLMChunk, ToolStarted
from server.agent.messages import Origin, assistant_message, text_of_content
from server.agent.reply import ModelReply
from server.agent.turn_context import TurnContext
from server.llm.language_model import Message, ToolCall
from server.media.references import MediaError
from server.tools.executor import MAX_CALLS_PER_BATCH, ToolExecutor
from server.tools.tool_calls import ToolOutcome, TurnAborted
from server.tools.tool_run import parse_arguments
from skills_engine import CallFacts

logger = logging.getLogger(__name__)

_IMAGE_NOTE = "[Loaded image from tool result above]"


@dataclass(kw_only=True, eq=False)
class ToolUse:
    """Runs the tool calls of one turn, batch by batch, and appends them to the conversation."""

    turn: TurnContext
    executor: ToolExecutor
    ran: Sequence[CallFacts] = ()
    """The calls of the last batch as hooks look at them: in call order, by the tools that really ran (L1-27)."""
    denied: frozenset[str] = frozenset()
    """The ids of the turn's calls that a human, the policy or a hook refused."""
    is_left_open: bool = False
    """Whether a call of the last batch is left to the client, which ends the turn here."""
    is_handled: bool = False
    """Whether every call of the last batch says that the user has what was asked for."""

    async def run(self, reply: ModelReply) -> None:
        """Run the calls, then append call and results, nothing between them (L1-28). Raises TurnAborted.

        A batch with calls that are left to the client is not appended: it comes back, with their outputs, in another turn.
        """
        taken = self.turn.conversation.call_ids()
        calls = [_with_own_id(call, taken) for call in reply.calls]
        parsed = [parse_arguments(call.arguments) for call in calls]
        sendable = [replace(call, arguments=arguments.as_json) for call, arguments in zip(calls, parsed, strict=True)]
        asked = assistant_message(reply.content, sendable)
        shown = [await self.turn.hooks.conceal(args.value) for args in parsed]
        if any(now is not was.value for now, was in zip(shown, parsed, strict=True)):
            concealed = [replace(call, arguments=json.dumps(value)) for call, value in zip(calls, shown, strict=True)]
            self.turn.tracer.show_instead(asked, assistant_message(reply.content, concealed))
        for call, value in zip(calls, shown, strict=True):
            await self.turn.out.put(LLMChunk(tool_call=ToolStarted(call.id, call.name, value)))
        outcomes: list[ToolOutcome] = []
        try:
            async with aclosing(self.executor.run_batch(calls)) as batch:
                async for outcome in batch:
                    outcomes.append(outcome)
                    await self._report(outcome)
        except TurnAborted as aborted:
            for outcome in aborted.outcomes:
                await self._report(outcome)
            raise
        self.is_left_open = any(outcome.ending == "open" for outcome in outcomes)
        if self.is_left_open:
            return
        results = [
            {"role": "tool", "tool_call_id": done.id, "name": done.name, "content": done.content} for done in outcomes
        ]
        for message in (asked, *results, *await self._pictures(outcomes)):
            self.turn.conversation.append(message, Origin(kind="turn"))
        self.ran = [
            await self._call_facts(outcome, asked.value) for outcome, asked in zip(outcomes, parsed, strict=True)
        ]
        self.denied |= {outcome.id for outcome in outcomes if outcome.ending == "denied"}
        self.is_handled = all(outcome.is_handled for outcome in outcomes)

    async def take_outputs(self, answered: Sequence[tuple[ToolCall, Message]]) -> None:
        """Let hooks and policy see what the client's tools gave since the turn before; `ran` are then the answered calls.

        Of more than a batch may have, the rest counts as history.
        """
        self.ran = []
        for call, result in answered[:MAX_CALLS_PER_BATCH]:
            text = text_of_content(result["content"])
            outcome = await self.executor.take_output(call, text)
            if outcome is not None:
                self.turn.events.tool_ran(outcome)
                await self.turn.out.put(
                    *self.turn.tracer.hook_reports(), *(LLMChunk(media=item) for item in outcome.media)
                )
                if outcome.content != text:
                    result["content"] = text = outcome.content
            asked = parse_arguments(call.arguments).value
            outcome = outcome or ToolOutcome(id=call.id, name=call.name, content=text)
            self.ran = [*self.ran, await self._call_facts(outcome, asked)]

    async def _report(self, outcome: ToolOutcome) -> None:
        self.turn.events.tool_ran(outcome)
        await self.turn.out.put(*self.turn.tracer.hook_reports(), LLMChunk(tool_result=outcome))
        await self.turn.out.put(*(LLMChunk(media=item) for item in outcome.media))

    async def _call_facts(self, outcome: ToolOutcome, asked: Any) -> CallFacts:
        """Return the call as hooks see it (L1-42, L1-51)."""
        arguments = asked if outcome.arguments is None else outcome.arguments
        shown = await self.turn.hooks.conceal(arguments)
        return CallFacts(
            name=outcome.name,
            status="refused" if outcome.ending == "denied" else "error" if outcome.is_error else "ok",
            arguments=arguments if isinstance(arguments, dict) else {},
            result=outcome.content,
            concealed_arguments=shown if isinstance(shown, dict) and shown is not arguments else None,
        )

    async def _pictures(self, outcomes: Sequence[ToolOutcome]) -> list[Message]:
        """Build the message with the pictures of the results: a tool message holds text only."""
        store = self.turn.hooks.layers.media
        if store is None:
            return []
        parts = []
        for item in (item for outcome in outcomes if not outcome.is_handled for item in outcome.media):
            if not item.content_type.startswith("image/"):
                continue
            try:
                content_type, data = await store.open_image(item.ref)
            except MediaError as error:
                logger.info("the model does not see %s: %s", item.name, error)
                continue
            encoded = await asyncio.to_thread(base64.b64encode, data)  # up to 5 MiB
            url = f"data:{content_type};base64,{encoded.decode()}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        return [{"role": "user", "content": [{"type": "text", "text": _IMAGE_NOTE}, *parts]}] if parts else []


def _with_own_id(call: ToolCall, taken: set[str]) -> ToolCall:
    """Give the call an id of its own in the conversation: providers reuse ids or leave them out. Adds it to those taken."""
    call_id = wanted = call.id or "call"
    number = 1
    while call_id in taken:
        number += 1
        call_id = f"{wanted}_{number}"
    taken.add(call_id)
    return replace(call, id=call_id)
