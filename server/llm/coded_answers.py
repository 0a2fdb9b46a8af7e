"""Answers that need no model, because code gives better ones: sums, skills, tools, what was said before. Pure.

Beside them what a reply must not say: a hook's words, or what the reply before has said.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import date, timedelta
from fractions import Fraction

from server.llm.compact import CompactTurn, opening
from skills_engine.skills_context_manager import HEAD as CATALOG_HEAD

NO_ANSWER = "Sorry, I have no good answer to that."
DENIED = "That was not allowed, so I did not do it."
"""The answer after a refused call, whoever refused it: its result holds an instruction for a model."""
MAX_SAID_CHARS = 200
"""The longest result that is said; a longer one is shown, and said is where it is from."""
MAX_SHOWN_CHARS = 600
MAX_DIGITS = 15

_ABILITIES = {
    "current_time": "tell the time in other cities",
    "read_file": "read files of skills",
    "search_text": "search them for words",
}
_ASKS_ABILITIES = re.compile(
    r"\bwhat (?:all |else )?(?:can|could) (?:you|i|we) (?:do|ask|say|help)|\bwhat are you (?:able|good|capable|for)\b"
    r"|\bhow (?:can|do) you help|\A(?:please )?help(?: me)?\W*\Z|\bwhat do you do\b"
)
_ASKS_SKILLS = re.compile(
    r"\b(?:what|which|list|show|name|how many)\b[^.?!]*\bskills?(?=\W*\Z| (?:are|is|do you|have you|you|can|there|on|"
    r"installed|available|active|enabled|loaded)\b)"
)
_ASKS_DEFINITION = re.compile(r"\bwhat(?:'?s| is| are) (?:a |an )?skills?\W*\Z")
_ASKS_AGAIN = re.compile(
    r"\b(?:say|repeat|tell me) (?:that|it|this)?\s*(?:again|once more|one more time)|\A(?:please )?repeat\b|\bcome again\b"
    r"|\b(?:did ?n[o']?t|did not|could ?n[o']?t) (?:catch|hear|get|understand)\b|\Apardon\b|\bwhat did you (?:just )?say"
)
_ASKS_SHORTER = re.compile(
    r"\bshorter\b|\btoo long\b|\b(?:in|with) (?:one|a single|a few|fewer) (?:\w+ )?(?:sentence|words?)\b"
)
_SENTENCE = re.compile(r".+?(?:[.!?…]+[\"'”’)]*(?=\s|\Z)\s*|\n+|\Z)", re.DOTALL)
_WORDS = re.compile(r"\w+")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_NOTE = re.compile(r"\n\([^()\n]*\)\Z")
"""A last line in parentheses: it is about the result."""
_ISO_DAY = re.compile(r"\n\((\d{4}-\d\d-\d\d) ")
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}

_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()
_OPERATORS = (
    (r"\bplus\b|\band add\b|\badded to\b", "+"),
    (r"\bminus\b|−|–", "-"),
    (r"\btimes\b|\bmultiplied by\b|×|·|(?<=\d)\s*x\s*(?=\d)", "*"),
    (r"\bdivided by\b|\bover\b|÷", "/"),
    (r"%\s*of\b|\bper ?cent of\b", "/100*"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
)
_ASKED_SUM = re.compile(
    r"\A(?:(?:so|and|ok|please|hey|can you tell me|tell me|calculate|compute|solve|what'?s|what is|how much is)[\s,]+)*"
    r"(?P<sum>.+?)(?:\s*(?:=|please|equal to|equals|make))*[\s?!.=]*\Z"
)
_SUM = re.compile(rf"(?:\d{{1,{MAX_DIGITS}}}(?:\.\d{{1,9}})?|[-+*/]|\s)+")


def coded_answer(turn: CompactTurn, tools: Collection[str]) -> str | None:
    """Return the answer to a question that code answers well, or None; `tools`: the names of those it may call."""
    asked = " ".join(turn.question.lower().replace("’", "'").split())
    last = turn.last_reply
    if _ASKS_ABILITIES.search(asked):
        can = [_ABILITIES.get(name, f"use {name}") for name in tools]
        return f"I can {_listed(['chat', 'answer simple questions', *can])}. {_skills_line(turn.system)}".rstrip()
    if _ASKS_SKILLS.search(asked):
        what = "A skill is a folder with texts that change how I answer."
        lines = [_skills_line(turn.system) or "No skill is on.", what]
        return " ".join(reversed(lines) if _ASKS_DEFINITION.search(asked) else lines)
    if last and _ASKS_AGAIN.search(asked):
        return f"I said: {last.removeprefix('I said: ')}"
    if last and _ASKS_SHORTER.search(asked) and len(sentences := _sentences(last)) > 1:
        return sentences[0]
    return _sum_answer(asked, last)


def _skills_line(system: str) -> str:
    _, found, catalog = system.partition(CATALOG_HEAD)
    entries = re.findall(r"^- (\S+?)(?: \(.*?\))?: (.*)$", catalog, re.MULTILINE)
    named = [f"{name} ({text[:1].lower()}{text[1:].rstrip('.')})" for name, text in entries]
    return f"These skills are on: {_listed(named)}." if found and named else ""


def _listed(items: Sequence[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def _sum_answer(asked: str, last: str) -> str | None:
    found = _ASKED_SUM.match(asked)
    if found is None:
        return None
    shown = expression = found["sum"]
    for number, word in enumerate(_NUMBERS):
        expression = re.sub(rf"\b{word}\b", str(number), expression)
    for pattern, sign in _OPERATORS:
        expression = re.sub(pattern, sign, expression)
    if expression[:1] in ("+", "*", "/") and (before := re.findall(r"\d+(?:\.\d+)?", last)):
        shown, expression = f"{before[-1]} {shown}", before[-1] + expression
    tokens = re.findall(r"\d+(?:\.\d+)?|[-+*/]", expression)
    if not _SUM.fullmatch(expression) or len(tokens) < 3 or (value := _value(tokens)) is None:
        return None
    text = f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):.6g}"
    return f"{shown[:1].upper()}{shown[1:]} is {text}."


def _value(tokens: Sequence[str]) -> Fraction | None:
    """Work out numbers with an operator between each two; None where they do not alternate, or divide by zero."""
    if len(tokens) % 2 == 0 or any((token in "+-*/") != bool(at % 2) for at, token in enumerate(tokens)):
        return None
    terms = [Fraction(tokens[0])]
    for sign, token in zip(tokens[1::2], tokens[2::2], strict=True):
        number = Fraction(token)
        if sign == "/" and not number:
            return None
        if sign in "*/":
            terms[-1] = terms[-1] * number if sign == "*" else terms[-1] / number
        else:
            terms.append(number if sign == "+" else -number)
    return sum(terms, Fraction())


def quotation(turn: CompactTurn) -> str | None:
    """Return what the tools gave: a line is said, more is shown under one; and the refusal. None: there is neither."""
    said = [DENIED] if turn.is_denied else []
    texts = [(source, text) for source, result in turn.results if (text := _FRONT_MATTER.sub("", result).strip())]
    shown = "\n".join(text for _, text in texts)
    spoken = [day_answer(turn.question, text) or _NOTE.sub("", text) for _, text in texts]
    if all("\n" not in text and len(text) <= MAX_SAID_CHARS for text in spoken):
        return "\n".join([*spoken, *said]) or None
    fence = "````" if "```" in shown else "```"
    head = f"This is from {texts[0][0]}:" if len(texts) == 1 and texts[0][0] else "This is what I found:"
    return "\n".join([f"{head}\n\n{fence}\n{opening(shown, MAX_SHOWN_CHARS)}\n{fence}", *said])


def day_answer(question: str, result: str) -> str | None:
    """Return the day that the question asks about, from the result of `current_time`; None: it asks for the time."""
    words = _WORDS.findall(question.lower())
    day = next((word for word in words if word in _DAYS), "today")
    asks_day = day != "today" or {"date", "day", "weekday", "today", "month", "year"} & {*words}
    found = _ISO_DAY.search(result)
    if found is None or not asks_day or "time" in words:
        return None
    then = date.fromisoformat(found[1]) + timedelta(days=_DAYS[day])
    return f"{day.capitalize()} {'was' if day == 'yesterday' else 'is'} {then:%A}, {then.day} {then:%B %Y}."


class ReplyGuard:
    """Leaves sentences out of a reply as it streams: hooks' words, the question, the reply before, repetitions.

    Sentences of one word are free. A sentence is held back only while it may still become one of those. `has_passed` says whether anything was left.
    """

    def __init__(self, unwanted: Iterable[str]) -> None:
        self._unwanted = {key for text in unwanted for part in _sentences(text) if " " in (key := _key(part))}
        self._text = ""  # from the beginning of the sentence on
        self._passed_chars = 0  # of it
        self.has_passed = False

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


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.findall(text) if part.strip()]


def _key(sentence: str) -> str:
    return " ".join(_WORDS.findall(sentence.casefold()))
