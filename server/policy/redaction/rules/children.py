"""What stands indented below a name for several secrets: `secrets:`, and lines such as `backup: 20c3be2d…` under it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.plausible import is_random
from server.policy.redaction.rules.names import Name
from server.policy.redaction.spans import Span

_PLURALS: Final = ("secrets", "tokens", "keys", "passwords", "credentials", "creds")
_BEGINS: Final = re.compile(r"[\"']?:[ \t]*\r?\n")
_CHILD: Final = re.compile(
    r"(?P<i>[ \t]+)[\"']?[\w./-]{1,64}[\"']?:[ \t]+[\"']?(?P<s>[^\s\"'#]{1,512})[\"']?,?[ \t]*(?:\r?\n|\Z)"
)
_MOST: Final = 64


def child_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    """Those that look as if a generator had made them, down to the first line that is none of it."""
    text = page.text
    for name in names:
        if text[name.start : name.end].lower().endswith(_PLURALS) and (begins := _BEGINS.match(text, name.end)):
            indent = name.start - text.rfind("\n", 0, name.start) - 1
            at = begins.end()
            for _ in range(_MOST):
                child = _CHILD.match(text, at)
                if child is None or len(child["i"]) <= indent:
                    break
                if is_random(child["s"]):
                    yield Span(child.start("s"), child.end("s"), "named")
                at = child.end()
