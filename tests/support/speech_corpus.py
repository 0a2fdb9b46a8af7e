"""Sound to judge the ears by, made here: speech of a synthesiser, and all that is no speech.

Speech comes from espeak-ng with several voices, a little different in each run; what the microphone hears of it,
the noise and the level are ours, and the same in each run (seeded).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from server.speech.audio import SPEECH_RATE, Resampler, Samples, pcm16_to_samples
from server.speech.worker_engines import Espeak

VOICES: Final = ("en-us", "en-gb", "en-us+f3", "en-gb+m5", "en-us+f5", "en-us+m2", "en-gb+f2", "en-029")
SENTENCES: Final = (
    "What is the weather like in London today?",
    "Please read me the last message from my sister.",
    "How many people live in the city of Berlin?",
    "Turn on the light in the kitchen, please.",
    "I would like to know when the next train leaves.",
    "Tell me a short story about a dragon and a mouse.",
    "Can you explain how a refrigerator works?",
    "My favourite colour is blue, and yours?",
    "Remind me to call the doctor tomorrow morning.",
    "What is the difference between a lake and a sea?",
    "Who wrote the book that we talked about yesterday?",
    "Show me the fastest way to the central station.",
)
SHORT_WORDS: Final = ("Yes.", "No.", "Stop.", "Okay.", "Hello.", "Right.", "Three.", "Thanks.", "Wait.", "Why?")

_LEAD_S: Final = 1.0
_TAIL_S: Final = 2.0
_SPEECH_DBFS: Final = -24.0
_ROOM_DBFS: Final = -62.0


@dataclass(frozen=True, kw_only=True)
class Clip:
    """`speech_s`: where the speech begins and ends; None: there is none in it."""

    kind: str
    sound: Samples
    speech_s: tuple[float, float] | None = None
    is_during_turn: bool = False
    """The assistant is answering when it is heard."""
    playback_s: float | None = None
    """Where the assistant's own voice begins to come back from the loudspeaker."""


def corpus(seed: int = 7, *, size: int = 24) -> list[Clip]:
    """`size` clips of each kind, 16 kHz.

    Each kind draws from a generator of its own: espeak-ng's sound differs by a few samples from call to call, and
    must not shift what is drawn for the noise of the others.
    """
    return [clip for number, make in enumerate(_KINDS) for clip in make(np.random.default_rng((seed, number)), size)]


@cache
def _espeak() -> Espeak:
    return Espeak()


def spoken(text: str, voice: str) -> Samples:
    """As synthesised, without the silence around it, at _SPEECH_DBFS."""
    engine = _espeak()
    sound = Resampler(engine.sample_rate).feed(pcm16_to_samples(engine.synthesize(text, voice)))
    loud = np.flatnonzero(np.abs(sound) > 0.01)
    return at_level(sound[loud[0] : loud[-1] + 1], _SPEECH_DBFS)


def at_level(sound: Samples, dbfs: float) -> Samples:
    rms = float(np.sqrt(np.mean(np.square(sound)))) or 1.0
    return (sound * np.float32(10 ** (dbfs / 20) / rms)).astype(np.float32)


def noise(random: np.random.Generator, colour: str, seconds: float, dbfs: float) -> Samples:
    """white, pink, brown, or fan: brown with mains hum and its harmonics."""
    count = round(seconds * SPEECH_RATE)
    spectrum = np.fft.rfft(random.normal(size=count))
    frequencies = np.maximum(np.fft.rfftfreq(count, 1 / SPEECH_RATE), 20)
    slope = {"white": 0.0, "pink": 0.5, "brown": 1.0, "fan": 1.0}[colour]
    sound = np.fft.irfft(spectrum / frequencies**slope, count)
    if colour == "fan":
        time = np.arange(count) / SPEECH_RATE
        hum = sum(np.sin(2 * np.pi * 50 * k * time) / k for k in range(1, 12))
        sound = sound / np.std(sound) + 0.8 * hum
    return at_level(sound.astype(np.float32), dbfs)


