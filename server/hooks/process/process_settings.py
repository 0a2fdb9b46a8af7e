"""Checks the settings of process hooks, and derives stages, modes and gates from them."""

from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from server.config import HooksSettings, ProcessHookSettings
from server.errors import ConfigError
from server.hooks.stages import ALIAS_OF, KINDS, LEGACY, STAGES, Stage, observed_kinds

_OLD_EVENTS: Final = (
    "it knows only hook.event, as in PicoClaw up to 0.2.8, and notices no other events: set event_method: hook.event, "
    "and event_kinds: number if it compares Kind with numbers"
)
_PAIRS: Final = (("before_llm", "after_llm"), ("before_tool", "after_tool"))


def enabled_hooks(settings: HooksSettings) -> dict[str, ProcessHookSettings]:
    """Return the hooks that shall run, in the order of asking: `priority`, then name.

    Raises ConfigError for a wrong one. Those that are off are not looked at.
    """
    if not settings.enabled:
        return {}
    chosen = {name: hook for name, hook in settings.processes.items() if hook.enabled}
    for name, hook in chosen.items():
        if problem := _problem(hook):
            raise ConfigError(f'configure process hook "{name}": {problem}')
    return dict(sorted(chosen.items(), key=lambda item: (item[1].priority, item[0].encode())))


def sent_stages(hook: ProcessHookSettings) -> frozenset[Stage]:
    """Return the stages that are sent to the hook; with `pair_stages` also the other one of a pair."""
    wanted = set(hook.intercept)
    if hook.pair_stages:
        wanted.update(stage for pair in _PAIRS if not wanted.isdisjoint(pair) for stage in pair)
    return frozenset(stage for stage in STAGES if stage in wanted)


def hello_modes(hook: ProcessHookSettings) -> list[str]:
    wanted = set(hook.intercept)
    there = {
        "observe": bool(observed_kinds(hook.observe)),
        "llm": not wanted.isdisjoint(_PAIRS[0]),
        "tool": not wanted.isdisjoint(_PAIRS[1]),
        "approve": "approve_tool" in wanted,
    }
    return [mode for mode, is_there in there.items() if is_there]


def gate_stages(hook: ProcessHookSettings) -> list[Stage]:
    """Return the stages at which the hook is a gate: it can keep something from happening even by failing."""
    closed = hook.on_error == "closed"
    return [stage for stage in STAGES if stage in sent_stages(hook) and (closed or stage == "approve_tool")]


def event_hint(hook: ProcessHookSettings) -> str | None:
    """Return what to set for a hook whose file names only the events of PicoClaw up to 0.2.8. Reads the file."""
    for path in map((hook.dir or Path()).joinpath, hook.command):
        with suppress(OSError, ValueError):  # no hint is worth an error
            text = path.read_bytes() if path.is_file() and path.stat().st_size < 1 << 20 else b""
            if b"hook.event" in text and b"hook.runtime_event" not in text:
                return _OLD_EVENTS if hook.observe and hook.event_method != "hook.event" else None
    return None


def _problem(hook: ProcessHookSettings) -> str | None:
    """Return what is wrong in the words of the reference, and behind them what could stand there."""
    if hook.transport not in ("", "stdio"):
        return f'unsupported transport "{hook.transport}"; there is stdio'
    if hook.event_kinds == "number" and hook.event_method != "hook.event":
        return "event_kinds: number needs event_method: hook.event; hook.runtime_event has names only"
    if not hook.command or not hook.command[0]:
        return 'command is required, as a list: ["python3", "my_hook.py"]'
    try:
        kinds = observed_kinds(hook.observe)
    except ValueError as error:
        similar = get_close_matches(str(error).lower(), [*LEGACY, *KINDS], 1)
        hint = f'did you mean "{similar[0]}"?' if similar else f"there are * for all, and {', '.join(ALIAS_OF)}"
        return f'unsupported observe event "{error}"; {hint}'
    wanted = [stage for stage in hook.intercept if stage]
    for stage in wanted:
        if stage not in STAGES:
            return f'unsupported intercept "{stage}"; there are {", ".join(STAGES)}'
    if kinds or wanted:
        return None
    return f"no hook modes enabled: name stages in intercept ({', '.join(STAGES)}) or events in observe (* for all)"
