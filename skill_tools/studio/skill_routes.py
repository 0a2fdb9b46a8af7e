"""`/api/skills`: the files of skills, read and changed by operators; every change is conditional and can be undone."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from server.bounded.fair_share import FairShare, ShareFull
from server.gateway.rest.operation import ApiAnswer, ApiCall, Done, Operation, Operations, Refusal
from server.gateway.routes import Access
from server.storage.audit_log import AuditLog
from skill_tools.authoring.scaffold import NEUTRAL_TEXT, new_skill, schema_text
from skill_tools.sharing.bundle import SharingError, pack_skill
from skill_tools.studio.skill_arrivals import ArrivalRequest, Arrivals, put_in, receive
from skill_tools.studio.skill_files import ANY, BinnedSkill, EditError, SkillFiles, SkillState
from skills_engine.hook_entries import Timing

PATH: Final = "/api/skills"
ONE: Final = PATH + "/{skill}"
_FILE: Final = ONE + "/file"
_BIN: Final = "/api/skill_bin"
MAX_BODY_BYTES: Final = 1 << 20
_READING: Final = Operations(access=Access.OPERATOR, refusals=(404, 422))
_ADDING: Final = Operations(access=Access.OPERATOR, refusals=(404, 409), max_body_bytes=MAX_BODY_BYTES)
_CHANGES: Final = Operations(
    access=Access.OPERATOR, refusals=(404, 409, 422), has_version=True, max_body_bytes=MAX_BODY_BYTES
)
"""Operations under the version that the client has read."""
_STATUSES: Final = {
    "skill_unknown": 404,
    "file_unknown": 404,
    "file_exists": 409,
    "skill_exists": 409,
    "skill_full": 409,
    "nothing_to_undo": 409,
    "lock_invalid": 409,
    "version_stale": 412,
    "file_too_large": 413,
    "file_unreadable": 422,
    "preview_too_large": 422,
    "skill_not_packed": 422,
    "editing_off": 403,
    "skill_read_only": 403,
}
"""Statuses by code of what cannot be done; of other codes it is 400."""

T = TypeVar("T")


class HooksSchema(Struct, frozen=True):
    schema: dict[str, Any]


class SkillFolder(Struct, frozen=True, kw_only=True):
    name: str
    is_writable: bool


class SkillFolders(Struct, frozen=True, kw_only=True):
    is_on: bool
    """Whether `skills.edit` allows changes."""
    skills: list[SkillFolder]


class SkillFile(Struct, frozen=True, kw_only=True):
    path: str
    etag: str
    text: str


class SkillFileSaved(Struct, frozen=True, kw_only=True):
    path: str
    etag: str
    skill: SkillState


class NewSkill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=64)]
    timing: Timing | None = None
    tools: Annotated[list[Annotated[str, Meta(max_length=256)]], Meta(max_length=32)] = []
    text: Annotated[str, Meta(max_length=16_384)] = NEUTRAL_TEXT

    def make(self, root: Path) -> None:
        """Create the skill below `root`. Raises SharingError."""
        new_skill(self.name, root, timing=self.timing, tools=self.tools, text=self.text)


class SkillName(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=64)]


class BinEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    entry: str


class SkillBin(Struct, frozen=True, kw_only=True):
    skills: list[BinnedSkill]


class FileText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str


class FileName(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(max_length=1024)]
    """Relative to the skill's folder: `SKILL.md`, `hooks/hint.md`."""


