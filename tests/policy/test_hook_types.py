"""server/policy/hook_types.py: which answers of handlers are taken, and as what."""

from typing import Any

import pytest

from server.policy.hook_types import ALLOW, CONTINUE, AnswerInvalid, HookAction, HookResult, HookType, checked

PRE, POST, ERROR, SKIP = HookType
ARGUMENTS = {"command": "ls"}
CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


def result(**given: Any) -> HookResult:
    return HookResult(**given)


@pytest.mark.parametrize("phase", HookType)
def test_what_is_no_answer_is_refused(phase: HookType) -> None:
    for answer in (False, True, "deny", HookAction.DENY, {"action": "deny"}):
        with pytest.raises(AnswerInvalid, match="expected a HookResult or None"):
            checked(answer, phase)
    actions: list[Any] = ["deny", "allow", False, None, 42, HookType.TOOL_SKIP]
    for action in actions:
        with pytest.raises(AnswerInvalid, match=f"as its action; at {phase.value} it must be one of HookAction"):
            checked(result(action=action, message="no"), phase)


@pytest.mark.parametrize(
    ("phase", "given", "told"),
    [
        (
            PRE,
            {"action": HookAction.MODIFY_RESULT, "modified_result": "no"},
            "MODIFY_RESULT as its action; at pre_tool",
        ),
        (POST, {"action": HookAction.DENY, "message": "no"}, "gave DENY as its action; at post_tool_use"),
        (
            POST,
            {"action": HookAction.MODIFY, "modified_args": ARGUMENTS},
            "gave MODIFY as its action; at post_tool_use",
        ),
        (ERROR, {"action": HookAction.DENY}, "gave DENY as its action; at tool_error"),
        (
            SKIP,
            {"action": HookAction.MODIFY_RESULT, "modified_result": "x"},
            "MODIFY_RESULT as its action; at tool_skip",
        ),
        (SKIP, {"action": HookAction.DENY}, "gave DENY as its action; at tool_skip"),
        (PRE, {"action": HookAction.MODIFY}, "without modified_args"),
        (PRE, {"action": HookAction.ALLOW, "modified_args": ARGUMENTS}, "or modified_args without MODIFY"),
        (PRE, {"action": HookAction.MODIFY, "modified_args": "ls"}, "are str; expected a dict"),
        (PRE, {"action": HookAction.MODIFY, "modified_args": {"a": {1, 2}}}, r"not JSON \(TypeError\)"),
        (PRE, {"action": HookAction.MODIFY, "modified_args": {"a": CIRCLE}}, r"not JSON \(ValueError\)"),
        (PRE, {"action": HookAction.DENY, "message": 42}, "a message that is int"),
        (PRE, {"action": HookAction.ALLOW, "approval": "me"}, "an unknown approval; expected one of user, voice"),
        (POST, {"action": HookAction.MODIFY_RESULT}, "without modified_result"),
        (POST, {"action": HookAction.CONTINUE, "modified_result": "x"}, "or modified_result without MODIFY_RESULT"),
        (POST, {"action": HookAction.MODIFY_RESULT, "modified_result": CIRCLE}, r"not JSON \(ValueError\)"),
        (POST, {"action": HookAction.MODIFY_RESULT, "modified_result": {(1, 2): 3}}, r"not JSON \(TypeError\)"),
    ],
)
def test_an_action_of_another_stage_and_values_of_another_action_are_refused(
    phase: HookType, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(AnswerInvalid, match=told):
        checked(result(**given), phase)


def test_values_are_copied_into_json() -> None:
    arguments: dict[str, Any] = {"command": ["ls"]}
    taken = checked(result(action=HookAction.MODIFY, modified_args=arguments), PRE)
    arguments["command"].append("/home")
    text = checked(result(action=HookAction.MODIFY_RESULT, modified_result={"größe": (1, None)}), POST)

    assert all(checked(answer, phase) == answer for phase in HookType for answer in (None, ALLOW, CONTINUE))
    assert taken == result(action=HookAction.MODIFY, modified_args={"command": ["ls"]})
    assert text == result(action=HookAction.MODIFY_RESULT, modified_result='{"größe": [1, null]}')
