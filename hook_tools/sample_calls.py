"""Calls and events with which a trial asks a hook: the stages in the order of a turn, with what real turns hold. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from server.hooks.hook_params import TRACE_PATHS, EventMethod, event_params
from server.hooks.hook_params import stage_params as shape
from server.hooks.stages import HookEvent, LlmAnswer, LlmCall, Stage, StageContext, StageValue, ToolRan
from server.llm.language_model import Message, ToolCall, ToolSpec, Usage
from server.tools.tool_calls import ToolAnswer, ToolInvocation, TurnFacts

_HISTORY_MESSAGES: Final = 400
_LONG_CHARACTERS: Final = 200_000
_BEYOND_DOUBLES: Final = 2**63 + 1

_FACTS: Final = TurnFacts(
    session_id="session-1",
    turn_id="turn-1",
    conversation="conversation-1",
    user_message="What is the weather in Zürich?",
    language="en",
)
_AT: Final = StageContext(facts=_FACTS, iteration=1)
_SYSTEM: Final[Message] = {"role": "system", "content": "You are a helpful assistant."}
_QUESTION: Final[Message] = {"role": "user", "content": _FACTS.user_message}
_UNICODE: Final = 'naïve 北京 🌦️ \u2028 \u202eאבג \\ " \t'

_EXAMPLES: Final[Mapping[str, Any]] = {
    "string": "example",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}

_CLOCK: Final = ToolSpec(
    name="current_time",
    description="The time in a time zone.",
    parameters={"type": "object", "properties": {"timezone": {"type": "string"}}},
)
_READ: Final = ToolSpec(
    name="read_file",
    description="Read a text file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
_TOOLS: Final = [_CLOCK, _READ]
_OPTIONS: Final = {"temperature": 0.7, "max_tokens": 1024}
_CALL: Final = ToolCall("call_1", "read_file", '{"path": "notes.txt"}')
_CALLED: Final[list[Message]] = [
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": _CALL.id, "type": "function", "function": {"name": _CALL.name, "arguments": _CALL.arguments}}
        ],
    },
    {"role": "tool", "tool_call_id": _CALL.id, "name": _CALL.name, "content": "milk, bread"},
]


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleCall:
    """One call at one stage."""

    stage: Stage
    title: str
    value: StageValue

    @property
    def params(self) -> dict[str, Any]:
        return shape(self.stage, self.value, _AT)


ORDER: Final[tuple[Stage, ...]] = ("before_llm", "after_llm", "before_tool", "approve_tool", "after_tool")
"""The order in which a turn comes to the stages."""


def sample_calls(stage: Stage) -> list[SampleCall]:
    return [SampleCall(stage=stage, title=title, value=value) for title, value in _VALUES[stage].items()]


def sample_call_of(tool: ToolSpec) -> SampleCall:
    """Return a call of a tool that the hook has added, with arguments that fit its schema roughly."""
    given: Mapping[str, Any] = tool.parameters.get("properties") or {}
    arguments = {name: _example(schema) for name, schema in given.items()}
    return SampleCall(
        stage="before_tool",
        title=f"its own tool {tool.name}",
        value=ToolInvocation(name=tool.name, arguments=arguments),
    )


def _example(schema: Any) -> Any:
    wanted = schema if isinstance(schema, dict) else {}
    if wanted.get("enum"):
        return wanted["enum"][0]
    kinds = wanted.get("type")
    return _EXAMPLES.get(kinds[0] if isinstance(kinds, list) and kinds else str(kinds), "example")


def _llm(messages: list[Message], tools: list[ToolSpec] | None = None) -> LlmCall:
    return LlmCall(model="gpt-4o-mini", messages=messages, tools=_TOOLS if tools is None else tools, options=_OPTIONS)


def _long_history() -> list[Message]:
    turns: list[Message] = []
    for number in range(_HISTORY_MESSAGES // 2):
        turns.append({"role": "user", "content": f"Question {number}: {_UNICODE * 10}"})
        turns.append({"role": "assistant", "content": f"Answer {number}: {_UNICODE * 10}"})
    return [_SYSTEM, *turns, _QUESTION]


def _answer(content: str, *calls: ToolCall) -> LlmAnswer:
    return LlmAnswer(
        model="gpt-4o-mini",
        content=content,
        tool_calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        usage=Usage(input_tokens=120, output_tokens=18),
    )


def _ran(text: str, *, is_error: bool = False) -> ToolRan:
    answer = ToolAnswer(for_llm=text, is_error=is_error)
    return ToolRan(name="read_file", arguments={"path": "notes.txt"}, answer=answer, duration_ms=12.5)


_ASKS: Final[Mapping[str, StageValue]] = {
    "a tool with arguments": ToolInvocation(name="read_file", arguments={"path": "notes.txt"}),
    "a tool without arguments": ToolInvocation(name="current_time", arguments={}),
    "unicode and a large number": ToolInvocation(
        name="read_file", arguments={"path": _UNICODE, "at": {"offset": _BEYOND_DOUBLES, "nothing": None}}
    ),
    "arguments of 200 KB": ToolInvocation(
        name="write_file", arguments={"path": "a.txt", "content": "x" * _LONG_CHARACTERS}
    ),
}

_VALUES: Final[Mapping[Stage, Mapping[str, StageValue]]] = {
    "before_llm": {
        "a first question": _llm([_SYSTEM, _QUESTION]),
        "no tools": _llm([_SYSTEM, _QUESTION], []),
        "after a tool call": _llm([_SYSTEM, _QUESTION, *_CALLED]),
        f"a history of {_HISTORY_MESSAGES} messages": _llm(_long_history()),
    },
    "after_llm": {
        "a text": _answer("It is sunny in Zürich."),
        "a tool call without a text": _answer("", _CALL),
        "unicode": _answer(_UNICODE),
        "a text of 200 KB": _answer("word " * (_LONG_CHARACTERS // 5)),
    },
    "before_tool": _ASKS,
    "approve_tool": _ASKS,
    "after_tool": {
        "a result": _ran("milk, bread"),
        "an empty result": _ran(""),
        "an error": _ran("there is no such file", is_error=True),
        "unicode": _ran(_UNICODE),
        "a result of 200 KB": _ran("x" * _LONG_CHARACTERS),
    },
}

_PAYLOADS: Final[Mapping[str, Mapping[str, Any]]] = {
    "agent.turn.start": {"UserMessage": _FACTS.user_message, "MediaCount": 0},
    "agent.llm.request": {
        "Model": "gpt-4o-mini",
        "MessagesCount": 2,
        "ToolsCount": 2,
        "MaxTokens": 1024,
        "Temperature": 0.7,
    },
    "agent.llm.retry": {
        "Attempt": 1,
        "MaxRetries": 2,
        "Reason": "provider_failed",
        "Error": "the provider answered 503",
        "Backoff": 500_000_000,
    },
    "agent.context.compress": {"Reason": "proactive_budget", "DroppedMessages": 4, "RemainingMessages": 20},
    "agent.llm.response": {"ContentLen": 22, "ToolCalls": 1, "HasReasoning": False},
    "agent.tool.exec_start": {"Tool": "read_file", "Arguments": {"path": "notes.txt"}},
    "agent.tool.exec_end": {
        "Tool": "read_file",
        "Duration": 12_500_000,
        "ForLLMLen": 11,
        "ForUserLen": 0,
        "IsError": False,
        "Async": False,
    },
    "agent.tool.exec_skipped": {"Tool": "delete_file", "Reason": "Tool execution denied by hook"},
    "agent.error": {"Stage": "llm", "Message": "the provider did not answer"},
    "agent.turn.end": {
        "Status": "completed",
        "Workspace": "",
        "Iterations": 2,
        "Duration": 1_840_000_000,
        "FinalContentLen": 22,
        "UserMessage": _FACTS.user_message,
        "FinalContent": "It is sunny in Zürich.",
        "ActiveSkills": None,
        "AttemptedSkills": None,
        "FinalSuccessfulPath": None,
        "SkillContextSnapshots": None,
        "ToolKinds": ["read_file"],
        "ToolExecutions": [{"name": "read_file", "success": True}],
    },
}


def events(kinds: frozenset[str], method: EventMethod) -> list[tuple[str, dict[str, Any]]]:
    """Return (kind, params) of the notifications that a hook with these kinds would get."""
    return [
        (kind, event_params(HookEvent(kind=kind, payload=payload, at=_AT, trace_path=_trace_path(kind)), method))
        for kind, payload in _PAYLOADS.items()
        if kind in kinds
    ]


def _trace_path(kind: str) -> str:
    return TRACE_PATHS["before_llm"] if ".llm." in kind else "turn"
