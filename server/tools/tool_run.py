"""One tool call, from the model's text to the outcome that the model reads."""

import asyncio
import logging
import re
import time
import traceback
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from server import config
from server.bounded.fair_share import ShareFull
from server.errors import ToolError, is_cancelled
from server.hooks.layers import TurnHooks
from server.hooks.pipeline import EditedArguments
from server.hooks.stages import Deny, Hook, Respond, ToolRan
from server.llm.language_model import ToolCall
from server.media.references import MediaError
from server.media.store import MediaItem
from server.tools.client_tools import ClientTool
from server.tools.registry import OfferedTool, ToolRegistry
from server.tools.tool_calls import MAX_EDITS, Ending, ToolAnswer, ToolInvocation, ToolOutcome, TurnAborted

logger = logging.getLogger(__name__)

MAX_ERROR_BYTES: Final = 8192
MAX_MEDIA: Final = 16
"""The most references of one result that are read."""
_UNUSED: Final = "It ran. A hook then ended the turn, so its result was not used."
_CUT_NOTE = re.compile(r"\n\(truncated, (\d+) lines left(?:; go on with offset (\d+))?\)\Z")


@dataclass(frozen=True)
class Arguments:
    """The model's text, parsed. `problem` says why it is not JSON; then `value` is that text."""

    text: str
    value: Any
    problem: str | None = None

    @property
    def as_json(self) -> str:
        """Text for a message list: many chat templates fail on anything but an object."""
        return self.text if isinstance(self.value, dict) and self.text.strip() else "{}"


