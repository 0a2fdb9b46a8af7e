"""The embedded model's process: `python -m server.llm.embedded_worker`, started by `embedded_process`.

Reads one JSON line of settings on standard input, loads the model, answers with
one JSON line ({"url": …} or {"error": …}) on standard output and serves until standard
input ends: it ends with its parent, however that dies. Nothing of it runs in the server.
"""

import json
import os
import sys
from typing import Any, Final

_SPIN_COUNT: Final = "1000"
"""Spins of a thread that waits for others before it sleeps. The default is millions: on a core that another program
wants, a prompt of 40 tokens then took 3 s instead of 0.3; so few cost an idle machine nothing."""
_CANNOT_LOAD: Final = "llama.cpp cannot load the file: damaged, too large for the memory, or of a kind it does not know"


def serve(settings: dict[str, Any]) -> Any:
    """Return the llama server, loaded and listening on a free port, for holders of the key. Raises RuntimeError."""
    os.environ.setdefault("GOMP_SPINCOUNT", _SPIN_COUNT)  # libgomp reads it when it is loaded
    import xllamacpp  # type: ignore[import-untyped]  # a compiled module without stubs

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = [settings["model_name"]]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["slot_tokens"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["reading_threads"]
    params.n_threads_http = settings["slots"] + 2
    params.cache_ram_mib = settings["cache_mib"]
    params.default_template_kwargs = {"enable_thinking": "false"}  # who speaks with it waits for each word
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["api_key"]]
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = 1  # errors
    return xllamacpp.Server(params)


def main() -> None:
    try:
        server = serve(json.loads(sys.stdin.readline()))
        answer = {"url": server.listening_address}
    except RuntimeError:  # which gives no reason; llama.cpp's threads still write theirs to standard error
        answer = {"error": _CANNOT_LOAD}
    print(json.dumps(answer), flush=True)  # noqa: T201  (the parent reads it)
    while sys.stdin.read(65536):
        pass
    os._exit(0)  # at once: what is under way has no reader any more


if __name__ == "__main__":
    main()
