"""What a handler answered, held against its stage: an answer that is not understood approves nothing."""

import json
from collections.abc import Mapping
from typing import Any, Final, get_args

from server.approval.asking import AnsweredBy
from server.policy.hook_types import ALLOW, CONTINUE, HookAction, HookResult, HookType

_LOOKING: Final = (HookAction.ALLOW, HookAction.CONTINUE)
_CHANGING: Final = (*_LOOKING, HookAction.MODIFY_RESULT)
_UNDERSTOOD: Final[Mapping[HookType, tuple[HookAction, ...]]] = {
    HookType.PRE_TOOL_USE: (*_LOOKING, HookAction.DENY, HookAction.MODIFY),
    HookType.POST_TOOL_USE: _CHANGING,
    HookType.TOOL_ERROR: _CHANGING,
    HookType.TOOL_SKIP: _LOOKING,
}
_MAX_QUOTED: Final = 32


class AnswerInvalid(ValueError):
    """The text goes on where the handler's name stands; it quotes nothing of the call."""


def checked(answer: object, phase: HookType) -> HookResult | None:
    """The answer with values of its own: `modified_args` as plain JSON, `modified_result` as text. Raises AnswerInvalid."""
    if answer is None or answer is ALLOW or answer is CONTINUE:  # understood at every stage
        return answer
    if not isinstance(answer, HookResult):
        raise AnswerInvalid(f"gave {type(answer).__name__}; a HookResult or None is wanted")
    _check_action(answer.action, phase)
    if answer.message is not None and not isinstance(answer.message, str):
        raise AnswerInvalid(f"gave a message that is {type(answer.message).__name__}; a text is wanted")
    if answer.approval is not None and answer.approval not in get_args(AnsweredBy):
        raise AnswerInvalid(f"gave an approval that is none of {', '.join(get_args(AnsweredBy))}")
    return HookResult(
        action=answer.action,
        message=answer.message,
        modified_args=_arguments(answer),
        modified_result=_result(answer),
        approval=answer.approval,
        counts=answer.counts,
    )


def _check_action(action: object, phase: HookType) -> None:
    understood = _UNDERSTOOD[phase]
    if isinstance(action, HookAction) and action in understood:
        return
    if isinstance(action, HookAction):
        given = action.name
    elif isinstance(action, str):
        given = f"the text {action[:_MAX_QUOTED]!r}"
    else:
        given = f"a {type(action).__name__}"
    names = ", ".join(f"HookAction.{wanted.name}" for wanted in understood)
    raise AnswerInvalid(f"gave {given} as its action; at {phase.value} it is one of {names}")


def _arguments(answer: HookResult) -> dict[str, Any] | None:
    given: object = answer.modified_args
    if (answer.action is HookAction.MODIFY) is not (given is not None):
        raise AnswerInvalid("gave MODIFY without modified_args, or those without it")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise AnswerInvalid(f"gave modified_args that are {type(given).__name__}; a dict is wanted")
    try:
        own: dict[str, Any] = json.loads(json.dumps(given))
    except Exception as error:  # the boundary to a handler's objects
        raise AnswerInvalid(f"gave modified_args that are not JSON ({type(error).__name__})") from error
    return own


def _result(answer: HookResult) -> str | None:
    given = answer.modified_result
    if (answer.action is HookAction.MODIFY_RESULT) is not (given is not None):
        raise AnswerInvalid("gave MODIFY_RESULT without a modified_result, or that without it")
    if given is None or isinstance(given, str):
        return given
    try:
        return json.dumps(given, ensure_ascii=False, default=str)
    except Exception as error:  # the boundary to a handler's objects
        raise AnswerInvalid(f"gave a modified_result that is not JSON ({type(error).__name__})") from error
