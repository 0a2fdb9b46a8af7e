"""Judges replies to the first sentences of newcomers by the rules beside each sentence (see shaping.toml)."""

import re
import tomllib
import unicodedata
from calendar import day_name
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

ECHO = re.compile(  # what only a prompt or the markup of a model says
    r"(?im)<\|?/?\w+\|?>|\"(name|arguments)\"\s*:|\{\w+\}|\[(your|insert)\b|^\s*(system|user|assistant)\s*:"
    r"|(^|[.!?]\s+)(answer|reply|respond) (in|with|as|only|to)\b|\bthe user('s (question|message)| (ask|want|sa[iy]))"
    r"|\byou are an? (\w+ ){0,4}(assistant|model|chatbot|ai)\b|\bsystem prompt"
)
UNKNOWN = re.compile(
    r"\b((can ?not|can't|could not|couldn't|unable to|not able to|no way to)( \w+){0,3} (know|tell|see|check|say|get"
    r"|access|predict|look|find|give|provide|answer|do|determine|forecast|help|sure|certain)|isn't available"
    r"|(do not|don't|did not|didn't|does not|doesn't|not)( \w+){0,2} (know|have|understand|remember|include)"
    r"|(have no|there is no|there's no|without|lack|with no)( \w+){0,4} (access|tools?|way|information|data)"
    r"|no (idea|tool|access|way)|none of my tools|not (sure|certain|connected|available))\b"
)
AM, PM = r"\s*(?:a\.?m\b|in the morning)", r"\s*(?:p\.?m\b|in the (?:afternoon|evening))"
Names = Collection[str]


class Sentence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sentence of the user, and the rules that its reply must keep to be useful."""

    say: str
    any: tuple[str, ...] = ()
    at_least: int = 1
    none: tuple[str, ...] = ()
    min_words: int = 1
    max_words: int = 150
    items: int = 0
    shorter: bool = False
    again: bool = False
    honest: bool = False
    may_decline: bool = False
    tool: str = ""
    skills: bool = False
    time: str = ""
    date: bool = False
    weekday: bool = False
    ahead_days: int = 0


def load(path: Path) -> dict[str, tuple[Sentence, ...]]:
    """Read a file's conversations by name; an unknown rule raises msgspec.ValidationError, which names its place."""
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), dict[str, tuple[Sentence, ...]])


def judge(
    rules: Sentence, reply: str, previous_replies: Sequence[str], now: datetime, tools: Names = (), skills: Names = ()
) -> list[str]:
    """Return why the reply is not useful, given the user's local time, the tools called and the skills installed."""
    text, before, day = plain(reply), plain("".join(previous_replies[-1:])), now + timedelta(days=rules.ahead_days)
    words, old, heard = (re.findall(r"[\w']+", part) for part in (text, before, plain(rules.say)))
    said = [part for part in re.split(r"[.!?]+(?:\s|$)", text) if len(part.split()) > 2]
    weekdays = {name for name in day_name if mentions(text, name)}
    declines = UNKNOWN.search(" ".join(text.split()[:20])) and "i" in re.findall(r"\w+", text)
    reasons = {
        f"has {len(words)} words": not max(rules.min_words, 1) <= len(words) <= rules.max_words,
        "repeats the user": words == heard,
        "repeats the previous reply": words == old and not rules.again,
        "says a sentence three times": any(said.count(part) > 2 for part in said),
        "echoes instructions": ECHO.search(reply) and not re.search("read_file|search_text", rules.tool),
        "declines": declines and not (rules.honest or rules.may_decline or rules.again),
        "does not admit that it cannot know": rules.honest and not UNKNOWN.search(text),
        f"lacks {rules.any}": rules.any and sum(mentions(text, phrase) for phrase in rules.any) < rules.at_least,
        f"has one of {rules.none}": any(mentions(text, phrase) for phrase in rules.none),
        f"lists fewer than {rules.items} items": rules.items and _items(reply) < rules.items,
        "is not shorter": rules.shorter and len(words) >= max(len(old), 13),
        "does not say it again": rules.again and len({*words} & {*old}) * 2 < max(min(len({*words}), len({*old})), 1),
        f"came without {rules.tool}": rules.tool and not {*rules.tool.split("|")} & {*tools},
        "names no skill": rules.skills and not any(mentions(text, skill.replace("_", " ")) for skill in skills),
        f"lacks the time ({rules.time})": rules.time and not _shows_time(reply.casefold(), now, rules.time),
        "lacks the date": rules.date and not _shows_date(reply.casefold(), day),
        "lacks the weekday": rules.weekday and (day_name[day.weekday()] not in weekdays or len(weekdays) > 2),
    }
    return [reason for reason, stands in reasons.items() if stands]


def plain(text: str) -> str:
    """Lower the case and drop accents, markup, hyphens, and commas in numbers, so that phrases compare."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    text = re.sub(r"(?<=\w)[-‐‑–—](?=\w)|[*_`#~]", " ", text.replace("’", "'"))
    return " ".join(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text).split())


def mentions(text: str, phrase: str) -> bool:
    """Say whether plain text has the words of a phrase: `a|b` is either, `cook*` any word that begins so."""
    ends = [(plain(word), r"\w*" if word.endswith("*") else r"(?!\.\d*[1-9])(?!\w)") for word in phrase.split("|")]
    return any(re.search(rf"(?<!\w)(?<!\d\.){re.escape(word)}{end}", text) for word, end in ends)


def _items(reply: str) -> int:
    parts = (re.split(r",\s*(?:and|or)?\s|;|\s(?:and|or)\s", sentence) for sentence in re.split(r"[.!?\n]", reply))
    return max(len(re.findall(r"(?:^|\s)(?:[-*•]|\d+[.)])\s+\S", reply)), *(len(part) for part in parts))


def _shows_time(reply: str, now: datetime, zone: str) -> bool:
    there, forms = now if zone == "local" else now.astimezone(ZoneInfo(zone)), []
    for moment in (there + timedelta(minutes=minutes) for minutes in range(-2, 3)):
        hour, right, wrong = moment.hour % 12 or 12, *((AM, PM) if moment.hour < 12 else (PM, AM))
        minute = rf":{moment.minute:02d}(:\d\d)?+"
        forms.append(rf"(0?{moment.hour}|{hour}){minute}(?!\d|{wrong})|0{hour}{minute}{right}")
        forms += [] if moment.minute else [rf"{hour}({right}|\s*o'clock(?!{wrong}))"]
    return bool(re.search(rf"(?<![-+:.\d])({'|'.join(forms)})", reply.replace("’", "'")))


def _shows_date(reply: str, day: datetime) -> bool:
    m, d, month = f"0?{day.month}", f"0?{day.day}", f"{day:%b}[a-z]*\\.?".lower()
    forms = rf"{d}(st|nd|rd|th)?( of)? {month}|{month} (the )?{d}(st|nd|rd|th)?|{m}[-/.]{d}|{d}[-/.]{m}"
    years = {match[0] for match in re.finditer(r"\b(19|20)\d\d\b", reply)}
    return years <= {f"{day.year}"} and bool(re.search(rf"(?<!\w)({forms})(?!\w)", reply))
