"""Registry of the tools, each with its schema and its permission."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema
from referencing.exceptions import Unresolvable

from server.llm.language_model import ToolSpec, schema_validator
from server.toolguard import Permission
from server.tools.tool_calls import ToolAnswer

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
    schema: Mapping[str, Any] | None = None
    """Schema that arguments are checked against, or None for `spec.parameters`."""
    _validator: jsonschema.protocols.Validator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # built once: compiling a validator costs more than most calls
        schema = self.spec.parameters if self.schema is None else self.schema
        object.__setattr__(self, "_validator", schema_validator(schema))

    @property
    def name(self) -> str:
        return self.spec.name

    @abstractmethod
    async def call(self, call_id: str, arguments: dict[str, Any]) -> str | ToolAnswer:
        """Run the call of that id, with arguments that fit the schema. Raises what the tool raises."""

    def explain_misfit(self, arguments: Any) -> str | None:
        """Return what is wrong with the arguments, in a sentence that helps the model to correct them, or None."""
        try:
            error = jsonschema.exceptions.best_match(self._misfits(arguments))
        except Unresolvable as missing:
            return f"the tool's own schema refers to {missing.ref}, which is not in it: no arguments can match"
        except Exception as wrong:  # noqa: BLE001  # the boundary to a stranger's schema, and to deep nesting
            return (
                f"they cannot be checked against the tool's own schema ({type(wrong).__name__}): no arguments can match"
            )
        if error is None:
            return None
        where = error.json_path.removeprefix("$.")
        return f"{where}: {error.message}" if where != "$" else error.message

    def _misfits(self, arguments: Any) -> Iterator[jsonschema.ValidationError]:
        return self._validator.iter_errors(arguments)


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
