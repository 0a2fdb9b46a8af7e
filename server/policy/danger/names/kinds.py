"""Which kind of arguments a tool takes, by the words of its name."""

from functools import lru_cache
from typing import Final, Literal

from server.policy.danger.lexicon.meanings import meanings

Kind = Literal["shell", "sql", "redis", "code", "http", "words", "text", "other"]

_SHELL: Final = frozenset(
    "bash sh zsh fish nu xonsh shell exec execute command cmd terminal powershell pwsh spawn subprocess process ssh console run script batch "
    "container job task cron schedule scheduled make pod kubectl docker git npm helm terraform aws gcloud az cli adb".split()
)
_SQL: Final = frozenset(
    "sql postgres postgresql mysql mariadb sqlite sqlite3 db database oracle bigquery snowflake redshift duckdb clickhouse "
    "mssql athena presto trino cypher neo4j cassandra cql spanner supabase mongo mongodb".split()
)
_REDIS: Final = frozenset("redis valkey memcached etcd".split())
_CODE: Final = frozenset(
    "python python3 ipython jupyter notebook javascript js node nodejs typescript perl php ruby rust r lua lisp osascript "
    "applescript eval repl interpreter playground code julia matlab groovy scala kotlin go java deno bun swift haskell elixir "
    "cell irb pry rails tinker jshell vba vbscript mongosh gremlin csharp cs dotnet cpp clang evaluate".split()
)
_NO_CODE: Final = frozenset("shell bash review search".split())
_HTTP: Final = frozenset(
    "http https request requests fetch curl rest api webhook graphql url elasticsearch opensearch".split()
)
_AGENTS: Final = frozenset("voice assistant agent intent delegate".split())
_WORDS: Final = frozenset("subagent sub instruct ask prompt conversation goal order todo home alexa siri".split())
_TEXT: Final = frozenset(
    "explain summarize summarise translate count format lint diff compare draft note notes remember speak say tts speech render "
    "highlight tokenize embed classify describe define spell grammar rewrite paraphrase proofread convert transform parse validate "
    "check test analyze analyse search find lookup grep glob list read get show view query_docs preview simulate estimate quote plan "
    "calculate calculator regex tag bookmark label reminder joke poem slide image picture draw generate log memory save".split()
)
_LISTS: Final = frozenset("todo reminder note checklist shopping list".split())
_KEEPING: Final = frozenset("add create set append new save".split())
_TEXT_VERBS: Final = frozenset(
    "explain format lint search find count diff translate summarize validate convert".split()
)


@lru_cache(maxsize=2048)
def kind_of(tool: str) -> Kind:
    """`text`: it works on a text, and nothing in that is done."""
    ordered = meanings(tool)
    words = frozenset(ordered)
    if _TEXT_VERBS & set(ordered[:1]):
        return "text"
    if words & _REDIS:
        return "redis"
    if words & _AGENTS:
        return "words"
    if words & _LISTS and words & _KEEPING:
        return "text"
    if words & _CODE and not words & _NO_CODE:
        return "code"
    return next((kind for kind, telling in _BY_WORD if words & telling), "other")


@lru_cache(maxsize=2048)
def works_on_text(tool: str) -> bool:
    """Of the kind `text`: its name says so first or last, and names nothing else that is done."""
    words = meanings(tool)
    is_about_text = bool((_TEXT | _LISTS | _KEEPING).intersection((words[0], words[-1])))
    return is_about_text and _DOING.isdisjoint(words)


_DOING: Final = frozenset("commit push deploy merge publish send upload release".split())
_BY_WORD: Final[tuple[tuple[Kind, frozenset[str]], ...]] = (
    ("sql", _SQL),
    ("shell", _SHELL),
    ("http", _HTTP),
    ("words", _WORDS),
    ("text", _TEXT),
)
