"""server/gateway/rest/audit_routes.py, when the database goes away in the middle of an export"""

from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from server.storage.audit_entry import AuditEntry
from tests.support.audit_entries import write_entries
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.postgres import Postgres


async def test_an_export_that_breaks_off_cannot_be_taken_for_the_whole(postgres: Postgres, tmp_path: Path) -> None:
    settings = {"storage": {"url": postgres.new_database()}}
    async with (
        OpenAIServer() as model,
        parley(tmp_path, model.url, settings) as server,
        ClientSession() as http,
    ):
        large = AuditEntry(phase="p", arguments={"text": "x" * 16_000})
        await write_entries(server.app.storage.database, [large] * 1000)  # more than a socket holds

        async with http.get(f"{server.url}/api/audit/export") as answer:
            assert answer.status == 200
            await answer.content.readany()
            postgres.stop()
            try:
                with pytest.raises(ClientError):
                    await answer.read()
            finally:
                postgres.start()
