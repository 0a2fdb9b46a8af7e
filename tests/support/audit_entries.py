"""Entries of the audit log, written beside the server that reads them."""

from collections.abc import Iterable

from server.storage.audit_entry import AuditEntry
from server.storage.audit_log import AuditLog
from server.storage.database import Database


async def write_entries(database: Database, entries: Iterable[AuditEntry]) -> None:
    """However many: their users' quotas are for what happens in a minute."""
    log = AuditLog(database, replica="filled", keep_days=90, user_bytes_a_minute=1 << 40)
    for entry in entries:
        log.append(entry)
    log.stop()
    await log.run()
