"""One connection's part in asking humans: its turns ask, and its client is shown questions and answers them."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from msgspec import UNSET

from server.accounts.principal import Principal
from server.approval.asking import MAX_REASON_CHARS, Answer, AnsweredBy, Question, may_be_spoken, said_text, shown_text
from server.approval.broker import ApprovalBroker, OpenQuestion
from server.approval.edits import MaskLeftOver, edited_arguments
from server.approval.remembered import Approved, keys_for
from server.bounded.limits import BoundedDict
from server.errors import FrameError
from server.session.sentence_assembler import SpokenSentence
from server.session.settings import TurnRequest
from server.session.turn_limits import TurnTimer
from server.tools.tool_calls import TurnFacts
from server.wire import frames as wire

logger = logging.getLogger(__name__)

MAX_REMEMBERED: Final = 256
"""Calls approved for a conversation, over all of a connection's; beyond it the oldest is asked about again."""
STORE_S: Final = 5.0
"""Time that a turn waits for the store of approvals; then it asks, or says that the answer was not kept."""
_NO_APPROVALS: Final = "not asked: the key was made without `approvals: true`, or the response is out of band"

Speak = Callable[[SpokenSentence], Callable[[], None]]
"""Says a sentence that is no part of the reply, if there is a voice; the result takes back what is not said yet."""


