"""Answers hook.hello; what each method does then stands in its arguments, as METHOD=WHAT.

WHAT: a JSON result; or raw TEXT (printed as it is, $ID is the id), silence, exit N, kill, hang (reads no more).
Several lines of TEXT are parted by `|`.
"""

import json
import os
import signal
import sys
import time

script = dict(argument.split("=", 1) for argument in sys.argv[1:])


def act(what: str, call_id: int) -> None:
    word, _, rest = what.partition(" ")
    if word == "raw":
        for line in rest.split("|"):
            sys.stdout.write(line.replace("$ID", str(call_id)) + "\n")
    elif word == "exit":
        sys.exit(int(rest))
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "hang":
        time.sleep(600)
    elif word != "silence":
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": call_id, "result": json.loads(what)}) + "\n")


for line in sys.stdin:
    message = json.loads(line)
    act(script.get(message["method"], "{}" if message["method"] == "hook.hello" else "silence"), message.get("id"))
