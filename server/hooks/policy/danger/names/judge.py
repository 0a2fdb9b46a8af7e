"""What the name of a tool says about every call of it."""

from functools import lru_cache
from typing import Final

from server.hooks.policy.danger.names.pairs import PAIRS
from server.hooks.policy.danger.names.verbs import LEADING, LOOKING_SIGNS, MILD, NEEDING, SIGNS, VERBS
from server.hooks.policy.redaction.words import words_of

_LOOKING: Final = frozenset(
    "list get show search find count describe explain read fetch query preview simulate plan estimate quote check is has can "
    "lookup view validate history status report limits stats draft undo cancel_delete help info monitor watch track compare "
    "lists gets explainer checker counter finder searcher viewer planner lister reader inspect".split()
)
_LOOKED_AT: Final = frozenset(
    "history status limits schedule report preview help info log list search query stats settings calculator quote draft".split()
)
"""As the last word: the thing is only shown, unless the first word takes it away."""
_TAKING_AWAY: Final = frozenset(
    "clear delete wipe erase remove purge reset destroy drop truncate empty forget disable".split()
)


@lru_cache(maxsize=2048)
def judge_name(tool: str) -> str | None:
    """Why a tool of this name is asked about whatever its arguments; None: its name says nothing."""
    is_looking = any(sign in tool for sign in LOOKING_SIGNS)
    if not is_looking and (reason := next((reason for sign, reason in SIGNS if sign in tool), None)):
        return reason
    words = words_of(tool.rsplit("__", 1)[-1] if "__" in tool else tool)
    if not words or _only_looks(words):
        return None
    for at, verb in enumerate(words):
        if verb in VERBS and _is_meant(words, at):
            return VERBS[verb]
    joined = set(words)
    return next((reason for pair, reason in PAIRS if pair <= joined), None)


def _only_looks(words: tuple[str, ...]) -> bool:
    if words[0] in _LOOKING or (words[1:] and words[-1] in _LOOKED_AT and words[0] not in _TAKING_AWAY):
        return True
    return words[0] not in VERBS and words[1:2] != () and words[1] in _LOOKING


def _is_meant(words: tuple[str, ...], at: int) -> bool:
    """The word there is a verb, and what it acts on is no text or plaything."""
    verb = words[at]
    others = {*words[:at], *words[at + 1 :]}
    if others & MILD.get(verb, frozenset()):
        return False
    if verb in NEEDING and not others & NEEDING[verb]:
        return False
    return verb not in LEADING or at in (0, 1, len(words) - 1)
