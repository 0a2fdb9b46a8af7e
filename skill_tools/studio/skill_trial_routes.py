"""`/api/skills/{skill}/preview` and `/try`: what edits that are not saved would make of a turn."""

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from server.agent.chunks import LLMChunk
from server.bounded.fair_share import FairShare, ShareFull
from server.errors import ProviderError, TurnError
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, Refusal
from server.tools.tool_calls import TurnAborted
from server.wire import frames as wire
from skill_tools.authoring.lint import lint_skill
from skill_tools.studio.skill_files import SkillFiles
from skill_tools.studio.skill_routes import PATH, attempt, skill_operation
from skill_tools.studio.skill_trial import EditedSkills, SkillTrial, overlaid, with_skill
from skill_tools.testing.reload_tests import run_reload_tests
from skill_tools.testing.scripted_turn import ReadMessage, play_turn
from skill_tools.testing.tests_format import CallSpec, StepSpec
from skills_engine import Diagnostic, HookFacts, SkillsSnapshot
from skills_engine.conditions.turn_facts import Channel, ToolStatus
from skills_engine.diagnostics import SkillTestReport
from skills_engine.hook_entries import BUILTIN_TOOLS

logger = logging.getLogger(__name__)

MAX_PREVIEWS: Final = 2
"""Previews that are made at once, one of each user."""
MAX_PREVIEWS_WAITING: Final = 4
"""Limit of one user's previews that wait."""
TESTS_LIMIT_S: Final = 2.0
"""Time for the scripted tests of a skill; those left are not run."""
SLOWEST_PIECE_S: Final = 30.0
"""Time for a reader to take a piece of an answer; then both turns end."""
WATCH_S: Final = 0.5
"""Interval between checks whether the client has left."""
Version = Literal["saved", "edited"]
Name = Annotated[str, Meta(max_length=256)]
Words = Annotated[str, Meta(max_length=65_536)]


class SpokenMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    role: Literal["user", "assistant"]
    content: Words


class EditedSkill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Edits that are not saved, and a conversation to try them on."""

    files: Annotated[dict[Annotated[str, Meta(max_length=1024)], str | None], Meta(max_length=100)] = {}
    """Texts of the edited files by path; null for a deleted file."""
    text: Words = ""
    """The words of the user in this turn."""
    history: Annotated[list[SpokenMessage], Meta(max_length=200)] = []
    state: Words | None = None
    """`turn_end.state` of the last turn of the history; null if it had none."""
    skills_off: Annotated[list[Name], Meta(max_length=5000)] = []
    """Other skills that are left out."""
    skills_on: Annotated[list[Name], Meta(max_length=5000)] = []
    """Other skills that are off by default and take part."""


class PreviewToolCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tool: Name
    status: ToolStatus = "ok"
    arguments: dict[str, Any] = {}
    result: Words = ""
    """The text that the model reads of it, or empty for a stand-in."""


class PreviewRequest(EditedSkill, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rounds: Annotated[
        list[Annotated[list[PreviewToolCall], Meta(min_length=1, max_length=32)]], Meta(max_length=32)
    ] = []
    """The tool calls of the model in each round; empty if it answers at once."""
    tools: bool = True
    channel: Channel = "text"
    language: Name | None = None
    model: Name | None = None
    """Name of the model, or `local` or `cloud`, or null for the one that answers now."""
    user: Name | None = None
    """The name of the user who is logged in."""
    is_operator: bool = True
    time: Annotated[str, Meta(max_length=40)] | None = None
    """Time at which the turn starts: `2026-11-22T14:05`, in the server's zone unless it names one; null for now."""


class TrialRequest(EditedSkill, frozen=True, kw_only=True, forbid_unknown_fields=True):
    language: Name | None = None
    tools: bool = False
    """Whether tools are offered; they run for real."""


class PreviewHook(Struct, frozen=True, kw_only=True):
    skill: str
    hook: str
    timing: str
    persistent: bool


class PreviewLine(Struct, frozen=True, kw_only=True):
    role: str
    text: str
    hook: PreviewHook | None
    """Hook that put the line in, or null if none did."""


class PreviewCall(Struct, frozen=True, kw_only=True):
    title: str
    lines: list[PreviewLine]


class PreviewSilent(Struct, frozen=True, kw_only=True):
    skill: str
    hook: str
    timing: str
    reason: str
    code: str
    """The reason as a word that never changes, for pages that say it in their language."""
    detail: str
    """Name, number or path that the reason is about, such as the name of a group."""
    path: str
    """Path of the condition that failed, such as `when.not.channel`; "" if another key kept the hook out."""
    fired: bool
    """Whether it fired at another time of the turn."""


