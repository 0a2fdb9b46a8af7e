"""onnxruntime, kept to itself: by its own choice it tells its maker about the machine it runs on."""

import os


def switch_off() -> None:
    """For this process and those that come of it, where onnxruntime has not been imported yet.

    `onnxruntime.disable_telemetry_events` comes too late: by then an id of the machine has been written, and its
    database opened.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
