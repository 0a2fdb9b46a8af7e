"""Arguments that are statements of a database: SQL, Redis, MongoDB."""

import re
from collections.abc import Mapping
from typing import Any, Final

from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call
from server.policy.danger.code.other import judge_code
from server.policy.danger.commands.line import RUNNER
from server.policy.danger.sql import judge_sql, looks_like_sql

_PROGRAMS: Final = ("command", "script", "code", "query", "file", "input", "eval", "expression", "js", "snippet")
_REDIS_CALL: Final = re.compile(
    r"redis\.p?call\(\s*['\"](?:del|unlink|flush\w*|rename\w*|expire\w*|pexpire\w*|config|migrate|[hsz]rem\w*|[lsz]?trim|[lsr]pop\w*|shutdown|restore)['\"]",
    re.IGNORECASE,
)
_REDIS_KEYS: Final = ("argv", "command", "args", "cmd", "query", "commands", "line", "input")
_REDIS: Final = frozenset(
    "flushall flushdb shutdown del unlink config debug slaveof replicaof script eval evalsha rename renamenx move migrate "
    "restore swapdb cluster acl failover getdel function module bgrewriteaof save client reset xtrim ltrim spop expire "
    "pexpire expireat delete_all flush_all".split()
)
_REDIS_LOOKS: Final = frozenset(
    "get list info help getname id exists usage whoami cat count nodes keyslot no-evict".split()
)
"""Behind such a command: it only looks."""
_MONGO: Final = frozenset(
    "dropdatabase drop delete deletemany remove dropuser droprole dropindexes shutdown dropallusersfromdatabase "
    "renamecollection fsync compact setparameter grantrolestouser createuser updateuser replsetstepdown".split()
)


_CHANGING: Final = frozenset("update delete remove modify replace upsert write patch edit set".split())
_WHICH: Final = ("q", "filter", "where", "query", "selector", "criteria", "conditions")
_OVERWRITING_STAGES: Final = ("$out", "$merge")


def by_sql(call: Call) -> str | None:
    if any(text == ":memory:" for _, text in call.texts):
        return None
    return next((reason for key, text in call.texts if (reason := _statement(key, text))), None)


def _statement(key: str, text: str) -> str | None:
    is_sql = looks_like_sql(text)
    if (is_sql or key in keys.SQL) and (reason := judge_sql(text)):
        return reason
    return judge_code(text, RUNNER) if key in _PROGRAMS and not is_sql else None


def by_redis(call: Call) -> str | None:
    if any(_REDIS_CALL.search(text) for _, text in call.texts):
        return "deletes keys or changes the server"
    for key, value in call.leaves:
        words = value if isinstance(value, list) else value.split() if isinstance(value, str) else []
        if key not in _REDIS_KEYS or not words:
            continue
        beside = call.given.get("args")
        more = [*words[1:2], *(beside[:1] if isinstance(beside, list) else [])]
        second = str(more[0]).lower() if more else ""
        if str(words[0]).lower() in _REDIS and second not in _REDIS_LOOKS:
            return "deletes keys or changes the server"
    return None


def by_mongo(call: Call) -> str | None:
    given = call.given
    if not _CHANGING.isdisjoint(call.words) and any(given.get(key) in ({}, [], None) for key in _WHICH if key in given):
        return "changes everything"
    if any(key in _OVERWRITING_STAGES for key, _ in call.leaves):
        return "overwrites a collection"
    command = given.get("command") or given.get("operation") or given.get("cmd")
    if not isinstance(command, Mapping):
        return None
    verb = next((str(key).lower() for key in command if str(key).lower() in _MONGO), None)
    if verb is None or (verb == "delete" and _names_what(command.get("deletes"))):
        return None
    return "drops or deletes"


def _names_what(deletes: Any) -> bool:
    return isinstance(deletes, list) and all(isinstance(one, Mapping) and one.get("q") for one in deletes)
