"""The names of layer 2 and of tool calls that handlers and hooks of an operator's own import."""

from server.accounts.principal import LOCAL_USER
from server.approval.asking import Answer, AnsweredBy, AskHuman, Question, Remember
from server.toolguard import Permission
from server.tools.tool_calls import Ending, ToolAnswer, ToolInvocation, ToolOutcome, ToolPolicy, TurnAborted, TurnFacts

__all__ = [
    "LOCAL_USER",
    "Answer",
    "AnsweredBy",
    "AskHuman",
    "Ending",
    "Permission",
    "Question",
    "Remember",
    "ToolAnswer",
    "ToolInvocation",
    "ToolOutcome",
    "ToolPolicy",
    "TurnAborted",
    "TurnFacts",
]
