"""Silero's voice activity model, in the onnxruntime session that all streams share.

The weights lie in the wheel of silero-vad, which is not imported: its package
wants torch.
"""

import importlib.util
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from server.errors import SpeechUnavailable
from server.speech import telemetry
from server.speech.audio import SPEECH_RATE, Samples

WINDOW: Final = 512
"""Samples that are judged at once."""
WINDOW_MS: Final = WINDOW * 1000 / SPEECH_RATE
CONTEXT: Final = 64
"""Samples before a window that the model wants to hear again."""

_STATE: Final = (2, 128)


def new_state() -> Samples:
    """What the model remembers of one stream: 1 KB."""
    return np.zeros(_STATE, dtype=np.float32)


class SileroModel:
    """`load` takes 0.1-0.5 s and 26 MB; `judge` may be called from any one thread at a time."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._rate = np.array(SPEECH_RATE, dtype=np.int64)

    @classmethod
    def load(cls) -> "SileroModel":
        """Raises SpeechUnavailable where a package is missing or does not run on this machine."""
        telemetry.switch_off()
        try:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1  # a window is too small to share
            options.inter_op_num_threads = 1
            options.log_severity_level = 3
            session = onnxruntime.InferenceSession(
                str(_weights()), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except (ImportError, OSError) as error:
            raise SpeechUnavailable(
                f"voice detection cannot be loaded: {error}; push-to-talk works without it"
            ) from error
        return cls(session)

    def judge(self, windows: Samples, states: Samples) -> tuple[NDArray[np.float32], Samples]:
        """Rows of context and window, states (2, rows, 128) → a probability a row, the new states."""
        probabilities, after = self._session.run(None, {"input": windows, "state": states, "sr": self._rate})
        return probabilities[:, 0], after


def _weights() -> Path:
    spec = importlib.util.find_spec("silero_vad")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the package silero-vad is not installed")
    return Path(spec.submodule_search_locations[0]) / "data" / "silero_vad.onnx"
