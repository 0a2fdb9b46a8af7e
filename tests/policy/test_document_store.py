"""server/policy/document_store.py: policies as they are stored, changed and laid over each other."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server import config
from server.config import PolicyHandler, PolicyStage
from server.errors import ConfigError, PolicyError
from server.policy.document import PolicyDocument
from server.policy.document_store import OPERATOR, PolicyStore
from server.storage.database import Database
from server.storage.documents import DocumentStore

AUDIT = PolicyDocument(tool_skip=PolicyStage(handlers=[PolicyHandler(type="audit_log")]))
SCAN = PolicyDocument(post_tool_use=PolicyStage(handlers=[PolicyHandler(type="security_scan")]))


@pytest.fixture
async def documents(tmp_path: Path) -> AsyncIterator[DocumentStore]:
    database = Database(config.StorageSettings(), tmp_path)
    await database.start()
    yield DocumentStore(database)
    await database.aclose()


async def test_a_change_is_in_force_at_once_told_once_and_changes_the_tag_unless_it_is_too_large(
    documents: DocumentStore,
) -> None:
    store = PolicyStore(documents, AUDIT)
    told: list[frozenset[str]] = []
    store.listen(told.append)
    before, tag = store.effective("anna"), store.tag("anna")
    assert before == AUDIT

    saved = await store.save("user", "anna", SCAN, if_version=0)
    assert saved == store.user("anna")
    assert store.effective("anna") == PolicyDocument(tool_skip=AUDIT.tool_skip, post_tool_use=SCAN.post_tool_use)
    assert store.effective("bert") == AUDIT
    assert (told, store.tag("anna") != tag) == ([frozenset({"security_scan"})], True)
    assert await store.save("user", "anna", SCAN, if_version=0) is None

    await store.save("operator", "anna", PolicyDocument(tool_skip=PolicyStage()), if_version=0)
    assert store.effective("bert").tool_skip == PolicyStage()
    assert store.below("operator") == AUDIT
    large = PolicyStage(handlers=[PolicyHandler(type="audit_log", config={"x": "y" * 70_000})])
    with pytest.raises(PolicyError, match="at most 65536"):
        await store.save("user", "anna", PolicyDocument(tool_skip=large), if_version=1)
    assert store.use_yaml(PolicyDocument())
    assert store.effective("anna") == PolicyDocument(tool_skip=PolicyStage(), post_tool_use=SCAN.post_tool_use)
    assert told[1:] == [frozenset()]


async def test_a_stored_document_that_cannot_be_read_keeps_the_last_good_one(
    documents: DocumentStore, caplog: pytest.LogCaptureFixture
) -> None:
    store = PolicyStore(documents, PolicyDocument())
    store.check()
    await store.save("operator", "o", AUDIT, if_version=0)
    store.check()
    assert store.effective("anna") == AUDIT

    with caplog.at_level(logging.WARNING):
        await documents.put(OPERATOR, b'{"tool_skips": []}', if_version=1, by="somebody")
        assert store.effective("anna") == AUDIT
        assert store.operator().version == 2
    assert "tool_skips: unknown key" in caplog.text
    with pytest.raises(ConfigError, match="stored policy, version 2"):
        PolicyStore(documents, PolicyDocument()).check()
