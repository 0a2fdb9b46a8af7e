"""Asks the model of a running server the questions of `python -m skills_engine test`."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import websockets
from websockets.asyncio.client import ClientConnection

from clients.talk.connector import Connector, socket_url
from skill_tools.testing.tests_asker import AskError, ModelQuestion

READY_S: Final = 10.0
ANSWER_S: Final = 600.0
"""Time for one answer, tools included; the server's own limit is usually shorter."""


class SkillAsker:
    """Puts one question after the other over one connection; every tool that asks is refused."""

    def __init__(self, socket: ClientConnection, skills: frozenset[str]) -> None:
        self._socket = socket
        self._skills = skills

    async def ask(self, question: ModelQuestion) -> str:
        """Return the answer as the user would read it. Raises AskError."""
        if unknown := [name for name in question.skills if name not in self._skills]:
            raise AskError(f"the server has no skill {unknown[0]}: its skills.dir must be the folder that is tested")
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._ask(question)
        except TimeoutError:
            raise AskError(f"no answer within {ANSWER_S:g} s") from None
        except websockets.ConnectionClosed as error:
            raise AskError("the server has closed the connection") from error

    async def _ask(self, question: ModelQuestion) -> str:
        turn_id = secrets.token_hex(8)
        texts = {"hook_texts": dict(question.hook_texts)} if question.hook_texts else {}
        await self._send("configure", voice=False, language=question.language)
        await self._send(
            "chat",
            id=turn_id,
            messages=list(question.messages),
            skills=list(question.skills),
            enable_tools=question.enable_tools,
            **texts,
        )
        answer = ""
        while True:
            frame = json.loads(await self._socket.recv())
            is_own = frame.get("turn_id") == turn_id
            match frame["type"]:
                case "text" if is_own:
                    answer += frame["delta"]
                case "approval_request" if is_own:
                    await self._send("approval", id=frame["id"], approved=False)
                case "turn_end" if is_own:
                    if frame["reason"] != "completed":
                        raise AskError(frame.get("message") or f"the turn ended: {frame['reason']}")
                    return answer
                case "error" if is_own or "turn_id" not in frame:
                    raise AskError(frame["message"])

    async def _send(self, kind: str, **fields: Any) -> None:
        await self._socket.send(json.dumps({"type": kind, **fields}))


@asynccontextmanager
async def connected(url: str, token: str | None) -> AsyncIterator[SkillAsker]:
    """Connect to a server, by its page's address or that of its socket. Raises AskError."""
    try:
        socket = await Connector(socket_url(url), token=token).open()
    except (ValueError, ConnectionError) as error:
        raise AskError(str(error)) from error
    async with socket:
        try:
            async with asyncio.timeout(READY_S):
                ready = json.loads(await socket.recv())
        except TimeoutError:
            raise AskError(f"{url} is silent: is it a server of Parley?") from None
        except websockets.ConnectionClosed as error:
            raise AskError(f"{url} has closed the connection ({error}): give a valid token with --token") from error
        yield SkillAsker(socket, frozenset(skill["name"] for skill in ready["skills"]))
