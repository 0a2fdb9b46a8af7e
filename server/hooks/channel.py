"""How the pipeline speaks to a hook outside this process, whatever carries the words."""

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

from server import config

Stage = Literal["before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"]
STAGES: Final[tuple[Stage, ...]] = ("before_llm", "after_llm", "before_tool", "after_tool", "approve_tool")


class HookCallFailed(Exception):
    """A call that gave no usable reply. The message names the hook and what happened.

    failed: an error reply, or one that is no JSON object. timed_out: no reply
    within the limit. down: the process is not there, or died before it answered.
    """

    def __init__(
        self, kind: Literal["failed", "timed_out", "down"], message: str, *, raised: BaseException | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.raised = raised
        """By a hook's code in this process. Its text may quote the call: for the log, with secrets concealed."""


class HookChannel(Protocol):
    """A hook in a child process, in the state it is in."""

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> config.ProcessHookSettings: ...

    async def request(self, method: str, params: Mapping[str, Any], *, limit_s: float) -> Mapping[str, Any]:
        """The `result` of one call (`{}` where it is missing or null); replies may come in any order.

        Raises HookCallFailed. Cancelling abandons the call at once; a late reply
        is dropped.
        """
        ...

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Queue a notification; never waits. Beyond the queue's limit the newest is dropped and counted."""
        ...

    def warn(self, text: str) -> None:
        """Something about the hook's replies that its author should know: logged once per text, counted in its health."""
        ...
