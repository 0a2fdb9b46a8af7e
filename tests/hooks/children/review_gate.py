"""Writes down all that it hears and says, and lets everything pass (seed 002)."""

import json
import os
import sys
from pathlib import Path
from typing import Any

LOG = Path(os.environ["PICOCLAW_HOOK_LOG_FILE"])
ANSWERS: dict[str, dict[str, Any]] = {
    "hook.hello": {"ok": True, "name": "python-review-gate"},
    "hook.approve_tool": {"approved": True},
}


def note(entry: dict[str, Any]) -> None:
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


for line in sys.stdin:
    message = json.loads(line)
    call_id, method, params = message.get("id", 0), message.get("method"), message.get("params") or {}
    note({"direction": "in", "id": call_id, "method": method, "params": params, "notification": not call_id})
    if call_id:
        result = ANSWERS.get(method, {"action": "continue"})
        note({"direction": "out", "id": call_id, "response": result, "error": None})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": call_id, "result": result}) + "\n")
        sys.stdout.flush()
    elif method == "hook.event":
        sys.stderr.write(f"observed event: {params.get('Kind')}\n")
        sys.stderr.flush()