def _placed(random: np.random.Generator, event: Samples, *, noise_dbfs: float, colour: str = "pink") -> Samples:
    """`event` with a second before and two behind it, in a room."""
    total_s = _LEAD_S + event.size / SPEECH_RATE + _TAIL_S
    sound = noise(random, colour, total_s, noise_dbfs)
    at = round(_LEAD_S * SPEECH_RATE)
    sound[at : at + event.size] += event
    return sound


def _speech_clip(random: np.random.Generator, kind: str, text: str, index: int, *, noise_dbfs: float) -> Clip:
    event = spoken(text, VOICES[index % len(VOICES)])
    colour = ("pink", "white", "brown", "fan")[index % 4]
    sound = _placed(random, event, noise_dbfs=noise_dbfs, colour=colour)
    return Clip(kind=kind, sound=sound, speech_s=(_LEAD_S, _LEAD_S + event.size / SPEECH_RATE))


def _sentences(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        text = SENTENCES[index % len(SENTENCES)]
        yield _speech_clip(random, "sentence, quiet room", text, index, noise_dbfs=_ROOM_DBFS)


def _noisy_sentences(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        text = SENTENCES[index % len(SENTENCES)]
        yield _speech_clip(random, "sentence, 10 dB above noise", text, index, noise_dbfs=_SPEECH_DBFS - 10)


def _short_words(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        text = SHORT_WORDS[index % len(SHORT_WORDS)]
        yield _speech_clip(random, "short word", text, index, noise_dbfs=_ROOM_DBFS)


def _interruptions(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        text = SENTENCES[(index + 5) % len(SENTENCES)]
        clip = _speech_clip(random, "interruption of a turn", text, index, noise_dbfs=_ROOM_DBFS)
        yield Clip(kind=clip.kind, sound=clip.sound, speech_s=clip.speech_s, is_during_turn=True)


def _hesitations(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        voice = VOICES[index % len(VOICES)]
        gap = np.zeros(round(0.45 * SPEECH_RATE), np.float32)
        words = np.concatenate((spoken("I was wondering,", voice), gap, spoken(SENTENCES[index % 12], voice)))
        sound = _placed(random, words, noise_dbfs=_ROOM_DBFS)
        yield Clip(
            kind="sentence with a pause of 450 ms", sound=sound, speech_s=(_LEAD_S, _LEAD_S + words.size / SPEECH_RATE)
        )


def _short_interruptions(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        text = SHORT_WORDS[index % len(SHORT_WORDS)]
        clip = _speech_clip(random, "", text, index, noise_dbfs=_ROOM_DBFS)
        yield Clip(kind="short word during a turn", sound=clip.sound, speech_s=clip.speech_s, is_during_turn=True)


def _echoes(random: np.random.Generator, size: int) -> Iterator[Clip]:
    """Somebody's reply from the loudspeaker, hardly cancelled, and nobody else."""
    for index in range(size):
        sound = _placed(random, _reply(index, -34 - index % 3 * 6), noise_dbfs=_ROOM_DBFS)
        yield Clip(kind="echo of the reply", sound=sound, is_during_turn=True, playback_s=_LEAD_S)


def _interruptions_over_echo(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        reply = _reply(index, -40 - index % 3 * 6)
        voice = spoken(SENTENCES[(index + 5) % 12], VOICES[(index + 1) % len(VOICES)])
        at_s = 2.0
        sound = _placed(random, np.concatenate((reply, np.zeros(voice.size, np.float32))), noise_dbfs=_ROOM_DBFS)
        begin = round((_LEAD_S + at_s) * SPEECH_RATE)
        sound[begin : begin + voice.size] += voice
        end_s = _LEAD_S + at_s + voice.size / SPEECH_RATE
        yield Clip(
            kind="interruption over the echo",
            sound=sound,
            speech_s=(_LEAD_S + at_s, max(end_s, _LEAD_S + reply.size / SPEECH_RATE)),
            is_during_turn=True,
            playback_s=_LEAD_S,
        )


def _reply(index: int, dbfs: float) -> Samples:
    texts = (SENTENCES[(index + 1) % 12], SENTENCES[(index + 2) % 12])
    return at_level(np.concatenate([spoken(text, "en-us") for text in texts]), dbfs)


def _silences(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        yield Clip(kind="silence", sound=noise(random, "pink", 6, -80 + index % 3 * 8))


def _noises(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for index in range(size):
        colour = ("white", "pink", "brown", "fan")[index % 4]
        yield Clip(kind=f"noise, {colour}", sound=noise(random, colour, 6, (-45, -35, -25)[index % 3]))


def _chords(random: np.random.Generator, size: int) -> Iterator[Clip]:
    for _ in range(size):
        time = np.arange(6 * SPEECH_RATE) / SPEECH_RATE
        sound = np.zeros(time.size)
        for begin in np.arange(0, 6, 0.75):
            age = time - begin
            ring = np.where(age >= 0, np.exp(-2.5 * np.maximum(age, 0)), 0)
            root = 110 * 2 ** (random.integers(0, 24) / 12)
            for ratio in (1, 5 / 4, 3 / 2, 2):
                for harmonic in range(1, 6):
                    sound += ring * np.sin(2 * np.pi * root * ratio * harmonic * age) / harmonic**1.5
        yield Clip(kind="chords", sound=at_level(sound.astype(np.float32), -28))


def _cough(random: np.random.Generator) -> Samples:
    """One to three bursts of breath, shaped by a throat: broad bands at 500 and 1500 Hz."""
    bursts = []
    for _ in range(random.integers(1, 4)):
        count = round(random.uniform(0.12, 0.28) * SPEECH_RATE)
        spectrum = np.fft.rfft(random.normal(size=count))
        frequencies = np.fft.rfftfreq(count, 1 / SPEECH_RATE)
        shape = sum(np.exp(-0.5 * ((frequencies - f) / w) ** 2) * g for f, w, g in ((500, 250, 1), (1500, 600, 0.6)))
        age = np.arange(count) / count
        bursts += [np.fft.irfft(spectrum * (shape + 0.05), count) * np.minimum(age * 20, 1) * np.exp(-4 * age)]
        bursts += [np.zeros(round(random.uniform(0.05, 0.2) * SPEECH_RATE))]
    return at_level(np.concatenate(bursts).astype(np.float32), -24)


def _hum(random: np.random.Generator) -> Samples:
    """ "Mm-hmm": two nasal sounds through a closed mouth."""
    pieces = []
    for pitch, seconds in ((random.uniform(95, 190), 0.22), (random.uniform(110, 220), 0.3)):
        time = np.arange(round(seconds * SPEECH_RATE)) / SPEECH_RATE
        phase = 2 * np.pi * np.cumsum(pitch * (1 + 0.1 * time / seconds)) / SPEECH_RATE
        tone = sum(np.sin(k * phase) * np.exp(-k * pitch / 220) for k in range(1, 12))
        pieces += [tone * np.sin(np.pi * time / seconds) ** 0.5, np.zeros(round(0.04 * SPEECH_RATE))]
    return at_level(np.concatenate(pieces).astype(np.float32), -24)


def _door(random: np.random.Generator) -> Samples:
    time = np.arange(round(0.4 * SPEECH_RATE)) / SPEECH_RATE
    thud = np.sin(2 * np.pi * random.uniform(60, 120) * time) * np.exp(-18 * time)
    click = random.normal(size=time.size) * np.exp(-60 * time)
    return at_level((thud + 0.5 * click).astype(np.float32), -22)


def _not_speech(kind: str, make: Callable[[np.random.Generator], Samples]) -> Callable[..., Iterator[Clip]]:
    def clips(random: np.random.Generator, size: int) -> Iterator[Clip]:
        for _ in range(size):
            yield Clip(kind=kind, sound=_placed(random, make(random), noise_dbfs=_ROOM_DBFS), is_during_turn=True)

    return clips


_KINDS = (
    _sentences,
    _noisy_sentences,
    _short_words,
    _hesitations,
    _interruptions,
    _interruptions_over_echo,
    _short_interruptions,
    _echoes,
    _silences,
    _noises,
    _chords,
    _not_speech("cough during a turn", _cough),
    _not_speech("mm-hmm during a turn", _hum),
    _not_speech("door during a turn", _door),
)
