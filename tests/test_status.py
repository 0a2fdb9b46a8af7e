"""server/status.py"""

import asyncio
from pathlib import Path

from server.policy.engine import PolicyEngine
from server.status import ServerStatus
from skills_engine import SkillsLibrary


class SlowRules(PolicyEngine):
    """Loads the rules of handlers when it is let."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_load = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def has_rules(self, _handlers: frozenset[str]) -> bool:
        return False

    def load_rules(self, _handlers: frozenset[str]) -> None:
        self._loop.call_soon_threadsafe(self.begun.set)
        asyncio.run_coroutine_threadsafe(self.may_load.wait(), self._loop).result()


async def test_a_turn_waits_for_the_model_and_then_for_the_rules_of_a_stored_policy(tmp_path: Path) -> None:
    status, rules = ServerStatus(SkillsLibrary(tmp_path)), SlowRules()
    status.load_rules(rules, frozenset({"security_scan"}))
    await rules.begun.wait()
    waiting = asyncio.create_task(status.settled())

    status.readiness.set("model", "failed", "no such model")
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()

    rules.may_load.set()
    await waiting
