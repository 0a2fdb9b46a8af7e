"""The stored policy documents, typed, and what is in force for a user."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from server.errors import ConfigError, PolicyError
from server.policy.document import PolicyDocument, effective, read_document, to_json
from server.storage.documents import DocumentStore

logger = logging.getLogger(__name__)

OPERATOR: Final = "operator"
_USER: Final = "user:"
_MAX_USERS: Final = 1000
"""Users whose effective policy is kept at hand; beyond it, it is put together anew."""

Scope = Literal["operator", "user"]
OnPolicyChange = Callable[[], None]


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Version 0: nothing is stored."""

    document: PolicyDocument
    version: int


_NOTHING: Final = StoredPolicy(PolicyDocument(), 0)


class PolicyStore:
    """Reading never waits: it sees what this replica last heard of. Once `check` has passed, it never fails."""

    def __init__(self, documents: DocumentStore, operator_yaml: PolicyDocument) -> None:
        self._documents = documents
        self._yaml = operator_yaml
        self._parsed: dict[str, StoredPolicy] = {}
        self._effective: dict[str, PolicyDocument] = {}
        self._listeners: list[OnPolicyChange] = []
        documents.listen(self._note)

    def check(self) -> None:
        """Raises ConfigError where the operator's stored document cannot be read: a guard must not be left out."""
        stored = self._documents.get(OPERATOR)
        if stored is None:
            return
        try:
            read_document(stored.body)
        except PolicyError as error:
            raise ConfigError(
                f"the operator's stored policy, version {stored.version}: {error.path}: {error}; "
                "mend or delete the row `operator` of parley_documents"
            ) from error

    @property
    def operator_yaml(self) -> PolicyDocument:
        return self._yaml

    def set_operator_yaml(self, document: PolicyDocument) -> None:
        """From a reload of parley.yaml."""
        if document != self._yaml:
            self._yaml = document
            self._forget()

    def operator(self) -> StoredPolicy:
        return self._read(OPERATOR)

    def user(self, user_id: str) -> StoredPolicy:
        return self._read(_USER + user_id)

    def below(self, scope: Scope) -> PolicyDocument:
        """What a document of this scope is laid over."""
        return self._yaml if scope == "operator" else effective(self._yaml, self.operator().document, None)

    def effective(self, user_id: str) -> PolicyDocument:
        """In force for the user's next turn. The same object until something changes."""
        found = self._effective.get(user_id)
        if found is None:
            found = effective(self._yaml, self.operator().document, self.user(user_id).document)
            if len(self._effective) >= _MAX_USERS:
                self._effective.clear()
            self._effective[user_id] = found
        return found

    def tag(self, user_id: str) -> str:
        """Differs when anything that the user's effective policy is made of differs."""
        made_of = hashlib.sha256(to_json(self._yaml)).hexdigest()[:12]
        return f"e{self.operator().version}.{self.user(user_id).version}.{made_of}"

    async def refresh(self) -> None:
        """Have read what other replicas wrote. Raises StorageError."""
        await self._documents.refresh()

    async def save(
        self, scope: Scope, user_id: str, document: PolicyDocument, *, if_version: int
    ) -> StoredPolicy | None:
        """Store the next version of the operator's or the user's document; `user_id` is who does it.

        None = the version is another by now, nothing is changed. When it
        returns, the document is in force here and outlives the process. Raises
        StorageError, PolicyError for a document that is too large.
        """
        owner = OPERATOR if scope == "operator" else _USER + user_id
        try:
            stored = await self._documents.put(owner, to_json(document), if_version=if_version, by=user_id)
        except ValueError as error:
            raise PolicyError(str(error), path="$") from error
        return None if stored is None else StoredPolicy(document, stored.version)

    def listen(self, on_change: OnPolicyChange) -> None:
        """Have `on_change` called in the event loop after a change; it must not wait. Changes may be told together."""
        self._listeners.append(on_change)

    def _note(self, _owners: frozenset[str]) -> None:
        self._forget()

    def _forget(self) -> None:
        self._effective.clear()
        for tell in self._listeners:
            tell()

    def _read(self, owner: str) -> StoredPolicy:
        stored = self._documents.get(owner)
        if stored is None:
            return _NOTHING
        known = self._parsed.get(owner)
        if known is not None and known.version == stored.version:
            return known
        try:
            fresh = StoredPolicy(read_document(stored.body), stored.version)
        except PolicyError as error:  # written past us, or by a later version of the program
            what = f"{owner}, version {stored.version}: {error.path}: {error}"
            logger.warning("a stored policy is left out, what was known before counts: %s", what)
            fresh = StoredPolicy((known or _NOTHING).document, stored.version)
        if len(self._parsed) >= _MAX_USERS:
            self._parsed = {OPERATOR: self._parsed[OPERATOR]} if OPERATOR in self._parsed else {}
        self._parsed[owner] = fresh
        return fresh
