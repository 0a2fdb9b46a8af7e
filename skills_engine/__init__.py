"""Layer 1: skills and their prompt hooks. Works without the server."""

from skills_engine.conditions.turn_facts import CallFacts, HookFacts, HookState, StateInvalidError
from skills_engine.diagnostics import Diagnostic
from skills_engine.hook_entries import TIMINGS, HookInfo, Timing
from skills_engine.hook_manager import HookManager
from skills_engine.hooks_config import scan_hooks
from skills_engine.library import SkillsLibrary, SkillsSnapshot, load_snapshot
from skills_engine.signing import SecretFileError, Signer
from skills_engine.skills_config import Skill
from skills_engine.skills_context_manager import Catalog
from skills_engine.token_estimate import estimate_tokens
from skills_engine.trigger_entries import TriggerInfo

__all__ = [
    "TIMINGS",
    "CallFacts",
    "Catalog",
    "Diagnostic",
    "HookInfo",
    "HookManager",
    "HookState",
    "SecretFileError",
    "Signer",
    "Skill",
    "SkillsLibrary",
    "SkillsSnapshot",
    "StateInvalidError",
    "Timing",
    "HookFacts",
    "TriggerInfo",
    "estimate_tokens",
    "load_snapshot",
    "scan_hooks",
]
