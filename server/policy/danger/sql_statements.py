"""Judge of SQL: the verb of each statement, and whether it has a WHERE. No dialect is parsed."""

import re
from itertools import pairwise
from typing import Final

from server.policy.danger.danger_table import SAFE, DangerTable, DangerVerdict, dangerous, unknown, worst

_ASIDE: Final = re.compile(
    r"--[^\n]*|/\*(?!!)(?:[^*]|\*(?!/))*+(?:\*/|\Z)|'(?:[^'\\]|''|\\.)*+(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|\[[A-Za-z][\w ]*\]",
    re.DOTALL,
)
"""Comments, literals and quoted names."""
_WORD: Final = re.compile(r"[a-z_][\w$]*+\(?|;|=|\d+|\*")
"""Words, with the bracket where they call a function: `truncate(price, 2)` empties nothing."""
_START: Final = re.compile(r"\s*\(?\s*(?:--[^\n]*\n\s*)?([a-zA-Z]+)\b")
_ALWAYS_TRUE: Final = (["true"], ["1", "=", "1"], ["1"])


def judge_sql(text: str, table: DangerTable) -> DangerVerdict:
    """Rate SQL by its statements; one that deletes or updates without a WHERE is dangerous."""
    plain = _ASIDE.sub(lambda m: " " if m[0][:2] in ("--", "/*") else " x ", text).lower()
    statements: list[list[str]] = [[]]
    for word in _WORD.findall(plain):
        if word == ";":
            statements.append([])
        else:
            statements[-1].append(word)
    return worst(_judge(words, table).about(" ".join(text.split())) for words in statements if words)


def looks_like_sql(text: str, table: DangerTable) -> bool:
    """Tell whether a text begins as a statement does."""
    start = _START.match(text)
    return start is not None and start[1].lower() in table.words("sql_verbs")


def _judge(words: list[str], table: DangerTable) -> DangerVerdict:
    first = words[0].rstrip("(")
    if first in ("show", "describe", "desc", "help") or (first == "explain" and "analyze" not in words[:3]):
        return SAFE
    is_limited = "where" in words and words[words.index("where") + 1 :] not in _ALWAYS_TRUE
    if is_limited and first == "update":
        words = words[1:]
    pairs = (*words, *(f"{a}_{b}" for a, b in pairwise(words)))
    for word in pairs:
        if reason := table.sql.get(word):
            return dangerous(reason)
    return SAFE if first in table.sql or is_limited else unknown(f"the statement {first}")
