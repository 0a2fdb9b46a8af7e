"""Reads what a process hook's reply means at its stage. Pure.

`continue`, `modify` and no action at all are one: whatever object the reply
carries is applied. An action that is not known at the stage is named, and what
came with it is ignored.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from server.hooks.reply_objects import (
    RESULT,
    ParsedReply,
    read_answer,
    read_fields,
    read_messages,
    read_result,
    read_tools,
)
from server.hooks.stages import (
    Abort,
    ApproverVerdict,
    Decision,
    Deny,
    LlmAnswer,
    LlmCall,
    Respond,
    Stage,
    StageValue,
    ToolRan,
    refused,
)
from server.tools.tool_calls import ToolAnswer, ToolInvocation

_ACTIONS: Final = ("continue", "modify", "respond", "deny_tool", "abort_turn", "hard_abort")
_REFUSALS: Final = ("block", "deny", "ask", "deny_tool", "abort_turn", "hard_abort")  # what other hosts decide
_AROUND: Final = {"meta": dict, "context": dict, "channel": str, "chat_id": str, "model": str}  # what hooks echo
_HEAD: Final[Mapping[str, type]] = {"action": str, "reason": str}
_ENVELOPES: Final[Mapping[Stage, Mapping[str, type]]] = {
    "before_llm": {**_HEAD, "request": dict},
    "after_llm": {**_HEAD, "response": dict},
    "before_tool": {**_HEAD, "call": dict, "result": dict},
    "after_tool": {**_HEAD, "result": dict},
    "approve_tool": {"approved": bool, "reason": str},
}
_REQUEST: Final = {**_AROUND, "messages": list, "tools": list, "options": dict, "graceful_terminal": bool}
_RESPONSE: Final = {**_AROUND, "response": dict}
_CALL: Final = {**_AROUND, "tool": str, "arguments": dict, "hook_result": dict}
_RAN: Final = {**_AROUND, "tool": str, "arguments": dict, "result": dict, "duration": object}
_ANSWER_KEYS: Final = ("content", "tool_calls", "finish_reason", "reasoning_content")
_RESULT_KEYS: Final = ("for_llm", "for_user", "is_error", "silent", "media")


def read_reply(stage: Stage, reply: Mapping[str, Any], value: StageValue) -> ParsedReply:
    """Read a reply about this value. Raises ReplyUnusable where a known field has the wrong type."""
    own = _with_lower_keys(reply)
    inner = _with_lower_keys(own.get("hookspecificoutput"))
    parsed = ParsedReply(stage, has_action=(has_action := own.get("action") in _ACTIONS))
    fields = read_fields(reply, _ENVELOPES[stage], parsed)
    is_refusal = any(_refuses(said, has_action=has_action) for said in (own, inner))
    if stage == "approve_tool":
        if "approved" not in fields:
            parsed.doubt('"approved" is missing, which means no: answer {"approved": true} or {"approved": false}')
        approved = fields.get("approved", False) and not is_refusal
        parsed.result = ApproverVerdict(approved=approved, reason=fields.get("reason", ""))
        return parsed
    result = _act(stage, fields.get("action", ""), fields, value, parsed)
    if is_refusal and not isinstance(result, Decision):
        parsed.is_doubtful = True
        parsed.result = refused(value, _foreign_reason({**inner, **own}))
    elif result is not value and (isinstance(value, LlmCall) or result != value):  # a request is compared as it is read
        parsed.result = result
    return parsed


def _refuses(said: Mapping[str, Any], *, has_action: bool) -> bool:
    """Return whether the object refuses in the words of another host; beside an action, only Claude Code's keys count."""
    inner = _with_lower_keys(said.get("decision"))
    words = (said.get("decision"), inner.get("behavior"), inner.get("action"), said.get("permissiondecision"))
    flags = ("continue",) if has_action else ("continue", "allow", "allowed", "approved")
    is_word = any(str(word).lower() in _REFUSALS for word in words)
    return is_word or any(str(said.get(flag)).lower() == "false" for flag in flags)


def _foreign_reason(said: Mapping[str, Any]) -> str:
    said = {**_with_lower_keys(said.get("decision")), **said}
    reasons = (said.get(key) for key in ("reason", "permissiondecisionreason", "stopreason", "message"))
    return next((reason for reason in reasons if isinstance(reason, str)), "")


