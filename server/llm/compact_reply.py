"""Replies of a very small model: quoted results of tools, and sentences that are left out. Pure."""

import re
from collections.abc import Iterable
from datetime import date, timedelta

from server.llm.compact import CompactTurn, opening

NO_ANSWER = "Sorry, I have no good answer to that."
MAX_SAID_CHARS = 200  # of a result; a longer one is shown
MAX_SHOWN_CHARS = 600

_SENTENCE = re.compile(r".+?(?:(?<![.!?…])[.!?…]++[\"'”’)]*+(?=\s|\Z)\s*|\n+|\Z)", re.DOTALL)
_WORDS = re.compile(r"\w+")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_OTHER_DAY = re.compile(r"\b(?:tomorrow|yesterday)\b", re.IGNORECASE)
_ISO_DAY = re.compile(r"\n\((\d{4}-\d\d-\d\d) ")
_NOTE = re.compile(r"\n\([^()\n]*\)\Z")  # a last line in parentheses: it is about the result


def quotation(turn: CompactTurn) -> str | None:
    """Return what the tools gave, if anything: a line is said, more is shown under one."""
    texts = [text for result in turn.results if (text := _FRONT_MATTER.sub("", result).strip())]
    spoken = [_other_day(turn.question, text) or _NOTE.sub("", text) for text in texts]
    if all("\n" not in text and len(text) <= MAX_SAID_CHARS for text in spoken):
        return "\n".join(spoken) or None
    quoted = opening("\n".join(texts), MAX_SHOWN_CHARS)
    fence = "````" if "```" in quoted else "```"
    return f"This is what I found:\n\n{fence}\n{quoted}\n{fence}"


def _other_day(question: str, result: str) -> str:
    """Return the day before or after that of `current_time` if the question asks for it, or ""."""
    asked, told_day = _OTHER_DAY.search(question), _ISO_DAY.search(result)
    if asked is None or told_day is None:
        return ""
    day = date.fromisoformat(told_day[1]) + timedelta(days=1 if asked[0].lower() == "tomorrow" else -1)
    return f"{asked[0].capitalize()}: {day:%A}, {day.day} {day:%B %Y}."


class ReplyGuard:
    """Leaves sentences out of a reply as it streams: hooks' words, the question, the reply before, repetitions.

    Sentences of one word are free. A sentence is held back only while it may still become one of those.
    """

    def __init__(self, unwanted: Iterable[str]) -> None:
        self._unwanted = {key for text in unwanted for part in _SENTENCE.findall(text) if " " in (key := _key(part))}
        self._text = ""  # from the beginning of the sentence on
        self._passed_chars = 0  # of it
        self.has_passed = False  # whether anything was left to show

    def feed(self, text: str, *, is_end: bool = False) -> str:
        """Return what may be shown now."""
        self._text += text
        passed = ""
        while match := _SENTENCE.match(self._text):
            sentence, key = match[0], _key(match[0])
            is_whole = is_end or len(sentence) < len(self._text)
            is_unwanted = key in self._unwanted if is_whole else any(each.startswith(key) for each in self._unwanted)
            if self._passed_chars or not is_unwanted:
                passed += sentence[self._passed_chars :]
                self._passed_chars = len(sentence)
            if not is_whole:
                break
            self._unwanted |= {key} if " " in key else set()
            self._text, self._passed_chars = self._text[len(sentence) :], 0
        self.has_passed |= bool(passed.strip())
        return passed


def unlike(answer: str, last_reply: str) -> str:
    """Return the answer, so that it is not the reply before word for word."""
    return f"Again: {answer}" if _key(answer) == _key(last_reply) else answer


def _key(sentence: str) -> str:
    return " ".join(_WORDS.findall(sentence.casefold().replace("'", "")))