class SkillRoutes:
    """Files of skills: listed, read, written, renamed, deleted, undone. One change at a time, on disk at once."""

    def __init__(self, files: SkillFiles, audit: AuditLog) -> None:
        self._files = files
        self._audit = audit
        self._changing = asyncio.Lock()
        self._receiving = FairShare(4, per_user=1, max_waiting=0)  # each may take a whole git repository

    def operations(self) -> tuple[Operation, ...]:
        return (*_READING.of(self), *_CHANGES.of(self), *_ADDING.of(self))

    @_READING.add("GET", "/api/hooks/schema", HooksSchema, access=Access.LOGGED_IN, refusals=())
    async def _show_schema(self, _call: ApiCall) -> ApiAnswer:
        """Show the JSON Schema of a skill's hooks.json."""
        return ApiAnswer(HooksSchema(schema=msgspec.json.decode(schema_text())))

    @_READING.add("GET", PATH, SkillFolders)
    async def _list(self, _call: ApiCall) -> ApiAnswer:
        """List the skills whose files can be read."""
        return ApiAnswer(await asyncio.to_thread(self._folders))

    @_READING.add("GET", ONE, SkillState, has_version=True)
    async def _show(self, call: ApiCall) -> ApiAnswer | web.StreamResponse:
        """List the files of a skill, and what is wrong with them."""
        skill = call.request.match_info["skill"]
        if known := call.request.headers.get("If-None-Match"):  # a studio that is open asks often
            version = _versioned(await attempt(self._files.tag, skill))
            if known == version["ETag"]:
                return web.Response(status=304, headers=version)
        return await self._state(skill)

    @_READING.add("GET", _FILE, SkillFile, has_version=True, query=FileName)
    async def _read(self, call: ApiCall) -> ApiAnswer:
        """Show the text of a file."""
        path = call.query.path
        text, tag = await attempt(self._files.read, call.request.match_info["skill"], path)
        return ApiAnswer(SkillFile(path=path, etag=tag, text=text), _versioned(tag))

    @_READING.add("GET", ONE + "/zip", None, content_types=("application/zip",))
    async def _pack(self, call: ApiCall) -> web.StreamResponse:
        """Pack all files of a skill."""
        skill = call.request.match_info["skill"]
        data = await attempt(pack_skill, await attempt(self._files.folder, skill), sharing_code="skill_not_packed")
        name = re.sub(r"[^A-Za-z0-9._-]", "_", skill)
        headers = {"Content-Disposition": f'attachment; filename="{name}.zip"', "Cache-Control": "no-store"}
        return web.Response(body=data, content_type="application/zip", headers=headers)

    @_READING.add("GET", _BIN, SkillBin)
    async def _list_bin(self, _call: ApiCall) -> ApiAnswer:
        """List the skills that were deleted."""
        return ApiAnswer(SkillBin(skills=await attempt(self._files.binned)))

    @_ADDING.add("POST", PATH, SkillState, body=(NewSkill,))
    async def _create(self, call: ApiCall) -> ApiAnswer:
        """Create a skill with one hook, to adapt."""
        new = await call.body(NewSkill)
        async with self._changing:
            await attempt(self._files.create, new.name, new.make, sharing_code="skill_invalid")
        self._note(call, "created", new.name)
        return await self._state(new.name)

    @_ADDING.add("POST", "/api/skill_arrivals", Arrivals, body=(ArrivalRequest,))
    async def _receive(self, call: ApiCall) -> ApiAnswer:
        """Look at a skill to add, then add it."""
        request = await call.body(ArrivalRequest)
        try:
            async with self._receiving.place(call.principal.share):
                shown, arrivals = await attempt(receive, self._files, request, partial(has_left, call.request))
        except ShareFull:
            raise Refusal(429, "arrivals_busy", "another source is still being read; wait", Retry_After="5") from None
        if shown.is_added:
            async with self._changing:
                await attempt(put_in, self._files, arrivals, sharing_code="source_invalid")
            for name in shown.names:
                self._note(call, "added", name, source=request.source)
        return ApiAnswer(shown)

    @_ADDING.add("POST", _BIN, SkillState, body=(BinEntry,))
    async def _restore(self, call: ApiCall) -> ApiAnswer:
        """Give a deleted skill back."""
        entry = (await call.body(BinEntry)).entry
        async with self._changing:
            name = await attempt(self._files.restore, entry)
        self._note(call, "restored", name)
        return await self._state(name)

    @_CHANGES.add("DELETE", ONE, Done)
    async def _remove(self, call: ApiCall) -> ApiAnswer:
        """Put a skill into the bin."""
        await self._change(call, "deleted", self._files.remove_skill)
        return ApiAnswer(Done())

    @_CHANGES.add("POST", ONE + "/name", SkillState, body=(SkillName,))
    async def _rename(self, call: ApiCall) -> ApiAnswer:
        """Rename a skill."""
        name = (await call.body(SkillName)).name
        await self._change(call, "renamed", self._files.rename_skill, name, to=name)
        return await self._state(name)

    @_CHANGES.add("POST", ONE + "/undo", SkillState)
    async def _undo(self, call: ApiCall) -> ApiAnswer:
        """Undo the last edit."""
        await self._change(call, "undone", self._files.undo)
        return await self._state(call.request.match_info["skill"])

    @_CHANGES.add("POST", ONE + "/redo", SkillState)
    async def _redo(self, call: ApiCall) -> ApiAnswer:
        """Repeat what was undone."""
        await self._change(call, "redone", self._files.redo)
        return await self._state(call.request.match_info["skill"])

    @_CHANGES.add("PUT", _FILE, SkillFileSaved, body=(FileText,), query=FileName, may_create=True)
    async def _write(self, call: ApiCall) -> ApiAnswer:
        """Replace a file in one step, or create it."""
        text, path = (await call.body(FileText)).text, call.query.path
        tag = await self._change(call, "written", self._files.write, path, text, path=path, bytes=len(text.encode()))
        return await self._saved(call, path, tag)

    @_CHANGES.add("DELETE", _FILE, SkillState, query=FileName)
    async def _remove_file(self, call: ApiCall) -> ApiAnswer:
        """Put a file into the bin."""
        await self._change(call, "deleted", self._files.remove, call.query.path, path=call.query.path)
        return await self._state(call.request.match_info["skill"])

    @_CHANGES.add("POST", _FILE + "/name", SkillFileSaved, body=(FileName,), query=FileName)
    async def _rename_file(self, call: ApiCall) -> ApiAnswer:
        """Rename a file."""
        path, new = call.query.path, (await call.body(FileName)).path
        tag = await self._change(call, "renamed", self._files.rename, path, new, path=path, to=new)
        return await self._saved(call, new, tag)

    async def _change(
        self, call: ApiCall, outcome: str, change: Callable[..., T], *arguments: str, **details: Any
    ) -> T:
        """Make a change that `If-Match` allows, and note it in the audit log. Raises Refusal."""
        skill = call.request.match_info["skill"]
        async with self._changing:
            work = partial(change, expected=_expected(call))
            done = await attempt(work, skill, *arguments, sharing_code="lock_invalid")
        self._note(call, outcome, skill, **details)
        return done

    def _note(self, call: ApiCall, outcome: str, skill: str, **details: Any) -> None:
        message = " ".join(str(part) for part in ("skill", skill, details.get("path"), outcome) if part)
        self._audit.append(call.entry("skill", outcome, message=message, details={"skill": skill, **details}))

    async def _saved(self, call: ApiCall, path: str, tag: str) -> ApiAnswer:
        state = await attempt(self._files.show, call.request.match_info["skill"])
        return ApiAnswer(SkillFileSaved(path=path, etag=tag, skill=state), _versioned(tag))

    async def _state(self, skill: str) -> ApiAnswer:
        state = await attempt(self._files.show, skill)
        return ApiAnswer(state, _versioned(state.etag))

    def _folders(self) -> SkillFolders:
        names = self._files.names()
        return SkillFolders(
            is_on=self._files.is_on,
            skills=[SkillFolder(name=name, is_writable=self._files.is_writable(name)) for name in names],
        )