class Approvals:
    """A client's questions: `join` when it is greeted, `leave`, once it is gone, answers what its turn asks with no.

    `expect_voice` gets the id of the question that a spoken yes or no answers, and None when there is none.
    """

    def __init__(
        self,
        broker: ApprovalBroker,
        principal: Principal,
        *,
        session_id: str,
        send: Callable[[wire.ServerFrame], None],
        expect_voice: Callable[[str | None], None],
        can_hear: Callable[[], bool],
    ) -> None:
        self.broker = broker
        self.is_gone = False
        # strangers behind one address are not one user, and a key may be in many hands: each connection is by itself
        is_alone = principal.is_anonymous or principal.is_key
        self.user = f"{principal.user_id} {session_id}" if is_alone else principal.user_id
        self.may_answer = principal.may_approve
        self._keeps = not is_alone
        self._send = send
        self._expect_voice = expect_voice
        self._can_hear = can_hear
        self._remembered = BoundedDict[tuple[str | None, str], None](MAX_REMEMBERED)  # (conversation, call)

    def join(self) -> None:
        self.broker.join(self.user, self)

    def leave(self) -> None:
        self.is_gone = True
        self.broker.leave(self.user, self)

    @property
    def is_waiting(self) -> bool:
        """Whether a question to this user is open, here or at another client."""
        return self.broker.has_open(self.user)

    def by_voice(self, question: Question) -> bool:
        return may_be_spoken(question.permission, by_voice=self.broker.settings.by_voice) and self._can_hear()

    # --- the client answers

    def answer(self, frame: wire.Approval) -> bool:
        """Return whether a question waits for it. Raises FrameError for wrong arguments; the question stays open."""
        opened = self.broker.find(self.user, frame.id)
        if opened is None:
            return False
        edited = None
        if frame.approved:
            edited = _edited(opened.question, frame.arguments)
            if frame.remember != "no" and frame.remember_for not in opened.offered:
                text = f"this approval can be remembered for {', '.join(opened.offered)}, not for {frame.remember_for}"
                raise FrameError("frame_invalid", text, path="$.remember_for")
            opened.remember, opened.remember_for = frame.remember, frame.remember_for
        reason = (frame.reason or "").strip()[:MAX_REASON_CHARS] or None
        answer = Answer(approved=frame.approved, by="user", reason=reason, arguments=edited)
        self.broker.settle(opened, answer, client=self)
        return True

    def answer_by_voice(self, id_: str, *, approved: bool, is_lasting: bool) -> None:
        """Settle the question unless it was answered otherwise meanwhile.

        A lasting yes counts for the conversation, and only where voices may approve whatever a tool does.
        """
        opened = self.broker.find(self.user, id_)
        if opened is not None:
            if is_lasting and self.broker.settings.by_voice:
                opened.remember, opened.remember_for = "conversation", "arguments"
            self.broker.settle(opened, Answer(approved=approved, by="voice"), client=self)

    # --- the client is shown

    def show(self, opened: OpenQuestion) -> None:
        is_own = opened.asker is self
        left_s = opened.until_s - asyncio.get_running_loop().time()
        if is_own and opened.by_voice:
            self._expect_voice(opened.id)
        self._send(
            wire.ApprovalRequest(
                turn_id=opened.turn_id if is_own else UNSET,
                id=opened.id,
                call_id=(is_own and opened.question.call_id) or UNSET,
                tool=opened.question.tool,
                arguments=opened.question.arguments,
                message=opened.message,
                timeout_ms=max(0, round(left_s * 1000)),
                origin=opened.question.origin or UNSET,
                permission=opened.question.permission,
                by_voice=is_own and opened.by_voice,
                remember_for=opened.offered,
                command_name=UNSET if opened.command is None else opened.command,
            )
        )

    def close(self, opened: OpenQuestion, by: AnsweredBy, *, approved: bool) -> None:
        is_own = opened.asker is self
        if is_own:
            self._expect_voice(None)
        turn_id = opened.turn_id if is_own else UNSET
        self._send(wire.ApprovalResolved(turn_id=turn_id, id=opened.id, approved=approved, by=by))

    def send_remembered(self, turn_id: str, tool: str) -> None:
        id_ = secrets.token_hex(8)
        self._send(wire.ApprovalResolved(turn_id=turn_id, id=id_, approved=True, by="remembered", tool=tool))

    def warn(self, turn_id: str, code: str, message: str) -> None:
        self._send(wire.Notice(code=code, level="warning", message=message, turn_id=turn_id))

    # --- what is remembered

    async def command_of(self, tool: str, arguments: object) -> str | None:
        """Return the name of the plain command that would run, and of none where the rules cannot be asked."""
        try:
            return await self.broker.command_of(tool, arguments)
        except Exception:  # the boundary to the rules: without them a yes is remembered for less
            logger.exception("the command of a call cannot be determined")
            return None

    async def knows(self, question: Question, command: str | None, facts: TurnFacts) -> bool:
        """Return whether the human has approved this call before; False if the store cannot say."""
        keys = keys_for(question.tool, _real(question), command, question.definition)
        if any((facts.conversation, key) in self._remembered for key in keys):
            return True
        if not self._keeps:
            return False
        try:
            async with asyncio.timeout(STORE_S):
                return await self.broker.remembered.find(facts.user_id, keys)
        except Exception:  # the boundary to the store: the human is asked instead
            logger.exception("stored approvals cannot be read; the user is asked")
            return False

    async def keep(self, opened: OpenQuestion, answer: Answer, facts: TurnFacts) -> bool:
        """Remember a yes as its human wished; return False if it could be kept for the conversation only.

        What is kept for good is kept in the store alone, so that revoking it there counts here too.
        """
        approved = await self._approved(opened, answer)
        if opened.remember == "always" and self._keeps:
            try:
                async with asyncio.timeout(STORE_S):
                    await self.broker.remembered.remember(facts.user_id, approved)
                return True
            except Exception:  # the boundary to the store: the answer counts all the same
                logger.exception("an approval could not be stored")
        self._remembered[facts.conversation, approved.key] = None
        return opened.remember != "always"

    async def _approved(self, opened: OpenQuestion, answer: Answer) -> Approved:
        """Return what the yes covers. A command that the human has edited into another one counts as it stands alone."""
        question, remember_for = opened.question, opened.remember_for
        tool, origin, definition = question.tool, question.origin, question.definition
        arguments = _real(question) if answer.arguments is None else answer.arguments
        if remember_for == "command" and answer.arguments is not None:
            is_same = await self.command_of(question.tool, arguments) == opened.command
            remember_for = "command" if is_same else "arguments"
        value = {"arguments": arguments, "command": opened.command, "tool": None}[remember_for]
        return Approved(tool=tool, remember_for=remember_for, value=value, origin=origin, definition=definition)