def _with_lower_keys(value: Any) -> dict[str, Any]:
    """Return the object with its keys in lower case; an empty one for anything else."""
    return {key.lower(): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def _act(
    stage: Stage, action: str, fields: dict[str, Any], value: StageValue, notes: ParsedReply
) -> StageValue | Decision | None:
    match action:
        case "" | "continue" | "modify":
            if action == "modify" and not any(item for key, item in fields.items() if key not in _HEAD):
                key = next(key for key in _ENVELOPES[stage] if key not in _HEAD)
                notes.doubt(f'"modify" came without a change: {{"action": "modify", "{key}": {{…}}}}')
            return _apply(fields, value, notes)
        case "abort_turn" | "hard_abort":
            return Abort(reason=fields.get("reason", ""), is_hard=action == "hard_abort")
        case "deny_tool" if stage == "before_tool":
            return Deny(reason=fields.get("reason", ""))
        case "respond" if stage == "before_tool" and isinstance(value, ToolInvocation):
            return _respond(fields, value, notes)
    similar = get_close_matches(action.lower(), _ACTIONS, 1)
    hint = f'; did you mean "{similar[0]}"?' if similar and similar[0] != action else ""
    notes.doubt(f'unsupported action "{action[:40]}" for stage {stage}; the reply is ignored{hint}')
    return None


def _apply(fields: dict[str, Any], value: StageValue, notes: ParsedReply) -> StageValue:
    match value:
        case LlmCall():
            return _request(fields["request"], value, notes) if "request" in fields else value
        case LlmAnswer():
            inner = _unwrap(fields, "response", _RESPONSE, _ANSWER_KEYS, notes)
            return value if inner is None else read_answer(inner, value, notes)
        case ToolInvocation():
            return _call(fields, value, notes)
        case ToolRan():
            inner = _unwrap(fields, "result", _RAN, _RESULT_KEYS, notes)
            return value if inner is None else replace(value, answer=read_result(inner, value.answer, notes))


def _request(given: dict[str, Any], value: LlmCall, notes: ParsedReply) -> LlmCall:
    found = read_fields(given, _REQUEST, notes, "request")
    changes: dict[str, Any] = {}
    if (model := found.get("model")) and model != value.model:
        changes["model"] = model
    if "messages" in found:
        messages = read_messages(found["messages"], value.messages, notes)
        if not messages:
            notes.warn("the request came back without messages; they stay unchanged")
        elif list(map(id, messages)) != list(map(id, value.messages)):
            changes["messages"] = messages
    if "tools" in found and (tools := read_tools(found["tools"], value.tools, notes)) != value.tools:
        changes["tools"] = tools
    if "options" in found and (options := {**value.options, **found["options"]}) != value.options:
        changes["options"] = options
    return replace(value, **changes) if changes else value


def _unwrap(
    fields: dict[str, Any], key: str, around: Mapping[str, type], inner_keys: Collection[str], notes: ParsedReply
) -> dict[str, Any] | None:
    """Return the object itself, whether the hook sent the whole of what it was sent or that object alone."""
    if (outer := fields.get(key)) is None:
        return None
    inner = next((item for name, item in outer.items() if name.lower() == key), None)
    if isinstance(inner, dict):
        read_fields(outer, around, notes, key)
        return inner
    if any(name.lower() in inner_keys for name in outer):
        return {name: item for name, item in outer.items() if name.lower() not in around or name.lower() in RESULT}
    if outer:
        notes.doubt(f'"{key}" contains nothing that can be changed here; the change belongs in "{key}.{key}"')
    return None


def _call(fields: dict[str, Any], value: ToolInvocation, notes: ParsedReply) -> ToolInvocation:
    found = read_fields(fields.get("call", {}), _CALL, notes, "call")
    result = fields.get("result", found.get("hook_result"))
    answer = value.answer if result is None else read_result(result, ToolAnswer(), notes)
    name = found.get("tool") or value.name
    arguments = found.get("arguments", value.arguments)
    if (name, arguments, answer) == (value.name, value.arguments, value.answer):
        return value
    return replace(value, name=name, arguments=arguments, answer=answer)


def _respond(fields: dict[str, Any], value: ToolInvocation, notes: ParsedReply) -> Respond | None:
    answer = _call(fields, value, notes).answer
    if answer is None:
        notes.doubt('"respond" came without a "result"; the tool runs as usual')
        return None
    if not answer.for_llm:
        notes.warn('the result has no "for_llm": the model reads nothing')
    return Respond(answer=answer)
