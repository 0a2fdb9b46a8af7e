"""SQL that changes rows: without a real WHERE, or one that fits many; money, passwords and rights even of one row."""

import re
from itertools import pairwise
from typing import Final

Token = tuple[str, str]  # its kind, and its text in small letters

_CHANGES: Final = {("word", "delete"): "deletes every row", ("word", "update"): "changes every row"}
_OF_THE_SERVER: Final = frozenset(
    "mysql pg_catalog pg_authid pg_database pg_class pg_proc pg_settings sqlite_master sqlite_schema information_schema sys system".split()
)
_WEIGHTY: Final = frozenset(
    "is_admin admin is_superuser superuser is_staff is_root password passwd pwd password_hash hashed_password encrypted_password "
    "balance credit credits credit_limit salary wallet totp_secret mfa_enabled two_factor_enabled api_key".split()
)
_OF_PEOPLE: Final = frozenset(
    "users user accounts account members admins roles user_roles wp_users auth_user grants".split()
)
_RULING: Final = ("admin", "administrator", "owner", "root", "superuser", "superadmin")
_MANY: Final = re.compile(
    r" (?:using|join) | where .*(?:[<>]|! =| in \( ?select|\bbetween\b|\blike\b|\bnot in\b| or |\bis (?:not )?null\b|\bexists\b|\bregexp\b|\brlike\b| ~ )"
)
_BY_A_GROUP: Final = re.compile(
    r" where (?:\w+ \. )?(?:type|status|state|category|kind|country|region|department|dept|role|active|enabled|deleted|archived|year|month|is_\w+|has_\w+) = \S+(?: ;|$)"
)
"""A column that many rows share."""
_ALL_BUT: Final = re.compile(r" where (?:\w+|\"\w+\") (?:< >|! =) |\bwhere (?:not \w+ =|\w+ not (?:in|like)\b)")
_NO_VERB_BEHIND: Final = ("on", ".", "for", "for_", "key", "after", "before", "or")
_WHERE: Final = ("word", "where")
_NO_COLUMNS: Final = ("true", "not", "null", "is", "and", "or", "exists", "select")
_MAX_CLAUSE: Final = 1000
_TAUTOLOGY: Final = re.compile(
    r"(?:^|\bor )\(? ?(?:(\d+|'[^']*') = \1|true|not false|1|(\w+) = \2|\w+ (?:> = 0|> 0|> - 1|! = 0|< > 0|is not null|like '%'|= \w+\.\w+ \|\|)|\d+ < \d+) ?\)?(?:$| or\b| returning| limit)"
)


def judge_rows(tokens: list[Token], words: list[str]) -> str | None:
    """One statement; `words`: those of its tokens that are words, at least one."""
    if "merge" in words[:1] and "delete" in words:
        return "deletes rows"
    if "detach" in words and "delete" in words:
        return "empties a graph"
    if words[0] == "match" and ("delete" in words or "remove" in words):
        return "deletes from a graph"
    if words[0] in ("insert", "update", "delete", "merge") and not _OF_THE_SERVER.isdisjoint(words[:6]):
        return "changes the database's own tables"
    if (
        words[0] == "insert"
        and _OF_PEOPLE.intersection(words[:4])
        and any(text.strip("'") in _RULING for _, text in tokens)
    ):
        return "makes an administrator"
    if words[0] == "update" and (reason := _weighty(tokens)):
        return reason
    if reason := _many(words, " ".join(text for _, text in tokens[:_MAX_CLAUSE])):
        return reason
    texts = ["", *(text for _, text in tokens), ""]
    for at, token in enumerate(tokens):
        if token in _CHANGES and _is_statement(texts, at, words[0]) and not _has_real_where(tokens, at):
            return _CHANGES[token]
    return None


def _many(words: list[str], statement: str) -> str | None:
    """Its condition fits many rows."""
    if _deletes(words) and (_MANY.search(statement) or (words[0] == "delete" and _BY_A_GROUP.search(statement))):
        return "deletes many rows"
    return "changes many rows" if words[0] == "update" and _ALL_BUT.search(statement) else None


def _deletes(words: list[str]) -> bool:
    """As a whole, or inside `WITH gone AS (DELETE …)`."""
    is_inside = words[0] == "with" and ("delete", "from") in pairwise(words)
    return words[0] == "delete" or is_inside


def _weighty(tokens: list[Token]) -> str | None:
    """Money, passwords and rights, even of one row."""
    texts = [text for _, text in tokens[:_MAX_CLAUSE]]
    start = texts.index("set") + 1 if "set" in texts else len(texts)
    stop = texts.index("where", start) if "where" in texts[start:] else len(texts)
    for column, value in zip(texts[start:stop], [*texts[start + 2 : stop], "", ""], strict=False):
        plain = column.strip('"`[]')
        if plain in _WEIGHTY or (plain in ("role", "roles", "rank") and value.strip("'") in _RULING):
            return "changes money, passwords or rights"
    return None


def _is_statement(texts: list[str], at: int, first: str) -> bool:
    """Rather than `ON DELETE`, a column of that name, or `FOR UPDATE`. `texts` has one before the first token."""
    before, verb, following = texts[at : at + 3]
    if before in _NO_VERB_BEHIND or following in (",", "=", ")", "."):
        return False
    if verb == "update":
        return "set" in texts[at : at + _MAX_CLAUSE]
    return first == "delete" or following in ("from", "top", "low_priority", "quick", "ignore")


def _has_real_where(tokens: list[Token], at: int) -> bool:
    """A WHERE behind it that compares a column with something."""
    clause = tokens[at : at + _MAX_CLAUSE]
    if _WHERE not in clause:
        return False
    condition = clause[clause.index(_WHERE) + 1 :]
    if _TAUTOLOGY.search(" ".join(text for _, text in condition)):
        return False
    return any(kind in ("word", "name") and text not in _NO_COLUMNS for kind, text in condition)
