"""Twenty-five wishes of authors, each in a conversation of sixty turns: right in the first, the fifth and the last."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import Client, Frame, client
from tests.support.cookbook import hook_texts_in, write_cookbook
from tests.support.openai_script import Gate, Stream, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint
from tests.support.speech_server import speech_server

TURNS = 60
TOKENS = {name: f"the-long-token-of-{name}" for name in ("ada", "board-sam")}
NO_FILE = calls(("read_file", {"path": "no/such/file.md"}))
PRIVATE = calls(("read_file", {"path": "private/letter.md"}))
LOOK = calls(("current_time", {"timezone": "Asia/Tokyo"}))
QUESTION = "What is the capital of France?"
LONG = "We moved into the flat in May, and since then the heating has been making a noise at night.\n" * 8
DOT = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class Turn:
    """A turn, and the files of the hooks that its last model call reads."""

    number: int
    reads: str
    said: str | list[dict[str, Any]] = "Go on."
    then: str = ""
    """The files of the hooks that each turn reads from here to the next of the list, in which the user says "Go on."."""
    script: Sequence[Stream] = ()
    answer: str = "Yes."
    holds: str = ""
    """Words that the hooks hold with their variables filled in."""
    cuts: bool = False
    """Whether the message comes while the reply to another one still runs."""
    is_nudge: bool = False
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Wish:
    skill: str
    turns: Sequence[Turn]
    user: str | None = None
    is_constant: bool = False
    """Whether the text of its hook is the same in every turn."""
    is_random: bool = False
    """Whether the hook comes or not, and with one text or another, as it is drawn."""

    def __iter__(self) -> Iterator[Turn]:
        then, turns = "", {turn.number: turn for turn in self.turns}
        for number in range(1, TURNS + 1):
            turn = turns.get(number) or Turn(number, then, then=then)
            yield turn
            then = turn.then


def zone_at(hour: int) -> dict[str, Any]:
    """Return the context of a user on whose clock it is this hour now."""
    ahead = (hour - datetime.now(UTC).hour + 12) % 24 - 12
    return {"context": {"timezone": f"Etc/GMT{-ahead:+d}"}}


def plan(name: str) -> dict[str, Any]:
    return {"context": {"plan": name}}


WISHES = {
    "tutor with hints that escalate and reset": Wish(
        "tutor-hints",
        [
            Turn(1, "small-hint", "A hint, please"),
            Turn(5, "large-hint", "I'm stuck"),
            Turn(58, "the-way", "help!"),
            Turn(59, "", "A new task"),
            Turn(60, "small-hint", "Another hint"),
        ],
    ),
    "night only": Wish(
        "bedtime",
        [Turn(n, reads, fields=zone_at(hour)) for n, hour, reads in [(1, 2, "late"), (5, 12, ""), (60, 2, "late")]]
        + [Turn(n, "", fields=zone_at(12)) for n in (2, 3, 4, *range(6, 60))],
    ),
    "disclaimer once": Wish(
        "say-once",
        [Turn(1, "no-doctor", "I feel ill"), Turn(5, "", "Which medicine?"), Turn(60, "", "The pain is back")],
    ),
    "a tool fails, fails twice": Wish(
        "fails-twice",
        [
            Turn(1, "try-again", script=[NO_FILE]),
            Turn(5, "give-up", script=[NO_FILE]),
            Turn(59, "", script=[LOOK]),
            Turn(60, "try-again", script=[NO_FILE]),
        ],
    ),
    "language switch": Wish(
        "language-switch",
        [
            Turn(1, "answer-in", "Please answer in German", "answer-in", holds="in German"),
            Turn(5, "answer-in", "Now in French", "answer-in", holds="in French"),
            Turn(60, "answer-in", holds="in French"),
        ],
    ),
    "secret word": Wish("secret-word", [Turn(1, "play", then="play"), Turn(5, "play", then="play")], is_constant=True),
    "VIP and operator": Wish("vip-and-operator", [Turn(1, "technical vip", then="technical vip")], user="board-sam"),
    "random variation": Wish("vary-ending", [Turn(1, "end-with", then="end-with")], is_random=True),
    "reminder at most three times": Wish(
        "remind-thrice", [Turn(1, ""), Turn(5, "break"), Turn(10, "break"), Turn(15, "break")]
    ),
    "onboarding in steps": Wish(
        "onboarding",
        [
            Turn(1, "ask-name", "Hello", "ask-name"),
            Turn(2, "ask-name", "Why do you ask?", "ask-name"),
            Turn(5, "ask-city", "Zoë"),
            Turn(6, "known", "I live in Paris.", "known", holds="I am Zoë from Paris."),
            Turn(60, "known", "London", holds="I am Zoë from Paris."),
        ],
    ),
    "quiz with score": Wish(
        "quiz-score",
        [
            Turn(1, "say-score", "What is my score?", answer=QUESTION, holds="has 0 points"),
            Turn(2, "", "Paris!"),
            Turn(5, "say-score", "My score?", holds="has 1 points"),
            Turn(58, "", answer=QUESTION),
            Turn(59, "", "It is Paris."),
            Turn(60, "say-score", "And my score?", holds="has 2 points"),
        ],
    ),
    "reference text and follow-ups": Wish(
        "return-policy",
        [
            Turn(1, "policy", "Do you give refunds?", "policy"),
            Turn(5, ""),
            Turn(57, "policy", "Can I return it?", "policy"),
            Turn(60, "policy", "And without a receipt?"),
        ],
    ),
    "lorebook with budget": Wish(
        "lorebook",
        [
            Turn(1, "dragon queen", "We go to the castle", "dragon queen"),
            Turn(3, ""),
            Turn(5, "village", "Where is Elmfold?", "village"),
            Turn(7, ""),
            Turn(60, "dragon queen", "Back to the castle"),
        ],
    ),
    "brief when spoken": Wish(
        "brief-when-spoken", [Turn(n, "for-the-ear", fields={"voice": True}) for n in (1, 5, 60)]
    ),
    "tone by time of day": Wish(
        "tone-of-day",
        [
            Turn(1, "morning", fields=zone_at(7)),
            Turn(5, "night", fields=zone_at(1)),
            Turn(60, "morning", fields=zone_at(7)),
        ]
        + [Turn(n, "", fields=zone_at(14)) for n in (2, 3, 4, *range(6, 60))],
    ),
    "hand over to a human": Wish(
        "hand-over",
        [
            Turn(1, "call", "A real person, please", "hold-back"),
            Turn(5, "hold-back", "Where is that human?", "hold-back"),
            Turn(58, "", "Back to the assistant"),
            Turn(60, "call", "I want your colleague"),
        ],
    ),
    "every fifth turn": Wish("every-fifth", [Turn(n, "tip") for n in range(5, TURNS + 1, 5)]),
    "long message": Wish("long-message", [Turn(n, "sum-up", LONG) for n in (1, 5, 60)]),
    "question or statement": Wish(
        "question-or-statement",
        [
            Turn(1, "question", "Do you like tea?", "statement"),
            Turn(5, "statement", "I like tea.", "statement"),
            Turn(60, "question", "why is that so"),
        ],
    ),
    "careful after private files": Wish(
        "private-files", [Turn(1, "careful", script=[PRIVATE], then="careful"), Turn(60, "careful")]
    ),
    "speaks first": Wish("greeting", [Turn(1, "name welcome", is_nudge=True), Turn(5, ""), Turn(60, "")], user="ada"),
    "name told once": Wish(
        "remember-name",
        [
            Turn(1, "use-name", "Hello, my name is Zoë.", "use-name", holds="My name is Zoë"),
            Turn(5, "use-name", "Call me Jean-Luc", "use-name", holds="My name is Jean-Luc"),
            Turn(60, "use-name", holds="My name is Jean-Luc"),
        ],
    ),
    "careful after an interruption": Wish(
        "after-interruption", [Turn(1, ""), Turn(5, "cut-in", cuts=True), Turn(60, "cut-in", cuts=True)]
    ),
    "plan of the application's user": Wish(
        "vip-tone",
        [
            Turn(1, "attentive", fields=plan("pro")),
            Turn(5, "", fields=plan("free")),
            Turn(60, "attentive", fields=plan("team")),
        ],
    ),
    "picture attached": Wish(
        "picture-attached",
        [
            Turn(n, "look", [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": DOT}}])
            for n in (1, 5, 60)
        ],
    ),
}


class TypingClient(Client):
    """Client that may get sound, and leaves it alone."""

    async def receive(self) -> Frame:
        while True:
            try:
                return await super().receive()
            except AssertionError:
                continue


class Conversation:
    """A conversation as a client keeps it: all that was said, and the state of the last turn."""

    def __init__(self, user: Client, model: OpenAIServer, folder: Path) -> None:
        self._user = user
        self._model = model
        self._folder = folder
        self._history: list[Frame] = []
        self._state: dict[str, str] = {}

    async def play(self, turn: Turn) -> list[tuple[str, str]]:
        """Play the turn; return the hooks that the last model call read, as names of files and texts."""
        if turn.cuts:
            await self._begin_reply()
        self._model.queue(*turn.script, text(turn.answer))
        if turn.is_nudge:
            nudge = await self._user.until("nudge")
            await self._user.send("chat", nudge=nudge["id"], messages=[])
        else:
            self._history.append({"role": "user", "content": turn.said})
            await self._user.send("chat", messages=self._history, **{"voice": False, **self._state, **turn.fields})
        end = await self._end()
        assert end["reason"] == "completed", end
        self._history.append({"role": "assistant", "content": turn.answer})
        self._state = {"state": end["state"]} if "state" in end else self._state
        return hook_texts_in(self._model.requests[-1].messages, self._folder)

    async def _begin_reply(self) -> None:
        """Ask something whose reply goes on until the next message."""
        gate = Gate()
        self._model.queue(text("Once ", gate))
        self._history.append({"role": "user", "content": "Tell me"})
        await self._user.send("chat", messages=self._history, voice=False, **self._state)
        await self._user.until("text")
        self._history.append({"role": "assistant", "content": "Once "})

    async def _end(self) -> Frame:
        """Return the end of the turn; the one that it interrupted ends before."""
        while (end := await self._user.until("turn_end"))["reason"] == "interrupted":
            pass
        return end


async def faults(wish: Wish, conversation: Conversation) -> list[tuple[int, str, str]]:
    """Play the conversation; return the turns that are wrong, with what should have been read and what was."""
    wrong, seen = [], set()
    for turn in wish:
        read = await conversation.play(turn)
        names = " ".join(name for name, _ in read)
        seen.add(texts := " ".join(words for _, words in read))
        is_right = names == turn.reads or (wish.is_random and not names)
        if not is_right or turn.holds not in texts:
            wrong.append((turn.number, f"{turn.reads} {turn.holds}", f"{names} {texts}"))
    assert not wish.is_constant or len(seen) == 1, seen
    assert not wish.is_random or len(seen) > 2, seen
    return wrong


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_each_wish_is_right_in_the_first_the_fifth_and_the_sixtieth_turn(
    tmp_path: Path, model: OpenAIServer
) -> None:
    skills = write_cookbook(tmp_path / "skills")
    for name in ("bedtime", "greeting"):
        shutil.copytree(ROOT / "skills" / name, skills / name)
    settings = {
        "agent": {"planning": False},
        "skills": {"dir": str(skills), "edit": False, "hook_tokens": 65},
        "security": {
            "tokens": [{"user": user, "token": token, "operator": user != "ada"} for user, token in TOKENS.items()]
        },
    }
    found = {}
    async with speech_server() as speech:
        voice = {"PROVIDER": "openai", "BASE_URL": speech.base_url, "API_KEY": "scripted", "MODEL": "scripted"}
        environ = endpoint(model.url) | {f"PARLEY_SPEECH__TTS__{key}": value for key, value in voice.items()}
        async with ServerProcess(tmp_path, environ=environ, settings=settings) as server:
            for title, wish in WISHES.items():
                headers = {"Authorization": f"Bearer {TOKENS[wish.user]}"} if wish.user else {}
                async with client(server.ws_url, additional_headers=headers) as opened:
                    user = TypingClient(opened.socket)
                    await user.send("configure", skills=[wish.skill], nudges=True)
                    found[title] = await faults(wish, Conversation(user, model, skills / wish.skill))
                model.clear()

    assert {title: wrong for title, wrong in found.items() if wrong} == {}
    assert len(found) == 25
