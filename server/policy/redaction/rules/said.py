"""A password somewhere behind the word for it, in the same sentence: `the password, which … , is Marrow+Leek+Chard`."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from server.policy.redaction.chosen import is_chosen
from server.policy.redaction.page import Page
from server.policy.redaction.plausible import SAID_OF_PASSWORDS
from server.policy.redaction.rules.code_values import is_code
from server.policy.redaction.rules.names import KEY_OR_PASSWORD, Name
from server.policy.redaction.rules.password_looks import TOKEN, is_odd_word, looks_chosen, trimmed
from server.policy.redaction.rules.sentence_words import IN_SENTENCES
from server.policy.redaction.rules.stating_words import SPELLED, STATES, STILL, THINGS, USERS
from server.policy.redaction.spans import Span

_LONGEST: Final = 130
_LEAD: Final = 32
_END: Final = re.compile(r"[.!?](?=\s)|[。！？\n\x00]|\\n")
_QUOTES: Final = "\"'“„«`*‘「『【(（>"
_WORD: Final = re.compile(rf"{TOKEN}{{1,80}}")
_LEADS: Final = re.compile(
    r"(?:[:：→=,，;–—-]|(?<!\w)(?:is|was|are|now|ist|war|lautet|jetzt|noch|est|es|ahora|son|é|è|agora|adesso|ora|je|jest|to|er|är|on|este|là|это|теперь|сейчас|auf|zu|remains|stays|"
    r"ponieważ|teraz|nu|nyt|artık|nová|nova|la|so|hence|also|alors|quindi|dus|więc|takže|så|значит))[\s\"'“„«`*‘「『（(]{0,4}\Z|(?:为|為|は|到|成|하면|은|는)\Z",
    re.IGNORECASE,
)
_STATED: Final = re.compile(
    rf"(?:[:：=→]|[-=]>|(?<!\w)(?:{STATES})(?: (?:{STILL})){{0,2}}:?|(?<!\w)(?:{STILL}))[\s\"'“„«`*‘]{{0,4}}\Z",
    re.IGNORECASE,
)
_STRIPPED: Final = " \t\n\r\"'“„«`*‘"
_STATING_SIGNS: Final = (":", "：", "=", "→", "->", "=>", "'s", "’s", "'est", "’est")
_LAST_STATING: Final = frozenset(word.rpartition(" ")[2] for word in f"{STATES}|{STILL}".split("|"))
"""A colon may follow them, too."""
_OTHERS: Final = re.compile(
    r"(?:\b|_)(?:user|username|login|account|konto|benutzer|host|server|for|für|at|auf|from|by|of|on|file|id|name|port|see|siehe|version|ticket|ref|nr|no|usuario|usuário|utente|compte|"
    r"e-?mail|mail|url|link|path|type|with|https?)[\s:=\"'`]{1,4}\Z",
    re.IGNORECASE,
)
_IN_PROSE: Final = re.compile(
    r"['’]s |[\"'”»]? ?\(|[\"'”»*]{0,3}(?: (?![=:]=?\s)|[:：,、，] ?(?![A-Za-z.]{2,20}(?: =|\(|\[))|\t|\??\s*\n|[^\x00-\x7f])"
)
_JOINED: Final = tuple("_-./\\@=$#&?%<")
_SHORT: Final = frozenset(("pw", "mdp"))
_ENGLISH: Final = frozenset("password passwords pass passcode passphrase pwd".split())
_FINNISH: Final = frozenset("salasana salasanasi tunnussana".split())
_MADE: Final = ("token", "tokens", "secret", "secrets", "key", "keys", "credentials", "creds")
_CODE: Final = re.compile(r"[={}]|</?\w{1,8} |\?\.")
_CALL: Final = re.compile(r"\w\(|\]|\?\?")
_DIGITS: Final = re.compile(
    r"(?:(?<=\w)(?: [^\W\d_]{3,20})?[ \t]{1,4}|\s{0,2}[:：→]\s{0,2})[\"'“„«`*‘「]{0,2}(?P<s>\d{4,10}|\d{3}[ -]\d{3}|\d(?: \d){3,7})(?=[\"'”»`*’」.,;)]{0,2}(?:\s|\Z|，|。|、))"
)
_PHRASE: Final = re.compile(
    r"(?: ['’]?[^\W\d_][\w'’-]{1,16}){0,5}?(?:\s{2,}| ?[:：=→>] ?)[\"'“„«`*]{0,2}(?P<s>[^\W\d_][\w'’]{1,15}(?:[ ][\w'’!]{1,15}){2,8}?)(?=[\"'”»`*]{0,2}[.!?]?[ \t]*(?:\r?\n|\Z|\\n))"
)
_OPENING: Final = '"“„«'
_IN_QUOTES: Final = re.compile(r"[\"“„«](?P<s>[^\W\d_][\w'’]{1,15}(?:[ ][\w'’]{1,15}){1,6})[\"”“»]")
_LABELLED: Final = re.compile(
    r"(?: [^\W\d_]{2,16}){0,2} ?[:：] ?[\"'“„«`*]{0,2}(?P<s>[a-zß-ÿ]{3,20}(?:[-_!&+][a-zß-ÿ]{2,20}){1,5})(?=[\"'”»`*]{0,2}(?:[.!]?\s*(?:\n|\Z|\\n)|[.,;] | \())"
)
_TAGS: Final = re.compile(r"</?\w{1,8}>")
_CLAUSE_END: Final = re.compile(r"[\"'”“»`*’)」]{0,3}(?:[.,;!?](?=\s|\Z)|\s*(?:\n|\\n|\Z|\())")
_USER: Final = re.compile(
    rf"(?:(?<!\w)(?:{USERS})|\w@\w)[^\n]*(?:[,;:/|·–—-]\s|\()(?:(?:mot|and|und|et|y|e|en|i|a|och|og|ja|и|the|das|le|la|el|il|het) ){{0,2}}\Z",
    re.IGNORECASE,
)
_PAIR_WITHIN: Final = 70
"""Characters before the word for a password, in which another for a user makes both a pair."""
_OF_A_THING: Final = re.compile(
    rf"(?: (?:for|of|on|to|für|fürs|fuers|vom|von|zum|zur|am|im|de|du|del|della|do|da|d['’]|van|til|till|för|na|do|per|par|от|для|к|на|за)(?: (?:the|das|die|der|den|la|le|les|el|il|o|a|de|het|our|my|unser|unserem))?)? ?"
    rf"(?:{THINGS})[\w-]{{0,20}}+(?P<sign> ?(?:[:：=→]|[-=]>))? [\"'“„«`*]{{0,2}}",
    re.IGNORECASE,
)


def said_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    done = 0
    for name, following in zip_longest(names, names[1:]):
        word = page.text[name.start : name.end]
        if name.start < done or not _is_chosen(name, word.lower()):
            continue
        if not _IN_PROSE.match(page.text, name.end) or page.text[max(0, name.start - 1) : name.start] in _JOINED:
            continue
        if (span := _said(page.text, name, following)) is not None:
            done = span.end
            yield span


def _is_chosen(name: Name, word: str) -> bool:
    """Of a secret that people choose, and say."""
    return (
        name.strength == "password"
        or word in KEY_OR_PASSWORD
        or (name.strength == "strong" and not word.endswith(_MADE))
    )


def _said(text: str, name: Name, following: Name | None) -> Span | None:
    last = min(len(text), name.end + _LONGEST, following.start if following else len(text))
    if (end := _END.search(text, name.end, last)) is not None:
        last = end.start()
    if (
        (digits := _DIGITS.match(text, name.end, last)) is not None
        and is_code(text, digits.start("s"), digits.end("s"), is_sure=True)
        and digits["s"] not in "0123456789"
    ):
        return Span(digits.start("s"), digits.end("s"), "prose")
    if (phrase := _PHRASE.match(text, name.end)) is not None and _is_phrase(phrase["s"]):
        return Span(phrase.start("s"), phrase.end("s"), "prose")
    if name.strength == "password" and (span := _quoted_phrase(text, name.end, last)) is not None:
        return span
    if text[name.start].isupper() and (label := _LABELLED.match(text, name.end)) is not None:
        parts = re.split(r"[-_!&+.]", label["s"])
        if not (SAID_OF_PASSWORDS | IN_SENTENCES).intersection(parts):
            return Span(label.start("s"), label.end("s"), "prose")
    thing = _OF_A_THING.match(text, name.end, last) if text.startswith(" ", name.end) else None
    for token in _WORD.finditer(text, thing.end() if thing else name.end, last):
        value = trimmed(token[0])
        look = looks_chosen(value)
        if (
            not look
            or value.lower() in SAID_OF_PASSWORDS
            or "=" in value
            or text[token.end() : token.end() + 1] in ("(", "[")
        ):
            continue
        start = token.start()
        if _CODE.search(text, name.end, start):
            return None
        lead = text[max(name.end, start - _LEAD) : start]
        of_thing = thing if thing is not None and thing.end() == start else None
        if _is_said(text, name, lead, value, start, look, of_thing):
            return Span(start, start + len(value), "prose")
    return None


def _is_said(text: str, name: Name, lead: str, value: str, start: int, look: int, thing: re.Match[str] | None) -> bool:
    is_direct = start - name.end < 16 and not _TAGS.sub("", lead).strip(" \t" + _QUOTES)
    if is_direct and look >= 2:
        return True
    is_last = _ends_clause(text, start + len(value))
    if is_direct:
        is_paired = is_last and (text[name.start : name.end] in _SHORT or _is_paired(text, name))
        return is_paired and is_odd_word(value, is_quoted=True)
    if thing is not None and is_last:
        is_told = thing["sign"] is not None or text[name.start : name.end].lower() not in _ENGLISH
        return look >= 2 or (is_told and is_odd_word(value, is_quoted=False))
    if look < 2 and (name.strength != "password" or not _may_state(lead)):
        return False
    if look < 2 and not is_last and not SPELLED.match(text, start + len(value)):
        return False
    if _OTHERS.search(lead) and not (lead.endswith(" on ") and text[name.start : name.end].lower() in _FINNISH):
        return False
    is_led = _LEADS.search(lead) is not None or lead[-1:] in tuple(_QUOTES)
    if look >= 2:
        is_odd = look == 3 and not value.replace("_", "-").replace("-", "").isalnum()
        return is_led or is_odd or (is_last and not value.islower() and not value.isalnum())
    if _STATED.search(lead) is None or _CALL.search(text, name.start, start):
        return False
    if not is_last:
        return value.lower() not in IN_SENTENCES
    return is_odd_word(value, is_quoted=lead[-1:] in tuple(_QUOTES))


def _may_state(lead: str) -> bool:
    """Cheap: whether its last word, or sign, is one that states."""
    tail = lead.rstrip(_STRIPPED)
    return tail.endswith(_STATING_SIGNS) or tail.rpartition(" ")[2].lower() in _LAST_STATING


def _quoted_phrase(text: str, at: int, last: int) -> Span | None:
    """`the password to the family account is "tigers and lilies"`"""
    if not any(sign in text[at:last] for sign in _OPENING):
        return None
    phrase = _IN_QUOTES.search(text, at, last)
    if phrase is None or _CODE.search(text, at, phrase.start()):
        return None
    words = phrase["s"].lower().split(" ")
    is_one = (
        _STATED.search(text[max(at, phrase.start("s") - _LEAD) : phrase.start("s")]) is not None
        and is_chosen(phrase["s"], is_quoted=True)
        and words[0] not in IN_SENTENCES
        and SAID_OF_PASSWORDS.isdisjoint(words)
    )
    return Span(phrase.start("s"), phrase.end("s"), "prose") if is_one else None


def _is_paired(text: str, name: Name) -> bool:
    """`user anna, password …`"""
    before = text[max(text.rfind("\n", 0, name.start) + 1, name.start - _PAIR_WITHIN) : name.start]
    return _USER.search(before) is not None


def _ends_clause(text: str, at: int) -> bool:
    return _CLAUSE_END.match(text, at) is not None


def _is_phrase(value: str) -> bool:
    """`bathroom Sink Philosopher 9`, `seven swans asleep on tin`: words that make no sentence about a password."""
    words = [word.lower() for word in value.split(" ")]
    return (
        len(words) >= 3
        and all(len(word) >= 3 or word.isdigit() or word in _SMALL for word in words)
        and not any(word.endswith(("n't", "ed")) for word in words)
        and not set(words) & (SAID_OF_PASSWORDS | IN_SENTENCES)
        and sum(len(word) > 3 for word in words) >= 3
    )


_SMALL: Final = frozenset("on in of to at".split())
