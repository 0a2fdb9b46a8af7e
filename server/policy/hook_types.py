"""Types of policy handlers: the context that one is given, the result it returns, and the check of that result.

A handler has any of the methods in METHODS, as coroutines or as plain functions; a plain one runs in a thread.
What one raises stays inside: before a call it denies, after a call the result stays as it was; if it is the
scan that fails, the result is withheld.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, get_args

from server.approval.asking import AnsweredBy, AskHuman


class HookType(Enum):
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    TOOL_ERROR = "tool_error"
    TOOL_SKIP = "tool_skip"


class HookAction(Enum):
    ALLOW = "allow"
    DENY = "deny"
    """Refuse the call (pre_tool_use)."""
    MODIFY = "modify"
    """Run the call with other arguments (pre_tool_use)."""
    MODIFY_RESULT = "modify_result"
    """Give the model and the user another result (post_tool_use, tool_error)."""
    CONTINUE = "continue"


@dataclass(kw_only=True, slots=True)
class HookContext:
    """One call at one stage. Changes that a handler makes here have no effect: it answers with a HookResult."""

    tool_name: str
    arguments: dict[str, Any]
    """Arguments with which the tool runs, or ran."""
    phase: HookType
    result: Any = None
    """Text that the model would read, after the call."""
    error: Exception | None = None
    """Failure of the call; its text is what the model would read."""
    session_id: str | None = None
    user_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    """`permission`, `destructive` (a trusted server's hint), `call_id`, `turn_id`, `language`; after the call `duration_ms`, `ending`, `error_type`."""
    ask: AskHuman | None = field(default=None, repr=False)
    """Asks the human; absent where no client is connected."""
    shown_arguments: Any = None
    """Arguments as people and logs may see them: secrets redacted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookResult:
    """A handler's answer. An action unknown at its stage, or a value of another type or action, counts as a failure."""

    action: HookAction
    message: str | None = None
    modified_args: dict[str, Any] | None = None
    """Arguments (JSON) that replace the call's, with MODIFY."""
    modified_result: Any = None
    """Result with MODIFY_RESULT: a text, or what JSON can be made of; never None."""
    approval: AnsweredBy | None = None
    """Source of the human's answer, where one was asked."""


ALLOW = HookResult(action=HookAction.ALLOW)
CONTINUE = HookResult(action=HookAction.CONTINUE)


METHODS: Final = {
    HookType.PRE_TOOL_USE: "pre_execute",
    HookType.POST_TOOL_USE: "post_execute",
    HookType.TOOL_ERROR: "on_error",
    HookType.TOOL_SKIP: "on_skip",
}

_READ_ONLY: Final = (HookAction.ALLOW, HookAction.CONTINUE)
_AFTER: Final = (*_READ_ONLY, HookAction.MODIFY_RESULT)
_ACTIONS: Final[Mapping[HookType, tuple[HookAction, ...]]] = {
    HookType.PRE_TOOL_USE: (*_READ_ONLY, HookAction.DENY, HookAction.MODIFY),
    HookType.POST_TOOL_USE: _AFTER,
    HookType.TOOL_ERROR: _AFTER,
    HookType.TOOL_SKIP: _READ_ONLY,
}


class AnswerInvalid(ValueError):
    """A handler's answer does not fit its stage. The text continues after the handler's name and quotes nothing of the call."""


def checked(answer: object, phase: HookType) -> HookResult | None:
    """Return the answer with copied values: `modified_args` as plain JSON, `modified_result` as text. Raises AnswerInvalid."""
    if answer is None or answer is ALLOW or answer is CONTINUE:  # understood at every stage
        return answer
    if not isinstance(answer, HookResult):
        raise AnswerInvalid(f"gave {type(answer).__name__}; expected a HookResult or None")
    _check_action(answer.action, phase)
    if answer.message is not None and not isinstance(answer.message, str):
        raise AnswerInvalid(f"gave a message that is {type(answer.message).__name__}; expected text")
    if answer.approval is not None and answer.approval not in get_args(AnsweredBy):
        raise AnswerInvalid(f"gave an unknown approval; expected one of {', '.join(get_args(AnsweredBy))}")
    return replace(answer, modified_args=_arguments(answer), modified_result=_result(answer))


def _check_action(action: object, phase: HookType) -> None:
    if isinstance(action, HookAction) and action in _ACTIONS[phase]:
        return
    given = action.name if isinstance(action, HookAction) else f"a {type(action).__name__}"
    names = ", ".join(f"HookAction.{wanted.name}" for wanted in _ACTIONS[phase])
    raise AnswerInvalid(f"gave {given} as its action; at {phase.value} it must be one of {names}")


def _arguments(answer: HookResult) -> dict[str, Any] | None:
    given: object = answer.modified_args
    if (answer.action is HookAction.MODIFY) is not (given is not None):
        raise AnswerInvalid("gave MODIFY without modified_args, or modified_args without MODIFY")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise AnswerInvalid(f"gave modified_args that are {type(given).__name__}; expected a dict")
    try:
        own: dict[str, Any] = json.loads(json.dumps(given))
    except Exception as error:  # the boundary to a handler's objects
        raise AnswerInvalid(f"gave modified_args that are not JSON ({type(error).__name__})") from error
    return own


def _result(answer: HookResult) -> str | None:
    given = answer.modified_result
    if (answer.action is HookAction.MODIFY_RESULT) is not (given is not None):
        raise AnswerInvalid("gave MODIFY_RESULT without modified_result, or modified_result without MODIFY_RESULT")
    if given is None or isinstance(given, str):
        return given
    try:
        return json.dumps(given, ensure_ascii=False, default=str)
    except Exception as error:  # the boundary to a handler's objects
        raise AnswerInvalid(f"gave a modified_result that is not JSON ({type(error).__name__})") from error
