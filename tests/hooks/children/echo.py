"""A good hook: its result is what it was asked, with its process's number."""

import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message.get("id"):
        result = {"method": message["method"], "params": message["params"], "pid": os.getpid(), "approved": True}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
