"""Triggers of skills on one connection: when the client is asked for a turn that no words of the user begin (L1-49)."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from server.wire import frames as wire
from skills_engine import HookFacts, TriggerInfo

OPEN_S: Final = 60.0
"""Time in which a nudge may be answered."""
BUSY_STEP_S: Final = 1.0
"""Time after which a silence that was due is looked for again, while a side speaks or a human is asked."""
CONDITION_STEP_S: Final = 30.0
"""Time after which conditions that kept a nudge out are asked again."""


class NudgedSession(Protocol):
    """The session, as its nudges see it. All methods return at once."""

    def send(self, frame: wire.ServerFrame) -> None: ...

    def triggers(self) -> Sequence[TriggerInfo]:
        """Return the triggers of the skills that are on."""

    def trigger_facts(self, nudge_id: str) -> HookFacts:
        """Return the facts of a turn that would begin now, as far as they are known without its messages."""

    @property
    def may_be_nudged(self) -> bool:
        """Whether all is quiet, no turn runs, no question is open, and the server does not stop."""

    @property
    def silent_since_s(self) -> float:
        """Time at which the last sound of either side ended, by the clock of the session."""


@dataclass(frozen=True)
class _OpenNudge:
    id: str
    trigger: TriggerInfo
    until_s: float


class Nudges:
    """Sends nudges when triggers fire, while it is switched on: at most one is open, and the latest counts.

    Owns one timer, and none while no trigger waits for a silence. A trigger for `idle` fires `max` times until the
    user does something; one for `connect` once on a connection.
    """

    def __init__(self, session: NudgedSession, now_s: Callable[[], float]) -> None:
        self._session = session
        self._now_s = now_s
        self._is_on = False
        self._has_greeted = False
        self._timer: asyncio.TimerHandle | None = None
        self._open: _OpenNudge | None = None
        self._next_id = secrets.token_hex(8)  # by which the chances of its triggers are drawn, once a silence
        self._sent: Counter[tuple[str, str]] = Counter()  # of idle triggers, since the user did something
        self._quiet_since_s = now_s()
        self._was_busy = False  # when a silence was last looked for

    def switch(self, *, is_on: bool) -> None:
        """Begin or stop nudging; at the first time, greet. A silence counts from the change."""
        if is_on == self._is_on:
            return
        self._is_on, self._open = is_on, None
        self.stir()
        if is_on and not self._has_greeted:
            self._has_greeted = True
            self._nudge_one([trigger for trigger in self._session.triggers() if trigger.on == "connect"])
        self.rearm()

    def user_acted(self) -> None:
        """Note that the user said or answered something: the open nudge is void, and triggers count anew."""
        self._open = None
        self._next_id = secrets.token_hex(8)
        self._sent.clear()
        self.stir()
        self.rearm()

    def stir(self) -> None:
        """Note that it was not silent until now."""
        self._quiet_since_s = self._now_s()

    def take(self, nudge_id: str) -> TriggerInfo | None:
        """Return the trigger of the open nudge, which is answered now, if there still is one of this id."""
        nudge = self._open
        if nudge is None or nudge.id != nudge_id or self._now_s() >= nudge.until_s:
            return None
        self._open = None
        return nudge.trigger

    def rearm(self, asked: Sequence[TriggerInfo] = ()) -> None:
        """Set the timer by the triggers that there are now. Those `asked` that are still due wait: a condition says no."""
        self.close()
        now_s = self._now_s()
        waits_s = [
            CONDITION_STEP_S if self._due_s(trigger) <= now_s and trigger in asked else self._due_s(trigger) - now_s
            for trigger in self._waiting()
        ]
        if waits_s:
            self._set_timer(max(min(waits_s), 0))

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, wait_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._look)

    def _look(self) -> None:
        """Send what is due, if it is silent."""
        if not self._session.may_be_nudged:
            self._was_busy = True
            self._set_timer(BUSY_STEP_S)
            return
        if self._was_busy:
            self._was_busy = False
            self.stir()
        now_s = self._now_s()
        due = [trigger for trigger in self._waiting() if self._due_s(trigger) <= now_s]  # none if the timer was early
        self._nudge_one(due)
        self.rearm(asked=due)

    def _waiting(self) -> list[TriggerInfo]:
        if not self._is_on:
            return []
        idle = (trigger for trigger in self._session.triggers() if trigger.on == "idle")
        return [trigger for trigger in idle if self._sent[trigger.skill, trigger.name] < trigger.max]

    def _due_s(self, trigger: TriggerInfo) -> float:
        return max(self._quiet_since_s, self._session.silent_since_s) + trigger.after_s

    def _nudge_one(self, triggers: Sequence[TriggerInfo]) -> None:
        """Nudge for the first trigger whose conditions may hold."""
        facts = self._session.trigger_facts(self._next_id)
        trigger = next((one for one in triggers if one.may_fire(facts)), None)
        if trigger is None:
            return
        self._open = _OpenNudge(self._next_id, trigger, self._now_s() + OPEN_S)
        self._next_id = secrets.token_hex(8)
        if trigger.on == "idle":
            self._sent[trigger.skill, trigger.name] += 1
            self.stir()
        self._session.send(wire.Nudge(id=self._open.id, skill=trigger.skill, name=trigger.name))