def parse_arguments(text: str) -> Arguments:
    """Read the arguments of a call; an empty text means none."""
    if not text.strip():
        return Arguments(text, {})
    try:
        return Arguments(text, msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Arguments(text, text, str(error))


class ToolRun:
    """A call on its way through the stages, which stand here in their order (docs/hooks.md).

    First `prepare`, where a human may be asked; then `execute`, or `refuse` with
    what `prepare` returned. Each gives the one outcome of the call.
    """

    def __init__(
        self, call: ToolCall, *, registry: ToolRegistry, settings: config.ToolsSettings, hooks: TurnHooks
    ) -> None:
        self.call = call
        self._registry = registry
        self._settings = settings
        self._hooks = hooks
        self._name = call.name
        self._parsed: Any = None  # the model's arguments
        self._arguments: Any = None  # as they are now
        self._tool: OfferedTool | None = None
        self._answered: Respond | None = None  # by a hook, in the tool's place
        self._output: ToolAnswer | None = None  # of a tool that has run before this turn
        self._error_type = ""  # of a run that failed
        self.outcome: ToolOutcome | None = None
        """Outcome of the call, once policy and observers know it."""

    # before the run

    async def prepare(self) -> ToolOutcome | None:
        """Pass every stage before the run; return the refusal, or None if the call may run. Raises TurnAborted."""
        refusal = self._parse()
        if refusal is None and self._hooks.pipeline.has("before_tool"):
            refusal = await self._pass_before_tool()
        refusal = refusal or self._find_tool()
        return refusal or await self._authorize()

    def _parse(self) -> ToolOutcome | None:
        parsed = parse_arguments(self.call.arguments)
        self._parsed = self._arguments = parsed.value
        if parsed.problem is None:
            return None
        return self.refusal(f"the arguments are not JSON ({parsed.problem}); call again with a JSON object")

    async def _pass_before_tool(self) -> ToolOutcome | None:
        if not isinstance(self._arguments, dict):
            return None  # the next stage refuses it
        self._tool = self._registry.get(self._name)  # the model's; a hook may name another
        match await self._hooks.pipeline.before_tool(self._invocation()):
            case Deny(reason=text):
                return self.refusal(text, "denied")
            case Respond() as answered:
                self._answered = answered  # to the call as the model made it, whatever earlier hooks made of it
            case ToolInvocation(name=name, arguments=arguments):
                self._name, self._arguments = name, arguments
        return None

    def _find_tool(self) -> ToolOutcome | None:
        """Find the tool that will run and check the arguments against its schema.

        A hook's answer needs no tool, and the answer to a tool of its own no schema.
        """
        self._tool = self._registry.get(self._name)
        if self._is_free:
            return None
        if self._tool is not None:
            return self._check_schema()
        if self._answered is not None and isinstance(self._arguments, dict):
            return None
        if (hook := self._hooks.pipeline.injector(self._name)) is not None:
            return self.refusal(f"{self._name} did not run: the hook {hook}, which provides it, gave no result")
        outcome = self.refusal(f"there is no tool {self._name}; there are: {', '.join(self._registry.names)}")
        return replace(outcome, name=self.call.name)  # a hook may have written anything, and providers refuse odd names

    def _check_schema(self) -> ToolOutcome | None:
        if self._tool is None:
            return None
        misfit = self._tool.explain_misfit(self._arguments)
        if misfit is None and not isinstance(self._arguments, dict):
            misfit = "an object is expected"
        return self.refusal(f"the arguments do not fit {self._name}: {misfit}") if misfit else None

    @property
    def _is_free(self) -> bool:
        """Whether a hook answers that needs no approval: for a tool that it brought along itself."""
        if self._answered is None:
            return False
        if self._hooks.layers.respond_policy == "any":
            return True
        return self._tool is None and self._hooks.pipeline.injector(self._name) == self._answered.hook

    async def _authorize(self) -> ToolOutcome | None:
        """Ask the policy, then the approvers; all of it again when one of them changes the arguments."""
        if self._is_free:
            return None
        hooks = self._hooks
        editor: Hook | None = None
        for _ in range(MAX_EDITS + 1):
            if (refusal := await self._pass_policy()) is not None:
                return refusal
            if not hooks.pipeline.has("approve_tool"):
                return None
            shown = await hooks.conceal(self._arguments)
            asked = replace(self._invocation(), shown=None if shown is self._arguments else shown)
            match await hooks.pipeline.approve_tool(asked, editor=editor):
                case None:
                    return None
                case Deny(reason=text):
                    return self.refusal(text, "denied")
                case EditedArguments(editor=editor, call=edited):
                    self._arguments = edited.arguments
            if (refusal := self._check_schema()) is not None:
                return refusal
        return self.refusal("not run: its arguments were changed too often during approval", "denied")

    async def _pass_policy(self) -> ToolOutcome | None:
        if self._hooks.policy is None:
            return None
        match await self._hooks.policy.before(self._invocation()):
            case ToolOutcome() as refusal:
                return refusal
            case ToolInvocation(arguments=arguments) if arguments != self._arguments:
                self._arguments = arguments
                return self._check_schema()
        return None

    # the run and what follows it

    async def execute(self) -> ToolOutcome:
        """Run the tool, or take the hook's answer; then after_tool, media, policy. Raises TurnAborted."""
        started_s = time.perf_counter()
        await self._emit_start()
        ending: Ending = "answered"
        duration_ms = 0.0
        aborted: TurnAborted | None = None
        if self._answered is not None:
            answer = self._answered.answer
        else:
            answer, ending = await self._run_tool()
            duration_ms = round((time.perf_counter() - started_s) * 1000, 3)
            if self._hooks.pipeline.has("after_tool"):
                ran = ToolRan(name=self._name, arguments=self._arguments, answer=answer, duration_ms=duration_ms)
                try:
                    answer = await self._hooks.pipeline.after_tool(ran)
                except TurnAborted as error:  # the call has run all the same, and is recorded so
                    aborted, answer = error, ToolAnswer(for_llm=_UNUSED, is_error=answer.is_error)
        media: tuple[MediaItem, ...] = ()
        if answer.media:
            media, answer = await self._register_media(answer)
        outcome = ToolOutcome(
            id=self.call.id,
            name=self._name,
            content=answer.for_llm,
            is_error=answer.is_error,
            duration_ms=duration_ms,
            ending=ending,
            error_type=self._error_type,
            for_user="" if answer.is_silent else answer.for_user,
            media=media,
            is_handled=answer.is_handled,
        )
        outcome = await self._finish(outcome)
        self._emit_end(outcome, is_async=answer.is_async)
        self.outcome = outcome
        if aborted is not None:
            raise aborted
        return outcome

    async def take_output(self, content: str) -> ToolOutcome:
        """Pass the stages after the run with what the tool gave before this turn. Raises TurnAborted."""
        self._parse()
        self._tool = self._registry.get(self._name)
        self._output = ToolAnswer(for_llm=content)
        return await self.execute()

    @property
    def open_tool(self) -> ClientTool | None:
        """The client's tool, if its call is left to the client; known when the call is prepared."""
        tool = self._tool
        return tool if isinstance(tool, ClientTool) and tool.is_left_open and self._answered is None else None

    def leave_open(self) -> ToolOutcome:
        """Give the outcome of a call that the client runs after the turn, which `announce` tells it."""
        self.outcome = ToolOutcome(id=self.call.id, name=self._name, content="", ending="open")
        return self.outcome

    def announce(self) -> None:
        """Tell the client of its call, if it was left open."""
        if (tool := self.open_tool) is not None and self.outcome is not None and self.outcome.ending == "open":
            tool.client.announce(self.call.id, self._name, self._arguments)

    async def refuse(self, refusal: ToolOutcome) -> ToolOutcome:
        """Give the refusal the same end as any outcome, and report the call as skipped."""
        outcome = await self._finish(refusal)
        payload = {"Tool": self.call.name, "Reason": outcome.content}
        self._hooks.events.emit("agent.tool.exec_skipped", payload, trace_path="turn.tool.skipped", severity="warn")
        self.outcome = outcome
        return outcome

    def refusal(self, text: str, ending: Ending = "skipped") -> ToolOutcome:
        """Build the outcome of a call that does not run; `text` may quote the model at length."""
        content = cut_to(text, MAX_ERROR_BYTES)
        return ToolOutcome(id=self.call.id, name=self._name, content=content, is_error=True, ending=ending)

    async def _emit_start(self) -> None:
        if self._hooks.events.wants("agent.tool.exec_start"):
            payload = {"Tool": self._name, "Arguments": await self._hooks.conceal(self._arguments)}
            self._hooks.events.emit("agent.tool.exec_start", payload, trace_path="turn.tool.start")

    async def _run_tool(self) -> tuple[ToolAnswer, Ending]:
        tool = self._tool
        assert tool is not None, "prepare found it"
        if self._output is not None:
            return self._output, "ran"
        limit_s = tool.timeout_s or self._settings.timeout_s
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                result = await tool.call(self.call.id, self._arguments)
        except (ToolError, ShareFull) as error:
            problem = str(error)
            self._error_type = type(error.__cause__ or error).__name__
        except (Exception, asyncio.CancelledError) as error:  # the boundary to a tool's code
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            self._error_type = type(error).__name__
            if limit.expired():
                problem = f"{tool.name} took longer than {limit_s:g} s and was stopped"
            else:
                problem = f"{tool.name} failed: {self._error_type}"
                await self._log_failure(tool.name, error)
        else:
            return ToolAnswer(for_llm=result) if isinstance(result, str) else result, "ran"
        return ToolAnswer(for_llm=cut_to(problem, MAX_ERROR_BYTES), is_error=True), "failed"

    async def _log_failure(self, name: str, error: BaseException) -> None:
        """Log the exception; where there is a policy, without the secrets that it may quote."""
        if self._hooks.policy is None:
            logger.warning("tool %s failed", name, exc_info=error)
        else:
            text = "".join(traceback.format_exception(error)).rstrip()
            logger.warning("tool %s failed\n%s", name, await self._conceal_text(text))

    async def _register_media(self, answer: ToolAnswer) -> tuple[tuple[MediaItem, ...], ToolAnswer]:
        """Store the files that the answer names; the model reads which of them cannot be shown."""
        items: list[MediaItem] = []
        problems: list[str] = []
        store, facts = self._hooks.layers.media, self._hooks.facts
        for reference in answer.media[:MAX_MEDIA]:
            if store is None:
                problems.append("this server stores no media")
                break
            try:
                items.append(await store.register(reference, user_id=facts.user_id, session_id=facts.session_id))
            except MediaError as error:
                problems.append(str(error))
        if problems and answer.is_handled:
            text = f"failed to deliver attachment: {'; '.join(problems)}"
            return tuple(items), replace(answer, for_llm=text, is_error=True, is_handled=False)
        notes = [f"[file: {item.name}, {item.content_type}, {item.ref}]" for item in items]
        notes += [f"(attachment not available: {problem})" for problem in problems]
        return tuple(items), replace(answer, for_llm="\n".join([answer.for_llm, *notes]).strip())

    async def _finish(self, outcome: ToolOutcome) -> ToolOutcome:
        """Pass what every outcome passes: the policy, whose scan is last, then the limit of size."""
        if outcome.ending in ("ran", "failed") and self._arguments != self._parsed:
            outcome = replace(outcome, arguments=await self._hooks.conceal(self._arguments))
        if outcome.ending in ("skipped", "denied"):  # may quote the arguments, and need no scan to be configured
            outcome = replace(outcome, content=await self._conceal_text(outcome.content))
        if self._hooks.policy is not None:
            outcome = await self._hooks.policy.after(self._invocation(), outcome)
        limit = self._settings.max_result_bytes
        return replace(outcome, content=cut_to(outcome.content, limit), for_user=cut_to(outcome.for_user, limit))

    def _emit_end(self, outcome: ToolOutcome, *, is_async: bool) -> None:
        if self._hooks.events.wants("agent.tool.exec_end"):
            payload = {
                "Tool": outcome.name,
                "Duration": int(outcome.duration_ms * 1_000_000),
                "ForLLMLen": len(outcome.content),
                "ForUserLen": len(outcome.for_user),
                "IsError": outcome.is_error,
                "Async": is_async,
            }
            severity: Literal["info", "warn"] = "warn" if outcome.is_error else "info"
            self._hooks.events.emit("agent.tool.exec_end", payload, trace_path="turn.tool.end", severity=severity)

    # shared by the stages

    def _invocation(self) -> ToolInvocation:
        tool = self._tool
        return ToolInvocation(
            id=self.call.id,
            name=self._name,
            arguments=self._arguments,
            permission="EXTERNAL" if tool is None else tool.permission,
            destructive=None if tool is None else tool.destructive,
        )

    async def _conceal_text(self, text: str) -> str:
        shown = await self._hooks.conceal(text)
        return shown if isinstance(shown, str) else f"[withheld: {shown['withheld']}]"


def cut_to(text: str, max_bytes: int) -> str:
    """Cut to `max_bytes` of UTF-8, at the end of a line where there is one, and say how many lines are missing.

    A note at the end that already says so is counted in, and its offset set back.
    """
    data = text.encode("utf-8", "replace")  # a file name may hold half a surrogate pair, which nothing could send
    if len(data) <= max_bytes:
        return data.decode("utf-8")
    if note := _CUT_NOTE.search(text):
        text = text[: note.start()]
    kept = data[:max_bytes].decode("utf-8", "ignore")[: len(text)]
    head, newline, _ = kept.rpartition("\n")
    lines = text.count("\n") + (not text.endswith("\n"))
    left = lines - head.count("\n") - 1 if newline else lines
    before, offset = (int(note[1]), note[2]) if note else (0, None)
    onward = f"; go on with offset {int(offset) - left}" if offset else ""
    return f"{head if newline else kept}\n(truncated, {left + before} lines left{onward})"
