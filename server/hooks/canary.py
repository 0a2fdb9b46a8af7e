"""A harmless call with which a gate shows, before it is needed, that it answers as a gate has to."""

from collections.abc import Mapping
from typing import Any, Final

from server.hooks.channel import Stage

CANARY: Final = "parley_canary"
"""The name of the tool (of the model, for the stages of model calls) that a canary call is about. There is none."""

_META: Final = {
    "AgentID": CANARY,
    "TurnID": CANARY,
    "ParentTurnID": "",
    "SessionKey": CANARY,
    "Iteration": 0,
    "TracePath": "",
    "Source": CANARY,
}
_RESULT: Final = {"for_llm": "", "silent": True, "is_error": False, "async": False}
_PARAMS: Final[dict[Stage, dict[str, Any]]] = {
    "before_llm": {"model": CANARY, "messages": [], "tools": [], "options": {}},
    "after_llm": {"model": CANARY, "response": {"role": "assistant", "content": "", "finish_reason": "stop"}},
    "before_tool": {"tool": CANARY, "arguments": {}},
    "after_tool": {"tool": CANARY, "arguments": {}, "result": _RESULT, "duration": 0},
    "approve_tool": {"tool": CANARY, "arguments": {}},
}
_ACTIONS: Final = frozenset(("", "continue", "modify", "respond", "deny_tool", "abort_turn", "hard_abort"))


def params(stage: Stage) -> dict[str, Any]:
    return {"meta": _META, **_PARAMS[stage]}


def problem(stage: Stage, result: Mapping[str, Any]) -> str | None:
    """Why this reply is none that a gate gives; None: it is one, whatever it decides."""
    folded = {key.lower(): value for key, value in result.items()}
    if stage == "approve_tool":
        if isinstance(folded.get("approved"), bool):
            return None
        return "its reply has no `approved` that is true or false: every tool is denied"
    action = folded.get("action")
    if action is None or action in _ACTIONS:
        return None
    return f"its reply has the unknown action {str(action)[:40]!r}"
