"""Writes every line that the server sends to a file: watcher.py FILE."""

import json
import sys
from pathlib import Path


def main() -> None:
    seen = Path(sys.argv[1])
    for line in sys.stdin:
        with seen.open("a", encoding="utf-8") as file:
            file.write(line)
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
