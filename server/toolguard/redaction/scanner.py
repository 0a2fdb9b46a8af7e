"""Scan of texts by all rules: keywords are found in one pass, and each leads to the rules that it belongs to."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

import hyperscan

from server.toolguard.redaction.named_secrets import NamedSecrets, SecretColumns
from server.toolguard.redaction.secret_names import SecretNames, SecretValues
from server.toolguard.redaction.secrets_table import Form, Issuer, SecretsTable
from server.toolguard.scans import Span, check_time, merged

_BETWEEN: Final = "\n\0\n"
"""Separator of texts that are scanned together; no rule reads across it."""
_MASKED: Final = re.compile(r"[xX*]{8}|(?:0123456789|1234567890)(?:abcdef|ABCDEF|12)")
_FLOOR: Final = [
    (kind, Form(keywords=keywords.split(), regex=regex, looks="any", reach=1 << 30))
    for kind, keywords, regex in (
        ("named", "password", r"password\s*=\s*['\"](?P<s>[^'\"]+)['\"]"),
        ("named", "apikey api_key api-key", r"api[_-]?key\s*=\s*['\"](?P<s>[^'\"]+)['\"]"),
        ("named", "secret", r"secret\s*=\s*['\"](?P<s>[^'\"]+)['\"]"),
        ("private_key", "-----begin", r"-----BEGIN (?:RSA |EC |DSA )?PRIVATE KEY-----"),
        ("api_key", "sk-", r"sk-[a-zA-Z0-9]{20,}"),
    )
]
"""Values taken out whatever they look like, placeholders and references included, and whatever the operator's table says."""
_RUN: Final = re.compile(r"[\w+/=.~%-]*")
"""Characters with which a secret goes on that is longer than the reach of its form."""


class Scanner:
    """Rules of one table, compiled. Safe to use from many threads."""

    def __init__(self, table: SecretsTable) -> None:
        self.names = SecretNames(table.names)
        self.values = SecretValues(table.values, self.names)
        rules: list[tuple[NamedSecrets | SecretColumns | _FormRule, Iterable[str]]] = [
            (SecretColumns(self.names, self.values), self.names.keywords()),
            (NamedSecrets(self.names, self.values), self.names.keywords()),
        ]
        forms = {**table.forms, **{name: _form_of(issuer) for name, issuer in table.issuers.items()}}
        rules += [(_FormRule(name, form, self.values), form.keywords) for name, form in [*forms.items(), *_FLOOR]]
        self._rules = [rule for rule, _ in rules]
        by_keyword: dict[str, list[int]] = {}
        for number, (_, keywords) in enumerate(rules):
            for keyword in keywords:
                by_keyword.setdefault(keyword, []).append(number)
        self._keywords = _Keywords(by_keyword)

    def scan(self, texts: Iterable[str]) -> dict[str, list[Span]]:
        """Return where secrets stand in each of the texts that has some: in order, none over another. Raises ScanTooSlow."""
        wanted = list(dict.fromkeys(texts))
        ends = list(accumulate(len(text) + len(_BETWEEN) for text in wanted))
        joined = _BETWEEN.join(wanted)
        found: dict[str, list[Span]] = {}
        for span in merged(self._find(joined, ends)):
            check_time()
            which = bisect_right(ends, span.start)
            begin = ends[which] - len(_BETWEEN) - len(wanted[which])
            found.setdefault(wanted[which], []).append(Span(span.start - begin, span.end - begin, span.kind))
        return found

    def _find(self, text: str, ends: Sequence[int]) -> Iterator[Span]:
        done = [0] * len(self._rules)
        which = 0
        for at, numbers in self._keywords.places(text):
            check_time()
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
        self._form = form
        self._pattern = re.compile(form.regex.strip(), re.IGNORECASE)
        self._each = re.compile(form.each.strip(), re.IGNORECASE) if form.each else None
        self._values = values

    def find(self, text: str, at: int, end: int) -> Iterator[Span]:
        last = min(end, at + self._form.reach)
        back = self._form.back
        match = self._pattern.search(text, max(0, at - back), last) if back else self._pattern.match(text, at, last)
        if match is None or (self._form.looks is None and _MASKED.search(match[0])):
            return
        yield Span(match.end(), match.end(), "")  # no other keyword counts within
        places = [match] if self._each is None else self._each.finditer(text, *match.span(_secret_group(match)))
        for place in places:
            start, stop = place.span(_secret_group(place))
            if stop == last and (rest := _RUN.match(text, last, end)):
                stop = rest.end()
            is_quoted = text[start - 1 : start] in ("'", '"')
            look = self._form.looks
            if look in (None, "any") or self._values.is_secret(text[start:stop], look, is_quoted=is_quoted):
                yield Span(start, stop, self._kind)


def _secret_group(match: re.Match[str]) -> str | int:
    return "s" if "s" in match.re.groupindex else 0


def _form_of(issuer: Issuer) -> Form:
    """Return the form of an issuer's credentials; a dot or hyphen at the end belongs to the sentence."""
    marks = issuer.marks.split()
    either = "|".join(map(re.escape, marks))
    before = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
    return Form(keywords=marks, regex=rf"(?-i:{before}(?:{either})(?:{issuer.then})(?<![.-]))")


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

    def places(self, text: str) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield where keywords begin, in the order in which they end, and the numbers of their rules."""
        data = text.encode("utf-8", "surrogatepass")
        hits: list[tuple[int, int]] = []

        def add(which: int, _start: int, end: int, _flags: int, _context: object) -> None:
            hits.append((end, which))
            check_time()

        own = self._database.scratch.clone()  # each thread needs one
        self._database.scan(data, match_event_handler=add, scratch=own)
        bytes_read = at = 0
        for end, which in hits:
            at += len(data[bytes_read:end].decode("utf-8", "surrogatepass"))
            bytes_read = end
            yield at - self._rules[which][0], self._rules[which][1]
