"""`/api/skills/{skill}/preview` and `/try`: what edits that are not saved would make of a turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from aiohttp import web

from server.accounts.principal import Principal
from server.agent.chunks import LLMChunk
from server.bounded.fair_share import FairShare, ShareFull
from server.errors import ProviderError, TurnError
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, Operations, Refusal
from server.gateway.routes import Access
from server.tools.tool_calls import TurnAborted
from server.wire import frames as wire
from skill_tools.studio.skill_draft import DraftRequest, write_drafts
from skill_tools.studio.skill_files import EditError, SkillFiles
from skill_tools.studio.skill_preview import EditedSkill, Name, Preview, PreviewRequest, make_preview
from skill_tools.studio.skill_routes import MAX_BODY_BYTES, ONE, attempt, has_left
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
_TRIALS: Final = Operations(access=Access.OPERATOR, refusals=(404, 422), max_body_bytes=MAX_BODY_BYTES)
_LINES: Final = ("application/jsonl",)
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
        self._describing: set[str] = set()
        """The accounts for which a draft is being written."""
        self._previews = FairShare(MAX_PREVIEWS, per_user=1, max_waiting=MAX_PREVIEWS_WAITING)

    def operations(self) -> tuple[Operation, ...]:
        return _TRIALS.of(self)

    @_TRIALS.add("POST", ONE + "/preview", Preview, body=(PreviewRequest,))
    async def _preview(self, call: ApiCall) -> ApiAnswer:
        """Show what the model would read, without asking it."""
        request = await call.body(PreviewRequest)
        folder = await attempt(self._files.folder, call.request.match_info["skill"])
        try:
            async with self._previews.place(call.principal.share):
                return ApiAnswer(await attempt(make_preview, self._trial, call.principal, folder, request))
        except TurnError as error:
            raise Refusal(400, error.code, str(error), path="$.history") from None
        except ShareFull as error:
            raise Refusal(429, "preview_busy", str(error), Retry_After="2") from None

    @_TRIALS.add("POST", ONE + "/try", None, body=(TrialRequest,), content_types=_LINES)
    async def _try(self, call: ApiCall) -> web.StreamResponse:
        """Let the model answer with the saved and with the edited version, side by side."""
        request = await call.body(TrialRequest)
        if not request.text.strip():
            raise Refusal(400, "body_invalid", "a question is needed", path="$.text")
        folder = await attempt(self._files.folder, call.request.match_info["skill"])
        versions = await attempt(_versions, self._trial.services.skills.current, folder, request)
        try:
            with self._trial.place(call.principal), self._trial.place(call.principal):
                return await _streamed(
                    call.request,
                    *(partial(self._answer, call, request, version, each) for version, each in versions.items()),
                )
        except TurnError as error:
            raise Refusal(429, error.code, str(error), Retry_After="2") from None

    async def _answer(
        self, call: ApiCall, request: TrialRequest, version: Version, snapshot: SkillsSnapshot, lines: "_JsonLines"
    ) -> None:
        out = _VersionLines(lines, version)
        messages = [*request.history, wire.Message(role="user", content=request.text)]
        chosen = wire.TurnSettings(voice=False, enable_tools=request.tools, language=request.language)
        settings, state = chosen.with_context(request.context), self._trial.read_state(request.state)
        answering = self._trial.answer(call.principal, snapshot, messages, out, settings, state)
        await out.send(end=await _end_of(answering))

    @_TRIALS.add("POST", ONE + "/describe", None, body=(DraftRequest,), content_types=_LINES)
    async def _describe(self, call: ApiCall) -> web.StreamResponse:
        """Let the model write a hook with its tests for a wish, and mend it; nothing is saved."""
        request = await call.body(DraftRequest)
        if not request.wish.strip():
            raise Refusal(400, "body_invalid", "a wish is needed", path="$.wish")
        folder = await attempt(self._files.folder, call.request.match_info["skill"])
        if (account := call.principal.share.account) in self._describing:
            raise Refusal(
                429, "draft_busy", "another draft of yours is being written; wait or cancel it", Retry_After="5"
            )
        self._describing.add(account)
        try:
            with self._trial.place(call.principal):
                return await _streamed(call.request, lambda lines: self._draft(call.principal, folder, request, lines))
        except TurnError as error:
            raise Refusal(429, error.code, str(error), Retry_After="2") from None
        finally:
            self._describing.discard(account)

    async def _draft(self, principal: Principal, folder: Path, request: DraftRequest, lines: "_JsonLines") -> None:
        drafting = write_drafts(self._trial, principal, folder, request, lines.send)
        await lines.send({"end": await _end_of(drafting)})


async def _end_of(work: Awaitable[None]) -> dict[str, str]:
    """Return how it ends, as the last line says it."""
    try:
        await work
    except (ProviderError, TurnError, EditError) as error:
        return {"code": error.code, "message": str(error)}
    except TurnAborted as aborted:
        return {"code": "turn_aborted", "message": aborted.reason}
    except (ConnectionError, TimeoutError):
        raise
    except Exception:  # the boundary of a turn
        logger.exception("a trial of a skill failed")
        return {"code": "internal", "message": "something went wrong here; the server's log has more"}
    return {"code": "completed"}


async def _streamed(
    request: web.Request, *works: Callable[["_JsonLines"], Coroutine[Any, Any, None]]
) -> web.StreamResponse:
    """Let the works write lines, side by side; they end when the client leaves or does not read."""
    response = web.StreamResponse(headers={"Content-Type": "application/jsonl", "Cache-Control": "no-store"})
    await response.prepare(request)
    lines = _JsonLines(response)
    try:
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(_until_left(request), name="trial: watch")
            async with asyncio.TaskGroup() as turns:
                for work in works:
                    turns.create_task(work(lines), name="trial")
            watch.cancel()
        await response.write_eof()
    except* (ConnectionError, TimeoutError):  # the client has left, or does not read
        if request.transport is not None:
            request.transport.abort()
    return response


async def _until_left(request: web.Request) -> None:
    """Raise ConnectionResetError when the client has left: the model may be silent, and nothing be written, for long."""
    while not has_left(request):  # noqa: ASYNC110  there is no event for it
        await asyncio.sleep(WATCH_S)
    raise ConnectionResetError("the client has left")


class _JsonLines:
    """Writes JSON lines, those of several tasks in turns."""

    def __init__(self, response: web.StreamResponse) -> None:
        self._response = response
        self._writing = asyncio.Lock()

    async def send(self, line: object) -> None:
        """Write one line. Raises ConnectionError, and TimeoutError for a reader that does not read."""
        async with self._writing, asyncio.timeout(SLOWEST_PIECE_S):
            await self._response.write(msgspec.json.encode(line) + b"\n")


class _VersionLines:
    """Writes the texts and tool calls of one version's turn (ChunkChannel)."""

    def __init__(self, lines: _JsonLines, version: Version) -> None:
        self._lines = lines
        self._version = version

    async def put(self, *chunks: LLMChunk) -> None:
        for chunk in chunks:
            if chunk.text is not None:
                await self.send(text=chunk.text)
            elif chunk.tool_call is not None:
                await self.send(tool=chunk.tool_call.name)

    async def send(self, **line: Any) -> None:
        await self._lines.send({"version": self._version, **line})


def _versions(current: SkillsSnapshot, folder: Path, request: TrialRequest) -> dict[Version, SkillsSnapshot]:
    edits: dict[Version, Mapping[str, str | None]] = {"saved": {}, "edited": request.files}
    versions = {}
    for version, files in edits.items():
        with overlaid(folder, files) as place:
            versions[version] = request.skills(current, folder, place).snapshot
    return versions
