"""Registry of the tools, each with its schema and its permission; arguments are checked without trust in the schema."""

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import jsonschema
from jsonschema.validators import extend
from referencing import Registry

from server.llm.language_model import ToolSpec
from server.toolguard import Permission
from server.tools.tool_calls import ToolAnswer

MAX_CHECK_S: Final = 0.002
"""CPU time for checking arguments against a schema; what is not checked then is left to the tool."""
_UNCHECKED: Final = ("pattern", "patternProperties", "uniqueItems", "unevaluatedItems", "unevaluatedProperties")
"""Keywords whose check may take any time in one step."""
_NO_OTHERS: Final[Registry[Any]] = Registry()
"""Schemas outside of a tool's own that its references reach. By default jsonschema fetches any address."""

Check = Callable[..., Iterable[jsonschema.ValidationError] | None]
Run = Callable[[dict[str, Any]], Awaitable[str | ToolAnswer]]
"""Takes arguments that fit the schema, gives the text the model reads, or more than that; raises ToolError."""


@dataclass(frozen=True, kw_only=True)
class OfferedTool(ABC):
    """Tool as the model is offered it and the policy judges it, wherever it runs."""

    spec: ToolSpec
    permission: Permission = "EXTERNAL"
    destructive: bool | None = None
    """Hint of a trusted MCP server (destructiveHint), or None without one."""
    timeout_s: float | None = None
    """Time limit of its own, or None for that of `tools.timeout_s`."""
    _validator: jsonschema.protocols.Validator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # built once: compiling a validator costs more than most calls
        schema = {name: value for name, value in self.spec.parameters.items() if name != "$id"}  # it may be anything
        validator = _BoundedValidator(schema, registry=_NO_OTHERS)
        object.__setattr__(self, "_validator", validator)

    @property
    def name(self) -> str:
        return self.spec.name

    @abstractmethod
    async def call(self, call_id: str, arguments: dict[str, Any]) -> str | ToolAnswer:
        """Run the call of that id, with arguments that fit the schema. Raises what the tool raises."""

    def explain_misfit(self, arguments: Any) -> str | None:
        """Return what is wrong with the arguments, in a sentence that helps the model to correct them, or None.

        What cannot be checked, or not in MAX_CHECK_S, is left to the tool.
        """
        if (error := jsonschema.exceptions.best_match(self._misfits(arguments))) is None:
            return None
        where = error.json_path.removeprefix("$.")
        return f"{where}: {error.message}" if where != "$" else error.message

    def _misfits(self, arguments: Any) -> Iterator[jsonschema.ValidationError]:
        _Deadline.at_s = time.thread_time() + MAX_CHECK_S
        with suppress(Exception):  # time is up, or the boundary to a stranger's schema, which may be malformed
            yield from self._validator.iter_errors(arguments)


@dataclass(frozen=True, kw_only=True)
class Tool(OfferedTool):
    """Tool that runs here, or at an MCP server."""

    run: Run

    async def call(self, _call_id: str, arguments: dict[str, Any]) -> str | ToolAnswer:
        return await self.run(arguments)


class ToolRegistry:
    """The tools by name, in the order given; the first of one name stands. Never changes."""

    def __init__(self, tools: Iterable[OfferedTool]) -> None:
        self._tools: dict[str, OfferedTool] = {}
        for tool in tools:
            self._tools.setdefault(tool.name, tool)
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())

    def __iter__(self) -> Iterator[OfferedTool]:
        return iter(self._tools.values())

    def get(self, name: str) -> OfferedTool | None:
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._tools)


class DynamicToolRegistry:
    """The tools as they are now: our own, and those that MCP servers bring and take away.

    `current` is a whole new registry after each change; who pins one (a turn)
    keeps what it saw. Our own tools come first, so no server can take their names.
    """

    def __init__(self, own: ToolRegistry) -> None:
        self._own = own
        self._by_owner: dict[str, tuple[Tool, ...]] = {}
        self._instructions: dict[str, str] = {}
        self.current = own
        self.instructions = ""
        """Words of the owners about the use of their tools, for the system prompt."""

    def put(self, owner: str, tools: Sequence[Tool], instructions: str = "") -> None:
        """Replace all tools of `owner` and its instructions; its place among the owners stays."""
        self._by_owner[owner] = tuple(tools)
        self._instructions[owner] = instructions
        self.instructions = "\n\n".join(filter(None, self._instructions.values()))
        others = [tool for tools in self._by_owner.values() for tool in tools]
        self.current = ToolRegistry([*self._own, *others])


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
