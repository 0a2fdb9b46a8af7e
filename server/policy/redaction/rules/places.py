"""What leads from a name to its value: a sign, a verb, a comma, a tag, a space, a line break; read on a bounded stretch."""

import re
from typing import Final, NamedTuple

from server.policy.redaction.key_names import STRONG
from server.policy.redaction.rules.names import Name
from server.policy.redaction.rules.values import How

_CLOSE: Final = r"(?:\[\w{0,16}\])?(?:\\{0,3}[\"'`\]}]){0,3}\*{0,2}"
_QUALIFIER: Final = r"(?:(?:\ |(?<=[^\x00-\x7f])(?=[(（]))(?:[（][^）\n]{0,40}[）]|\[[^\]\n]{0,40}\]|\([^()\n]{0,40}\)|\#?\d{1,2}(?=\ ?[:=)])))?"
_ATTRIBUTES: Final = r"(?:\s[\w:]{1,40}=[\"'][^\"'<>\n]{0,160}[\"']){0,4}"
_VERBS: Final = "is|are|was|ist|lautet|sind|est|es|é|è|to|este|är|er|on|je|jest|είναι|это|هي|هو|היא|הוא|है|là|adalah|ialah|是|为|為|は|คือ"
_SEPARATOR: Final = re.compile(
    rf"""{_CLOSE}{_QUALIFIER}[ \t\u3000]*(?:
      (?P<assign>(?<=\ )As\ \w{2, 16}\ =|:=|=>|->|={{1,3}}|::(?=\ [A-Za-z0-9+/]{{8,512}}={{0,2}}\s)|:(?!:)|[：＝]|%3D|%3A|\u2192|\.{{3,80}}(?=\ )|…+(?=\ )|/(?='))
    | (?P<is>\s(?:{_VERBS}|est\s:|c'est|[-–—])[ :：]|['’]s\ |是|为|は|คือ|[는은]\ ?)
    | (?P<argument>,[ ]?(?=[\"'`])|,\ do:\s*|,\s*|\((?=[\"']))
    | (?P<element>(?<=[\"'`])\s+(?=[\"'`])|{_ATTRIBUTES}>(?=[^<\n]{{1,2048}}</))
    | (?P<space>[ \t])
    | (?P<line>[ \t]*\r?\n[ \t]*(?:-[ ]+|>[ ]+)?)
    )[ \t\u3000]*(?:\\[nrt])*""",
    re.VERBOSE | re.IGNORECASE,
)
_ONLY: Final = re.compile(r"[\"'`][^\"'`\n]{4,100}[\"'`]\s?\)")
"""Argument of a call: `setPassword("…")`"""
_SETS: Final = re.compile(r"(?:(?:\n|\A)[ \t]*ENV|setx|setenv|set -\w{1,3}) \w{0,8}\Z")
_IS_LAST: Final = re.compile(r"\S{4,100}[ \t]*(?:\r?\n|\Z)")
_LOGIN_BEFORE: Final = re.compile(
    r"(?:\n|\A)[ \t]*(?:user|username|login|account|host|server|machine|default|binddn|identity|from|auth)[ \t=:]{1,4}[^\s=:]\S{0,63}"
    r"(?:[ \t]*\r?\n[ \t]*| (?:login|user|username|account) \S{1,64} )\Z"
)
"""A line, or the beginning of one, that says who logs in where: `account x`, `machine h login anna`."""
_NAMES_IT: Final = re.compile(r"(?:name|key|id)=[\"'][\w.:-]{0,64}\Z", re.IGNORECASE)
_COLUMN: Final = re.compile(r"[ \t]{2,80}\S{20,512}[ \t]*(?:\r?\n|\Z)")
_INDENTED: Final = re.compile(r"\r?\n[ \t]+\S+[ \t]*(?:\r?\n|\Z)")
_TWO_ON_A_LINE: Final = re.compile(r"[ \t]*[\w.-]{2,40}[ \t]+(?=\S*(?:[\d#$%&*+@^~]|[!?]\S))\S{6,80}[ \t]*(?:\r?\n|\Z)")


class Place(NamedTuple):
    """Where the value of a name begins, and what leads to it."""

    at: int
    how: How
    sign: str
    is_told: bool
    """That this is a value is plain: behind a flag, alone on the next line."""


def place_of(text: str, name: Name) -> Place | None:
    separator = _SEPARATOR.match(text, name.end)
    if separator is None or not separator.lastgroup:
        return None
    how: How = separator.lastgroup  # type: ignore[assignment]  # the groups are named so
    sign = separator[how]
    if how == "argument" and sign[0] == "(" and name.strength == "password" and _ONLY.match(text, separator.end()):
        how = "assign"
    if how == "element" and sign[-1] == ">" and not _is_element(text, name):
        return None
    before = text[max(0, name.start - 1) : name.start]
    if before == ":" and "arn:" in text[max(0, name.start - 80) : name.start]:
        return None
    if (before in ("=", "$") and how != "assign") or (before == "$" and text[name.end : name.end + 2] in ('":', '"=')):
        return None  # method=password ip=…, "Bearer $TOKEN" …
    is_hash = text[name.end - 4 : name.end].lower() == "hash"
    is_told = is_hash or before == "-"
    if how in ("line", "space"):
        if name.strength == "weak" and not is_told and how == "line":
            return None
        if (
            text[name.end] in "\"'"
            and before not in "\"'-/"
            and how == "space"
            and "." not in text[name.start : name.end]
        ):
            return None  # -H "Authorization: Bearer TOKEN" https://…
        is_told |= separator.end() - name.end >= 2 and _COLUMN.match(text, name.end) is not None
        is_told |= how == "space" and text[name.start : name.start + 2].lower() == "x-"  # a header
        is_told |= before in ":/" and text[separator.end() : separator.end() + 1] in "\"'" and name.strength in STRONG
        is_told |= how == "space" and _SETS.search(text, max(0, name.start - 12), name.start) is not None
        if name.strength == "password" and how == "space" and _IS_LAST.match(text, separator.end()):
            is_told |= follows_login(text, name.start)
        if name.strength in STRONG and before in ("", "\n", "\t", " ", "{"):
            is_told |= bool(
                _INDENTED.match(text, name.end)
                if how == "line"
                else _TWO_ON_A_LINE.match(text, text.rfind("\n", 0, name.start) + 1)
            )
    return Place(separator.end(), how, sign, is_told)


def follows_login(text: str, at: int) -> bool:
    """Whether what stands before says who logs in."""
    return _LOGIN_BEFORE.search(text, max(0, at - 100), at) is not None


def _is_element(text: str, name: Name) -> bool:
    """`<password>…</`, `<wsse:Password Type="…">…</`, `<property name="db.password">…</`"""
    if text[name.end] in "\"'":
        return _NAMES_IT.search(text, max(0, name.start - 80), name.start) is not None
    if text[name.end] == ">":
        return text[name.start : name.end] != "code"  # HTML
    return name.strength in STRONG and text[name.start - 1 : name.start] in ("<", ":")
