"""What a SQL text would do. Comments, literals and quoted names are set aside first; no dialect is parsed."""

import re
from typing import Final

_TOKENS: Final = re.compile(
    r"(?P<comment>--[^\n]*|/\*(?!!)(?:[^*]|\*(?!/)){0,20000}(?:\*/|\Z)|#[^\n]*)"
    r"|(?P<literal>'(?:[^'\\]|''|\\.){0,20000}(?:'|\Z)|\$\$.{0,20000}?(?:\$\$|\Z))"
    r"|(?P<name>\"[^\"]{0,200}\"|`[^`]{0,200}`|\[[A-Za-z][\w ]{0,200}\])"
    r"|(?P<word>[A-Za-z_][\w$]{0,200})|(?P<number>\d{1,40}(?:\.\d{1,40})?)|(?P<hint>/\*!\d*|\*/)|(?P<sign>[;(),=<>*!.])",
    re.DOTALL,
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
    "vacuum_full": "",
    "dbcc": "repairs or shrinks",
    "lock": "locks tables",
    "flush": "flushes",
    "handler": "",
    "bulk": "reads files of the server",
    "rename": "renames tables",
}
_FUNCTIONS: Final = frozenset(
    "xp_cmdshell sp_configure pg_terminate_backend pg_cancel_backend pg_read_file pg_write_file lo_export lo_import load_file "
    "sys_exec sys_eval load_extension dblink_exec pg_ls_dir pg_reload_conf pg_switch_wal sp_oacreate sp_executesql utl_http "
    "utl_file dbms_scheduler dbms_java sp_addsrvrolemember sp_dropdatabase sp_droplogin sp_detach_db writefile edit "
    "pg_drop_replication_slot pg_promote setval pg_sleep sleep benchmark pg_file_write sp_msforeachtable".split()
)
_STATEMENTS: Final = frozenset(
    "select insert update delete drop truncate grant revoke create alter with merge replace call exec execute set use show "
    "describe desc explain begin commit rollback shutdown purge kill attach detach vacuum analyze pragma copy load do lock "
    "rename comment reindex cluster refresh restore backup deny declare start savepoint values table upsert flush reset "
    "import export optimize repair dbcc bulk reassign undrop unload msck match".split()
)


def looks_like_sql(text: str) -> bool:
    first = next((t for kind, t in _tokens(text) if kind == "word"), "")
    return first in _STATEMENTS


def judge_sql(text: str) -> str | None:
    """Why somebody should be asked; None: it looks, or changes what its WHERE names."""
    statement: list[tuple[str, str]] = []
    for token in [*_tokens(text), ("sign", ";")]:
        if token == ("sign", ";"):
            if reason := _judge(statement):
                return reason
            statement = []
        else:
            statement.append(token)
    return None


