"""Misbehaves as it is told in each call: params {"fault": NAME}, or a tool's argument `timezone`; else it answers.

Its answer changes nothing, and approves.
"""

import json
import os
import signal
import subprocess
import sys
import time

MIB = 1 << 20


def reply(call_id: int, result: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": call_id, "result": result}) + "\n")
    sys.stdout.flush()


def grandchildren(count: int, of_which_setsid: int) -> list[int]:
    """Sleepers that let go of our streams; some in sessions of their own."""
    return [
        subprocess.Popen(
            ["sleep", "600"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=number < of_which_setsid,
        ).pid
        for number in range(count)
    ]


def misbehave(fault: str, call_id: int, answer: dict[str, object]) -> None:
    if fault == "kill -9":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "hang":
        time.sleep(600)
    elif fault == "silence":
        pass
    elif fault == "garbage":
        sys.stdout.write("garbage\n{\n\n[1]\n{'id': 1}\n\x00\x00\n")
        reply(call_id, answer)
    elif fault == "20 MiB line":
        reply(call_id, "x" * (20 * MIB))
    elif fault == "slow reader":
        time.sleep(0.2)
        reply(call_id, answer)
    elif fault == "flood":
        for _ in range(20_000):
            sys.stdout.write("flood\n")
        reply(call_id, answer)
    elif fault == "flood for ever":
        while True:
            sys.stdout.write("flood\n" * 1000)
    elif fault == "50 grandchildren":
        reply(call_id, {**answer, "pids": grandchildren(50, 10)})
    elif fault == "close stdout":
        os.close(1)
        time.sleep(600)
    elif fault == "close stdin":
        os.close(0)
        time.sleep(600)
    elif fault == "exit":
        sys.stderr.write("Traceback:\nOops: no more\n")
        sys.exit(3)
    else:
        reply(call_id, answer)


for line in sys.stdin:
    message = json.loads(line)
    if message.get("id"):
        params = message["params"]
        answer: dict[str, object] = {"approved": True} if message["method"] == "hook.approve_tool" else {}
        fault = params.get("fault") or (params.get("arguments") or {}).get("timezone", "")
        misbehave(fault, message["id"], answer)
