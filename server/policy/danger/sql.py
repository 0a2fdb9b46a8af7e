"""What a SQL text would do. Comments, literals and quoted names are set aside first; no dialect is parsed."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from server.policy.danger.sql_rows import Token, judge_rows

_TOKENS: Final = re.compile(
    r"(?P<comment>--[^\n]*|/\*(?!!)(?:[^*]|\*(?!/)){0,20000}(?:\*/|\Z)|#[^\n]*)"
    r"|(?P<literal>'(?:[^'\\]|''|\\.){0,20000}(?:'|\Z)|\$\$.{0,20000}?(?:\$\$|\Z))"
    r"|(?P<name>\"[^\"]{0,200}\"|`[^`]{0,200}`|\[[A-Za-z][\w ]{0,200}\])"
    r"|(?P<word>[A-Za-z_][\w$]{0,200})|(?P<number>\d{1,40}(?:\.\d{1,40})?)|(?P<hint>/\*!\d*|\*/)|(?P<sign>[;(),=<>*!.])",
    re.DOTALL,
)
_CHANGE_BEYOND_DOUBT: Final = re.compile(
    r"\s*(?:begin;\s*)?(?:delete\s+from\s+\S+|drop\s+(?:table|database|schema|view|index|user|role|column|function|trigger|collection|keyspace)\s+\S+|truncate\s+(?:table\s+)?\S+\s*(?:;|,|cascade|\Z)"
    r"|update\s+\S+\s+set\s+\S+\s*=|alter\s+(?:table|user|role|system|database)\s+\S+|grant\s+\S.{0,200}\sto\s+\S+|revoke\s+\S.{0,200}\sfrom\s+\S+)",
    re.IGNORECASE | re.DOTALL,
)
MAX_TOKENS: Final = 20_000

_ALWAYS: Final = {
    "drop": "drops something",
    "truncate": "empties a table",
    "grant": "gives rights away",
    "revoke": "takes rights away",
    "shutdown": "stops the database",
    "purge": "purges",
    "kill": "ends sessions",
    "attach": "opens another database file",
    "detach": "takes a database away",
    "reassign": "changes owners",
    "restore": "restores over the database",
    "undrop": "changes tables",
    "backup": "writes the database somewhere",
    "deny": "takes rights away",
    "flashback": "turns a table back",
    "reset": "resets settings",
    "dbcc": "repairs or shrinks",
    "lock": "locks tables",
    "flush": "flushes",
    "bulk": "reads files of the server",
    "rename": "renames tables",
}
"""First words, and what they do whatever stands behind them."""
_FUNCTIONS: Final = frozenset(
    "xp_cmdshell sp_configure pg_terminate_backend pg_cancel_backend pg_read_file pg_write_file lo_export lo_import load_file "
    "sys_exec sys_eval load_extension dblink_exec pg_ls_dir pg_reload_conf pg_switch_wal sp_oacreate sp_executesql utl_http "
    "utl_file dbms_scheduler dbms_java sp_addsrvrolemember sp_dropdatabase sp_droplogin sp_detach_db writefile edit "
    "pg_drop_replication_slot pg_promote lo_unlink lo_put setval pg_sleep sleep benchmark pg_file_write sp_msforeachtable".split()
)
_STATEMENTS: Final = frozenset(
    "select insert update delete drop truncate grant revoke create alter with merge replace call exec execute set use show "
    "describe desc explain begin commit rollback shutdown purge kill attach detach vacuum analyze pragma copy load do lock "
    "rename comment reindex cluster refresh restore backup deny declare start savepoint values table upsert flush reset "
    "import export optimize repair dbcc bulk reassign undrop unload msck match".split()
)


_DYNAMIC: Final = frozenset(
    "immediate exec execute prepare sp_executesql perform dblink dbms_sql query_to_xml schedule cron dbms_job sp_add_jobstep submit add_job".split()
)
"""They run a statement that a text holds."""
_LOOKING: Final = ("show", "describe", "desc", "help", "list")
_OPENING: Final = frozenset("begin start commit rollback savepoint end use declare".split())
"""Another statement may follow without a semicolon."""
_SETTINGS: Final = frozenset(
    "global password persist foreign_key_checks sql_log_bin sql_safe_updates row_security session_replication_role role".split()
)
_PRAGMAS: Final = frozenset("writable_schema journal_mode synchronous foreign_keys integrity".split())
_ACCOUNTS: Final = frozenset("user role login system database server default group policy".split())
_ALTERING: Final = frozenset(
    "drop truncate disable owner rename modify discard exchange detach nologging swap suspend recluster".split()
)
_COSTING: Final = ("warehouse", "pool", "resource", "share", "integration")
_DESTRUCTIVE_PARTS: Final = ("delete", "drop", "purge", "truncate", "reset", "wipe", "clear", "remove")


def looks_like_sql(text: str) -> bool:
    first = next((word for kind, word in _tokens(text) if kind == "word"), "")
    return first in _STATEMENTS


def is_sql_beyond_doubt(text: str) -> bool:
    """A statement that changes something, rather than a sentence that begins with its verb."""
    return _CHANGE_BEYOND_DOUBT.match(text) is not None


def judge_sql(text: str) -> str | None:
    """Why somebody should be asked; None: it looks, or changes what its WHERE names."""
    statement: list[Token] = []
    for token in [*_tokens(text), ("sign", ";")]:
        if token == ("sign", ";"):
            if reason := _judge(statement):
                return reason
            statement = []
        else:
            statement.append(token)
    return None


def _tokens(text: str) -> Iterator[Token]:
    """Without comments; at most MAX_TOKENS."""
    matches = (match for match in _TOKENS.finditer(text) if match.lastgroup not in ("comment", "hint"))
    return ((match.lastgroup or "", match[0].lower()) for match in islice(matches, MAX_TOKENS))


def _judge(tokens: list[Token]) -> str | None:
    words = [text for kind, text in tokens if kind == "word"]
    if not words or words[0] in _LOOKING or (words[0] == "explain" and "analyze" not in words[:3]):
        return None
    first = _first(words)
    if first is None:
        return None
    if reason := _ALWAYS.get(first):
        return reason
    if not _DYNAMIC.isdisjoint(words) and any(
        kind in ("literal", "name") and _INSIDE.search(text) for kind, text in tokens
    ):
        return "drops, deletes or changes by a statement in a text"
    if not _FUNCTIONS.isdisjoint(words):
        return "calls a function that reaches beyond the tables"
    if judge := _BY_STATEMENT.get(first):
        return judge(words, tokens)
    if first == "replace" and "into" in words[:2]:
        return "overwrites rows" if "select" in words else None
    if "outfile" in words or "dumpfile" in words:
        return "writes a file on the server"
    if first == "vacuum" and "full" in words:
        return "locks tables"
    if first == "insert" and "overwrite" in words[:2]:
        return "overwrites a table"
    return judge_rows(tokens, words)


def _first(words: list[str]) -> str | None:
    """The word that says what is done; None: nothing is."""
    if words[0] not in _OPENING or len(words) == 1:
        return words[0]
    inner = (word for word in words[1:] if word in _STATEMENTS and word not in ("begin", "start", "set", "use"))
    return next(inner, None) if words[0] not in ("use", "rollback", "commit") else None


def _procedure(words: list[str], _tokens: list[Token]) -> str | None:
    is_harmless = words[0] == "call" and not any(part in word for word in words for part in _DESTRUCTIVE_PARTS)
    return None if is_harmless else "runs a procedure"


def _set(words: list[str], _tokens: list[Token]) -> str | None:
    return "changes the server's settings" if _SETTINGS & set(words[:4]) else None


def _pragma(words: list[str], tokens: list[Token]) -> str | None:
    return "changes the file's safety" if ("sign", "=") in tokens and _PRAGMAS & set(words) else None


def _copy(words: list[str], _tokens: list[Token]) -> str | None:
    reads, writes = "from" in words and "stdin" not in words, "to" in words and "stdout" not in words
    return "runs a program or reads a file of the server" if "program" in words or reads or writes else None


def _move(words: list[str], _tokens: list[Token]) -> str | None:
    is_harmless = words[0] == "load" and not {"data", "infile"} & set(words)
    return None if is_harmless else "moves files of the server"


def _alter(words: list[str], _tokens: list[Token]) -> str | None:
    kind = words[1] if len(words) > 1 else ""
    if kind in _ACCOUNTS:
        return "changes accounts or the server"
    if _ALTERING & set(words):
        return "changes a table for good"
    if kind in _COSTING:
        return "changes what a cloud runs, or costs"
    if ({"type", "set"} <= set(words) and "data" in words) or ({"column", "type"} <= set(words)):
        return "changes a column's type"
    return None


def _create(words: list[str], tokens: list[Token]) -> str | None:
    head = words[1:6]
    if {"function", "procedure", "event", "trigger"} & set(head) and any(
        _INSIDE.search(text) for kind, text in tokens if kind == "literal"
    ):
        return "deletes later"
    if {"user", "role", "login", "extension", "server", "directory"} & set(head[:3]):
        return "makes an account or reaches outside"
    if head[:1] in (["share"], ["warehouse"]) or (head[:1] == ["policy"] and "true" in words[-2:]):
        return "gives rights away, or costs"
    if "replace" in head[:2] and {"table"} & set(head):
        return "replaces a table"
    if {"trigger", "rule", "event"} & set(head) and {"delete", "drop", "truncate"} & set(words):
        return "deletes later"
    return None


_INSIDE: Final = re.compile(
    r"\b(?:delete\s+from|drop\s+(?:table|schema|database|view|user|index)|truncate|grant|revoke|alter\s+(?:user|role))\b"
)


Judge = Callable[[list[str], list[Token]], str | None]
_BY_STATEMENT: Final[dict[str, Judge]] = {
    **dict.fromkeys(("exec", "execute", "call", "do"), _procedure),
    **dict.fromkeys(("load", "unload", "import", "export"), _move),
    "alter": _alter,
    "create": _create,
    "set": _set,
    "pragma": _pragma,
    "copy": _copy,
}
