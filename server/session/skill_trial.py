"""A turn without a connection: answers with an edited version of the skills, for whoever edits them."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from server.accounts.principal import Principal
from server.agent.chunks import ChunkChannel
from server.errors import TurnError
from server.fair_share import turn_user
from server.llm.language_model import ModelInfo
from server.session.settings import ClientSettings, Services, turn_request
from server.wire import frames as wire
from skills_engine import SkillsSnapshot


class SkillTrial:
    """Runs turns that nobody hears and no history keeps. They have the places, time limit, hooks and policy of others.

    Nobody can be asked: a tool call that needs a human's yes is refused.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def snapshot(self) -> SkillsSnapshot:
        """The skills in force."""
        return self._services.skills()

    @property
    def hook_tokens(self) -> int | None:
        """The most that hooks may cost in one model call."""
        return self._services.handler.hook_tokens

    @property
    def model(self) -> ModelInfo:
        """The model that answers."""
        return self._services.model()

    @contextmanager
    def place(self, principal: Principal) -> Iterator[None]:
        """Take one of the places for running turns. Raises TurnError."""
        gate = self._services.gate
        gate.enter(principal.limit_key)
        try:
            yield
        finally:
            gate.leave(principal.limit_key)

    async def answer(
        self,
        principal: Principal,
        snapshot: SkillsSnapshot,
        messages: list[wire.Message],
        out: ChunkChannel,
        *,
        enable_tools: bool,
        language: str | None,
    ) -> None:
        """Answer the last message with all skills of `snapshot`; `out` gets what happens, piece by piece.

        Raises TurnError, TurnAborted and ProviderError, and what `out` raises.
        """
        session_id, turn_id = "studio-" + secrets.token_hex(4), secrets.token_hex(8)
        turn_user.set(principal.limit_key or session_id)
        request = turn_request(
            self._services,
            principal,
            ClientSettings(voice=False, enable_tools=enable_tools, language=language),
            session_id=session_id,
            turn_id=turn_id,
            trigger="chat",
            messages=messages,
            received_s=self._services.now_s(),
            snapshot=snapshot,
        )
        limit_s = self._services.limits.max_turn_s
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                await self._services.handler.answer(request, out)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TurnError("provider_timeout", f"the turn ran longer than {limit_s:g} s and was ended") from None
