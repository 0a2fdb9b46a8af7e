"""Open questions to humans in this process: any client of the user may answer, and the first answer wins."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from server import config
from server.approval.asking import Answer, AnsweredBy, Question, Remember, RememberFor
from server.approval.remembered import RememberedApprovals

MAX_OPEN: Final = 32
"""Limit of one user's open questions; each of the user's turns has at most one."""


class AskedClient(Protocol):
    """A client's connection as the broker sees it. Both methods return at once and raise nothing."""

    def show(self, opened: "OpenQuestion") -> None: ...

    def close(self, opened: "OpenQuestion", by: AnsweredBy, *, approved: bool) -> None:
        """Take back the question that was shown, as it is answered. Called once."""
        ...


@dataclass(eq=False, kw_only=True)
class OpenQuestion:
    """A question between `ApprovalBroker.open` and `settle`."""

    id: str
    user: str
    turn_id: str
    asker: AskedClient
    question: Question
    message: str
    """Text of the question, in the user's language."""
    until_s: float
    """Time of the event loop at which silence becomes a no."""
    by_voice: bool
    answered: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    command: str | None = None
    """Name of the plain command that would run, such as "git push", or None if it is no plain command."""
    remember: Remember = "no"
    remember_for: RememberFor = "arguments"
    shown_to: list[AskedClient] = field(default_factory=list)

    @property
    def offered(self) -> list[RememberFor]:
        """Coverages that a remembered yes may have."""
        return ["arguments", "tool"] if self.command is None else ["arguments", "command", "tool"]


CommandOf = Callable[[str, Any], Awaitable[str | None]]
"""Function that names the plain command that a tool with these arguments would run, if there is one and the arguments
make it no worse than its name says."""


class ApprovalBroker:
    """Broker of all sessions' questions. The clients of one `user` may answer each other's questions.

    Bounded: MAX_OPEN questions of a user, and none outlives the turn that asks it.
    """

    def __init__(
        self, settings: config.ApprovalSettings, remembered: RememberedApprovals, command_of: CommandOf
    ) -> None:
        self.settings = settings
        self.command_of = command_of
        self.remembered = remembered
        self._clients: dict[str, list[AskedClient]] = {}
        self._open: dict[str, dict[str, OpenQuestion]] = {}

    def join(self, user: str, client: AskedClient) -> None:
        """Show the client what the user's others ask, now and until `leave`. Idempotent."""
        clients = self._clients.setdefault(user, [])
        if client not in clients:
            clients.append(client)
        for opened in list(self._open.get(user, {}).values()):
            self._show(opened, client)

    def leave(self, user: str, client: AskedClient) -> None:
        """Show the client nothing more but the end of what it asks itself. Idempotent."""
        clients = self._clients.get(user, [])
        if client in clients:
            clients.remove(client)
        if not clients:
            self._clients.pop(user, None)
        for opened in self._open.get(user, {}).values():
            if client is not opened.asker and client in opened.shown_to:
                opened.shown_to.remove(client)

    def open(self, opened: OpenQuestion) -> bool:
        """Show it to its asker, then to the user's other clients. Return False, showing none, if too many are open."""
        questions = self._open.setdefault(opened.user, {})
        if len(questions) >= MAX_OPEN:
            return False
        questions[opened.id] = opened
        self._show(opened, opened.asker)
        for client in list(self._clients.get(opened.user, ())):
            self._show(opened, client)
        return True

    def has_open(self, user: str) -> bool:
        return user in self._open

    def find(self, user: str, id_: str) -> OpenQuestion | None:
        return self._open.get(user, {}).get(id_)

    def settle(self, opened: OpenQuestion, answer: Answer, *, client: AskedClient | None = None) -> None:
        """Take an answer of `client`, or of silence or an end if None. The first counts, later ones do nothing."""
        if opened.answered.done():
            return
        if client is not None and client is not opened.asker:
            answer = replace(answer, by="other_client")
        opened.answered.set_result(answer)
        questions = self._open.get(opened.user, {})
        questions.pop(opened.id, None)
        if not questions:
            self._open.pop(opened.user, None)
        for each in list(opened.shown_to):
            each.close(opened, _by(answer, each, client, opened.asker), approved=answer.approved)

    def _show(self, opened: OpenQuestion, client: AskedClient) -> None:
        """Show it to a client, once and not after the answer: one that cannot take the frame may end the asking turn."""
        if opened.answered.done() or client in opened.shown_to:
            return
        opened.shown_to.append(client)
        client.show(opened)


def _by(answer: Answer, reader: AskedClient, answerer: AskedClient | None, asker: AskedClient) -> AnsweredBy:
    """Return who answered, from the point of view of `reader`."""
    if answerer is None:
        return answer.by
    if reader is not answerer:
        return "other_client"
    return answer.by if answerer is asker else "user"
