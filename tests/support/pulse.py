"""A PulseAudio of one's own, whose devices nobody hears."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def sound_server(folder: Path, *sinks: str) -> Iterator[dict[str, str]]:
    """What a program's environment needs to find these sinks. What is played to one can be heard as its `.monitor`."""
    socket = folder / "socket"
    door = f"module-native-protocol-unix socket={socket} auth-anonymous=1 auth-cookie-enabled=0"
    modules = [*(f"module-null-sink sink_name={sink}" for sink in sinks), door]
    process = subprocess.Popen(
        ["pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1"]
        + [part for module in modules for part in ("-L", module)],
        env={**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not socket.exists() and process.poll() is None:
            time.sleep(0.02)
        yield {"PULSE_SERVER": f"unix:{socket}"}
    finally:
        process.terminate()
        process.wait()
