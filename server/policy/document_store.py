"""Stored policy documents, typed, and the policy that is in force for a user."""

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
OnPolicyChange = Callable[[frozenset[str]], None]
"""Takes the types of the handlers that changed documents name."""


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Version 0: nothing is stored."""

    document: PolicyDocument
    version: int


_NOTHING: Final = StoredPolicy(PolicyDocument(), 0)


class PolicyStore:
    """Policy documents by owner. Reading never waits: it sees what this replica last heard of. After `check` it never fails."""

    def __init__(self, documents: DocumentStore, operator_yaml: PolicyDocument) -> None:
        self._documents = documents
        self._yaml = operator_yaml
        self._parsed: dict[str, StoredPolicy] = {}
        self._effective: dict[str, PolicyDocument] = {}
        self._listeners: list[OnPolicyChange] = []
        documents.listen(self._learn)

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
        """Take over the document of a reloaded parley.yaml."""
        if document != self._yaml:
            self._yaml = document
            self._effective.clear()

    def operator(self) -> StoredPolicy:
        return self._read(OPERATOR)

    def user(self, user_id: str) -> StoredPolicy:
        return self._read(_USER + user_id)

    def below(self, scope: Scope) -> PolicyDocument:
        """Return what a document of this scope is laid over."""
        return self._yaml if scope == "operator" else effective(self._yaml, self.operator().document, None)

    def effective(self, user_id: str) -> PolicyDocument:
        """Return the policy in force for the user's next turn; the same object until something changes."""
        found = self._effective.get(user_id)
        if found is None:
            found = effective(self._yaml, self.operator().document, self.user(user_id).document)
            if len(self._effective) >= _MAX_USERS:
                self._effective.clear()
            self._effective[user_id] = found
        return found

    def tag(self, user_id: str) -> str:
        """Return a tag that changes with anything that the user's effective policy is made of."""
        made_of = hashlib.sha256(to_json(self._yaml)).hexdigest()[:12]
        return f"e{self.operator().version}.{self.user(user_id).version}.{made_of}"

    async def refresh(self) -> None:
        """Read what other replicas wrote. Raises StorageError."""
        await self._documents.refresh()

    async def save(
        self, scope: Scope, user_id: str, document: PolicyDocument, *, if_version: int
    ) -> StoredPolicy | None:
        """Store the next version of the operator's or the user's document; `user_id` is who does it.

        None: the version has changed meanwhile, and nothing was stored. When it
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
        """Have `on_change` called in the event loop when documents are stored, here or at another replica."""
        self._listeners.append(on_change)

    def _learn(self, owners: frozenset[str]) -> None:
        self._effective.clear()
        names = frozenset().union(*(self._read(owner).document.handler_names for owner in owners))
        for listener in self._listeners:
            listener(names)

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
            logger.warning("a stored policy cannot be read, the version known before stays in force: %s", what)
            fresh = StoredPolicy((known or _NOTHING).document, stored.version)
        if len(self._parsed) >= _MAX_USERS:
            self._parsed = {OPERATOR: self._parsed[OPERATOR]} if OPERATOR in self._parsed else {}
        self._parsed[owner] = fresh
        return fresh
