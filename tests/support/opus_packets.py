"""Opus packets as other encoders make them: through libopus, with its options."""

import ctypes

import numpy as np

from server.speech.audio import SPEECH_RATE, Samples, samples_to_pcm16
from server.speech.opus import MAX_PACKET_BYTES, libopus

_VOIP = 2048
_SET_DTX, _SET_FEC, _SET_LOSS = 4016, 4012, 4014


def packets_of(
    sound: Samples,
    *,
    rate: int = SPEECH_RATE,
    frame_ms: float = 20,
    channels: int = 1,
    dtx: bool = False,
    fec: bool = False,
) -> list[bytes]:
    """Return whole frames of mono `sound`; in stereo, both channels carry it."""
    lib = libopus()
    state = ctypes.create_string_buffer(lib.opus_encoder_get_size(channels))
    assert lib.opus_encoder_init(state, rate, channels, _VOIP) == 0
    for request, value in ((_SET_DTX, dtx), (_SET_FEC, fec), (_SET_LOSS, 20 if fec else 0)):
        assert lib.opus_encoder_ctl(state, request, ctypes.c_int(value)) == 0
    pcm = samples_to_pcm16(np.repeat(sound, channels))
    samples = round(rate * frame_ms / 1000)
    packets, out = [], ctypes.create_string_buffer(MAX_PACKET_BYTES)
    size = 2 * channels * samples
    for at in range(0, len(pcm) - size + 1, size):
        length = lib.opus_encode(state, pcm[at : at + size], samples, out, MAX_PACKET_BYTES)
        assert length > 0
        packets.append(out.raw[:length])
    return packets
