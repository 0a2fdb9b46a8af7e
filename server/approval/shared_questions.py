"""A question, its answer and its end as they go from one replica to another. Pure."""

import json
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from server.approval.asking import AnsweredBy, Question, Remember, RememberFor
from server.approval.remembered import canonical_json
from server.toolguard import Permission

Shared = TypeVar("Shared", "Asked", "Answered", "Ended")


class Asked(Struct, frozen=True, kw_only=True):
    """Question as clients are shown it, and nothing else of it."""

    tool: str
    arguments: Any
    """Arguments of the call as they are shown: secrets redacted."""
    message: str
    origin: str
    permission: Permission
    command: str | None = None

    @classmethod
    def of(cls, question: Question, message: str, command: str | None) -> "Asked":
        """Return what other replicas show of the question; `message` is its text as shown."""
        shown = msgspec.convert(question, cls, from_attributes=True)
        return msgspec.structs.replace(shown, message=message, command=command)

    @property
    def question(self) -> Question:
        """Question for a client to be shown; what would really run is not known here."""
        shown = msgspec.structs.asdict(self)
        del shown["command"]
        return Question(**shown)


class Answered(Struct, frozen=True, kw_only=True):
    """A human's answer at another replica than the asker's."""

    approved: bool
    reason: str | None
    arguments: dict[str, Any] | None
    """Edited arguments, still with the redactions that were shown."""
    remember: Remember
    remember_for: RememberFor = "arguments"


class Ended(Struct, frozen=True, kw_only=True):
    """End of a question, as its asker reports it."""

    approved: bool
    by: AnsweredBy
    winner: str | None
    """Process whose answer counted, or None if it was the asker's own, or none."""


def to_text(shared: Asked | Answered | Ended) -> str:
    """Encode as ASCII, which any database takes. Raises RecursionError, ValueError or TypeError for non-JSON."""
    return canonical_json(msgspec.structs.asdict(shared))


def from_text(kind: type[Shared], text: str) -> Shared:
    """Decode what `to_text` encoded. Raises ValueError for any other text."""
    try:
        return msgspec.convert(json.loads(text), kind)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
