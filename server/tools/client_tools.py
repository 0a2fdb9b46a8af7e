"""Tools that the client of a turn runs: asked for over its connection, and checked without trust in their schemas."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import jsonschema
from jsonschema.validators import extend

from server.llm.language_model import ToolSpec, schema_validator
from server.tools.registry import OfferedTool
from server.tools.tool_calls import ToolAnswer
from server.wire.frames import ToolItem

MAX_CHECK_S: Final = 0.002
"""CPU time for checking arguments against a client's schema; what is not checked then is left to the client."""
_UNCHECKED: Final = ("pattern", "patternProperties", "uniqueItems", "unevaluatedItems", "unevaluatedProperties")
"""Keywords whose check may take any time in one step."""

Check = Callable[..., Iterable[jsonschema.ValidationError] | None]


class AskClient(Protocol):
    """The client of one turn, as its tools see it."""

    async def ask(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Let the client run its tool, and wait for the output. Cancelling ends the wait."""
        ...

    def announce(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """Let the client run its tool after the turn."""
        ...


@dataclass(frozen=True, kw_only=True)
class ClientTool(OfferedTool):
    """Tool of the client; always EXTERNAL. Its schema is a stranger's: checking takes bounded time."""

    client: AskClient
    is_left_open: bool
    """Whether the client runs it after the turn, which its calls end."""

    def __post_init__(self) -> None:
        validator = schema_validator(self.spec.parameters, kind=_BoundedValidator)
        object.__setattr__(self, "_validator", validator)

    async def call(self, call_id: str, arguments: dict[str, Any]) -> ToolAnswer:
        return await self.client.ask(call_id, self.name, arguments)

    def _misfits(self, arguments: Any) -> Iterator[jsonschema.ValidationError]:
        _Deadline.at_s = time.thread_time() + MAX_CHECK_S
        try:
            yield from self._validator.iter_errors(arguments)
        except _OutOfTime:
            return


def client_tools(items: Iterable[ToolItem], client: AskClient, *, are_left_open: bool = False) -> list[ClientTool]:
    """Return the tools that a client has given, to be run by it."""
    specs = [ToolSpec(name=item.name, description=item.description, parameters=item.parameters) for item in items]
    return [ClientTool(spec=spec, client=client, is_left_open=are_left_open) for spec in specs]


class _OutOfTime(Exception):
    """The check has taken its time."""


class _Deadline:
    at_s = 0.0  # of the check under way; there is one at a time, which does not wait


def _bounded(check: Check) -> Check:
    """Return the check of a keyword, ended when the time is over."""

    def bounded(*given: Any) -> Generator[jsonschema.ValidationError, None, None]:
        if time.thread_time() > _Deadline.at_s:
            raise _OutOfTime
        yield from check(*given) or ()

    return bounded


def _additional(check: Check) -> Check:
    """Return the check of `additionalProperties`, left out where it depends on patterns."""

    def additional(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[jsonschema.ValidationError]:
        return () if "patternProperties" in schema else check(validator, value, instance, schema) or ()

    return additional


def _checks() -> dict[str, Check]:
    checks = {name: _bounded(check) for name, check in jsonschema.Draft202012Validator.VALIDATORS.items()}
    unchecked: dict[str, Check] = {name: lambda *_: () for name in _UNCHECKED}
    return checks | unchecked | {"additionalProperties": _additional(checks["additionalProperties"])}


_BoundedValidator = extend(jsonschema.Draft202012Validator, _checks())  # type: ignore[no-untyped-call]  # has no types
