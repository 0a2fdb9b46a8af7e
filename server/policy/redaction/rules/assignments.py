"""`name = value` in all the ways that texts write it: INI, .env, YAML, JSON, code, headers, flags, prose.

A name was found; what stands around it is read by patterns that look at a bounded stretch only.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from server.policy.redaction.chosen import is_chosen, is_no_identifier
from server.policy.redaction.key_names import STRONG, Strength, is_access_code
from server.policy.redaction.page import Page
from server.policy.redaction.plausible import has_digit, is_in_groups, is_plausible, is_random, is_word
from server.policy.redaction.rules.names import KEY_OR_PASSWORD, Name, names_id
from server.policy.redaction.rules.password_looks import looks_chosen
from server.policy.redaction.rules.places import Place, follows_login, place_of
from server.policy.redaction.rules.values import LEAST_WEAK, How, is_secret
from server.policy.redaction.spans import Span

_LIST_FOLLOWS: Final = re.compile(r"\[?\s*(?:\r?\n[ \t]*-[ ]+|(?=[\"']))")
_LIST_ITEM: Final = re.compile(r"[ \t]*\r?\n[ \t]*-[ ]+|\s*,\s*(?=[\"'])")
_IS_KEY: Final = re.compile(r"\s{0,8}:(?!:)")
_MOST_ITEMS: Final = 64
_WRAPPED: Final = re.compile(
    r"\{[^{}]{0,160}?\\{0,3}[\"']?(?:value|default|plaintext|plain)\\{0,3}[\"']?\s*[:=]\s*(?=\\{0,3}[\"'])",
    re.IGNORECASE,
)
_VALUE_KEY: Final = re.compile(
    r"\\{0,3}[\"'],?\s{0,40}(?:<[/\w]+>\s*)*[\{<,]?\s*\\{0,3}[\"']?(?:value|string|default)\\{0,3}[\"']?\s*[:=>]\s*|\s*\n\s*value: *"
    r"|[\"']?[^<>\n]{0,80}>\s*<value>|</key>\s*<string>"
    r"|[\"']\s*\n\s*\d{1,3}\) (?=\")"  # redis-cli: 1) "requirepass" 2) "…"
    r"|[\"']\r?\n\r?\n(?=\S)"  # multipart/form-data
    r"|\s{1,20}REG_\w{2,12}\s{1,20}"  # Windows, reg query
    r"|[\"'];s:\d{1,4}:(?=\")"  # PHP, serialize()
    r"|\s+PIC\s+\S{1,20}\s+VALUE\s+(?=[\"'])"  # COBOL
    r"|(?:[\"']?[\])]|\([^()\n]{0,120}\));?\r?\n(?:Out\[\d{1,4}\]: |=> |\$\d+ = )?(?=[\"'])",  # what an interpreter answers
    re.IGNORECASE,
)
_PREFIXES: Final = re.compile(
    r"!!\w{2,12} |\"\"(?=\"[^\"])|\[\]byte\((?=[\"'])|0x[0-9a-f]{6,16} (?=\")|\[(?=[^\s,\[\]\"']{12,256}\])|[\w.:]{0,40}(?:b64decode|atob|unhexlify|fromhex|from_hex|decode64|hex2bin|FromBase64String|base64_decode)\(b?(?=[\"'])|(?:[\w.]{1,24}\.)?Some\(\s*(?=[\"'])|<<(?=\")|'(?='[^'\s])|[\"'] ?(?:\.\.|\+|\.|&) ?(?=[\"'])|(?:String|str|bytes|SecretStr|Some|Secret)\(\s*(?=[\"'])|(?:base64:|hex:|0x)(?=[\"'A-Za-z0-9+/])|(?:[ubrfnL$@]|raw|rb|br)(?=[\"'])|(?:\w{1,24}: ?)?(?:&(?:'static )?str|String|str|string|char \*)\s*=\s*|Bearer |Basic |Token |token "
    r"|[|>][-+]?\d?[ \t]*\r?\n[ \t]+|[057-9] (?=\S{6})|(?:local|remote|ascii(?:-text)?|plain-text|simple|cipher|cleartext|clear) (?=\S{6})",
    re.IGNORECASE,
)
_ASKS_SHELL: Final = re.compile(
    r"[^\n]{0,40}?(?:[$#%] (?:echo|printenv|printf '%s') [\"']?\$?\{?|(?:>>>|irb[^\n>]{0,24}>|In \[\d+\]:|>) (?:print\(|puts |p )?(?:[\w.]{1,60}[.\[]{1,2}[\"']?)?)"
)
_ENDS_QUESTION: Final = re.compile(r"[\"'}\])]{0,3}[ \t]*\r?\n(?:=> |Out\[\d{1,4}\]: )?(?=\S)")
_TAG_NEAR: Final = 12
_GOES_ON: Final = frozenset((*".:=,;{+*/", ""))
"""What begins no other place of a value."""
_NEXT_CELL: Final = re.compile(
    r"[:：]?\s{0,8}(?:</(?!li>)\w{1,10}>\s{0,40}){1,3}(?:<\w{1,10}(?: [^<>]{0,80})?>\s{0,40}){1,3}(?P<v>[^<>\r\n]{4,100})</(?!th)"
)
_ODD: Final = re.compile(r"[^\s\w]|\d|_")
_TYPE: Final = re.compile(r"[\w.\[\]<>| ]{1,40}\s:?=\s?(?=[\"'])")
_SCHEME: Final = re.compile(r"base64:|(?:Bearer|Basic|[Tt]oken) ")
_QUOTED: Final = re.compile(
    r"\\{0,3}([\"'`\u201c\u201e\u2018\u00ab\u300c\u300e])(?P<v>(?:(?!\\{0,3}\1)[^\r\n\u201d\u300d\u300f\u00bb]){0,2048})\\{0,3}[\"'`\u201d\u201c\u2019\u00bb\u300d\u300f]"
)
_BARE: Final = re.compile(r"[^\s\"'`,;<>{}|\\&\u3002\uff0c\uff1b)]{1,1024}+(?:[,;&|{}<>\\)][^\s\"'`<>]{0,256})?")
_MARKUP: Final = re.compile(r"</|(?<=[A-Za-z.])<(?=[A-Za-z])")
"""Where a tag begins, or the argument of a type."""
_URL_BARE: Final = re.compile(r"(?:(?!%26)[^\s\"'`,;<>&#)]){1,1024}")
_TO_THE_END: Final = re.compile(r"[^\r\n\"']{1,120}")
_COMMAND: Final = re.compile(r"[;&|`]|\$\(")
_FOUR_BY_FOUR: Final = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}")
"""An app password as Google shows it."""
_RUNS_ON: Final = re.compile(r"[;&|]")
_IN_A_SHELL: Final = re.compile(r"[^\s;&|]{0,256}(?:\$[({]|(?<=[^\s;&|])[ \t]{1,20}\S)")
_INNER: Final = re.compile(r"[^<\r\n]{4,100}(?=</)")
_DIGITS: Final = re.compile(r"[\"']?(?P<v>\d{3,8}|\d{3}[- ]\d{3})(?![A-Za-z0-9_:]|\.\w)")
_BELOW: Final = re.compile(r"[ \t]*\r?\n[ \t]+(?=[^\s:#<>-][^\s:]*(?<![:,{\[(])[ \t]*(?:\r?\n|\Z))")
_ALONE: Final = re.compile(r"[ \t]*\r?\n(?:[ \t]*\r?\n)?[ \t]*(?P<v>\S{16,256})[ \t]*(?:\r?\n|\Z)")
_PIN: Final = re.compile(r"\d{4,8}(?!\w)")


_SHELL_SETS: Final = re.compile(r"(?<![\w.-])[A-Z][A-Z0-9_]{2,48}(?:=|: {1,12})\Z")
_ENDS_LINE: Final = re.compile(r"[ \t]*(?:\||\r?\n|\Z)")
_ENDS_ITEM: Final = re.compile(r"\s?[;,}\]'\"]| \w{2,24}=")
_CONNECTION: Final = re.compile(
    r"(?:host|user|dbname|server|source|uid|user id|username|database|catalog|name|iterations) ?[=:] ?[^=:\n]{0,64}[\s;,]",
    re.IGNORECASE,
)
"""Of what a password in `host=… user=… password=…` follows."""


def named_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    done = 0  # names inside a value that was taken out need no look
    for name in names:
        if name.start >= done:
            for span in _values(page.text, name):
                done = span.end
                yield span


def _values(text: str, name: Name) -> Iterator[Span]:
    if (answer := _answer(text, name)) is not None:
        yield from _one(text, answer, name.strength, Place(answer, "assign", "", is_told=True))
        return
    place = place_of(text, name)
    if place is None:
        yield from _beside(text, name)
        return
    strength, at, how = name.strength, place.at, place.how
    if how == "space" and text[at : at + 1] in "\"'«“„" and text[name.start : name.end].lower() in KEY_OR_PASSWORD:
        strength = "strong"
    if strength == "strong" and how == "assign" and follows_login(text, name.start):
        strength = "password"
    if strength == "weak" and names_id(text, name):
        return  # of a key
    if strength == "code":
        if (digits := _code(text, name, place)) is not None:
            yield digits
            return
        if how not in ("assign", "is"):
            yield from _beside(text, name)
            return
        strength = _without_digits(text, name)
    if (
        strength == "password"
        and how in ("space", "assign")
        and text[name.end - 1] > "\x7f"
        and (code := _PIN.match(text, at))
    ):
        yield Span(code.start(), code.end(), "code")
        return
    if how == "assign":
        if not text[at : at + 1].isalnum():  # where it is, the value itself begins, or its type
            if (alone := _ALONE.match(text, at)) and is_random(alone["v"]):
                yield Span(alone.start("v"), alone.end("v"), "named")
                return
            if wrapped := _WRAPPED.match(text, at):
                at = wrapped.end()
            if listing := _LIST_FOLLOWS.match(text, at):
                yield from _list(text, listing.end(), strength)
                if "\n" in listing[0] or text[at : at + 1] == "[":
                    return
            if (below := _BELOW.match(text, at)) and strength in STRONG:
                at = below.end()
        at = _behind_its_type(text, at, name, place)
    elif prefix := _PREFIXES.match(text, at):
        at = prefix.end()
    yield from _one(text, at, strength, place)
    yield from _beside(text, name)


def _answer(text: str, name: Name) -> int | None:
    """Where begins what a shell or an interpreter answers to a name: `$ echo $DB_PASSWORD`, `>>> settings.SECRET_KEY`."""
    if name.strength == "code" or text[name.end : name.end + 1] not in ("\n", '"', "'", "}", "\r"):
        return None
    if (ends := _ENDS_QUESTION.match(text, name.end)) is None:
        return None
    line = text[max(text.rfind("\n", 0, name.start) + 1, name.start - 80) : name.start]
    return ends.end() if _ASKS_SHELL.fullmatch(line) else None


def _beside(text: str, name: Name) -> Iterator[Span]:
    """`{"name": "DB_PASSWORD", "value": …}`, `<Password><Value>…`"""
    if text[name.end : name.end + 1] in _GOES_ON:
        return
    if row := _VALUE_KEY.match(text, name.end):
        if name.strength == "code" and (digits := _DIGITS.match(text, row.end())):
            yield Span(digits.start("v"), digits.end("v"), "code")
        yield from _one(text, row.end(), _without_digits(text, name), Place(row.end(), "assign", "", is_told=False))
    elif "<" in text[name.end : name.end + _TAG_NEAR] and (cell := _NEXT_CELL.match(text, name.end)):
        value = cell["v"].strip()
        if name.strength not in STRONG and looks_chosen(value) < 3:
            return
        if _ODD.search(value) and (is_plausible(value, is_quoted=True) or is_chosen(value, is_quoted=True)):
            yield Span(cell.start("v"), cell.end("v"), "named")


def _without_digits(text: str, name: Name) -> Strength:
    """Of a name for a code, where something else stands behind it: an access code may be a password."""
    if name.strength != "code":
        return name.strength
    return "strong" if is_access_code(text[name.start : name.end]) else "weak"


def _code(text: str, name: Name, place: Place) -> Span | None:
    if place.how not in ("assign", "is", "space", "line", "element"):
        return None
    digits = _DIGITS.match(text, place.at)
    if digits is None or (len(digits["v"]) < 4 and text[name.start : name.start + 2].lower() != "cv"):
        return None
    return Span(digits.start("v"), digits.end("v"), "code")


def _behind_its_type(text: str, at: int, name: Name, place: Place) -> int:
    """`token: str = "…"`, `password = SecretStr("…")`, `"DB_PASSWORD": {"value": "…"`."""
    if prefix := _PREFIXES.match(text, at):
        return prefix.end()
    if place.sign == ":" and (typed := _TYPE.match(text, at)):
        return typed.end()
    if text[max(0, name.start - 1) : name.start] in "\"'" and (row := _VALUE_KEY.match(text, at)):
        return row.end()
    return at


def _list(text: str, at: int, strength: Strength) -> Iterator[Span]:
    for _ in range(_MOST_ITEMS):
        if (key := _QUOTED.match(text, at)) and _IS_KEY.match(text, key.end()):
            return  # of the next entry
        span = next(_one(text, at, strength, Place(at, "assign", "", is_told=False)), None)
        if span is not None:
            yield span
            at = span.end + (text[span.end : span.end + 1] in tuple("\"'`"))
        elif item := _QUOTED.match(text, at) or _BARE.match(text, at):
            at = item.end()
        else:
            return
        following = _LIST_ITEM.match(text, at)
        if following is None:
            return
        at = following.end()


def _one(text: str, at: int, strength: Strength, place: Place) -> Iterator[Span]:
    """The value that begins at `at`, if it is secret."""
    if quoted := _QUOTED.match(text, at):
        if quoted[1] == "`" and " " in quoted["v"] and _is_set(text, at):
            return  # NAME=`command`
        value = quoted["v"].strip("\u00a0\u202f ") if quoted[0][0] == "\u00ab" else quoted["v"]
        start = quoted.start("v") + quoted["v"].index(value)
        if scheme := _SCHEME.match(value):
            value, start = value[scheme.end() :], start + scheme.end()
        if is_secret(value, strength, place.how, is_quoted=True, is_told=place.is_told):
            yield Span(start, start + len(value), "named")
    elif place.how != "argument":
        end = _phrase_end(text, at, strength, place.how) or _bare_end(text, at, strength, place)
        if end is not None:
            yield Span(at, end, "named")


def _phrase_end(text: str, at: int, strength: Strength, how: How) -> int | None:
    """Of a value that has spaces: four times four letters as app passwords are shown, words of a wallet, a sentence."""
    if (
        how == "element"
        and (inner := _INNER.match(text, at))
        and strength == "password"
        and is_chosen(inner[0], is_quoted=True)
    ):
        return inner.end()
    if how not in ("assign", "space", "line") or strength not in STRONG or not (line := _TO_THE_END.match(text, at)):
        return None
    whole = line[0].strip()
    if " " not in whole or _COMMAND.search(whole):
        return None
    if _is_set(text, at):  # NAME=value command
        return at + len(whole) if is_in_groups(whole) or _FOUR_BY_FOUR.fullmatch(whole) else None
    is_letters = is_in_groups(whole) or (not has_digit(whole) and is_plausible(whole, is_quoted=True))
    is_more = how == "assign" and (is_word(whole) or (strength == "password" and is_chosen(whole, is_quoted=False)))
    return at + len(whole) if is_letters or is_more else None


def _bare_end(text: str, at: int, strength: Strength, place: Place) -> int | None:
    is_in_url = place.sign in ("%3D", "%3d", "%3A", "%3a") or (place.how == "assign" and _is_in_url(text, at))
    bare = (_URL_BARE if is_in_url else _BARE).match(text, at)
    if bare is None:
        return None
    if bare[0][0] == "[":
        return None  # a list
    if strength not in STRONG and len(bare[0]) < LEAST_WEAK:
        return None
    value = bare[0].split("<")[0] if place.how in ("space", "is") else _MARKUP.split(bare[0], maxsplit=1)[0]
    if _is_set(text, at) and (more := _RUNS_ON.search(value)) and _IN_A_SHELL.match(text, at + more.end()):
        value = value[: more.start()]  # NAME=value;command
        if not value:
            return None
    if place.how == "is":
        if value[0].isascii() and not value.isascii():
            value = value[: next(i for i, letter in enumerate(value) if not letter.isascii())]
        value = value.rstrip(".,;:?)]}")
    else:
        value = value.rstrip(",;)]}>\\")
        if place.how != "element":
            value = value.removesuffix(".").removesuffix(":")
    is_whole = _ENDS_LINE.match(text, at + len(value)) is not None
    is_in_connection = False
    if not is_whole and place.sign == "=" and text[at - 1] == "=" and text[at - 2] != " ":
        is_whole = text[at + len(value) : at + len(value) + 1] in (" ", "\t")  # user=anna password=x host=y
    if (
        not is_whole
        and (_is_no_variable(value) or bare[0][len(value) :][:1] == ";")
        and _ENDS_ITEM.match(text, at + len(value))
    ):
        line = text[max(text.rfind("\n", 0, at) + 1, at - 200) : at]
        is_whole = _CONNECTION.search(line) is not None
        is_in_connection = is_whole and ";" in line
    is_whole |= is_in_url
    is_in_shell = _SHELL_SETS.search(text, max(0, at - 64), at) is not None and not value.startswith("$")
    is_one = is_secret(
        value, strength, place.how, is_quoted=is_in_shell or is_in_connection, is_told=place.is_told, is_whole=is_whole
    )
    return at + len(value) if is_one else None


def _is_set(text: str, at: int) -> bool:
    """Whether a shell would take what begins here for a variable's value: who is asked about a command must see
    what runs behind it."""
    return text[at - 1] == "=" and text[at - 2 : at - 1] not in ("", " ", "=", ":")


def _is_no_variable(value: str) -> bool:
    """Whether it looks like no name of a variable."""
    return is_no_identifier(value) or value.count("-") > 0 or value[:1].isupper()


def _is_in_url(text: str, at: int) -> bool:
    head = text[max(0, at - 200) : at]
    if not ("?" in head or "&" in head or "://" in head):
        return False
    head = head[max(head.rfind(c) for c in " \t\r\n\"'<>") + 1 :]
    return "?" in head or "&" in head or "://" in head
