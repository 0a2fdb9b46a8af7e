"""espeak-ng through ctypes: robotic, immediate, many languages.

GPL-3: loaded in the worker process only. The library keeps one state for the
whole process; one thread uses it.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_SYNCHRONOUS: Final = 2
_BUFFER_MS: Final = 60
_CHARS_UTF8: Final = 1
_POSITION_CHARACTER: Final = 1

_SoundCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


class Espeak:
    """Raises ImportError or OSError where the package is missing or made for another machine."""

    def __init__(self) -> None:
        import espeakng_loader

        data = Path(espeakng_loader.get_data_path())
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        self._sound = bytearray()
        self._callback = _SoundCallback(self._on_sound)  # kept: the library calls it as long as it lives
        self.sample_rate: int = self._library.espeak_Initialize(_SYNCHRONOUS, _BUFFER_MS, str(data.parent).encode(), 0)
        if self.sample_rate <= 0:
            raise OSError("espeak-ng finds none of its data")
        self._library.espeak_SetSynthCallback(self._callback)
        self._voice: str | None = None
        self.languages = sorted(path.name.removesuffix("_dict") for path in data.glob("*_dict"))

    def synthesize(self, text: str, language: str) -> bytes:
        """PCM16 at `sample_rate`; a language it does not know is read as English."""
        self._choose(language)
        self._sound.clear()
        encoded = text.replace("\0", " ").encode()
        failed = self._library.espeak_Synth(
            encoded, len(encoded) + 1, 0, _POSITION_CHARACTER, 0, _CHARS_UTF8, None, None
        )
        if failed:
            raise OSError(f"espeak-ng failed with {failed}")
        return bytes(self._sound)

    def _choose(self, language: str) -> None:
        if language == self._voice:
            return
        set_voice: Callable[[bytes], int] = self._library.espeak_SetVoiceByName
        if set_voice(language.encode()) != 0:
            set_voice(b"en")
        self._voice = language

    def _on_sound(self, samples: Any, count: int, _events: Any) -> int:
        if samples and count > 0:
            self._sound += ctypes.string_at(samples, count * 2)
        return 0
