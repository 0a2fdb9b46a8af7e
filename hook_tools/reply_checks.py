"""Says in plain words what a reply does, and what its author should know about it. Pure."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hook_tools.line_checks import Finding
from hook_tools.sample_calls import SampleCall
from server.hooks.replies import read_reply
from server.hooks.reply_objects import ReplyUnusable
from server.hooks.stages import Abort, ApproverVerdict, Decision, Deny, LlmAnswer, LlmCall, Respond, StageValue, ToolRan
from server.llm.language_model import ToolSpec
from server.tools.tool_calls import ToolInvocation

AUDIBLE_MS: Final = 700.0
"""A pause before the first word that people notice."""

_WHOLE: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "before_llm": ("request", ("model", "messages", "options")),
    "before_tool": ("call", ("tool", "arguments")),
}
_NESTED: Final = {"after_llm": "response", "after_tool": "result"}


_INSIDE: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "before_llm": (
        ("model", "messages", "tools", "options"),
        '{"action": "modify", "request": {"%s": …}}',
    ),
    "after_llm": (
        ("content", "tool_calls", "message", "text"),
        '{"action": "modify", "response": {"response": {"content": …}}}',
    ),
    "before_tool": (
        ("tool", "arguments"),
        '{"action": "modify", "call": {"%s": …}}',
    ),
    "after_tool": (
        ("for_llm", "for_user", "is_error", "silent", "media", "content"),
        '{"action": "modify", "result": {"result": {"for_llm": …}}}',
    ),
}
"""Keys that people put at the top of a reply, and where they belong."""


class ReplyCheck(NamedTuple):
    outcome: str
    findings: list[Finding]
    added: tuple[ToolSpec, ...] = ()
    """Tools that the hook has added."""


def check_reply(sample: SampleCall, result: Mapping[str, Any]) -> ReplyCheck:
    """Check a reply: what the server would warn of is a problem; what other hosts would take otherwise, a hint."""
    try:
        reading = read_reply(sample.stage, result, sample.value)
    except ReplyUnusable as error:
        return ReplyCheck("cannot be used", [Finding("problem", f"the reply cannot be used: {error}")])
    findings = [Finding("problem", text) for text in (*_misplaced(sample.stage, result), *reading.warnings)]
    if not findings:
        findings = [Finding("hint", text) for text in _elsewhere(sample.stage, result)]
    return ReplyCheck(describe(sample.value, reading.result), findings, _added(sample.value, reading.result))


def check_own_tool(tool: str, result: Mapping[str, Any]) -> list[Finding]:
    """Check the reply to before_tool for a tool of the hook's own."""
    if result.get("action") == "respond":
        return []
    return [
        Finding(
            "problem",
            f"does not respond for {tool}, which it added itself: the call fails, because nobody else has that tool",
        )
    ]


def check_speed(ms: float, limit_s: float) -> list[Finding]:
    if ms > limit_s * 500:
        return [Finding("problem", f"took more than half of its limit of {limit_s * 1000:.0f} ms")]
    if ms > AUDIBLE_MS:
        return [Finding("hint", f"took more than {AUDIBLE_MS:.0f} ms: in a spoken conversation that is a pause")]
    return []


def describe(before: StageValue, result: StageValue | Decision | None) -> str:
    match result:
        case None:
            return "changes nothing"
        case Abort(reason=reason, is_hard=is_hard):
            return f"{'hard_abort' if is_hard else 'abort_turn'}{_because(reason)}"
        case Deny(reason=reason):
            return f"denies{_because(reason)}"
        case Respond(answer=answer):
            return f"responds: {_short(answer.for_llm)}"
        case ApproverVerdict(approved=approved, reason=reason):
            return f"{'approves' if approved else 'refuses'}{_because(reason)}"
    return "changes " + (", ".join(_changes(before, result)) or "nothing")


def _changes(before: StageValue, after: StageValue) -> list[str]:
    match before, after:
        case LlmCall(), LlmCall():
            added = [f"the tools (adds {tool.name})" for tool in _added(before, after)]
            if not added and after.tools != before.tools:
                added = ["the tools"]
            names = [name for name in ("model", "messages", "options") if getattr(before, name) != getattr(after, name)]
            return [*added, *names]
        case LlmAnswer(), LlmAnswer():
            return [name for name in ("content", "tool_calls") if getattr(before, name) != getattr(after, name)]
        case ToolInvocation(), ToolInvocation():
            changed = ["the tool"] if before.name != after.name else []
            changed += ["the arguments"] if before.arguments != after.arguments else []
            return changed + (["the proposed result"] if before.answer != after.answer else [])
        case ToolRan(), ToolRan():
            return ["the result"]
    raise AssertionError("a stage gives what it takes")


def _added(before: StageValue, after: StageValue | Decision | None) -> tuple[ToolSpec, ...]:
    if not isinstance(before, LlmCall) or not isinstance(after, LlmCall):
        return ()
    known = {tool.name for tool in before.tools}
    return tuple(tool for tool in after.tools if tool.name not in known)


def _misplaced(stage: str, result: Mapping[str, Any]) -> list[str]:
    keys, place = _INSIDE.get(stage, ((), ""))
    if stage == "before_tool" and result.get("action") == "respond":
        keys, place = _INSIDE["after_tool"][0], '{"action": "respond", "result": {"%s": …}}'
    found = [key for key in keys if key in result]
    return [f"“{key}” is in the wrong place: {place.replace('%s', key)}" for key in found]


def _elsewhere(stage: str, result: Mapping[str, Any]) -> list[str]:
    """Return what is understood here and lost on the reference host."""
    reply = {key.lower(): value for key, value in result.items()}
    if reply.get("action") not in (None, "", "continue", "modify"):
        return []
    if stage in _NESTED and isinstance(given := reply.get(key := _NESTED[stage]), dict):
        if not isinstance(given.get(key), dict):
            return [f"understood here; for PicoClaw itself the change must be in “{key}.{key}”"]
    elif stage in _WHOLE and isinstance(given := reply.get(_WHOLE[stage][0]), dict):
        name, wanted = _WHOLE[stage]
        if missing := [key for key in wanted if key not in given]:
            return [f"“{name}” leaves out {', '.join(missing)}: here they stay unchanged, PicoClaw itself empties them"]
    return []


def _because(reason: str) -> str:
    return f": {_short(reason)}" if reason else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