async def attempt(work: Callable[..., T], *arguments: Any, sharing_code: str = "skill_invalid") -> T:
    """Run it in a thread. Raises Refusal for what cannot be done; `sharing_code` is the code of a SharingError."""
    try:
        return await asyncio.to_thread(work, *arguments)
    except EditError as error:
        tag = {} if error.tag is None else _versioned(error.tag)
        status = _STATUSES.get(error.code, 400)
        raise Refusal(status, error.code, str(error), current=error.current, **tag) from None
    except SharingError as error:
        raise Refusal(_STATUSES.get(sharing_code, 400), sharing_code, str(error)) from None
    except OSError as error:  # a disk that is full or closed to us
        raise Refusal(422, "file_system", f"the file system refuses: {error.strerror}") from None


def has_left(request: web.Request) -> bool:
    """Return whether the client has left; aiohttp does not say it by itself."""
    return request.transport is None or request.transport.is_closing()


def _expected(call: ApiCall) -> set[str] | None:
    """Read If-Match (RFC 9110, 13.1.1): strong tags, or `*`; None if If-None-Match asks for a new file."""
    headers = call.request.headers
    if (if_match := headers.get("If-Match")) is None:
        if headers.get("If-None-Match", "").strip() == "*" and call.request.method == "PUT":
            return None
        cure = "send If-Match with the ETag of what you have read, so that nothing is lost"
        raise Refusal(428, "version_missing", cure)
    tags = (tag.strip() for tag in if_match.split(","))
    return {tag if tag == ANY else tag[1:-1] for tag in tags if tag == ANY or (tag[:1] == tag[-1:] == '"')}


def _versioned(tag: str) -> dict[str, str]:
    return {"ETag": f'"{tag}"'}
