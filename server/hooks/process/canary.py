"""A harmless call with which a gate shows, before it is needed, that it answers as a gate has to."""

from collections.abc import Mapping
from typing import Any, Final

from server.hooks.channel import Stage
from server.hooks.interception.fields import ReplyUnusable
from server.hooks.interception.replies import read_reply
from server.hooks.interception.shapes import params as shape
from server.hooks.interception.stages import LlmAnswer, LlmCall, Moment, StageValue, ToolRan
from server.tool_calls import ToolAnswer, ToolInvocation, TurnFacts

CANARY: Final = "parley_canary"
"""The name of the tool (of the model, for the stages of model calls) that a canary call is about. There is none."""

_MOMENT: Final = Moment(facts=TurnFacts(session_id=CANARY, turn_id=CANARY, conversation=CANARY))
_VALUES: Final[Mapping[Stage, StageValue]] = {
    "before_llm": LlmCall(model=CANARY, messages=[{"role": "user", "content": CANARY}]),
    "after_llm": LlmAnswer(model=CANARY, content=CANARY),
    "before_tool": ToolInvocation(name=CANARY, arguments={}),
    "after_tool": ToolRan(name=CANARY, arguments={}, answer=ToolAnswer(for_llm=CANARY, is_silent=True)),
    "approve_tool": ToolInvocation(name=CANARY, arguments={}),
}


def params(stage: Stage) -> dict[str, Any]:
    return shape(stage, _VALUES[stage], _MOMENT)


def problem(stage: Stage, result: Mapping[str, Any]) -> str | None:
    """Why this reply is none that a gate gives; None: it is one, whatever it decides."""
    try:
        reading = read_reply(stage, result, _VALUES[stage])
    except ReplyUnusable as error:
        return f"{stage}: {error}"
    return "; ".join(reading.warnings) or f"{stage}: it was not understood" if reading.is_doubtful else None