class TurnAsker:
    """AskHuman of one turn: one question at a time, in the order of asking, and none once the turn has ended.

    The turn's timer stands still from the asking to the answer. Each question
    that is shown is closed, also when `ask` is cancelled or the turn ends.
    """

    def __init__(
        self,
        approvals: Approvals,
        request: TurnRequest,
        own: Collection[str],
        *,
        timer: TurnTimer,
        speak: Speak,
    ) -> None:
        """`own`: names of the server's tools, which hide a client's."""
        self._approvals = approvals
        self._facts = request.facts
        self._timer = timer
        self._speak = speak
        self._is_over = False
        of_client = [tool for tool in request.settings.tools if tool.name not in own]
        self._definitions = {tool.name: [tool.description, tool.parameters] for tool in of_client}
        self._line = asyncio.Lock()  # first come, first served
        self._opened: OpenQuestion | None = None

    async def ask(self, question: Question) -> Answer:
        if not self._approvals.may_answer:
            return Answer(approved=False, by="disconnect", reason=_NO_APPROVALS)
        question = replace(question, definition=self._definitions.get(question.tool))
        with self._timer.paused():
            async with self._line:
                command = await self._approvals.command_of(question.tool, _real(question))
                known = await self._approvals.knows(question, command, self._facts)
                if self._is_over:
                    return self._unasked()
                if known:
                    self._approvals.send_remembered(self._facts.turn_id, question.tool)
                    return Answer(approved=True, by="remembered")
                return await self._ask(question, command)

    async def _ask(self, question: Question, command: str | None) -> Answer:
        approvals = self._approvals
        limit_s = approvals.broker.settings.timeout_s if question.timeout_s is None else question.timeout_s
        opened = self._opened = OpenQuestion(
            id=secrets.token_hex(8),
            user=approvals.user,
            turn_id=self._facts.turn_id,
            asker=approvals,
            question=question,
            command=command,
            message=shown_text(question, self._facts.language),
            until_s=asyncio.get_running_loop().time() + limit_s,
            by_voice=approvals.by_voice(question),
        )
        if not approvals.broker.open(opened):
            self._opened = None
            text = "too many of your tool calls are waiting for an answer; this one was refused without asking"
            approvals.warn(self._facts.turn_id, "approvals_full", text)
            return Answer(approved=False, by="cancelled", reason="too many questions are open")
        withdraw = self._ask_aloud(opened)
        try:
            await asyncio.wait([opened.answered], timeout=limit_s)
            approvals.broker.settle(opened, Answer(approved=False, by="timeout"))  # unless it is answered
        finally:
            withdraw()
            approvals.broker.settle(opened, self._unasked())  # cancelled while it waited
            answer = opened.answered.result()
            if question.on_withdrawn is not None and answer.by in ("disconnect", "cancelled"):
                question.on_withdrawn(answer)
        if opened.remember != "no" and not await approvals.keep(opened, answer, self._facts) and not self._is_over:
            text = "your answer counts, but it could not be stored: it applies to this conversation only"
            approvals.warn(self._facts.turn_id, "approval_not_kept", text)
        return answer

    def _ask_aloud(self, opened: OpenQuestion) -> Callable[[], None]:
        """Say the question, and return what takes it back."""
        if opened.answered.done():
            return lambda: None
        spoken = said_text(opened.question, self._facts.language, by_voice=opened.by_voice)
        return self._speak(SpokenSentence("", spoken, approval=opened.id))

    def is_asking(self) -> bool:
        """Return whether a human is asked, and knows what the turn waits for."""
        return self._opened is not None and not self._opened.answered.done()

    def close(self) -> None:
        """Close the open question, before the turn's `turn_end`, and ask no other."""
        self._is_over = True
        if self._opened is not None:
            self._approvals.broker.settle(self._opened, self._unasked())

    def _unasked(self) -> Answer:
        return Answer(approved=False, by="disconnect" if self._approvals.is_gone else "cancelled")


def _real(question: Question) -> object:
    return question.arguments if question.real_arguments is None else question.real_arguments


def _edited(question: Question, arguments: dict[str, object] | None) -> dict[str, object] | None:
    """Return the arguments to run instead, or None where nothing was changed. Raises FrameError."""
    try:
        return edited_arguments(question, arguments)
    except MaskLeftOver as error:
        raise FrameError("frame_invalid", str(error), path="$.arguments") from None
    except RecursionError:
        raise FrameError("frame_invalid", "nested too deep", path="$.arguments") from None
