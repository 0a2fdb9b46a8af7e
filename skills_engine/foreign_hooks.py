"""Hook files of other products, which have the name of ours: recognised by their keys, to be named and left alone (L1-07)."""

from collections.abc import Iterable
from typing import Any

_EVENTS = {
    "Claude Code": {"PreToolUse", "PostToolUse", "PermissionRequest", "UserPromptSubmit", "Stop", "SubagentStop"}
    | {"Notification", "PreCompact", "SessionStart", "SessionEnd"},
    "Cursor": {"beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution", "stop"}
    | {"beforeReadFile", "afterFileEdit", "beforeSubmitPrompt", "sessionStart", "sessionEnd"},
    "GitHub Copilot": {"preToolUse", "postToolUse", "userPromptSubmitted", "errorOccurred", "sessionStart"},
    "Gemini CLI": {"BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "SessionEnd"},
}
MODULES = "modules"
"""The key under which Claude Code's mods name their JavaScript files."""


def foreign_hooks(document: dict[str, Any]) -> tuple[str, str] | None:
    """Return the place of another product's hooks and whose they are, in words; None if there are none."""
    hooks = document.get("hooks")
    if isinstance(hooks, dict):
        return "$.hooks", _owned(hooks)
    if isinstance(hooks, list):
        if hooks and all(_is_foreign_entry(entry) for entry in hooks):
            return "$.hooks", _owned(str(entry.get("event")) for entry in hooks if "event" in entry)
    elif MODULES in document:
        return f"$.{MODULES}", f"Claude Code's hooks ({MODULES})"
    elif any(document.keys() & events for events in _EVENTS.values()):
        return "$", _owned(document)
    return None


def _is_foreign_entry(entry: object) -> bool:
    """Tell whether an entry runs a command at an event, and has neither the text nor the timing that ours have."""
    return (
        isinstance(entry, dict) and bool({"event", "command"} & entry.keys()) and not {"file", "timing"} & entry.keys()
    )


def _owned(events: Iterable[str]) -> str:
    named = list(dict.fromkeys(events))
    known = {product: len(events.intersection(named)) for product, events in _EVENTS.items()}
    product = max(known, key=lambda name: known[name])
    owner = f"{product}'s" if known[product] else "another product's"
    return f"{owner} hooks ({', '.join(named) or 'none'})"
