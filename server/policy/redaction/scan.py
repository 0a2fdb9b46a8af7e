"""All rules over a text, or over many at once."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Final

from server.approval.asking import REDACTED
from server.policy.redaction import views
from server.policy.redaction.anchors import Anchors
from server.policy.redaction.page import Page
from server.policy.redaction.rules import (
    access_links,
    answers,
    assignments,
    byte_lists,
    children,
    code_lists,
    codes,
    columns,
    commands,
    cookies,
    credential_files,
    forms,
    headed,
    key_blocks,
    keys_said,
    logins,
    names,
    neighbours,
    opened,
    personal,
    printed,
    prose,
    providers,
    recovery,
    said,
    spelled,
    striking,
    tables,
    word_lists,
)
from server.policy.redaction.spans import Span, merged

RULES: Final[tuple[Callable[[Page], Iterator[Span]], ...]] = (
    key_blocks.key_block_spans,
    providers.provider_spans,
    forms.form_spans,
    commands.command_spans,
    cookies.cookie_spans,
    codes.code_spans,
    opened.opening_spans,
    logins.login_spans,
    access_links.link_spans,
    code_lists.list_spans,
    word_lists.word_list_spans,
    spelled.spelled_spans,
    personal.personal_spans,
    keys_said.said_key_spans,
    headed.headed_spans,
    recovery.app_password_spans,
    recovery.recovery_code_spans,
    recovery.seed_phrase_spans,
    tables.insert_spans,
    neighbours.pointed_spans,
    neighbours.pair_spans,
    printed.printed_spans,
    credential_files.credential_file_spans,
)
_ANCHORED: Final = (
    headed,
    keys_said,
    personal,
    spelled,
    word_lists,
    code_lists,
    access_links,
    logins,
    striking,
    answers,
    opened,
    key_blocks,
    forms,
    commands,
    cookies,
    codes,
    recovery,
    tables,
    neighbours,
    printed,
    credential_files,
    names,
    views,
)
_ANCHORS: Final = Anchors(anchor for module in _ANCHORED for anchor in module.ANCHORS)

_NEEDS: Final = {
    # one of these, or the rule finds nothing; neighbours have a rule that begins with long words
    rule: frozenset(module.ANCHORS)
    for module in _ANCHORED
    for rule in RULES
    if rule.__module__ == module.__name__ and module is not neighbours
}
_BETWEEN: Final = "\n\0\n"
"""What no rule reads across."""
_LEAST: Final = 4


def secrets_in(text: str) -> list[Span]:
    """Where secrets stand, in order, none over another. What was redacted before is left alone."""
    if len(text) < _LEAST:
        return []
    page = _page(text)
    if page.is_bare:
        return []
    return [span for span in merged(_everywhere(page)) if text[span.start : span.end] != REDACTED]


def secrets_in_each(texts: Iterable[str]) -> dict[str, list[Span]]:
    """As `secrets_in` for each of many short texts, at the price of one; without those that hold none."""
    wanted = [text for text in dict.fromkeys(texts) if len(text) >= _LEAST]
    spans = secrets_in(_BETWEEN.join(wanted))
    ends = list(accumulate(len(text) + len(_BETWEEN) for text in wanted)) if spans else []
    found: dict[str, list[Span]] = {}
    for start, end, kind in spans:
        which = bisect_right(ends, start)
        text = wanted[which]
        begin = ends[which] - len(_BETWEEN) - len(text)
        span = Span(start - begin, min(end - begin, len(text)), kind)
        if span.start < span.end and text[span.start : span.end] != REDACTED:
            found.setdefault(text, []).append(span)
    return found


def _page(text: str) -> Page:
    return Page(text, _ANCHORS.in_(text))


def _everywhere(page: Page) -> Iterator[Span]:
    """Also where it is encoded, once."""
    yield from _found(page)
    for view in views.views_of(page):
        yield from map(view.span, _found(_page(view.text)))
    for start, end, text in views.encoded_in(page):
        if next(_found(_page(text)), None) is not None:
            yield Span(start, end, "encoded")


def _found(page: Page) -> Iterator[Span]:
    for rule in RULES:
        if rule not in _NEEDS or not page.held.isdisjoint(_NEEDS[rule]):
            yield from rule(page)
    found = names.names_in(page)
    yield from assignments.named_spans(page, found)
    yield from children.child_spans(page, found)
    yield from byte_lists.byte_list_spans(page, found)
    yield from tables.table_spans(page, found)
    yield from columns.column_spans(page, found)
    yield from prose.prose_spans(page, found)
    yield from said.said_spans(page, found)
    yield from answers.answer_spans(page, found)
    yield from striking.striking_spans(page, found)
