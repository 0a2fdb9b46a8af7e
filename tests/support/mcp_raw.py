"""An MCP server without an SDK, of the protocol of 2025-06-18, or of what it discovers: it says exactly what it is told to, and starts at once.

python -m tests.support.mcp_raw SCRIPT: a JSON object with
  tools     the list, as it is sent
  discover  answer to `server/discover`, which only servers of 2026-07-28 have
  instructions  of the server
  before    lines printed before anything else
  results   name of a tool → its result; "hang", "exit", "deaf" (it reads no more, and stays), "flood" (100,000 requests
            to us), {"raw": a line}, {"error": …}, {"long": characters}, {"parts": objects} or {"spawn": seconds}
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

_one_at_a_time = threading.Lock()


def say(line: str) -> None:
    with _one_at_a_time:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def answer(message_id: Any, **fields: Any) -> None:
    say(json.dumps({"jsonrpc": "2.0", "id": message_id, **fields}))


def flood() -> None:
    for number in range(100_000):
        say(json.dumps({"jsonrpc": "2.0", "id": f"ours-{number}", "method": "ping"}))


def call(message_id: Any, result: Any) -> None:
    match result:
        case "hang":
            return
        case "exit":
            os._exit(3)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(3600)
        case "flood":
            threading.Thread(target=flood, daemon=True).start()
        case {"long": characters}:
            answer(message_id, result={"content": [{"type": "text", "text": "x" * characters}]})
        case {"parts": count}:
            answer(message_id, result={"content": [], "structuredContent": {"parts": [{}] * count}})
        case {"raw": line}:
            say(line)
        case {"error": error}:
            answer(message_id, error=error)
        case {"spawn": seconds}:
            command = [sys.executable, "-c", f"import time; time.sleep({seconds})"]
            child = subprocess.Popen(command, start_new_session=True)  # it holds our pipes open
            answer(message_id, result={"content": [{"type": "text", "text": str(child.pid)}]})
        case _:
            answer(message_id, result=result)


def main() -> None:
    script = json.loads(sys.argv[1])
    for line in script.get("before", ()):
        say(line)
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                info = {"name": "raw", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
                answer(message["id"], result={**result, "instructions": script.get("instructions")})
            case "server/discover" if "discover" in script:
                answer(message["id"], result=script["discover"])
            case "tools/list":
                caching = {"ttlMs": 0, "cacheScope": "private"} if "discover" in script else {}
                answer(message["id"], result={"tools": script.get("tools", []), **caching})
            case "tools/call":
                call(message["id"], script["results"][message["params"]["name"]])
            case _ if "id" in message:
                answer(message["id"], error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
