"""All rules over a text, or over many at once."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Final

from server.hooks.policy.redaction.page import Page
from server.hooks.policy.redaction.rules.assignments import named_spans
from server.hooks.policy.redaction.rules.codes import code_spans
from server.hooks.policy.redaction.rules.commands import command_spans
from server.hooks.policy.redaction.rules.cookies import cookie_spans
from server.hooks.policy.redaction.rules.forms import form_spans
from server.hooks.policy.redaction.rules.key_blocks import key_block_spans
from server.hooks.policy.redaction.rules.names import names_in
from server.hooks.policy.redaction.rules.neighbours import pair_spans, pointed_spans
from server.hooks.policy.redaction.rules.prose import prose_spans
from server.hooks.policy.redaction.rules.providers import provider_spans
from server.hooks.policy.redaction.rules.recovery import recovery_code_spans, seed_phrase_spans
from server.hooks.policy.redaction.rules.tables import insert_spans, table_spans
from server.hooks.policy.redaction.spans import REDACTED, Span, merged
from server.hooks.policy.redaction.views import encoded_in, views_of

RULES: Final[tuple[Callable[[Page], Iterator[Span]], ...]] = (
    key_block_spans,
    provider_spans,
    form_spans,
    command_spans,
    cookie_spans,
    code_spans,
    recovery_code_spans,
    seed_phrase_spans,
    insert_spans,
    pointed_spans,
    pair_spans,
)


_BETWEEN: Final = "\n\0\n"
"""What no rule reads across."""
_LEAST: Final = 4


def secrets_in(text: str) -> list[Span]:
    """Where secrets stand, in order, none over another. What was redacted before is left alone."""
    if len(text) < _LEAST:
        return []
    return [span for span in merged(_everywhere(Page(text))) if text[span.start : span.end] != REDACTED]


def secrets_in_each(texts: Iterable[str]) -> dict[str, list[Span]]:
    """As `secrets_in` for each of many short texts, at the price of one; without those that hold none."""
    wanted = [text for text in dict.fromkeys(texts) if len(text) >= _LEAST]
    ends = list(accumulate(len(text) + len(_BETWEEN) for text in wanted))
    found: dict[str, list[Span]] = {}
    for start, end, kind in secrets_in(_BETWEEN.join(wanted)):
        which = bisect_right(ends, start)
        text = wanted[which]
        begin = ends[which] - len(_BETWEEN) - len(text)
        span = Span(start - begin, min(end - begin, len(text)), kind)
        if span.start < span.end and text[span.start : span.end] != REDACTED:
            found.setdefault(text, []).append(span)
    return found


def _everywhere(page: Page) -> Iterator[Span]:
    """Also where it is encoded, once."""
    yield from _found(page)
    for view in views_of(page):
        yield from map(view.span, _found(Page(view.text)))
    for start, end, text in encoded_in(page):
        if next(_found(Page(text)), None) is not None:
            yield Span(start, end, "encoded")


def _found(page: Page) -> Iterator[Span]:
    for rule in RULES:
        yield from rule(page)
    names = names_in(page)
    yield from named_spans(page, names)
    yield from table_spans(page, names)
    yield from prose_spans(page, names)
