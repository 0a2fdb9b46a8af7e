"""Rates a tool call: safe, unknown or dangerous, with the reason."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from server.policy.danger.command_lines import CommandJudge, base_name
from server.policy.danger.danger_table import (
    SAFE,
    DangerTable,
    Verdict,
    dangerous,
    load_table,
    name_words,
    unknown,
    worst,
)
from server.policy.danger.shell_lexer import parse
from server.policy.danger.sql_statements import judge_sql, looks_like_sql
from server.tool_calls import Permission

_MAX_LEAVES: Final = 200
_MAX_SHORT: Final = 100
"""Characters of a value that may be the name of an action."""


def judge_call(
    tool: str,
    permission: Permission,
    arguments: Any,
    *,
    destructive: bool | None = None,
    table: DangerTable | None = None,
) -> Verdict:
    """Rate a call by its class, then the server's hint, then what its name and arguments would do.

    `destructive` is a trusted server's destructiveHint: True asks; False spares the judgement by name and
    class, not that of a command line, SQL or code in the arguments; None says nothing.
    """
    if permission == "READ":
        return SAFE
    if destructive:
        return dangerous("the tool's server says that it destroys or overwrites")
    return _Call(tool, arguments, table or load_table()).judge(by_name=destructive is None)


def command_name(tool: str, arguments: Any, *, table: DangerTable | None = None) -> str | None:
    """Return program and subcommand of a call that runs one plain command, such as "git push"; else None.

    Plain: no operators, substitutions, redirections or assignments, and a program that runs no other
    (no shell, interpreter, wrapper or script runner).
    """
    table = table or load_table()
    words = _plain_command(_Call(tool, arguments, table))
    if not words or (name := base_name(words[0])) != words[0] or "=" in name:
        return None
    runs_others = table.words("shells") | table.words("script_runners") | table.wrappers.keys()
    if name in runs_others or name in table.interpreters or not name.replace("-", "").replace("_", "").isalnum():
        return None
    has_subcommands = name in table.programs and (table.programs[name].has_verbs or table.programs[name].dangerous)
    subcommand = words[1] if has_subcommands and words[1:] and words[1].replace("-", "").isalpha() else ""
    return f"{name} {subcommand}" if subcommand and subcommand[0] != "-" else name


def is_worse_than_plain(tool: str, arguments: Any, *, table: DangerTable | None = None) -> bool:
    """Tell whether a call is rated worse than its `command_name` alone: `git push --force` than `git push`.

    A remembered approval of the command does not cover such a call.
    """
    table = table or load_table()
    name = command_name(tool, arguments, table=table)
    if name is None:
        return True
    call = _Call(tool, arguments, table).judge(by_name=True)
    return call.level == "dangerous" and call.rule != CommandJudge(table).line(name).rule


def _plain_command(call: "_Call") -> list[str] | None:
    lines = list(islice(call.commands(), 2))
    if len(lines) != 1:
        return None
    if isinstance(lines[0], list):
        return lines[0]
    commands = parse(lines[0])
    is_plain = len(commands) == 1 and not (commands[0].inner or commands[0].redirects)
    return commands[0].words if is_plain and not set("$`&;|()\n*{}") & set(lines[0].strip()) else None


class _Call:
    """One call, as the rules look at it."""

    def __init__(self, tool: str, arguments: Any, table: DangerTable) -> None:
        self._table = table
        self._words = _tool_words(tool)
        self._given: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {"input": arguments}
        self._leaves = list(islice(_leaves(self._given), _MAX_LEAVES))
        self._commands = CommandJudge(table)

    def judge(self, *, by_name: bool) -> Verdict:
        run = list(self._run())
        if run and (by_name is False or worst(run).level == "dangerous" or not self._is("http")):
            return worst(run)
        if not by_name or self._is_dry():
            return SAFE
        return worst(self._by_name_and_values())

    # --- command lines, SQL and code

    def _is(self, kind: str) -> bool:
        return not self._table.words(f"{kind}_tools").isdisjoint(self._words)

    def commands(self) -> Iterator[str | list[str]]:
        """Yield the command lines and lists of arguments of the call."""
        argv = next((v for k, v in self._given.items() if k in self._table.words("argv_keys") and _is_texts(v)), None)
        program = next(
            (v for k, v in self._given.items() if k in self._table.words("program_keys") and isinstance(v, str)), ""
        )
        if argv is not None and (program or argv):
            yield [*program.split(), *argv] if program else self._completed(argv)
            return
        for key, value in self._leaves:
            if self._is_command(key):
                yield value

    def _is_command(self, key: str) -> bool:
        if key in self._table.words("command_keys"):
            return True
        return self._is("shell") and key in self._table.words("line_keys")

    def _completed(self, words: list[str]) -> list[str]:
        """Put the program in front where the tool is one: `kubectl {argv: [get, pods]}`."""
        tool = next((word for word in self._words if word in self._table.words("program_tools")), None)
        if tool is None or words[0] in (tool, self._alias(tool)):
            return words
        return [self._alias(tool), *words]

    def _alias(self, tool: str) -> str:
        return {"redis": "redis-cli", "mongo": "mongosh", "mongodb": "mongosh"}.get(tool, tool)

    def _run(self) -> Iterator[Verdict]:
        is_code = self._is("code")
        for command in self.commands() if not is_code else ():
            if isinstance(command, list):
                yield self._commands.argv(command)
            elif self._is("windows"):
                yield self._commands.windows(command)
            elif looks_like_sql(command, self._table) and self._is("sql"):
                yield judge_sql(command, self._table)
            else:
                first = command.split(None, 1)[:1]
                lead = self._completed(first)[:-1] if first else []
                if lead in (["mongosh"], ["osascript"]):
                    yield self._commands.argv([*lead, command])
                else:
                    yield self._commands.line(" ".join([*lead, command]))
        for key, value in self._leaves:
            if is_code and key in self._table.words("code_keys") | self._table.words("script_keys"):
                yield self._commands.code(value, self._language())
            elif key in self._table.words("sql_keys") and (self._is("sql") or key == "sql") and not is_code:
                if looks_like_sql(value, self._table) or key == "sql":
                    yield judge_sql(value, self._table)
            elif key in self._table.words("code_keys") and not is_code and not self._is("text"):
                yield self._commands.code(value, "python")

    def _language(self) -> str:
        others = self._table.words("other_languages")
        return next((word for word in self._words if word in others), "python")

    # --- names and values

    def _is_dry(self) -> bool:
        return any(self._given.get(key) is True for key in self._table.words("dry_run_keys"))

    def _by_name_and_values(self) -> Iterator[Verdict]:
        if method := self._method():
            yield self._http(method)
            return
        yield from self._by_values()
        yield self._by_name()

    def _by_name(self) -> Verdict:
        known = self._table.tool_verbs
        first = self._words[0] if self._words else ""
        reading = self._table.words("reading")
        if first in reading or (self._words[-1:] and self._words[-1] in reading and not self._table.verbs.get(first)):
            return SAFE
        said = [*self._words, *(f"{a}_{b}" for a, b in zip(self._words, self._words[1:], strict=False))]
        for word in (*said[len(self._words) :], *self._actions(), *said):
            if reason := known.get(word):
                return dangerous(reason, f"tool {word}").about(word.replace("_", " "))
            if word in known and "_" in word:
                return SAFE
        return SAFE if any(word in known for word in said) else unknown("this tool")

    def _actions(self) -> Iterator[str]:
        if self._is("text"):
            return
        for key, value in self._leaves:
            if key in self._table.words("action_keys") and len(value) < _MAX_SHORT:
                words = name_words(value)
                yield from ("_".join(words[-2:]), *words)

    def _by_values(self) -> Iterator[Verdict]:
        reads = not self._table.words("reading").isdisjoint(self._words[:1])
        for key, value in _values(self._given):
            for reason, lines in self._table.values.items():
                if key in lines and str(value).lower() in lines[key]:
                    yield dangerous(reason, f"value {key}").about(f"{key}: {value}")
        for key, value in self._leaves if not reads else ():
            if key in self._table.words("path_keys") and self._table.paths["protected"](value):
                yield dangerous("writes where the system or the login is set up").about(value)
            if key in self._table.words("path_keys") and self._table.paths["private"](value) and self._is("sending"):
                yield dangerous("sends away what is private").about(value)

    def _method(self) -> str:
        for key in ("method", "verb", "http_method", "httpMethod"):
            if isinstance(value := self._given.get(key), str) and value.upper() in _METHODS:
                return value.upper()
        return ""

    def _http(self, method: str) -> Verdict:
        if method in ("GET", "HEAD", "OPTIONS"):
            return SAFE
        urls = [value for key, value in self._leaves if key in ("url", "path", "endpoint", "uri")]
        if method == "POST" and urls and all(map(self._table.paths["harmless_urls"], urls)):
            return SAFE
        return dangerous("deletes or changes something over HTTP").about(f"{method} {' '.join(urls[:1])}")


_METHODS: Final = frozenset("GET HEAD OPTIONS POST PUT PATCH DELETE PURGE".split())


@lru_cache(maxsize=2048)
def _tool_words(tool: str) -> tuple[str, ...]:
    """Words of a tool's name without its server's: `github__delete_repository` is delete, repository."""
    return tuple(name_words(tool.rsplit("__", 1)[-1]))


def _leaves(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every text with the name it stands under, in small letters."""
    if isinstance(value, str):
        yield key, value
    elif depth < 6 and isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, str(name).lower(), depth + 1)
    elif depth < 6 and isinstance(value, list):
        for item in value:
            yield from _leaves(item, key, depth + 1)


def _values(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in islice(given.items(), _MAX_LEAVES):
        if isinstance(value, str | bool | int | float):
            yield key.lower(), value
        elif isinstance(value, list) and value and isinstance(value[0], str):
            yield key.lower(), value[0]


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
