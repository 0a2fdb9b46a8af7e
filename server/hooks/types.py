"""The names of layer 2 and of tool calls that handlers and hooks of an operator's own import."""

from server.accounts.principal import LOCAL_USER
from server.approval.asking import Answer, AnsweredBy, AskHuman, Question, Remember
from server.hooks.stages import Abort, ApproverVerdict, Deny, LlmAnswer, LlmCall, Respond, StageContext, ToolRan
from server.llm.language_model import ToolCall, ToolSpec
from server.toolguard import Permission
from server.tools.tool_calls import Ending, ToolAnswer, ToolInvocation, ToolOutcome, ToolPolicy, TurnAborted, TurnFacts

__all__ = [
    "LOCAL_USER",
    "Abort",
    "Answer",
    "AnsweredBy",
    "ApproverVerdict",
    "AskHuman",
    "Deny",
    "Ending",
    "LlmAnswer",
    "LlmCall",
    "Permission",
    "Question",
    "Remember",
    "Respond",
    "StageContext",
    "ToolAnswer",
    "ToolCall",
    "ToolInvocation",
    "ToolOutcome",
    "ToolPolicy",
    "ToolRan",
    "ToolSpec",
    "TurnAborted",
    "TurnFacts",
]