class Preview(Struct, frozen=True, kw_only=True):
    calls: list[PreviewCall]
    """The model calls of the turn, with what each reads."""
    not_fired: list[PreviewSilent]
    diagnostics: list[Diagnostic]
    tests: SkillTestReport
    """Outcome of the skill's scripted tests, with the edits."""
    is_last_working: bool
    """Whether the last working version of the hooks plays, because the edited files have errors; saved, it would stay in use."""


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
                return ApiAnswer(await attempt(_preview, self._trial, folder, request))
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
        messages = [wire.Message(role=one.role, content=one.content) for one in request.history]
        messages.append(wire.Message(role="user", content=request.text))
        failure = None
        try:
            settings = wire.TurnSettings(voice=False, enable_tools=request.tools, language=request.language)
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


def _preview(trial: SkillTrial, folder: Path, request: PreviewRequest) -> Preview:
    began_s = time.monotonic()
    with overlaid(folder, request.files) as place:
        edited = _edited(trial.services.skills.current, folder, place, request)
        hooks = edited.snapshot.hooks(None)
        all_hooks = (*edited.read.hooks_file.hooks, *(hook for hook in hooks if hook.skill != folder.name))
        diagnostics = lint_skill(place, hooks=sorted(all_hooks, key=lambda hook: hook.skill))
        tests = run_reload_tests(edited.snapshot, [folder.name], lambda: time.monotonic() - began_s > TESTS_LIMIT_S)
    calls = [StepSpec(calls=[_scripted(one) for one in batch]) for batch in request.rounds]
    history: list[dict[str, Any]] = [{"role": one.role, "content": one.content} for one in request.history]
    facts = _facts(request, frozenset(skill.name for skill in edited.snapshot.skills), trial)
    played = play_turn(hooks, request.text, [*calls, StepSpec(answer="")], history=history, facts=facts)
    return Preview(
        calls=[PreviewCall(title=call.title, lines=list(map(_line, call.messages))) for call in played.calls],
        not_fired=[PreviewSilent(**{"path": "", **one.facts()}) for one in played.silent],
        diagnostics=diagnostics,
        tests=tests.get(folder.name, SkillTestReport()),
        is_last_working=edited.is_last_working,
    )


def _facts(request: PreviewRequest, skills: frozenset[str], trial: SkillTrial) -> HookFacts:
    called = [one.tool for batch in request.rounds for one in batch]
    model = trial.services.model()
    return HookFacts(
        channel=request.channel,
        language=request.language,
        model=model.name if request.model is None else request.model,
        is_local=(model.location if request.model is None else request.model) == "local",
        user=request.user,
        is_operator=request.is_operator,
        skills=skills,
        tools=frozenset((*BUILTIN_TOOLS, *called)) if request.tools else frozenset(),
        started_at=_clock(request.time),
        hook_tokens=trial.services.handler.hook_tokens,
        state=trial.read_state(request.state),
    )


def _clock(text: str | None) -> datetime:
    try:
        return (datetime.now(UTC) if text is None else datetime.fromisoformat(text)).astimezone()
    except (ValueError, OverflowError):
        raise Refusal(400, "body_invalid", "expected a time such as 2026-11-22T14:05", path="$.time") from None


def _scripted(call: PreviewToolCall) -> CallSpec:
    result = call.result or None
    match call.status:
        case "error":
            return CallSpec(tool=call.tool, arguments=call.arguments, error=result or "(an error)")
        case "refused":
            return CallSpec(tool=call.tool, arguments=call.arguments, refused=result or "(refused)")
    return CallSpec(tool=call.tool, arguments=call.arguments, result=result)


def _edited(current: SkillsSnapshot, folder: Path, place: Path, request: EditedSkill) -> EditedSkills:
    return with_skill(current, folder, place, off=request.skills_off, on=request.skills_on)


def _versions(current: SkillsSnapshot, folder: Path, request: TrialRequest) -> dict[Version, SkillsSnapshot]:
    edits: dict[Version, Mapping[str, str | None]] = {"saved": {}, "edited": request.files}
    versions = {}
    for version, files in edits.items():
        with overlaid(folder, files) as place:
            versions[version] = _edited(current, folder, place, request).snapshot
    return versions


def _line(message: ReadMessage) -> PreviewLine:
    origin = None
    if (hook := message.hook) is not None:
        origin = PreviewHook(skill=hook.skill, hook=hook.name, timing=hook.timing, persistent=hook.persistent)
    return PreviewLine(role=message.role, text=message.text, hook=origin)
