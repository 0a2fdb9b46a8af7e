"""Says a word when hooks or tools hold up the first one (`agent.filler`). It is heard, not written, and in no history."""

import asyncio
from collections.abc import Callable

from server import config
from server.agent.chunks import LLMChunk
from server.session.results import SpokenSentence
from server.session.turn_writer import TurnWriter


class Filler:
    """`note` every chunk of a turn, then `close`. At most once a turn, and only where there is a voice."""

    def __init__(self, settings: config.FillerSettings, turn: TurnWriter) -> None:
        self._settings = settings
        self._turn = turn
        self._timer: asyncio.TimerHandle | None = None
        self._withdraw: Callable[[], None] | None = None
        self._is_needed = settings.text is not None

    def note(self, chunk: LLMChunk) -> None:
        if not self._is_needed:
            return
        if chunk.text is not None:
            self.close()
        elif chunk.model_request:
            self._stop()  # now it is the model that takes its time
        elif (chunk.held or chunk.tool_call is not None) and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._settings.after_ms / 1000, self._say)

    def close(self) -> None:
        """The first word is there, or none will come: what is not being said yet is not said."""
        self._is_needed = False
        self._stop()
        if self._withdraw is not None:
            self._withdraw()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        aloud, text = self._turn.aloud, self._settings.text
        if aloud is not None and text and self._withdraw is None and not self._turn.is_asking:
            self._withdraw = aloud(SpokenSentence("", text))
