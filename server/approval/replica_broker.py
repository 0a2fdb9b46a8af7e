"""Approval broker whose questions are also shown to, and answered by, the user's clients at other replicas.

What is decided here: when a question is told to the others, whose answer counts,
and when what they have asked is over. The table decides who was first.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from server import config
from server.accounts.principal import ANONYMOUS_PREFIX, LOCAL_USER
from server.approval.asking import Answer, AnsweredBy
from server.approval.broker import ApprovalBroker, AskedClient, CommandOf, OpenQuestion
from server.approval.edits import MaskLeftOver, edited_arguments
from server.approval.remembered import RememberedApprovals
from server.approval.shared_questions import Answered, Asked, Ended, from_text, to_text
from server.bounded.fair_share import account_of
from server.errors import StorageError
from server.storage.questions import LEASE_S, MAX_BODY_CHARS, QuestionTable, SharedQuestion

logger = logging.getLogger(__name__)

TICK_S: Final = 2.0
"""Interval at which askers elsewhere are checked while clients here are shown what they ask."""
DECISION_S: Final = 1.0
"""Time that an answer given here waits for the table to say that it was first; after that it counts."""
LOOK_S: Final = 5.0
"""Time without an answer after which the database counts as away."""
_RETRY_S: Final = 1.0
_LAST_WORDS_S: Final = 1.0


class Elsewhere:
    """The asker of a question from another replica, in the place of a connection here."""

    def show(self, opened: OpenQuestion) -> None:
        pass

    def close(self, opened: OpenQuestion, by: AnsweredBy, *, approved: bool) -> None:
        pass


@dataclass(frozen=True, kw_only=True, slots=True)
class _Claim:
    """An answer of a client here that the table has not yet judged."""

    opened: OpenQuestion
    answer: Answer
    client: AskedClient
    given: Answered
    """The answer as the table gets it."""


class ReplicaBroker(ApprovalBroker):
    """`run` does what needs the table; without it, or while the database is away, this is the broker of one process.

    Only users who have logged in are asked elsewhere: `local` is another person on each machine, and the holder of a
    key is asked on the connection whose turn it is.
    """

    def __init__(
        self,
        settings: config.ApprovalSettings,
        remembered: RememberedApprovals,
        table: QuestionTable,
        command_of: CommandOf,
    ) -> None:
        super().__init__(settings, remembered, command_of)
        self._table = table
        self._here = secrets.token_hex(8)
        self._asker = secrets.token_hex(8)  # the name that the lease is for; another once it has lapsed
        self._own: dict[str, OpenQuestion] = {}  # open, and published, or nearly so
        self._untold: dict[str, OpenQuestion] = {}  # those of them that the table may not have
        self._unsettled: dict[str, str] = {}  # how those ended that the table does not know of yet
        self._foreign: dict[str, OpenQuestion] = {}
        self._claims: dict[str, _Claim] = {}
        self._newcomers: set[str] = set()  # users whose questions elsewhere have to be looked for
        self._jobs = asyncio.Queue[Callable[[], Awaitable[None]]]()  # at most three for each question, and the lease
        self._changed = asyncio.Event()
        self._revision = 0

    def join(self, user: str, client: AskedClient) -> None:
        if user not in self._clients and _is_shared(user):
            self._newcomers.add(user)
            self._changed.set()
        super().join(user, client)

    def open(self, opened: OpenQuestion) -> bool:
        is_open = super().open(opened)
        if is_open and _is_shared(opened.user):
            self._jobs.put_nowait(lambda: self._publish(opened))
        return is_open

    def find(self, user: str, id_: str) -> OpenQuestion | None:
        """Return the open question, or None, also while the table judges an answer: later ones come too late."""
        return None if id_ in self._claims else super().find(user, id_)

    def settle(self, opened: OpenQuestion, answer: Answer, *, client: AskedClient | None = None) -> None:
        """Take an answer; a client's, if other replicas see the question, counts once the table says it was first.

        A spoken no counts at once: what was said may be the speech that ends the turn.
        """
        id_ = opened.id
        is_alone = id_ not in self._own and id_ not in self._foreign
        is_spoken_no = answer.by == "voice" and not answer.approved
        if client is None or is_alone or is_spoken_no or opened.answered.done():
            self._finish(opened, answer, client)
        elif id_ not in self._claims:
            given = Answered(
                approved=answer.approved,
                reason=answer.reason,
                arguments=answer.arguments,
                remember=opened.remember,
                remember_for=opened.remember_for,
            )
            claim = _Claim(opened=opened, answer=answer, client=client, given=given)
            opened.remember = "no"  # until it counts
            self._claims[id_] = claim
            self._jobs.put_nowait(lambda: self._claim(claim))
            if id_ in self._own:
                asyncio.get_running_loop().call_later(DECISION_S, self._count, claim)

    async def run(self) -> None:
        """Run until cancelled; then take back everywhere else what is asked here."""
        self._jobs.put_nowait(self._table.forget_ended)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._work(), name="questions told")
                tasks.create_task(self._watch(), name="questions heard")
                tasks.create_task(self._renew(), name="questions lease")
        finally:
            with contextlib.suppress(StorageError, TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_S):
                    await self._table.release(self._asker)

    # --- what is asked here

    async def _publish(self, opened: OpenQuestion) -> None:
        try:
            body = await asyncio.to_thread(to_text, Asked.of(opened.question, opened.message, opened.command))
        except (RecursionError, ValueError, TypeError):
            body = None
        if body is None or len(body) > MAX_BODY_CHARS:
            logger.info("question %s is too large to be shown by other replicas", opened.id)
            return
        self._own[opened.id] = opened  # before the others can answer
        self._untold[opened.id] = opened
        while not await self._write(opened, body):
            self._lapse()
            self._own[opened.id] = opened
        del self._untold[opened.id]

    async def _write(self, opened: OpenQuestion, body: str) -> bool:
        """Publish it; return False if our lease has lapsed. After a StorageError the table may have it anyway."""
        left_s = opened.until_s - asyncio.get_running_loop().time()
        if opened.answered.done():
            self._own.pop(opened.id, None)
            return True
        return await self._table.publish(self._asker, id_=opened.id, user=opened.user, body=body, left_s=left_s)

    def _finish(
        self, opened: OpenQuestion, answer: Answer, client: AskedClient | None, *, winner: str | None = None
    ) -> None:
        is_new = not opened.answered.done()
        self._claims.pop(opened.id, None)
        super().settle(opened, answer, client=client)
        if self._own.pop(opened.id, None) is not None and is_new:
            is_human = answer.by not in ("timeout", "disconnect", "cancelled")
            end = Ended(approved=answer.approved, by="other_client" if is_human else answer.by, winner=winner)
            self._unsettled[opened.id] = to_text(end)
            self._jobs.put_nowait(self._tell_ends)

    def _count(self, claim: _Claim) -> None:
        """Let the answer given here count, unless the question has been decided meanwhile."""
        if self._claims.get(claim.opened.id) is claim:
            claim.opened.remember, claim.opened.remember_for = claim.given.remember, claim.given.remember_for
            self._finish(claim.opened, claim.answer, claim.client)

    def _take(self, opened: OpenQuestion, row: SharedQuestion) -> None:
        """Take an answer that was given first, at another replica."""
        try:
            given = from_text(Answered, row.answer or "")
            answer = _read(opened, given)
        except (ValueError, RecursionError):
            logger.exception("an answer from another replica cannot be read; the question stays open here")
            return
        opened.remember = given.remember if answer.approved else "no"
        opened.remember_for = given.remember_for if given.remember_for in opened.offered else "arguments"
        self._finish(opened, answer, None, winner=row.answered_by)

    async def _tell_ends(self) -> None:
        for id_, end in list(self._unsettled.items()):
            await self._table.settle(id_, end)
            self._unsettled.pop(id_, None)

    async def _renew(self) -> None:
        """Renew the lease. While the database is away it ends, and the others close what is asked here."""
        while True:
            await asyncio.sleep(LEASE_S / 3)
            if self._own or self._untold or self._unsettled:
                self._jobs.put_nowait(self._renew_once)

    async def _renew_once(self) -> None:
        untold = list(self._untold.values())
        if not await self._table.renew(self._asker):
            self._lapse()
        await self._tell_ends()
        for opened in untold:
            await self._publish(opened)

    def _lapse(self) -> None:
        """End what was published for the other replicas; here it goes on."""
        self._asker = secrets.token_hex(8)
        for opened in self._own.values():
            if claim := self._claims.get(opened.id):
                asyncio.get_running_loop().call_soon(self._count, claim)
        self._own.clear()
        self._unsettled.clear()

    # --- what clients here answer

    async def _claim(self, claim: _Claim) -> None:
        opened = claim.opened
        while self._claims.get(opened.id) is claim:
            try:
                row = await self._table.answer(opened.id, await asyncio.to_thread(to_text, claim.given), by=self._here)
            except StorageError:
                if opened.id in self._foreign:  # until its asker's lease is over
                    await asyncio.sleep(_RETRY_S)
                    continue
                row = None
            if opened.id in self._foreign:
                self._hear_of_foreign(opened, row)
            elif row is not None and row.answered_by not in (None, self._here) and row.answer is not None:
                self._take(opened, row)
            if opened.id not in self._foreign:
                self._count(claim)
            return

    # --- what is asked elsewhere

    async def look(self) -> None:
        """Read what has changed, and show, take or close what it says. Raises StorageError."""
        newcomers, self._newcomers = self._newcomers, set()
        known = list(self._foreign)
        try:
            revision, rows = await self._table.look(self._revision, ids=known, users=newcomers)
        except (StorageError, asyncio.CancelledError):
            self._newcomers |= newcomers
            raise
        self._revision = revision
        found = {row.id: row for row in rows}
        for id_ in known:
            if id_ in self._foreign:
                self._hear_of_foreign(self._foreign[id_], found.get(id_))
        for row in rows:
            if (own := self._own.get(row.id)) is not None:
                if row.answered_by is not None and row.answer is not None and row.id not in self._claims:
                    self._take(own, row)
            elif row.is_live and row.answered_by is None and row.id not in self._foreign:
                self._show_foreign(row)

    def _show_foreign(self, row: SharedQuestion) -> None:
        if row.asker == self._asker or row.user not in self._clients or not _is_shared(row.user):
            return
        try:
            asked = from_text(Asked, row.body)
        except ValueError:
            logger.exception("a question from another replica cannot be read")
            return
        opened = OpenQuestion(
            id=row.id,
            user=row.user,
            turn_id="",
            asker=Elsewhere(),
            question=asked.question,
            message=asked.message,
            command=asked.command,
            until_s=asyncio.get_running_loop().time() + row.left_s,
            by_voice=False,
        )
        self._foreign[row.id] = opened  # before it is shown: a client may answer at once
        if not super().open(opened):
            del self._foreign[row.id]

    def _hear_of_foreign(self, opened: OpenQuestion, row: SharedQuestion | None) -> None:
        """Close a question of another replica here once it is over there."""
        if row is not None and row.is_live:
            return
        claim = self._claims.pop(opened.id, None)
        client = None
        answer = Answer(approved=False, by="disconnect")  # its asker has gone
        if row is not None and row.outcome is not None:
            try:
                end = from_text(Ended, row.outcome)
            except ValueError:
                logger.exception("the end of a question from another replica cannot be read")
            else:
                answer = Answer(approved=end.approved, by=end.by)
                client = claim.client if claim is not None and end.winner == self._here else None
        elif row is not None and row.left_s <= 0:
            answer = Answer(approved=False, by="timeout")
        elif row is not None:
            self._jobs.put_nowait(self._table.forget_ended)  # a killed process does not tidy up
        self._foreign.pop(opened.id, None)
        super().settle(opened, answer, client=client)

    # --- tasks

    async def _work(self) -> None:
        """Do one job at a time, in order: a question is published before it is settled."""
        while True:
            job = await self._jobs.get()
            try:
                await job()
            except StorageError as error:
                logger.info("questions are not shared with other replicas now: %s", error)
            except Exception:  # without this task no question would be published again
                logger.exception("a question was not shared with other replicas")

    async def _watch(self) -> None:
        async with self._table.watch() as changed:
            self._changed = changed
            looked_s = asyncio.get_running_loop().time()
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TICK_S if self._foreign else None):
                        await changed.wait()
                changed.clear()
                try:
                    async with asyncio.timeout(LOOK_S):
                        await self.look()
                    looked_s = asyncio.get_running_loop().time()
                except (StorageError, TimeoutError) as error:
                    logger.info("questions of other replicas cannot be received: %s", str(error) or "no answer")
                    if asyncio.get_running_loop().time() - looked_s > LEASE_S:
                        for opened in list(self._foreign.values()):  # no answer reaches their askers
                            self._hear_of_foreign(opened, None)
                    await asyncio.sleep(max(_RETRY_S, self._table.retry_after_s))
                    changed.set()
                except Exception:  # without this task no question would be heard of again
                    logger.exception("questions of other replicas were not applied everywhere")


def _read(opened: OpenQuestion, given: Answered) -> Answer:
    """Return the answer; a yes with edits that cannot run is a no (who gave it saw redactions, not the secrets)."""
    try:
        arguments = edited_arguments(opened.question, given.arguments) if given.approved else None
    except MaskLeftOver as error:
        return Answer(approved=False, by="other_client", reason=str(error))
    return Answer(approved=given.approved, by="other_client", reason=given.reason, arguments=arguments)


def _is_shared(user: str) -> bool:
    is_key = account_of(user) != user
    return user != LOCAL_USER and not user.startswith(ANONYMOUS_PREFIX) and not is_key
