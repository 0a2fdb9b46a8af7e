"""What the name of a tool, or of an action that a call names, says about every call of it."""

from functools import lru_cache
from typing import Final

from server.policy.danger.lexicon.meanings import meanings
from server.policy.danger.names.classes import CLASSES
from server.policy.danger.names.pairs import PAIRS
from server.policy.danger.names.verbs import LEADING, MILD, NEEDING, VERBS

_LOOKING: Final = frozenset(
    "list get show search find count describe explain read fetch query preview simulate plan estimate quote check is has can "
    "lookup view validate history status report limits stats draft undo cancel_delete help info monitor watch track compare "
    "lists gets explainer checker counter finder searcher viewer planner lister reader inspect head options".split()
)
_LOOKED_AT: Final = frozenset(
    "history status limits schedule report preview help info log list search query stats settings calculator quote draft get "
    "find count show view".split()
)
"""As the last word: the thing is only shown, unless the first word takes it away."""
_TAKING_AWAY: Final = frozenset(
    "clear delete wipe erase remove purge reset destroy drop truncate empty forget disable".split()
)
_MAX_WORDS: Final = 10


@lru_cache(maxsize=2048)
def judge_name(tool: str) -> str | None:
    """Why a tool of this name is asked about whatever its arguments; None: its name says nothing."""
    return _judge(meanings(own_name(tool)), ())


@lru_cache(maxsize=2048)
def judge_action(tool: str, action: str) -> str | None:
    """The same of an action: `users.delete` of `google_admin`, `open` of `door`."""
    words = meanings(action)
    return None if len(words) > _MAX_WORDS else _judge(words, meanings(own_name(tool)))


def own_name(tool: str) -> str:
    """Without the server's: `github__delete_repository` is `delete_repository`."""
    return tool.rsplit("__", 1)[-1]


@lru_cache(maxsize=2048)
def only_looks(tool: str) -> bool:
    words = meanings(own_name(tool))
    return bool(words) and _only_looks(words)


def _judge(words: tuple[str, ...], context: tuple[str, ...]) -> str | None:
    """`context`: words that say what it is about, and not what is done."""
    if not words or _only_looks(words):
        return None
    for at, verb in enumerate(words):
        if verb in VERBS and _is_meant(words, at, context):
            return VERBS[verb]
    joined = _with_singulars((*words, *context))
    if reason := next((reason for pair, reason in PAIRS if pair <= joined), None):
        return reason
    return next((row.reason for row in CLASSES if row.fits(_with_singulars(words), joined)), None)


def _with_singulars(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset((*words, *(word[:-1] for word in words if word[-1:] == "s")))


def _only_looks(words: tuple[str, ...]) -> bool:
    if words[0] in _LOOKING or (words[1:] and words[-1] in _LOOKED_AT and words[0] not in _TAKING_AWAY):
        return True
    return words[0] not in VERBS and words[1:2] != () and words[1] in _LOOKING


def _is_meant(words: tuple[str, ...], at: int, context: tuple[str, ...]) -> bool:
    """The word there is a verb, and what it acts on is no text or plaything."""
    verb = words[at]
    others = {*words[:at], *words[at + 1 :], *context}
    if (others | {f"{word}s" for word in others}) & MILD.get(verb, frozenset()):
        return False
    if verb in NEEDING and not others & NEEDING[verb]:
        return False
    return verb not in LEADING or at in (0, 1, len(words) - 1)
