"""Sessions of the page without a database."""

from server.storage.page_sessions import PageSessionTable


class MemorySessions(PageSessionTable):
    """The sessions that Accounts asks for, as long as a test."""

    def __init__(self) -> None:
        self._users: dict[str, str] = {}

    def is_open(self, session_id: str) -> bool:
        return session_id in self._users

    async def has(self, session_id: str) -> bool:
        return session_id in self._users

    async def add(self, session_id: str, user: str, *, address: str, browser: str, lasts_s: float) -> None:
        self._users[session_id] = user

    async def end(self, session_id: str, user: str | None = None) -> str | None:
        return self._users.pop(session_id, None)
