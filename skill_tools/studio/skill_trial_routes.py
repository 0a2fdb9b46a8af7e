"""`/api/skills/{skill}/preview` and `/try`: what edits that are not saved would make of a turn."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from aiohttp import web

from server.agent.chunks import LLMChunk
from server.bounded.fair_share import FairShare, ShareFull
from server.errors import ProviderError, TurnError
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, Refusal
from server.tools.tool_calls import TurnAborted
from server.wire import frames as wire
from skill_tools.studio.skill_files import SkillFiles
from skill_tools.studio.skill_preview import EditedSkill, Name, Preview, PreviewRequest, make_preview
from skill_tools.studio.skill_routes import PATH, attempt, skill_operation
from skill_tools.studio.skill_trial import SkillTrial, overlaid
from skills_engine import SkillsSnapshot

logger = logging.getLogger(__name__)

MAX_PREVIEWS: Final = 2
"""Previews that are made at once, one of each user."""
MAX_PREVIEWS_WAITING: Final = 4
"""Limit of one user's previews that wait."""
SLOWEST_PIECE_S: Final = 30.0
"""Time for a reader to take a piece of an answer; then both turns end."""
WATCH_S: Final = 0.5
"""Interval between checks whether the client has left."""
Version = Literal["saved", "edited"]


class TrialRequest(EditedSkill, frozen=True, kw_only=True, forbid_unknown_fields=True):
    language: Name | None = None
    tools: bool = False
    """Whether tools are offered; they run for real."""


class SkillTrialRoutes:
    """Shows what a skill's edits would make of a turn, played without a model or answered by it."""

    def __init__(self, files: SkillFiles, trial: SkillTrial) -> None:
        self._files = files
        self._trial = trial
        self._previews = FairShare(MAX_PREVIEWS, per_user=1, max_waiting=MAX_PREVIEWS_WAITING)

    def operations(self) -> tuple[Operation, ...]:
        trial: dict[str, Any] = {"has_version": False, "refusals": (404, 422)}
        preview_summary = "What the model would read, without asking it"
        try_summary = "What the model answers with the saved and with the edited version, side by side"
        jsonl = ("application/jsonl",)
        one, make = PATH + "/{skill}", skill_operation
        return (
            make("POST", one + "/preview", preview_summary, self._preview, Preview, PreviewRequest, **trial),
            make("POST", one + "/try", try_summary, self._try, None, TrialRequest, content_types=jsonl, **trial),
        )

    async def _preview(self, call: ApiCall) -> ApiAnswer:
        request = await call.body(PreviewRequest)
        folder = await attempt(self._files.folder, call.request.match_info["skill"])
        try:
            async with self._previews.place(call.principal.share):
                return ApiAnswer(await attempt(make_preview, self._trial, folder, request))
        except ShareFull as error:
            raise Refusal(429, "preview_busy", str(error), Retry_After="2") from None

    async def _try(self, call: ApiCall) -> web.StreamResponse:
        request = await call.body(TrialRequest)
        if not request.text.strip():
            raise Refusal(400, "body_invalid", "a question is needed", path="$.text")
        folder = await attempt(self._files.folder, call.request.match_info["skill"])
        versions = await attempt(_versions, self._trial.services.skills.current, folder, request)
        try:
            with self._trial.place(call.principal), self._trial.place(call.principal):
                return await self._answer(call, request, versions)
        except TurnError as error:
            raise Refusal(429, error.code, str(error), Retry_After="2") from None

    async def _answer(
        self, call: ApiCall, request: TrialRequest, versions: Mapping[Version, SkillsSnapshot]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/jsonl", "Cache-Control": "no-store"})
        await response.prepare(call.request)
        writing = asyncio.Lock()
        try:
            async with asyncio.TaskGroup() as tasks:
                watch = tasks.create_task(_until_left(call.request), name="try: watch")
                async with asyncio.TaskGroup() as turns:
                    for version, snapshot in versions.items():
                        turn = self._answer_one(call, request, snapshot, _VersionLines(response, writing, version))
                        turns.create_task(turn, name=f"try: {version}")
                watch.cancel()
            await response.write_eof()
        except* (ConnectionError, TimeoutError):  # the client has left, or does not read
            if call.request.transport is not None:
                call.request.transport.abort()
        return response

    async def _answer_one(
        self, call: ApiCall, request: TrialRequest, snapshot: SkillsSnapshot, lines: "_VersionLines"
    ) -> None:
        messages = msgspec.convert(request.history, list[wire.Message], from_attributes=True)
        messages.append(wire.Message(role="user", content=request.text))
        failure = None
        try:
            chosen = wire.TurnSettings(voice=False, enable_tools=request.tools, language=request.language)
            settings = chosen.with_context(request.context)
            state = self._trial.read_state(request.state)
            await self._trial.answer(call.principal, snapshot, messages, lines, settings, state)
        except (ProviderError, TurnError) as error:
            failure = {"code": error.code, "message": str(error)}
        except TurnAborted as aborted:
            failure = {"code": "turn_aborted", "message": aborted.reason}
        except (ConnectionError, TimeoutError):
            raise
        except Exception:  # the boundary of a turn
            logger.exception("a trial of a skill failed")
            failure = {"code": "internal", "message": "something went wrong here; the server's log has more"}
        await lines.send(end=failure or {"code": "completed"})


async def _until_left(request: web.Request) -> None:
    """Raise ConnectionResetError when the client has left: the model may be silent, and nothing be written, for long."""
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110  aiohttp does not say it
        await asyncio.sleep(WATCH_S)
    raise ConnectionResetError("the client has left")


class _VersionLines:
    """Writes the texts and tool calls of one version's turn as JSON lines (ChunkChannel)."""

    def __init__(self, response: web.StreamResponse, writing: asyncio.Lock, version: Version) -> None:
        """`writing` is shared by the versions, whose lines take turns."""
        self._response = response
        self._writing = writing
        self._version = version

    async def put(self, *chunks: LLMChunk) -> None:
        for chunk in chunks:
            if chunk.text is not None:
                await self.send(text=chunk.text)
            elif chunk.tool_call is not None:
                await self.send(tool=chunk.tool_call.name)

    async def send(self, **line: Any) -> None:
        """Write one line. Raises ConnectionError, and TimeoutError for a reader that does not read."""
        async with self._writing, asyncio.timeout(SLOWEST_PIECE_S):
            await self._response.write(msgspec.json.encode({"version": self._version, **line}) + b"\n")


def _versions(current: SkillsSnapshot, folder: Path, request: TrialRequest) -> dict[Version, SkillsSnapshot]:
    edits: dict[Version, Mapping[str, str | None]] = {"saved": {}, "edited": request.files}
    versions = {}
    for version, files in edits.items():
        with overlaid(folder, files) as place:
            versions[version] = request.skills(current, folder, place).snapshot
    return versions
