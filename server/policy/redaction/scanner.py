"""All rules over a text: keywords found in one pass, and at each the rules that it belongs to."""

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, Protocol

import hyperscan

from server.policy.redaction.columns import SecretColumns
from server.policy.redaction.named_secrets import NamedSecrets
from server.policy.redaction.secret_names import SecretNames
from server.policy.redaction.secret_values import SecretValues
from server.policy.redaction.secrets_table import Form, Issuer, SecretsTable
from server.policy.redaction.spans import Span, give_way, merged

_BETWEEN: Final = "\n\0\n"
"""Separator of texts that are scanned together; no rule reads across it."""
_MASKED: Final = re.compile(r"[xX*]{8}|(?:0123456789|1234567890)(?:abcdef|ABCDEF|12)")
_RUN: Final = re.compile(r"[\w+/=.~%-]*")
_MARK_REACH: Final = 600
"""Characters in which what follows a mark is looked for; what is longer goes on as a run of such characters."""


class Rule(Protocol):
    def find(self, text: str, at: int, end: int) -> Iterable[Span]:
        """Return the secrets told by the keyword that stands at `at`; nothing behind `end` is read."""


class Scanner:
    """Rules of one table, compiled. Safe to use from many threads."""

    def __init__(self, table: SecretsTable) -> None:
        self.names = SecretNames(table.names)
        self.values = SecretValues(table.values, self.names)
        rules: list[tuple[Rule, Iterable[str]]] = [
            (SecretColumns(self.names, self.values), self.names.keywords()),
            (NamedSecrets(self.names, self.values), self.names.keywords()),
        ]
        rules += [(_FormRule(name, form, self.values), form.keywords) for name, form in table.forms.items()]
        rules += [(_IssuerRule(name, issuer), issuer.marks.split()) for name, issuer in table.issuers.items()]
        self._rules = [rule for rule, _ in rules]
        by_keyword: dict[str, list[int]] = {}
        for number, (_, keywords) in enumerate(rules):
            for keyword in keywords:
                by_keyword.setdefault(keyword, []).append(number)
        self._keywords = _Keywords(by_keyword)

    def scan(self, texts: Iterable[str]) -> dict[str, list[Span]]:
        """Return where secrets stand in each of the texts that has some: in order, none over another."""
        wanted = list(dict.fromkeys(texts))
        ends = list(accumulate(len(text) + len(_BETWEEN) for text in wanted))
        joined = _BETWEEN.join(wanted)
        found: dict[str, list[Span]] = {}
        for span in merged(self._find(joined, ends)):
            give_way()
            which = bisect_right(ends, span.start)
            begin = ends[which] - len(_BETWEEN) - len(wanted[which])
            found.setdefault(wanted[which], []).append(Span(span.start - begin, span.end - begin, span.kind))
        return found

    def _find(self, text: str, ends: Sequence[int]) -> Iterator[Span]:
        done = [0] * len(self._rules)
        which = 0
        for at, numbers in self._keywords.places(text):
            give_way()
            while at >= ends[which]:
                which += 1
            for number in numbers:
                if at < done[number]:
                    continue
                for span in self._rules[number].find(text, at, ends[which] - len(_BETWEEN)):
                    done[number] = max(done[number], span.end)
                    if span.end > span.start:
                        yield span


class _FormRule:
    """Rule of a form: an expression that is tried at its keywords."""

    def __init__(self, kind: str, form: Form, values: SecretValues) -> None:
        self._kind = kind
        self._pattern = re.compile(form.regex.strip(), re.IGNORECASE)
        self._each = re.compile(form.each.strip(), re.IGNORECASE) if form.each else None
        self._looks = form.looks
        self._reach = form.reach
        self._back = form.back
        self._values = values

    def find(self, text: str, at: int, end: int) -> Iterator[Span]:
        last = min(end, at + self._reach)
        back = self._back
        match = self._pattern.search(text, max(0, at - back), last) if back else self._pattern.match(text, at, last)
        if match is None:
            return
        yield Span(match.end(), match.end(), "")  # no other keyword counts within
        group = "s" if "s" in self._pattern.groupindex else 0
        places = [match] if self._each is None else self._each.finditer(text, *match.span(group))
        for place in places:
            start, stop = place.span("s" if "s" in place.re.groupindex else 0)
            if self._looks is None or self._values.is_secret(text[start:stop], self._looks):
                yield Span(start, stop, self._kind)


class _IssuerRule:
    """Rule of an issuer: marks, and what follows them."""

    def __init__(self, kind: str, issuer: Issuer) -> None:
        self._kind = kind
        marks = "|".join(map(re.escape, issuer.marks.split()))
        self._pattern = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{marks})(?:{issuer.then})")

    def find(self, text: str, at: int, end: int) -> Iterator[Span]:
        last = min(end, at + _MARK_REACH)
        match = self._pattern.match(text, at, last)
        if match is None or _MASKED.search(match[0]):
            return
        rest = _RUN.match(text, last, end) if match.end() == last else None
        yield Span(at, rest.end() if rest else at + len(match[0].rstrip(".-")), self._kind)


class _Keywords:
    """Keywords, all found in one pass. One with a capital letter is found as written, others in any case."""

    def __init__(self, rules: Mapping[str, Sequence[int]]) -> None:
        spellings = {
            spelling: keyword
            for keyword in rules
            for spelling in ({keyword} if keyword.isascii() else {keyword, keyword.capitalize(), keyword.upper()})
        }
        self._rules = [(len(spelling), rules[keyword]) for spelling, keyword in spellings.items()]
        self._database = hyperscan.Database()
        self._database.compile(
            expressions=[re.escape(spelling).encode() for spelling in spellings],
            ids=list(range(len(spellings))),
            elements=len(spellings),
            flags=[hyperscan.HS_FLAG_CASELESS if word == word.lower() else 0 for word in spellings],
        )
        self._scratch = threading.local()

    def places(self, text: str) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield where keywords begin, in the order in which they end, and the numbers of their rules."""
        data = text.encode("utf-8", "surrogatepass")
        hits: list[tuple[int, int]] = []

        def add(which: int, _start: int, end: int, _flags: int, _context: object) -> None:
            hits.append((end, which))
            give_way()

        self._database.scan(data, match_event_handler=add, scratch=self._own_scratch())
        if len(data) == len(text):
            for end, which in hits:
                yield end - self._rules[which][0], self._rules[which][1]
            return
        bytes_read = at = 0
        for end, which in hits:
            at += len(data[bytes_read:end].decode("utf-8", "surrogatepass"))
            bytes_read = end
            yield at - self._rules[which][0], self._rules[which][1]

    def _own_scratch(self) -> hyperscan.Scratch:
        """Return the working memory of this thread; no two threads may share one."""
        if not hasattr(self._scratch, "own"):
            self._scratch.own = self._database.scratch.clone()
        own: hyperscan.Scratch = self._scratch.own
        return own
