"""What the tool policy adds to a call: audit, confirmation filter and scan, on short and on long results."""

import gc
import time
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, figure
from server import config
from server.hooks.layers import TurnHooks, TurnLayers
from server.llm.language_model import ToolCall, ToolSpec
from server.policy.document import PolicyDocument, document_of
from server.policy.engine import PolicyEngine
from server.storage.audit_entry import AuditEntry, body_of
from server.tools.executor import ToolExecutor
from server.tools.registry import Tool, ToolRegistry
from server.tools.tool_calls import TurnFacts

GOAL_SHORT_MS = 0.3
GOAL_LONG_MS = 5.0
_FACTS = TurnFacts(session_id="s", turn_id="t")
_CALL = ToolCall("c1", "shell", '{"command": "ls -la /srv/www | head -20"}')
_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
_POLICY = {
    "pre_tool_use": [{"type": "audit_log"}, {"type": "dangerous_confirmation"}],
    "post_tool_use": [{"type": "security_scan"}, {"type": "audit_log"}],
    "tool_error": [{"type": "audit_log"}],
    "tool_skip": [{"type": "audit_log"}],
}
_SOURCES = Path(__file__).parent.parent / "server"


def _effective(_user_id: str) -> PolicyDocument:
    return document_of(_POLICY)


class _Sink:
    def append(self, entry: AuditEntry) -> None:
        body_of(entry)  # what the log does before it is written in another task


async def measure(*, is_quick: bool) -> list[Figure]:
    gc.freeze()  # as the server does once it has started: a full collection is no cost of the policy
    rounds = 200 if is_quick else 2000
    figures = []
    for kind, text in (("a log", _log()), ("source code", _code()), ("cut-off JSON", _json()), ("JSON", "")):
        for label, size, goal in (("1 KB", 1024, GOAL_SHORT_MS), ("64 KB", 65_536, GOAL_LONG_MS)):
            samples = await _added(text[:size] or _whole_json(size), max(rounds // (1 if size == 1024 else 20), 50))
            figures.append(figure(f"policy per tool call, {kind} of {label}", "ms", samples, goal_p50=goal))
    return figures


async def _added(result: str, rounds: int) -> list[float]:
    """With the policy minus without, in one interleaved run."""

    async def run(_arguments: dict[str, Any]) -> str:
        return result

    tool = Tool(spec=ToolSpec(name="shell", description="", parameters=_SCHEMA), run=run, permission="WRITE")
    registry, settings = ToolRegistry([tool]), config.ToolsSettings()
    policy = PolicyEngine(_effective, _Sink().append, config.HooksSettings()).for_turn(_FACTS, None)
    bare = ToolExecutor(registry, settings, hooks=TurnHooks(TurnLayers(facts=_FACTS)))
    guarded = ToolExecutor(registry, settings, hooks=TurnHooks(TurnLayers(facts=_FACTS, policy=policy)))
    samples = []
    for _ in range(rounds):
        started_ns = time.perf_counter_ns()
        await bare.run(_CALL)
        bare_ns = time.perf_counter_ns()
        await guarded.run(_CALL)
        ended_ns = time.perf_counter_ns()
        samples.append((ended_ns - bare_ns - (bare_ns - started_ns)) / 1e6)
    return samples


def _log() -> str:
    line = "2026-11-22T01:00:{:02}Z INFO server.session turn {} of anna completed in {} ms; tools: read_file\n"
    return "".join(line.format(n % 60, n, n * 7 % 900) for n in range(800))


def _code() -> str:
    return "".join(path.read_text("utf-8") for path in sorted((_SOURCES / "session").glob("*.py")))


def _json() -> str:
    rows = (
        f'{{"id": {n}, "name": "user {n}", "mail": "u{n}@example.org", "created_at": "2026-11-22T01:00:00Z", "tags": ["a"]}}'
        for n in range(700)
    )
    return "[" + ",\n ".join(rows) + "]"


def _whole_json(size: int) -> str:
    """As many rows as fit: what can be parsed is read as a structure, not as a text."""
    text = _json()[:size]
    return text[: text.rindex("}") + 1] + "]"
