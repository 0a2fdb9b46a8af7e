"""State of the server's parts, as probes and clients learn of it."""

import logging

from server.gateway.probes import Readiness
from server.gateway.websocket_server import Broadcaster
from server.hooks.process.host import HookHost
from server.speech.service import SpeechService
from server.storage.database import Database
from server.wire import frames as wire
from skill_tools.testing.reload_tests import SkillTests
from skills_engine import SkillsLibrary, SkillsSnapshot

logger = logging.getLogger(__name__)


class ServerStatus:
    """Shows the stages of loading, and tells clients of changes."""

    def __init__(self, library: SkillsLibrary) -> None:
        self.readiness = Readiness()
        self.readiness.set("skills", "ready")
        self.readiness.set("model", "loading")
        self.readiness.set("storage", "loading")
        self.broadcaster = Broadcaster()
        self.skill_tests = SkillTests(library.current, lambda: self._show_skills(library.current))

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
        if not (health := hooks.health()):
            return
        not_up = [hook.name for hook in health if hook.state != "up"]
        if not hooks.is_settled:
            self.readiness.set("process hooks", "loading")
        elif not_up:
            self.readiness.set("process hooks", "missing", f"not up: {', '.join(not_up)}")
        else:
            self.readiness.set("process hooks", "ready", f"{len(health)} up")


def mcp_notice(code: str, message: str) -> wire.Notice:
    return wire.Notice(code=code, level="warning" if code == "mcp_server_lost" else "info", message=message)
