"""Stored policy documents, typed, and the policy that is in force for a user."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from server.errors import ConfigError, PolicyError
from server.policy.document import NO_POLICY, PolicyDocument, lay_over, read_document, to_json
from server.storage.documents import DocumentStore, StoredDocument

logger = logging.getLogger(__name__)

OPERATOR: Final = "operator"
_USER: Final = "user:"

Scope = Literal["operator", "user"]
OnPolicyChange = Callable[[frozenset[str]], None]
"""Takes the types of the handlers that changed documents name."""


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Stored document of the operator or a user; version 0 stands for none."""

    document: PolicyDocument
    version: int


_NOTHING: Final = StoredPolicy(NO_POLICY, 0)


class PolicyStore:
    """Policy documents by owner. Reading never waits: it sees what this replica last heard of."""

    def __init__(self, documents: DocumentStore, operator_yaml: PolicyDocument) -> None:
        self.operator_yaml = operator_yaml
        """The document of parley.yaml, as it was read last."""
        self._documents = documents
        self._stored: dict[str, StoredPolicy] = {}
        self._listeners: list[OnPolicyChange] = []
        documents.listen(self._learn)

    def use_yaml(self, document: PolicyDocument) -> bool:
        """Take the document of parley.yaml after a reload; return whether it differs from the one before."""
        is_new, self.operator_yaml = document != self.operator_yaml, document
        return is_new

    def check(self) -> None:
        """Raise ConfigError if the operator's stored document cannot be read: a guard must not be left out."""
        stored = self._documents.get(OPERATOR)
        if stored is None:
            return
        try:
            read_document(stored.body)
        except PolicyError as error:
            raise ConfigError(
                f"the operator's stored policy, version {stored.version}: {error.path}: {error}; "
                "correct or delete the row `operator` of parley_documents"
            ) from error

    def operator(self) -> StoredPolicy:
        return self._stored.get(OPERATOR, _NOTHING)

    def user(self, user_id: str) -> StoredPolicy:
        return self._stored.get(_USER + user_id, _NOTHING)

    def below(self, scope: Scope) -> PolicyDocument:
        """Return what a document of this scope is laid over."""
        return self.operator_yaml if scope == "operator" else lay_over(self.operator_yaml, self.operator().document)

    def effective(self, user_id: str) -> PolicyDocument:
        """Return the policy in force for the user's next turn."""
        if not self._stored:
            return self.operator_yaml
        return lay_over(self.below("user"), self.user(user_id).document)

    def tag(self, user_id: str) -> str:
        """Return a tag that changes with anything that the user's effective policy is made of."""
        made_of = hashlib.sha256(to_json(self.operator_yaml)).hexdigest()[:12]
        return f"e{self.operator().version}.{self.user(user_id).version}.{made_of}"

    async def refresh(self) -> None:
        """Read what other replicas wrote. Raises StorageError."""
        await self._documents.refresh()

    async def save(
        self, scope: Scope, user_id: str, document: PolicyDocument, *, if_version: int
    ) -> StoredPolicy | None:
        """Store the next version of the operator's or the user's document; `user_id` is who does it.

        Return it, in force here and safe from the end of the process; or None, and nothing is stored, if the version
        has changed meanwhile. Raises StorageError, PolicyError for a document that is too large.
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

    def _learn(self, changed: Sequence[StoredDocument]) -> None:
        for stored in changed:
            self._read(stored)
        names = frozenset().union(*(self._stored[stored.owner].document.handler_names for stored in changed))
        for listener in self._listeners:
            listener(names)

    def _read(self, stored: StoredDocument) -> None:
        """Parse a new document. One that cannot be read leaves the version known before in force."""
        owner = stored.owner
        try:
            document = read_document(stored.body)
        except PolicyError as error:  # written past us, or by a later version of the program
            what = f"{owner}, version {stored.version}: {error.path}: {error}"
            logger.warning("a stored policy cannot be read; the last valid version stays in force: %s", what)
            document = self._stored.get(owner, _NOTHING).document
        self._stored[owner] = StoredPolicy(document, stored.version)
