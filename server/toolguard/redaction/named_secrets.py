"""Rules that find most: a name that promises a secret, and what stands behind it, or below it in a table.

`name = value` as configuration, program text, JSON, YAML, headers, flags and
URLs write it, `the password is …` as people do. All patterns are bounded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from server.toolguard.redaction.secret_names import SecretNames, SecretValues, is_odd, is_program
from server.toolguard.redaction.secrets_table import Promise
from server.toolguard.scans import Span

_NAME_CHARS: Final = 40
_NAME: Final = re.compile(rf"[\w.-]{{0,{_NAME_CHARS}}}")
_SAYS: Final = re.compile(r"\s(?:contains|contents?|holds|reads|says)(?=:)")
"""Verb of a sentence that shows the content of a file."""
_CJK: Final = "\u2e80"
_BEFORE_CHARS: Final = 32
_SIGN: Final = re.compile(
    r"""
    (?:\\{0,3}["'`*)\]]){0,4} [ \t]{0,10}                        # what closes the name
    (?: :\s?[&\w.<>\[\]|? ]{1,40}(?==) | \s?[Ss]tr(?:ing)?(?=\s?=)  # its type
      | (?P<file>(?:files?|\.\w{1,5})"""
    + _SAYS.pattern
    + r""") | \d{1,2}(?=:) | \[[^\]\n]{1,30}\] | \([^)\n]{0,30}\)[ \t]?
      | (?:for|für|zum|of|von|de|to)\s[^\n:=]{1,40} )?
    (?: =>|->|→|： | :{0,3}=(?!=) | [?.+]=(?!=) | \?\?= | (?<![!=<>])==?(?!=)
      | :\s?\{[^{}]{0,120}?["'](?:value|default)["']\s?: | :{1,2}(?![:=])
      | [(\[](?=["']) | ,[ ]do: | %3[ad] | \.{3,} | </?\w*>\s{0,10}(?:<\w+>)? | (?<=[\w\"'])>\s{0,10}
      | (?:["'>,/]|\\["'n]|</?\w{1,20}>|\s){1,40}(?:<|["'])?(?:value|default|plaintext)["']?\s?[=:>]
      | ["']\s?\n\s{0,9}\d\)(?=\s") | ["']\r?\n\r?\n(?=\S) | \sREG_\w{2,12}\s
      | (?P<comma>,(?=\s{0,4}\\{0,3}["'])) )
    [ \t]{0,10} (?:[|>]-?\s?\n\s{1,10})?                          # a block of YAML
    (?: [bBfrRuLN@$]{1,2}(?=["']) | \\?"{2}(?=") | \*\*\s? | &(?:quot|\#34);   # what opens the value
      | (?:\w+\.)?(?:Secret\w*|Some|str|String|bytes|\w*b64decode|atob|unhexlify|fromhex)\((?=b?["'])b? )?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ITEM: Final = re.compile(
    r"\s*\[?\s*(?=\\?[\"'])|\s*\n[ \t]*-[ ]|[ \t]*\n\s*(?=[^\s:=]+[ \t]*(?:\n|\Z))"  # a list, or a line of its own
)
_NEXT_ITEM: Final = re.compile(r"\s*,\s*(?=\\?[\"'])(?!\\{0,3}[\"'][^\"'\n]{0,80}[\"']\s?:)|\s*\n[ \t]*-[ ]")
_MOST_ITEMS: Final = 32
_QUOTED: Final = re.compile(
    r"""
    \\{0,3}(?P<q>["'`])
    (?P<v> (?: (?!(?P=q))[^\\\n] | \\(?!(?P=q))[^\n] | \\(?P=q)(?=[^\n,;)}\]]{1,40}(?P=q)) ){1,2000}? )
    \\{0,3}(?P=q)
    """,
    re.VERBOSE,
)
_FOREIGN_QUOTED: Final = re.compile(r"[「『“„«‘](?P<v>[^」』”“«»’\n]{1,200})")
_GROUPS: Final = re.compile(r"(?:[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}|[a-z]{4}(?: [a-z]{4}){3})(?![\w ])")
"""Secrets of authenticators, and passwords for one application, as they are shown."""
_DIGITS: Final = re.compile(r"[\"'*]{0,2}(?P<v>\d{3,8}|\d{3,4}[ -]\d{3,4})(?![\w:/]|\.\w)")
_DIGIT: Final = re.compile(r"\d")
_BARE: Final = re.compile(r"[^\s\"'`<>「」『』。、,][^\s<>\"'`「」『』。、，]{0,128}+")
_REST: Final = re.compile(r"[^\s<>\"'`]{0,4000}")
"""Rest of a bare value that is longer than what is looked at."""
_MAY_CUT: Final = re.compile(r"[,;&|\\%$]")
_CUT: Final = re.compile(r"[,;&|](?=\s?[\w-]+\s?[=:])|[;&|]+(?=\s)|(?<=\w)\\[nrt]|%26|&(?:quot|amp|\#34);|\$\(")
_LOOKED_AT: Final = 128
_STOPS: Final = ".,;:)}]!?"
_ALONE: Final = re.compile(r"[ \t>*|#-]*\Z")
_LINE_ENDS: Final = re.compile(r"[,;]?[ \t]*(?:\r?\n|\Z|\\n|\#)")
_SAID: Final = re.compile(
    r"""
    ["'`)*]{0,3}
    (?: [^\n.:=]{0,40}?\s(?:is|are|ist|lautet|war|was|est|es|é|è|jest|to|je|là|är|er|on|olan|это|—|–|-):?\s{1,3}
        (?:now\s|jetzt\s|still\s|set\sto\s)?
      | \s?[はは是为為]\s? | [^\n?]{0,40}\?\s*\n(?:\[?[\d:.]{4,8}\]?\s*)?(?:[\w .-]{1,24}[:>]\s*)?
      | (?P<near>[ \t]{1,12} | :?[ \t]*\n[ \t]{1,8}) )
    (?P<q>["'„“«*`「])? (?P<v>[^\s"'`<>„“«»”*\u3001-\u9fff，]{4,200})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NO_WORD: Final = re.compile(r".*[(){}\[\]=]|-|\w+[:.]\w*[a-z]\Z|https?:")
_LEAST_NEAR: Final = 16
"""Characters of a token of which nothing but a space says that it is one."""

_CELL: Final = re.compile(r"[^|│┃,;\t\s]+(?: [^|│┃,;\t\s]+)*")
_RULER: Final = re.compile(r"[\s|+:=─│┼┃-]+")
_BARS: Final = re.compile(r"[|│┃,;]")
_NO_HEADING: Final = re.compile(r"[=:\"'(){}]|\d")
_LONGEST_LINE: Final = 400


@dataclass(frozen=True, slots=True)
class NamedSecrets:
    """Rule of names: keywords lead to a name, which promises something, or not."""

    _names: SecretNames
    _values: SecretValues

    def find(self, text: str, at: int, end: int) -> Iterator[Span]:
        """Yield what stands behind the name in which the keyword at `at` stands; nothing behind `end` is read.

        The first span is empty: it says where the name ends, within which no other keyword counts.
        """
        head = _NAME.match(text[max(0, at - _NAME_CHARS) : at][::-1])
        tail = _NAME.match(text, at, end)
        low = at - (head.end() if head else 0)
        high = tail.end() if tail else at
        if text[at] >= _CJK:  # scripts without spaces: the name ends with the keyword
            high = at + self._names.length_at(text, at)
        name = text[low:high].rstrip(".-")
        if "." in name and _SAYS.match(text, high, end):
            name = name.rpartition(".")[0]
        high = low + len(name)
        yield Span(high, high, "")
        if (promise := self._promise(text, name, low)) is None:
            return
        kind = "code" if promise == "code" else "named"
        is_setting = name.isupper() or "_" in name or name.startswith("-")
        if sign := _SIGN.match(text, high, end):
            if text[low - 1 : low] == ":" and sign[0] == ":":
                return  # arn:aws:…:secret:…
            for start, stop in self._behind_sign(text, sign, end, promise, low=low, is_setting=is_setting):
                yield Span(start, stop, kind)
        elif promise != "key" and name != "pass" and (said := _SAID.match(text, high, end)):
            value = said["v"].rstrip(_STOPS)
            if self._is_said(value, promise, is_near=said["near"] is not None, is_flag=name.startswith("-")):
                yield Span(said.start("v"), said.start("v") + len(value), kind)

    def _promise(self, text: str, name: str, low: int) -> Promise | None:
        """Return what the name promises with the two words in front of it: `mot de` passe, `public` key."""
        before = text[max(0, low - _BEFORE_CHARS) : low] if text[low - 1 : low] in (" ", "'", "’") else ""
        return self._names.promise(name, " ".join(before.rpartition("\n")[2].split(" ")[-3:]) if before else "")

    def _behind_sign(
        self, text: str, sign: re.Match[str], end: int, promise: Promise, *, low: int, is_setting: bool
    ) -> Iterator[tuple[int, int]]:
        """Yield the value that follows the sign, or each of a list of them."""
        at = sign.end()
        if promise == "code" and (digits := _DIGITS.match(text, at, end)):
            yield digits.span("v")
            return
        if promise in ("password", "token") and (groups := _GROUPS.match(text, at, end)):
            yield groups.span()
            return
        if sign["comma"] is not None:
            yield from self._argument(text, at, end, promise)
            return
        item = _ITEM.match(text, at, end)
        for _ in range(_MOST_ITEMS if item else 1):
            at = item.end() if item else at
            if quoted := _QUOTED.match(text, at, end) or _FOREIGN_QUOTED.match(text, at, end):
                start, stop = quoted.span("v")
                at = quoted.end()
                is_one = self._values.is_secret(quoted["v"], promise, is_quoted=True)
            elif bare := _BARE.match(text, at, end):
                value = _until_cut(bare[0])
                start, stop, at = bare.start(), bare.start() + len(value), bare.end()
                is_sure = is_setting or (sign["file"] is None and self._is_line(text, low, stop, end))
                is_one = self._values.is_secret(value, promise, is_sure=is_sure)
                is_one = is_one and (promise == "password" or not is_program(value))
                if is_one and stop - start > _LOOKED_AT and (rest := _REST.match(text, stop, end)):
                    stop = at = max(at, rest.end())
            else:
                return
            if is_one:
                yield start, stop
            if (item := _NEXT_ITEM.match(text, at, end)) is None:
                return

    def _argument(self, text: str, at: int, end: int, promise: Promise) -> Iterator[tuple[int, int]]:
        """Yield the string behind a name in quotes and a comma: `getenv("TOKEN", "…")`, not the next word of a list."""
        if (quoted := _QUOTED.match(text, at, end)) is None:
            return
        follows = text[quoted.end() : quoted.end() + 1]
        is_value = follows == ")" or (follows != ":" and _DIGIT.search(quoted["v"]) is not None)
        if is_value and self._values.is_secret(quoted["v"], promise, is_quoted=True):
            yield quoted.span("v")

    def _is_line(self, text: str, low: int, stop: int, end: int) -> bool:
        """Return whether name and value make up a line."""
        line = text.rfind("\n", max(0, low - 60), low) + 1
        return _ALONE.match(text, line, low) is not None and _LINE_ENDS.match(text, stop, end) is not None

    def _is_said(self, value: str, promise: Promise, *, is_near: bool, is_flag: bool) -> bool:
        """Return whether a sentence says a secret here, or a flag (`--token …`) is given one."""
        if not (is_flag and is_near):
            is_short = promise == "token" and is_near and len(value) < _LEAST_NEAR
            if is_short or _NO_WORD.match(value) or (promise == "password" and not is_odd(value)):
                return False
        return not value.startswith("-") and self._values.is_secret(value, promise, is_sure=is_flag and is_near)


def _until_cut(value: str) -> str:
    """Return a bare value up to what is no part of it: the next setting, the end of a command, of a sentence."""
    if _MAY_CUT.search(value):
        value = _CUT.split(value, maxsplit=1)[0]
    return value.rstrip(_STOPS)


@dataclass(frozen=True, slots=True)
class SecretColumns:
    """Rule of tables: keywords lead to a heading, and that to the cells below it."""

    _names: SecretNames
    _values: SecretValues

    def find(self, text: str, at: int, end: int) -> Iterator[Span]:
        """Yield the cells below the heading in whose line the keyword at `at` stands.

        An empty span says how far the table goes: no other heading stands in it.
        """
        low = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1
        high = text.find("\n", at, min(end, at + _LONGEST_LINE))
        if high < 0:
            return
        heading = text[low:high]
        titles = [] if _NO_HEADING.search(heading) else _CELL.findall(heading)
        promises = [self._names.promise(title) for title in titles]
        if len(titles) < 2 or not any(promise not in (None, "key") for promise in promises):
            yield Span(high, high, "")
            return
        is_sure = _BARS.search(heading) is not None  # with spaces alone it may be anything
        while 0 < high < end:
            start, high = high + 1, text.find("\n", high + 1, end)
            line_end = high if high >= 0 else end
            cells = list(_CELL.finditer(text, start, min(line_end, start + _LONGEST_LINE)))
            if len(cells) == len(titles):
                for cell, promise in zip(cells, promises, strict=True):
                    if promise not in (None, "key") and self._values.is_secret(cell[0], promise, is_sure=is_sure):
                        yield Span(cell.start(), cell.end(), "column")
            elif not _RULER.fullmatch(text, start, line_end):
                break
            yield Span(line_end, line_end, "")
