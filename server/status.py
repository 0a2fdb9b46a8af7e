"""State of the server's parts, as probes, clients and turns learn of it."""

import asyncio
import logging

from server.errors import log_failure
from server.gateway.probes import Readiness
from server.gateway.websocket_server import Broadcaster
from server.hooks.process.host import HookHost
from server.policy.engine import PolicyEngine
from server.speech.service import SpeechService
from server.storage.database import Database
from server.wire import frames as wire
from skill_tools.testing.reload_tests import SkillTests
from skills_engine import SkillsLibrary, SkillsSnapshot

logger = logging.getLogger(__name__)


class ServerStatus:
    """Shows the stages of loading, tells clients of changes, and lets turns wait for what has to be there."""

    def __init__(self, library: SkillsLibrary) -> None:
        self.readiness = Readiness()
        self.readiness.set("skills", "ready")
        self.readiness.set("model", "loading")
        self.readiness.set("storage", "loading")
        self.broadcaster = Broadcaster()
        self.skill_tests = SkillTests(library.current, lambda: self._show_skills(library.current))
        self._library = library
        self._starting: list[HookHost] = []  # the process hooks, until each of them has been up or down
        self._rules_loading: list[asyncio.Task[None]] = []  # few: once loaded, nothing is

    def skills(self) -> SkillsSnapshot:
        """Return the skills in force."""
        return self._library.current

    async def settled(self) -> None:
        """Wait for what has to be there, or to have failed, before a turn can begin."""
        for hooks in self._starting:
            await hooks.settled()
        await self.readiness.settled("model")
        if self._rules_loading:
            await asyncio.wait(self._rules_loading)

    def load_rules(self, engine: PolicyEngine, handlers: frozenset[str]) -> None:
        """Load in a thread what a stored policy needs; turns wait for it, the event loop does not."""
        if not engine.has_rules(handlers):
            loading = asyncio.create_task(asyncio.to_thread(engine.load_rules, handlers), name="policy rules")
            loading.add_done_callback(log_failure)
            self._rules_loading.append(loading)  # `settled` awaits it

    def note_skills(self, snapshot: SkillsSnapshot) -> None:
        self.skill_tests.reloaded(snapshot)
        self._show_skills(snapshot)

    def _show_skills(self, snapshot: SkillsSnapshot) -> None:
        self.broadcaster.publish("skills", lambda session: session.send_skills(snapshot))

    def note_mcp(self, code: str, message: str) -> None:
        notice = mcp_notice(code, message)
        self.broadcaster.publish(message, lambda session: session.send(notice))

    def show_model(self) -> None:
        self.broadcaster.publish("model", lambda session: session.send_model())

    def show_speech(self, speech: SpeechService) -> None:
        status = speech.status
        for stage, part in (("speech recognition", status.stt), ("voice detection", status.vad), ("voice", status.tts)):
            self.readiness.set(stage, part.state, part.reason if part.state == "missing" else part.name)
        self.broadcaster.publish("speech", lambda session: session.send_speech(status))

    def show_storage(self, database: Database) -> None:
        if database.is_up:
            self.readiness.set("storage", "ready", database.name)
            logger.info("%s serves", database.name)
        else:
            self.readiness.set("storage", "missing", f"{database.name} does not answer")
            logger.warning("%s has gone: what was read stays in force, and nothing new can be stored", database.name)

    def show_hooks(self, hooks: HookHost) -> None:
        self._starting = [] if hooks.is_settled else [hooks]
        health = hooks.health()
        not_up = [hook.name for hook in health if hook.state != "up"]
        if self._starting:
            self.readiness.set("process hooks", "loading")
        elif not_up:
            self.readiness.set("process hooks", "missing", f"not up: {', '.join(not_up)}")
        elif health:
            self.readiness.set("process hooks", "ready", f"{len(health)} up")


def mcp_notice(code: str, message: str) -> wire.Notice:
    return wire.Notice(code=code, level="warning" if code == "mcp_server_lost" else "info", message=message)
