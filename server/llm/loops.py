"""Finds the point at which a small model has begun to repeat itself. Pure."""

_MIN_PERIOD_CHARS = 2
_MAX_PERIOD_CHARS = 120
_MIN_LOOP_CHARS = 24
_TIMES = 3


class LoopDetector:
    """`feed` tells whether the text now ends in one passage three times over."""

    def __init__(self) -> None:
        self._tail = ""

    def feed(self, text: str) -> bool:
        self._tail = (self._tail + text)[-_TIMES * _MAX_PERIOD_CHARS :]
        return is_looping(self._tail)


def is_looping(text: str) -> bool:
    for period in range(_MIN_PERIOD_CHARS, min(_MAX_PERIOD_CHARS, len(text) // _TIMES) + 1):
        times = max(_TIMES, -(-_MIN_LOOP_CHARS // period))
        if len(text) >= times * period and text.endswith(text[-period:] * times):
            return True
    return False
