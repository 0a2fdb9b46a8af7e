"""All rules over one text."""

from collections.abc import Callable, Iterator
from typing import Final

from server.hooks.policy.redaction.assignments import named_spans
from server.hooks.policy.redaction.blocks import form_spans, pem_spans
from server.hooks.policy.redaction.phrases import (
    code_spans,
    command_spans,
    cookie_spans,
    pair_spans,
    pointed_spans,
    table_spans,
)
from server.hooks.policy.redaction.providers import provider_spans
from server.hooks.policy.redaction.spans import REDACTED, Page, Span, merged

RULES: Final[tuple[Callable[[Page], Iterator[Span]], ...]] = (
    pem_spans,
    provider_spans,
    form_spans,
    named_spans,
    command_spans,
    cookie_spans,
    code_spans,
    pointed_spans,
    pair_spans,
    table_spans,
)


def secrets_in(text: str) -> list[Span]:
    """Where secrets stand, in order, none over another. What was redacted before is left alone."""
    if len(text) < 4:
        return []
    page = Page(text)
    found = merged(span for rule in RULES for span in rule(page))
    return [span for span in found if text[span.start : span.end] != REDACTED]
