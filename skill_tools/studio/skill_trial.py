"""A skill with edits that are not saved: read like any other, and answered with in a turn without a connection."""

import asyncio
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from server.accounts.principal import Principal
from server.agent.chunks import ChunkChannel
from server.agent.messages import admit, is_signed, text_of
from server.bounded.fair_share import Share, turn_share
from server.errors import TurnError
from server.llm.language_model import Message
from server.session.services import Services
from server.session.settings import ClientRights, TurnRequest
from server.wire import frames as wire
from skill_tools.sharing.bundle import SkillBundle, skill_files
from skill_tools.studio.skill_files import EditError, require_editable
from skills_engine import HookFacts, HookState, Signer, StateInvalidError
from skills_engine.diagnostics import has_errors
from skills_engine.library import SkillsSnapshot
from skills_engine.skills_folder import LoadedSkill, load_skill

_COPIED = ("hooks/", "tests/")
MAX_OVERLAY_BYTES = 8 << 20
"""Limit for the files that are copied."""


class SkillTrial:
    """Runs turns without voice, history or connection, with the places, time limit, hooks and policy of other turns.

    A tool call that needs a human's approval is refused, since there is no human to ask.
    """

    def __init__(self, services: Services, signer: Signer) -> None:
        """Take the signer of turns, from which that of previews is derived."""
        self.services = services
        self.previews = Signer(signer.derived_keys("previews"))
        """Signs what was played and not said: it counts in previews and trials, and in no turn of a client."""
        self._signer = signer

    @contextmanager
    def place(self, principal: Principal) -> Iterator[None]:
        """Take one of the places for running turns. Raises TurnError."""
        gate = self.services.gate
        gate.enter(principal.limited_share)
        try:
            yield
        finally:
            gate.leave(principal.limited_share)

    def read_state(self, text: str | None) -> HookState:
        """Read the state of hooks, of a turn or a preview: one that is missing or not valid counts as none."""
        for signer in (self._signer, self.previews):
            with suppress(StateInvalidError):
                return HookState.read(text or "", signer)
        return HookState()

    def admitted(self, principal: Principal, messages: Iterable[wire.Message]) -> list[Message]:
        """Take a history in as a turn does, with what previews have signed. Raises TurnError."""
        policy = ClientRights.of(principal, self.services.security).system_messages
        return admit(map(self._as_of_turns, messages), policy=policy, verify=self._signer.verify).messages

    def _as_of_turns(self, message: wire.Message) -> wire.Message:
        """Return what a preview has signed with the signature of a turn, which must never leave the server."""
        if not is_signed(message, self.previews.verify):
            return message
        sig = self._signer.sign(message.skill, message.hook, message.role, text_of(message))
        return msgspec.structs.replace(message, sig=sig)

    async def answer(
        self,
        principal: Principal,
        snapshot: SkillsSnapshot,
        messages: list[wire.Message],
        out: ChunkChannel,
        settings: wire.TurnSettings,
        state: HookState,
    ) -> None:
        """Answer the last message with all skills of `snapshot`; `out` gets what happens, piece by piece.

        Raises TurnError, TurnAborted and ProviderError, and what `out` raises.
        """
        session_id, turn_id = "studio-" + secrets.token_hex(4), secrets.token_hex(8)
        turn_share.set(principal.limited_share or Share(session_id))
        request = TurnRequest(
            id=turn_id,
            session_id=session_id,
            trigger="chat",
            messages=list(map(self._as_of_turns, messages)),
            settings=settings,
            snapshot=snapshot,
            principal=principal,
            system_messages=ClientRights.of(principal, self.services.security).system_messages,
            received_s=self.services.now_s(),
            hook_facts=HookFacts(state=state),
        )
        limit_s = self.services.limits.max_turn_s
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                await self.services.handler.answer(request, out)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TurnError("provider_timeout", f"the turn ran longer than {limit_s:g} s and was ended") from None


@contextmanager
def overlaid(folder: Path, edits: Mapping[str, str | None]) -> Iterator[Path]:
    """Lend a copy of the skill in which `edits` are made: path → text, None = deleted. Raises EditError and OSError."""
    files: dict[str, bytes] = {}
    size = 0
    for path in skill_files(folder):
        name = path.relative_to(folder).as_posix()
        if not path.is_symlink() and ("/" not in name or name.startswith(_COPIED)):
            if (size := size + path.stat().st_size) > MAX_OVERLAY_BYTES:
                raise EditError("file_too_large", f"{folder.name} is too large to be tried before it is saved")
            files[name] = path.read_bytes()
    for name, text in edits.items():
        require_editable(folder, name)
        files.pop(name, None)
        files |= {} if text is None else {name: text.encode()}
    with TemporaryDirectory(prefix="parley-skill-") as root:
        copy = Path(root, folder.name)
        SkillBundle(files).write(copy)
        yield copy


@dataclass(frozen=True)
class EditedSkills:
    """The skills of a turn, one of them with edits that are not saved."""

    snapshot: SkillsSnapshot
    read: LoadedSkill
    """The skill as its edited files give it, also where they have errors."""
    is_last_working: bool
    """Whether the last working version of the skill plays, because the edited files have errors."""


def with_skill(
    current: SkillsSnapshot, folder: Path, place: Path, *, off: Collection[str] = (), on: Collection[str] = ()
) -> EditedSkills:
    """Return the skills in force with the one in `folder` as a save of `place`, its copy, would leave it.

    Skills in `off` are left out and those in `on` taken in, whatever their default; the skill itself always plays.
    """
    read = load_skill(place, is_named=True)
    is_kept = has_errors(read.diagnostics) and folder.name in current.working
    chosen = {skill.name for skill in current.skills if skill.name not in off} | {folder.name, *on}
    skills = [skill for skill in current.all_skills if skill.name in chosen]
    at = next((index for index, skill in enumerate(skills) if skill.name == folder.name), len(skills))
    played = replace(skills[at], directory=place) if is_kept else read.skill
    skills[at : at + 1] = [] if played is None else [played]
    return EditedSkills(SkillsSnapshot(tuple(skills)), read, is_kept)
