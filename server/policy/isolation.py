"""What a handler of the operator's own is handed: nothing that others read too, and a human to ask who sees no secrets."""

import copy
from dataclasses import replace
from typing import Any

from server.approval.asking import Answer, AskHuman, Question
from server.policy.hook_types import HookContext
from server.policy.scan_handler import conceal, scan_text


def isolated(ctx: HookContext) -> HookContext:
    """The same call in copies. Raises RecursionError for arguments nested too deep to be copied."""
    return replace(
        ctx,
        arguments=copy.deepcopy(ctx.arguments),
        shown_arguments=copy.deepcopy(ctx.shown_arguments),
        ask=None if ctx.ask is None else _Discreet(ctx.ask, ctx.arguments, ctx.shown_arguments),
    )


class _Discreet:
    """Takes the secrets out of what is shown, whatever the handler put there. Raises what the scan raises."""

    def __init__(self, ask: AskHuman, arguments: Any, shown: Any) -> None:
        self._ask = ask
        self._arguments = arguments
        self._shown = shown

    async def ask(self, question: Question) -> Answer:
        message, _ = await scan_text(question.message)
        shown, _ = await conceal(question.arguments)
        real = self._real(question)
        return await self._ask.ask(replace(question, message=message, arguments=shown, real_arguments=real))

    def _real(self, question: Question) -> Any:
        """What is asked about; a copy, as parts of it come back in an answer with edited arguments."""
        if question.real_arguments is not None:
            return question.real_arguments
        return copy.deepcopy(self._arguments if question.arguments == self._shown else question.arguments)
