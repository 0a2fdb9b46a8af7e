"""One call on its way through the chain, and what of it is told to others."""

from dataclasses import dataclass
from typing import Any

from server.hooks.interception.pipeline import Answered
from server.llm.types import ToolCall
from server.tool_calls import Ending, Permission, ToolInvocation, ToolOutcome
from server.tools.registry import Tool

MAX_ERROR_BYTES = 8192


@dataclass(slots=True)
class Course:
    """The stages change it as it goes."""

    call: ToolCall
    """As the model made it."""
    given: Any = None
    """The model's arguments, parsed; its text where they are not JSON."""
    name: str = ""
    arguments: Any = None
    tool: Tool | None = None
    answer: Answered | None = None
    """A hook's result, in the tool's place."""
    is_ready: bool = False
    """Everything before the run has been passed."""

    def invocation(self) -> ToolInvocation:
        permission: Permission = "EXTERNAL" if self.tool is None else self.tool.permission
        return ToolInvocation(id=self.call.id, name=self.name, arguments=self.arguments, permission=permission)

    def refused(self, text: str, ending: Ending = "skipped") -> ToolOutcome:
        """`text` may quote the model at length."""
        return ToolOutcome(
            id=self.call.id,
            name=self.name or self.call.name,
            content=cut_to(text, MAX_ERROR_BYTES),
            is_error=True,
            ending=ending,
        )


def cut_to(text: str, max_bytes: int) -> str:
    """At most `max_bytes` of UTF-8, whole lines where there are any, and how many lines are missing."""
    data = text.encode("utf-8", "replace")  # a file name may hold half a surrogate pair, which nothing could send
    if len(data) <= max_bytes:
        return data.decode("utf-8")
    kept = data[:max_bytes].decode("utf-8", "ignore")
    head, newline, _ = kept.rpartition("\n")
    lines = text.count("\n") + (not text.endswith("\n"))
    if newline:
        return f"{head}\n(truncated, {lines - head.count(newline) - 1} lines left)"
    return f"{kept}\n(truncated, {lines} lines left)"
