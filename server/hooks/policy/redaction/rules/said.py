"""A password somewhere behind the word for it, in the same sentence: `the password, which … , is Marrow+Leek+Chard`."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from server.hooks.policy.redaction.key_names import strength_of
from server.hooks.policy.redaction.page import Page
from server.hooks.policy.redaction.plausible import SAID_OF_PASSWORDS
from server.hooks.policy.redaction.rules.code_values import is_code
from server.hooks.policy.redaction.rules.names import KEY_OR_PASSWORD, Name
from server.hooks.policy.redaction.rules.password_looks import TOKEN, looks_chosen, trimmed
from server.hooks.policy.redaction.rules.sentence_words import IN_SENTENCES
from server.hooks.policy.redaction.spans import Span

_LONGEST: Final = 130
_END: Final = re.compile(r"[.!?](?=\s)|[。！？\n\x00]|\\n")
_QUOTES: Final = "\"'“„«`*‘「『【(（>"
_WORD: Final = re.compile(rf"{TOKEN}{{1,80}}")
_LEADS: Final = re.compile(
    r"(?:[:：→=,，;–—-]|(?<!\w)(?:is|was|are|now|ist|war|lautet|jetzt|noch|est|es|ahora|son|é|è|agora|adesso|ora|je|jest|to|er|är|on|este|là|это|теперь|сейчас|auf|zu|remains|stays|"
    r"ponieważ|teraz|nu|nyt|artık|nová|nova|la))[\s\"'“„«`*‘「『（(]{0,4}\Z|(?:为|為|は|到|成|하면|은|는)\Z",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"(?:[:：=]|(?<!\w)(?:is|ist|lautet|est|es|é|è|je|jest|er|är|on|este|это|still|noch|now|jetzt))[\s\"'“„«`*‘]{0,4}\Z",
    re.IGNORECASE,
)
_OTHERS: Final = re.compile(
    r"(?:\b|_)(?:user|username|login|account|konto|benutzer|host|server|for|für|at|auf|from|by|of|on|file|id|name|port|see|siehe|version|ticket|ref|nr|no|usuario|usuário|utente|compte|"
    r"e-?mail|mail|url|link|path|type|with|https?)[\s:=\"'`]{1,4}\Z",
    re.IGNORECASE,
)
_IN_PROSE: Final = re.compile(
    r"[\"'”»]? ?\(|[\"'”»*]{0,3}(?: (?![=:]=?\s)|[:：,、，] ?(?![A-Za-z.]{2,20}(?: =|\(|\[))|\t|\??\s*\n|[^\x00-\x7f])"
)
_JOINED: Final = tuple("_-./\\@=$#&?%<")
_SHORT: Final = frozenset(("pw", "mdp"))
_MADE: Final = ("token", "tokens", "secret", "secrets", "key", "keys", "credentials", "creds")
_CODE: Final = re.compile(r"[={}]|</?\w{1,8} |\?\.")
_DIGITS: Final = re.compile(
    r"(?:(?<=\w)(?: [^\W\d_]{3,20})?[ \t]{1,4}|\s{0,2}[:：→]\s{0,2})[\"'“„«`*‘「]{0,2}(?P<s>\d{4,10}|\d{3}[ -]\d{3}|\d(?: \d){3,7})(?=[\"'”»`*’」.,;)]{0,2}(?:\s|\Z|，|。|、))"
)
_PHRASE: Final = re.compile(
    r"(?:(?: [^\W\d_]{2,16}){0,4}\s{2,}| ?[:：=→] ?)[\"'“„«`*]{0,2}(?P<s>[^\W\d_][\w'’]{1,15}(?:[ ][\w'’!]{1,15}){2,8}?)(?=[\"'”»`*]{0,2}[.!?]?[ \t]*(?:\r?\n|\Z|\\n))"
)
_LABELLED: Final = re.compile(
    r"(?: [^\W\d_]{2,16}){0,2} ?[:：] ?[\"'“„«`*]{0,2}(?P<s>[a-zß-ÿ]{3,20}(?:[-_!&+][a-zß-ÿ]{2,20}){1,5})(?=[\"'”»`*]{0,2}(?:[.!]?\s*(?:\n|\Z|\\n)|[.,;] | \())"
)
_TAGS: Final = re.compile(r"</?\w{1,8}>")
_CLAUSE_END: Final = re.compile(r"[\"'”“»`*’)」]{0,3}(?:[.,;!?](?=\s|\Z)|\s*(?:\n|\\n|\Z|\())")
_ADJECTIVE: Final = re.compile(
    r".*(?:ed|ing|able|ible|ful|less|ive|ent|ant|ary|ory|ous|al|ly|ic|lich|ig|isch|bar|bel|ido|ida|ado|ada|é|ée|to|ta|ung|heit|keit|tion|ity|ness)\Z"
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
    if text[name.start].isupper() and (label := _LABELLED.match(text, name.end)) is not None:
        parts = re.split(r"[-_!&+.]", label["s"])
        if not (SAID_OF_PASSWORDS | IN_SENTENCES).intersection(parts):
            return Span(label.start("s"), label.end("s"), "prose")
    for token in _WORD.finditer(text, name.end, last):
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
        lead = text[max(name.end, start - 16) : start]
        if _is_said(text, name, lead, value, start, look):
            return Span(start, start + len(value), "prose")
    return None


def _is_said(text: str, name: Name, lead: str, value: str, start: int, look: int) -> bool:
    is_direct = start - name.end < 16 and not _TAGS.sub("", lead).strip(" \t" + _QUOTES)
    if is_direct:
        return look >= 2 or (
            text[name.start : name.end] in _SHORT
            and _is_odd_word(value, is_quoted=True)
            and _ends_clause(text, start + len(value))
        )
    if _OTHERS.search(lead):
        return False
    is_led = _LEADS.search(lead) is not None or lead[-1:] in tuple(_QUOTES)
    if look >= 2:
        is_odd = look == 3 and not value.replace("_", "-").replace("-", "").isalnum()
        is_last = not value.islower() and not value.isalnum() and _ends_clause(text, start + len(value))
        return is_led or is_odd or is_last
    return (
        name.strength == "password"
        and _STATES.search(lead) is not None
        and _ends_clause(text, start + len(value))
        and _is_odd_word(value, is_quoted=lead[-1:] in tuple(_QUOTES))
    )


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


def _is_odd_word(value: str, *, is_quoted: bool) -> bool:
    if (
        len(value) < 5
        or value.lower() in IN_SENTENCES
        or not value[1:].islower()
        or strength_of(value) is not None
        or _ADJECTIVE.match(value.lower())
    ):
        return False
    return is_quoted or value[:1].isupper() or (value.isascii() and len(value) >= 6)
