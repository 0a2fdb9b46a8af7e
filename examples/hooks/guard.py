#!/usr/bin/env python3
"""A guard: no tool reads what looks like a secret. If the guard breaks, nothing runs.

    hooks:
      processes:
        guard:
          enabled: true
          priority: -10          # before hooks that might answer in a tool's place
          command: [python3, guard.py]
          dir: examples/hooks
          intercept: [before_tool]
          on_error: closed       # a guard that fails denies; without this line it would be skipped

The model reads the reason, and usually tells the user.
"""

import json
import re
import sys

SECRET = re.compile(r"(^|[/\\])(\.env|\.ssh|\.aws|id_rsa|credentials|secrets?)([./\\]|$)", re.IGNORECASE)


def texts(value):
    """Every text inside the arguments, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def before_tool(params):
    for text in texts(params.get("arguments", {})):
        if SECRET.search(text):
            return {"action": "deny_tool", "reason": f"{params['tool']} may not touch files that hold secrets"}
    return {"action": "continue"}


METHODS = {"hook.hello": lambda _: {"name": "guard"}, "hook.before_tool": before_tool}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    method = METHODS.get(message["method"])
    if method:
        reply["result"] = method(message.get("params", {}))
    else:
        reply["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(reply), flush=True)
