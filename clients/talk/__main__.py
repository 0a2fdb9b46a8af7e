"""`python -m server.talk URL`: type, or speak from a WAV file or a microphone."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import websockets

try:
    from readline import get_line_buffer  # this also lets the line be edited
except ImportError:  # on Windows

    def get_line_buffer() -> str:
        return ""


from clients.talk.client import Output, TalkClient
from clients.talk.connector import socket_url
from clients.talk.devices import WANTED_RATE, Loudspeaker, microphone_frames, microphone_rate, sounddevice
from clients.talk.sound import SoundError, WavWriter, wav_frames, wav_rate
from clients.talk.tools import LocalTools, ToolFileError
from server.errors import SpeechUnavailable
from skills_engine.diagnostics import visible_text

_USUAL_RATE: Final = 24_000
"""Sample rate assumed for a voice of which the server knows nothing yet."""
_MAX_AHEAD_MS: Final = 300
"""Sound that has come and was not heard: what an interruption takes for heard though it was not."""
_STOPS_AFTER_S: Final = 60.0
_PROSE: Final = "\n\t\u200c\u200d\ufe0e\ufe0f"
"""Invisible characters that belong to sentences: joiners of Persian, Indic scripts and emoji, which colour or not."""


def main() -> int:
    options = _parse()
    try:
        return asyncio.run(_talk(options))
    except (SoundError, SpeechUnavailable, ToolFileError, OSError, websockets.WebSocketException) as error:
        _show(f"talk: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _show(text: str, *, end: str = "\n", keep: str = "\n\t", file: TextIO | None = None) -> None:
    """Print text, which may come from a server or a model, with what a terminal would obey or hide escaped."""
    print(visible_text(text, keep=keep), end=end, flush=True, file=file)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m server.talk", description=__doc__)
    parser.add_argument(
        "url",
        nargs="?",
        type=_address,
        default="ws://localhost:8765/ws",
        help="also HOST:PORT, or the address of the page; default: %(default)s",
    )
    parser.add_argument(
        "--wav", type=Path, metavar="IN", help="send this WAV file (16 bits, mono) as speech and wait for the answer"
    )
    parser.add_argument("--save", type=Path, metavar="OUT", help="write the answer's sound to this file")
    parser.add_argument("--mic", action="store_true", help="speak and listen (needs: pip install sounddevice)")
    parser.add_argument("--say", metavar="TEXT", help="send this text, print the answer and stop")
    parser.add_argument("--token", help="sent as `Authorization: Bearer`")
    parser.add_argument("--approve", action="store_true", help="approve every tool that asks")
    parser.add_argument("--speaker", metavar="NAME", help="a voice that the server has; an unknown name lists them")
    parser.add_argument("--speed", type=float, help="of the voice, 0.25 to 2")
    parser.add_argument("--language", help="BCP 47: what you speak and want to hear")
    parser.add_argument("--instructions", metavar="TEXT", help="added to the server's system prompt, if it allows that")
    parser.add_argument(
        "--eagerness",
        choices=("low", "medium", "high"),
        help="how soon a pause is taken for the end of what you say: after 8, 4 or 2 s at the latest",
    )
    parser.add_argument(
        "--transcribe", action="store_true", help="with --wav or --mic: print what is said; nothing answers"
    )
    parser.add_argument("--max-tokens", type=int, metavar="N", help="the longest reply, up to the server's own limit")
    parser.add_argument(
        "--tool",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a command that the model may have run here, described in JSON (docs/speech.md); may be given several times",
    )
    parser.add_argument("--tool-choice", metavar="CHOICE", help="auto, none, required, or the name of a tool")
    parser.add_argument("--opus", action="store_true", help="send and receive Opus: a tenth of the bytes")
    options = parser.parse_args()
    if options.transcribe and not (options.wav or options.mic):
        parser.error("--transcribe needs --wav or --mic")
    if options.speed is not None and not 0.25 <= options.speed <= 2:
        parser.error("--speed goes from 0.25 to 2")
    if options.max_tokens is not None and not 1 <= options.max_tokens <= 1_000_000:
        parser.error("--max-tokens goes from 1 to 1,000,000")
    return options


def _address(text: str) -> str:
    try:
        return socket_url(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


async def _talk(options: argparse.Namespace) -> int:
    """Hold the conversation; return the exit status: 1 where the one thing that was to be said got no answer."""
    screen = _Screen()
    rate = _rate(options)
    output = _output(options)
    tools = LocalTools(options.tool)
    client = await TalkClient.connect(
        options.url,
        token=options.token,
        show=screen.show,
        output=output,
        approves=None if options.mic and not options.approve else options.approve,
        tools=tools,
        is_typing=_is_typing,
    )
    reader = asyncio.create_task(client.run(), name="reader")
    try:
        ready = await asyncio.wait_for(client.ready(), _STOPS_AFTER_S)
        _show(f"[{ready['model']['name']} at {ready['model']['host']}]")
        if isinstance(output, Loudspeaker):
            await output.start(ready["speech"]["output_sample_rate"] or _USUAL_RATE)
        if options.opus and (opus := ready["speech"].get("opus", {"reason": "it is too old"}))["reason"] is not None:
            raise SoundError(f"the server has no Opus ({opus['reason']}); leave out --opus")
        voices = ready["speech"].get("voices", [])
        if options.speaker is not None and options.speaker not in voices:
            _show(f"[no voice {options.speaker!r} is known; there are: {', '.join(voices) or 'none'}]")
        chosen = {
            "speaker": options.speaker,
            "speed": options.speed,
            "instructions": options.instructions,
            "max_tokens": options.max_tokens,
            "tools": tools.descriptions or None,
            "tool_choice": _tool_choice(options.tool_choice),
            "transcribe_only": options.transcribe or None,
            "turn_detection": options.eagerness and {"mode": "server_vad", "eagerness": options.eagerness},
        }
        await client.configure(
            voice=output is not None,
            language=options.language,
            nudges=options.say is None and options.wav is None,
            **{name: value for name, value in chosen.items() if value is not None},
        )
        await _converse(client, options, rate)
        if isinstance(output, WavWriter) and not output.has_sound:
            _show(f"[nothing was spoken, so there is no {options.save}]")
        return int(screen.has_failed and (options.say is not None or options.wav is not None))
    finally:
        await client.close()
        await reader


def _tool_choice(text: str | None) -> str | dict[str, str] | None:
    return text if text in (None, "auto", "none", "required") else {"name": text}


def _rate(options: argparse.Namespace) -> int:
    if options.wav is not None:
        return wav_rate(options.wav)
    return microphone_rate(sounddevice()) if options.mic else WANTED_RATE


def _output(options: argparse.Namespace) -> Output | None:
    if options.save is not None:
        if not options.save.parent.is_dir():
            raise SoundError(f"{options.save}: there is no folder {options.save.parent}")
        return WavWriter(options.save)
    return Loudspeaker(sounddevice()) if options.mic else None


async def _converse(client: TalkClient, options: argparse.Namespace, rate: int) -> None:
    if options.wav is not None or options.mic or options.opus:
        sound = "opus" if options.opus else "pcm16"
        ahead = {"max_ahead_ms": _MAX_AHEAD_MS} if options.mic and options.wav is None and options.say is None else {}
        await client.configure(input={"format": sound, "sample_rate": rate}, output={"format": sound, **ahead})
    if options.wav is not None:
        await client.speak(wav_frames(options.wav), _encoder(options, rate))
        await client.quiet()
    elif options.say is not None:
        await client.say(options.say)
        await client.quiet()
    elif options.mic:
        _show("[speak; Ctrl-C ends it. Use headphones, or it hears itself]")
        await client.speak(microphone_frames(sounddevice(), rate), _encoder(options, rate))
    else:
        while line := await asyncio.to_thread(_read_line):
            await client.say(line)
            await client.quiet()


def _encoder(options: argparse.Namespace, rate: int) -> Callable[[bytes], Sequence[bytes]]:
    """Return what makes messages of PCM16. Raises SpeechUnavailable without Opus."""
    if not options.opus:
        return lambda pcm: [pcm]
    from server.speech.opus import OpusEncoder  # half a second that text alone does not need
    from server.speech.tts import SoundChunk

    encoder = OpusEncoder()
    return lambda pcm: encoder.encode(SoundChunk(pcm, rate)).messages


def _is_typing() -> bool:
    """Return whether a line is begun at the prompt, which only readline knows."""
    return bool(get_line_buffer())


def _read_line() -> str:
    with contextlib.suppress(EOFError):
        while True:
            if line := input("> ").strip():
                return line
    return ""


class _Screen:
    """Prints what the frames say, for people."""

    def __init__(self) -> None:
        self.has_failed = False  # an error was told, or a turn was ended by a hook
        self._asked: dict[str, str | None] = {}  # question → tool call, until it is answered
        self._refused: set[str | None] = set()  # calls of this turn that the user said no to

    def show(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "text":
                _show(frame["delta"], end="", keep=_PROSE)
            case "transcript" if frame["final"] and frame["text"]:
                _show(f"> {frame['text']}", keep=_PROSE)
            case "tool_call":
                _show(f"[{frame['name']} {frame['arguments']}]")
            case "approval_request":
                self._asked[frame["id"]] = frame.get("call_id")
                _show(f"[{frame['message']} {frame['arguments']}]")
            case "approval_resolved":
                call = self._asked.pop(frame["id"], None)
                if not frame["approved"] and frame["by"] in ("user", "voice", "other_client"):
                    self._refused.add(call)
                _show(f"[{'yes' if frame['approved'] else 'no'}: {frame['by']}]")
            case "tool_result" if frame.get("ending") == "denied":
                _show(f"[{frame['name']}: {'you said no' if frame['id'] in self._refused else 'not allowed'}]")
            case "notice" | "error":
                self.has_failed = self.has_failed or frame["type"] == "error"
                _show(f"[{frame['code']}: {frame['message']}]")
            case "turn_end":
                self._refused.clear()
                why = frame.get("message")
                self.has_failed = self.has_failed or frame["reason"] == "aborted" or why is not None
                said = frame["reason"] if why is None or frame["reason"] != "interrupted" else f"interrupted: {why}"
                _show("" if frame["reason"] == "completed" else f"[{said}]")


if __name__ == "__main__":
    sys.exit(main())
