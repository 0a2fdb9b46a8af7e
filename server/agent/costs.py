"""Costs of hooks: their tokens, and how much of a prompt is the same as in the call before, which a cache can use."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from skills_engine.token_estimate import estimate_tokens


class HookName(NamedTuple):
    """A prompt hook, by its skill and its own name."""

    skill: str
    hook: str

    def __str__(self) -> str:
        return f"{self.skill}/{self.hook}"


PROCESS_HOOK = HookName("", "")
"""Name shared by all process hooks: of what they write, only the effect on the cache is known."""


class PromptPart(NamedTuple):
    """A message of a model call, as far as it counts for the cost."""

    kind: str
    """The role, with all else that tells messages apart besides their text."""
    text: str
    hook: HookName | None = None


@dataclass(frozen=True)
class CommonStart:
    """The part at the beginning of a prompt that is the same as in the call before."""

    tokens: int
    share: float
    """Share of the whole prompt that is the same, 0 to 1."""
    ended_by: HookName | None
    """The hook at the first difference: one that was there in the call before, or one that cost tokens by coming."""
    lost_tokens: int
    """Tokens that would be the same, too, without hooks at that place."""
    hooks: Sequence[tuple[HookName, int]] = ()
    """The prompt hooks in this part, with their tokens, which a cache would have."""


@dataclass(frozen=True)
class CallCost:
    """Cost of a model call in estimated tokens of its messages; pictures and tools are not counted."""

    tokens: int
    hooks: list[tuple[HookName, int]]
    """The prompt hooks in the prompt, in order, copies in the history included."""
    common: CommonStart | None
    """The part that is the same as in the call before, if that is known."""


class CostMeter:
    """Compares each model call with the one before; one for a conversation. Holds the texts of the last call."""

    def __init__(self) -> None:
        self._before: Sequence[PromptPart] | None = None

    def measure(self, prompt: Sequence[PromptPart]) -> CallCost:
        """Return the cost of the next call, whose messages are in the order in which they are sent."""
        before, self._before = self._before, prompt
        return CallCost(
            tokens=_tokens(prompt),
            hooks=_hooks(prompt),
            common=None if before is None else _common_start(before, prompt),
        )


def _common_start(before: Sequence[PromptPart], now: Sequence[PromptPart]) -> CommonStart:
    at = _common_length([part[:2] for part in before], [part[:2] for part in now])
    tokens, lost, ended_by = _tokens(now[:at]), 0, None
    if at < len(before) and at < len(now):
        old, new = before[at], now[at]
        if old.kind == new.kind:
            tokens += estimate_tokens(new.text[: _common_length(old.text, new.text)])
        lost = _lost_tokens(before[at:], now[at:])
        ended_by = old.hook or (new.hook if lost else None)
    return CommonStart(tokens, round(tokens / max(1, _tokens(now)), 3), ended_by, lost, tuple(_hooks(now[:at])))


def _hooks(parts: Iterable[PromptPart]) -> list[tuple[HookName, int]]:
    return [(part.hook, estimate_tokens(part.text)) for part in parts if part.hook not in (None, PROCESS_HOOK)]


def _lost_tokens(before: Sequence[PromptPart], now: Sequence[PromptPart]) -> int:
    """Count what goes on being the same if hooks that differ are skipped."""
    old = new = tokens = 0
    while old < len(before) and new < len(now):
        if before[old][:2] == now[new][:2]:
            tokens += estimate_tokens(now[new].text)
            old, new = old + 1, new + 1
        elif before[old].hook is not None:
            old += 1
        elif now[new].hook is not None:
            new += 1
        else:
            break
    return tokens


def _common_length(one: Sequence[Any], other: Sequence[Any]) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:  # by halves: a loop over the characters of a megabyte takes 50 ms
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _tokens(parts: Iterable[PromptPart]) -> int:
    return sum(estimate_tokens(part.text) for part in parts)