def _tokens(text: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup or ""
        if kind in ("comment", "hint"):
            continue
        out.append((kind, match[0].lower()))
        if len(out) >= MAX_TOKENS:
            break
    return out


def _judge(tokens: list[tuple[str, str]]) -> str | None:
    words = [text for kind, text in tokens if kind == "word"]
    if not words or words[0] in ("show", "describe", "desc", "help", "list"):
        return None
    if words[0] == "explain" and "analyze" not in words[:3]:
        return None
    first = words[0]
    if first in ("begin", "start", "commit", "rollback", "savepoint", "end", "use", "declare") and len(words) > 1:
        inner = next(
            (i for i, w in enumerate(words[1:], 1) if w in _STATEMENTS and w not in ("begin", "start", "set", "use")),
            None,
        )
        if inner is None or first in ("use", "rollback", "commit"):
            return None
        first = words[inner]
    if _ALWAYS.get(first):
        return _ALWAYS[first]
    if any(name in words for name in _FUNCTIONS):
        return "calls a function that reaches beyond the tables"
    if first in ("exec", "execute", "call", "do"):
        return "runs a procedure" if first != "call" or any(_is_bad(w) for w in words) else None
    if first == "alter":
        return _alter(words)
    if first == "create":
        return _create(words)
    if first == "set":
        return (
            "changes the server's settings"
            if {
                "global",
                "password",
                "persist",
                "foreign_key_checks",
                "sql_log_bin",
                "sql_safe_updates",
                "row_security",
                "session_replication_role",
                "role",
            }
            & set(words[:4])
            else None
        )
    if first == "pragma":
        return (
            "changes the file's safety"
            if any(t == "=" for _, t in tokens)
            and {"writable_schema", "journal_mode", "synchronous", "foreign_keys", "integrity"} & set(words)
            else None
        )
    if first == "copy":
        return (
            "runs a program or reads a file of the server"
            if "program" in words
            or ("from" in words and "stdin" not in words)
            or ("to" in words and "stdout" not in words)
            else None
        )
    if first in ("load", "unload", "import", "export"):
        return "moves files of the server" if "data" in words or "infile" in words or first != "load" else None
    if first == "replace" and "into" in words[:2]:
        return "overwrites rows" if "select" in words else None
    if "outfile" in words or "dumpfile" in words:
        return "writes a file on the server"
    if first == "vacuum" and "full" in words:
        return "locks tables"
    if first == "insert" and "overwrite" in words[:2]:
        return "overwrites a table"
    return _rows(tokens, words)


def _alter(words: list[str]) -> str | None:
    kind = words[1] if len(words) > 1 else ""
    if kind in ("user", "role", "login", "system", "database", "server", "default", "group", "policy"):
        return "changes accounts or the server"
    if {"drop", "truncate", "disable", "owner", "rename", "modify", "discard", "exchange", "detach", "nologging"} & set(
        words
    ):
        return "changes a table for good"
    if {"type", "set"} <= set(words) and "data" in words:
        return "changes a column's type"
    return None


def _create(words: list[str]) -> str | None:
    head = words[1:6]
    if {"user", "role", "login", "extension", "server", "directory"} & set(head[:3]):
        return "makes an account or reaches outside"
    if "replace" in head[:2] and {"table"} & set(head):
        return "replaces a table"
    if {"trigger", "rule", "event"} & set(head) and {"delete", "drop", "truncate"} & set(words):
        return "deletes later"
    return None


def _rows(tokens: list[tuple[str, str]], words: list[str]) -> str | None:
    texts = [text for _, text in tokens]
    if "merge" in words[:1] and "delete" in words:
        return "deletes rows"
    if "detach" in words and "delete" in words:
        return "empties a graph"
    if words[0] == "match" and ("delete" in words or "remove" in words):
        return "deletes from a graph"
    for index, (kind, text) in enumerate(tokens):
        if kind != "word" or text not in ("delete", "update"):
            continue
        before = texts[index - 1] if index else ""
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if before in ("on", ".", "for", "for_", "key", "after", "before", "or") or following in (",", "=", ")", "."):
            continue
        if (
            text == "delete"
            and following not in ("from", "top", "low_priority", "quick", "ignore")
            and words[0] != "delete"
        ):
            continue
        if text == "update" and "set" not in texts[index:]:
            continue
        if not _has_real_where(tokens[index:]):
            return "deletes every row" if text == "delete" else "changes every row"
    return None


def _has_real_where(tokens: list[tuple[str, str]]) -> bool:
    """A WHERE that compares a column with something."""
    places = [i for i, token in enumerate(tokens) if token == ("word", "where")]
    if not places:
        return False
    condition = tokens[places[0] + 1 :]
    text = " ".join(t for _, t in condition)
    if _TAUTOLOGY.search(text):
        return False
    return any(
        kind in ("word", "name") and value not in ("true", "not", "null", "is", "and", "or", "exists", "select")
        for kind, value in condition
    )


_TAUTOLOGY: Final = re.compile(
    r"(?:^|\bor )\(? ?(?:(\d+|'[^']*') = \1|true|not false|1|(\w+) = \2|\w+ (?:> = 0|> 0|> - 1|! = 0|< > 0|is not null|like '%'|= \w+\.\w+ \|\|)|\d+ < \d+) ?\)?(?:$| or\b| returning| limit)"
)


def _is_bad(word: str) -> bool:
    return any(part in word for part in ("delete", "drop", "purge", "truncate", "reset", "wipe", "clear", "remove"))
