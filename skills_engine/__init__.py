"""Layer 1: skills and their prompt hooks. Works without the server."""

from skills_engine.diagnostics import Diagnostic
from skills_engine.hook_manager import HookManager
from skills_engine.hooks_config import TIMINGS, HookInfo, Timing, scan_hooks

__all__ = ["TIMINGS", "Diagnostic", "HookInfo", "HookManager", "Timing", "scan_hooks"]
