"""Advice of lint on conditions, memory and variables of hooks: what loads, but hardly does what was meant."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from skills_engine.conditions.hook_variables import used_variables
from skills_engine.conditions.text_patterns import MAX_TEXT_BYTES, Patterns
from skills_engine.diagnostics import Report, did_you_mean, quoted
from skills_engine.hook_entries import BUILTIN_TOOLS, HookInfo
from skills_engine.hooks_config import HooksFile
from skills_engine.trigger_entries import OF_HISTORY, TriggerInfo

LOOP = ("before_first_agent", "before_each_agent", "after_tool_call")
_AFTER_CALLS = ("before_each_agent", "after_tool_call")
_ABOUT_CALLS = ("tool", "tool_status", "tool_args", "tool_result")
_LANGUAGE = re.compile(r"(\*|[A-Za-z]{2,3}|[xi](?=-))(-|$)")
"""The beginning of a language range: a code of two or three letters, or any."""
_FLAGS = re.compile(r"/.+/[gimsuy]+", re.DOTALL)
"""An expression with the flags of JavaScript, of which only i is one here."""
_GLOB = frozenset("*?[")
_ANY_TIME = 'holds at any time: give it days, or from and to, such as {"from": "21:00", "to": "06:00"}'


def conditions_advice(hooks: HooksFile, report: Report, *, groups: Counter[str]) -> None:
    """Report on all hooks of a skill. `groups`: how many hooks each group has, in all skills that are looked at."""
    for hook, place in zip(hooks.hooks, hooks.places, strict=True):
        if hook.when is not None:
            for path, key, value in _leaves(json.loads(hook.when.source), f"{place}.when"):
                _leaf_advice(hook, path, key, value, report)
                _size_advice(path, key, value, report)
        for name in hook.requires_tools:
            _tool_advice(name, f"{place}.requires_tools", report)
        if hook.group is not None and groups[hook.group] < 2:
            report.warning(f"{place}.group", f"no other hook is in the group {hook.group}: alone it changes nothing")
        if hook.once is not None and hook.sticky is not None:
            message = f"beside once, it still fires in {hook.sticky} further turns after the one in which it fired"
            report.warning(f"{place}.sticky", message)
        if hook.once == "conversation" and hook.cooldown is not None:
            report.warning(f"{place}.cooldown", "changes nothing beside once: conversation")
        _variables_advice(hook, f"{place}.file", report)
    for trigger, place in zip(hooks.triggers, hooks.trigger_places, strict=True):
        _trigger_advice(trigger, place, report)


def _trigger_advice(trigger: TriggerInfo, place: str, report: Report) -> None:
    if trigger.when is not None:
        for path, key, value in _leaves(json.loads(trigger.when.source), f"{place}.when"):
            _size_advice(path, key, value, report)
            if message := _constant(key, value):
                report.warning(path, message)
            elif trigger.on == "connect" and key in OF_HISTORY and key != "scan_turns":
                report.warning(path, "never holds: connect is answered in a conversation without messages only")
    for name in sorted(used_variables(trigger.content)):
        report.warning(f"{place}.file", f"{trigger.file} holds {{{{{name}}}}}, which is kept as text in a trigger")


def _leaves(when: Mapping[str, Any], place: str) -> Iterator[tuple[str, str, Any]]:
    """Yield place, name and value of every condition in the tree, and every `all` or `any` without one."""
    for key, value in when.items():
        path = f"{place}.{key}"
        match key:
            case "all" | "any" if value:
                for index, part in enumerate(value):
                    yield from _leaves(part, f"{path}[{index}]")
            case "not":
                yield from _leaves(value, path)
            case _:
                yield path, key, value


def _leaf_advice(hook: HookInfo, path: str, key: str, value: Any, report: Report) -> None:
    if message := _constant(key, value):
        report.warning(path, message)
    elif key == "round" and hook.timing not in LOOP:
        report.warning(path, f"never holds: {hook.timing} is outside the agent loop")
    elif key == "round" and hook.timing == "before_first_agent" and not _includes_first(value):
        report.warning(path, "never holds: before_first_agent comes in round 1")
    elif key in _ABOUT_CALLS and hook.timing not in _AFTER_CALLS:
        report.warning(path, f"never holds: at {hook.timing} there is no tool call to ask about")
    elif key == "tool_args" and not value:
        report.warning(path, 'holds for every call: name an argument and its patterns, such as {"path": ["notes"]}')
    elif key == "tool":
        for name in value:
            _tool_advice(name, path, report)
        filters = sorted(hook.tool_filter or ()) if ".not" not in path else []
        if filters and not any(_may_overlap(name, other) for name in value for other in filters):
            report.warning(path, f"never holds: tool_filter names other tools: {', '.join(filters)}")
    elif key == "language":
        for name in value:
            if not _LANGUAGE.match(name):
                report.warning(path, f"{quoted(name)} fits no language: expected a tag such as de or pt-BR, or *")
    elif key == "user_text":
        for text in value:
            if len(text) > 1 and "*" in (text[0], text[-1]):
                report.warning(path, f"{quoted(text)} is searched with its *: a text is no glob, and /…/ an expression")
            elif _FLAGS.fullmatch(text) and not text.endswith("/i"):
                report.warning(path, f"{quoted(text)} is searched as a text: an expression ends with / or with /i")


def _size_advice(path: str, key: str, value: Any, report: Report) -> None:
    """Say how much of a text large expressions look at."""
    lists = value.values() if key == "tool_args" else [value] if key in ("user_text", "tool_result") else []
    for one in (pattern for patterns in lists for pattern in Patterns(patterns).each):
        if one.max_bytes < MAX_TEXT_BYTES:
            extent = f"the first {one.max_bytes} bytes of a text"
            report.info(path, f"{quoted(one.written)} has {one.steps} steps: it looks at {extent}")


def _constant(key: str, value: Any) -> str:
    """Return what to say of a condition that always or never holds, wherever it stands; "" of others."""
    if key == "any":
        return "never holds: it has no alternatives"
    if key != "time" or value.get("days"):
        return ""
    start, end = value.get("from", "00:00"), value.get("to")
    return _ANY_TIME if end == start or (end is None and start == "00:00") else ""


def _may_overlap(name: str, other: str) -> bool:
    """Return whether a tool may fit both names or globs."""
    if _GLOB.isdisjoint(name) or _GLOB.isdisjoint(other):
        return fnmatchcase(name, other) or fnmatchcase(other, name)
    start, other_start = (re.split(r"[*?[]", glob)[0] for glob in (name, other))
    return start.startswith(other_start) or other_start.startswith(start)


def _includes_first(value: Any) -> bool:
    return value == 1 if isinstance(value, int) else bool(value.get("min", 1) == 1)


def _tool_advice(name: str, path: str, report: Report) -> None:
    """Report a name that no built-in tool has; those of MCP servers hold `__`, and others' cannot be known here."""
    if name in BUILTIN_TOOLS or "__" in name or not _GLOB.isdisjoint(name):
        return
    report.warning(path, f"no built-in tool is called {name}{did_you_mean(name, BUILTIN_TOOLS)}")


def _variables_advice(hook: HookInfo, place: str, report: Report) -> None:
    used = used_variables(hook.content)
    if not hook.vars:
        for name in sorted(used):
            report.warning(place, f"{hook.file} holds {{{{{name}}}}}, which is kept as text without vars: true")
        return
    for name, timings in (("tool", LOOP[2:]), ("tool_status", LOOP[2:]), ("round", LOOP)):
        if name in used and hook.timing not in timings:
            report.warning(place, f"{hook.file} holds {{{{{name}}}}}, which is empty at {hook.timing}")
