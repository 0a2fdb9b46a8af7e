"""The builtin `ask_human`: asks whoever sits in front of the client before certain tools run."""

from fnmatch import fnmatchcase
from typing import Any

import msgspec

from server import config
from server.approval.asking import Question, text_for_model
from server.hooks.interception.stages import Moment, Verdict
from server.tool_calls import Permission, ToolInvocation


class AskHumanSettings(config.Section, frozen=True, kw_only=True):
    """A call is asked about if its tool fits one of `tools` or its permission class is in `permissions`."""

    tools: tuple[str, ...] = ()
    """Names with `*` and `?`; upper and lower case count."""
    permissions: tuple[Permission, ...] = ("WRITE", "EXTERNAL")
    message: str = ""
    """The question, where it is to be another than ours; `{tool}` is the tool's name."""
    timeout_s: config.Seconds | None = None
    """None: `hooks.approval.timeout_s`."""


class AskHumanApprover:
    def __init__(self, settings: AskHumanSettings) -> None:
        self._settings = settings

    @classmethod
    def from_config(cls, given: Any) -> "AskHumanApprover":
        """Raises msgspec.ValidationError."""
        return cls(msgspec.convert({} if given is None else given, AskHumanSettings))

    async def approve_tool(self, call: ToolInvocation, at: Moment) -> Verdict:
        if not self._is_about(call):
            return Verdict(approved=True)
        if at.ask is None:
            return Verdict(approved=False, reason="nobody is there who could be asked")
        answer = await at.ask.ask(
            Question(
                tool=call.name,
                arguments=call.arguments if call.shown is None else call.shown,
                message=self._settings.message.replace("{tool}", call.name),
                origin="ask_human",
                permission=call.permission,
                timeout_s=self._settings.timeout_s,
                real_arguments=call.arguments,
            )
        )
        reason = "" if answer.approved else text_for_model(answer)
        return Verdict(approved=answer.approved, reason=reason, arguments=answer.arguments)

    def _is_about(self, call: ToolInvocation) -> bool:
        wanted = self._settings
        return call.permission in wanted.permissions or any(fnmatchcase(call.name, glob) for glob in wanted.tools)
