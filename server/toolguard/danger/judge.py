"""Rates a tool call: safe, unknown or dangerous, with the reason."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, Final

from server.toolguard import Permission
from server.toolguard.danger.code_and_sql import judge_sql, looks_like_sql
from server.toolguard.danger.command_lines import CommandJudge, base_name
from server.toolguard.danger.danger_table import (
    SAFE,
    DangerTable,
    DangerVerdict,
    dangerous,
    load_table,
    name_words,
    unknown,
    worst,
)
from server.toolguard.danger.shell_lexer import parse

_MAX_VALUES: Final = 2000
"""Values of a call that are looked at."""
_MAX_DEPTH: Final = 50
_MAX_ACTIONS: Final = 20
_MAX_ACTION_CHARS: Final = 100
"""Characters of a value that may name an action."""
_METHODS: Final = frozenset("GET HEAD OPTIONS POST PUT PATCH DELETE PURGE".split())
_RUNNERS: Final = frozenset(("shell", "windows", "sql", "code", "program"))
"""Kinds of tools whose calls are judged by what they run alone."""
_SIGNS: Final = frozenset("$`&;|()<>*{}\n")
"""Characters that no command line has which is one plain command."""


def judge_call(
    tool: str,
    permission: Permission,
    arguments: Any,
    *,
    destructive: bool | None = None,
    table: DangerTable | None = None,
) -> DangerVerdict:
    """Rate a call by its class, then the server's hint, then what its name and arguments would do.

    `destructive` is a trusted server's destructiveHint: True asks; False spares the judgement by name and
    class, not that of a command line, SQL or code in the arguments; None says nothing.
    """
    if permission == "READ":
        return SAFE
    if destructive:
        return dangerous("deletes or overwrites something, as the tool's server says")
    return _ToolCall(tool, arguments, table or load_table()).judge(by_name=destructive is None)


def command_name(tool: str, arguments: Any, *, table: DangerTable | None = None) -> str | None:
    """Return program and subcommand of a call that runs one plain command, such as "git push"; else None.

    Plain: no operators, substitutions, redirections or assignments, and a program that runs no other
    (no shell, interpreter, wrapper or script runner).
    """
    table = table or load_table()
    match list(islice(_ToolCall(tool, arguments, table).commands(), 2)):
        case [[str(name), *rest]]:
            pass
        case [str(line)] if _SIGNS.isdisjoint(line.strip()) and [bool(one.words) for one in parse(line)] == [True]:
            name, *rest = parse(line)[0].words
        case _:
            return None
    if not name.replace("-", "").replace("_", "").isalnum() or base_name(name) != name:
        return None
    runs_others = table.wrappers.keys() | table.interpreters.keys() | table.lists["script_runners"]
    if not runs_others.isdisjoint((name, *(f"{name} {word}" for word in rest))):
        return None
    program = table.programs.get(name)
    if not rest or program is None or not (program.has_verbs or program.has_subcommands):
        return name
    return f"{name} {rest[0]}" if rest[0].replace("-", "").isalpha() and rest[0][0] != "-" else None


def is_worse_than_plain(tool: str, arguments: Any, *, table: DangerTable | None = None) -> bool:
    """Return whether a call is rated worse than its `command_name` alone: `git push --force` than `git push`.

    A remembered approval of the command does not cover such a call.
    """
    table = table or load_table()
    name = command_name(tool, arguments, table=table)
    if name is None:
        return True
    call = _ToolCall(tool, arguments, table).judge(by_name=True)
    return call.level == "dangerous" and call.phrase != CommandJudge(table).line(name).phrase


class _ToolCall:
    """One call, as the rules look at it."""

    def __init__(self, tool: str, arguments: Any, table: DangerTable) -> None:
        self._table = table
        self._words = _tool_words(tool)
        self._kinds = _tool_kinds(tool, table)
        self._given: dict[str, Any] = arguments if isinstance(arguments, dict) else {"input": arguments}
        self._texts = list(islice(_texts(self._given), _MAX_VALUES + 1))
        self._judge = CommandJudge(table)

    def judge(self, *, by_name: bool) -> DangerVerdict:
        if len(self._texts) > _MAX_VALUES:
            return dangerous("has more arguments than can be looked at")
        found = worst(run := list(self._runs()))
        if found.level == "dangerous" or (run and not _RUNNERS.isdisjoint(self._kinds)):
            return found
        if not by_name or any(self._given.get(key) is True for key in self._table.lists["dry_run_keys"]):
            return SAFE
        return worst(self._by_name_and_values())

    def _under(self, names: str) -> Iterator[str]:
        """Yield the texts under the names of a list."""
        keys = self._table.lists[names]
        return (text for key, text in self._texts if key in keys)

    # --- command lines, SQL and code

    def commands(self) -> Iterator[str | list[str]]:
        """Yield the command lines and lists of arguments of the call."""
        lists = self._table.lists
        words = (value for key, value in self._given.items() if key in lists["argv_keys"])
        argv = next((value for value in words if isinstance(value, list) and value), [])
        if argv and all(isinstance(word, str) for word in argv):
            programs = (value for key, value in self._given.items() if key in lists["program_keys"])
            program = next((value for value in programs if isinstance(value, str)), "")
            is_script = not program and " " in argv[0]
            yield from argv if is_script else [[*(program.split() or self._lead(argv[0])), *argv]]
        keys = lists["line_keys" if "shell" in self._kinds else "command_keys"]
        others = lists["argv_keys"] | lists["program_keys"] if argv else ()
        for key, text in self._texts:
            if key not in others and (key in keys or key.endswith(("command", "cmd"))):
                yield text

    def _lead(self, first: str) -> list[str]:
        """Return the program where the tool is one and the command does not begin with it: `kubectl {args: [get]}`."""
        program = next((word for word in self._words if word in self._table.lists["program_tools"]), "")
        is_other = first == program or (first in self._table.programs and "shell" in self._kinds)
        return [program] if program and not is_other else []

    def _runs(self) -> Iterator[DangerVerdict]:
        if "code" in self._kinds:
            others = (word for word in self._words if word in self._table.lists["other_languages"])
            language = str(self._given.get("language") or next(others, "python"))
            yield from (self._judge.code(text, language) for text in self._under("script_keys"))
            return
        for command in self.commands():
            if isinstance(command, list):
                yield self._judge.argv(command)
            elif "windows" in self._kinds:
                yield self._judge.windows(command)
            elif "sql" not in self._kinds or not looks_like_sql(command, self._table):
                lead = self._lead("".join(command.split(None, 1)[:1]))
                is_one_word = not self._table.lists["takes_text"].isdisjoint(lead)
                yield self._judge.argv([*lead, command] if is_one_word else [" ".join([*lead, command])])
        for text in self._under("sql_keys"):
            if "sql" in self._kinds and looks_like_sql(text, self._table):
                yield judge_sql(text, self._table)
        if "text" not in self._kinds:
            yield from (judge_sql(text, self._table) for key, text in self._texts if key == "sql")
            yield from (self._judge.code(text, "python") for text in self._under("code_keys"))

    # --- names and values

    def _by_name_and_values(self) -> Iterator[DangerVerdict]:
        method = next((text.upper() for text in self._under("action_keys") if text.upper() in _METHODS), "")
        if method:
            urls = list(self._under("url_keys"))
            is_search = method == "POST" and urls and all(map(self._table.paths["harmless_urls"], urls))
            is_safe = is_search or method in ("GET", "HEAD", "OPTIONS")
            phrase = "" if is_safe else "deletes or changes something over HTTP"
            yield dangerous(phrase).about(f"{method} {''.join(urls[:1])}")
            return
        for key, value in islice(self._given.items(), _MAX_VALUES):
            value = value[0] if isinstance(value, list) and value else value
            shown = str(value).lower() if isinstance(value, str | bool) else ""
            if told := self._table.values.get((str(key).lower(), shown)):
                yield dangerous(told).about(f"{key}: {shown}")
        for path in self._under("path_keys"):
            if self._table.paths["private_keys"](path):
                yield dangerous("reads or changes a private key").about(path)
            if not self._reads():
                if self._table.paths["protected"](path):
                    yield dangerous("writes where the system or the login is set up").about(path)
                if "sending" in self._kinds and self._table.paths["private"](path):
                    yield dangerous("sends away what is private").about(path)
        yield self._by_name()

    def _reads(self) -> bool:
        """Return whether the name begins with a verb of looking, or ends with one and begins with no other verb."""
        words, reading = self._words or ("",), self._table.lists["reading"]
        return words[0] in reading or (words[-1] in reading and not self._table.verbs.get(words[0]))

    def _by_name(self) -> DangerVerdict:
        """Rate by two words side by side, then by single ones, of the name and of the actions it is given."""
        known, words = self._table.tool_verbs, self._words
        if self._reads():
            return SAFE
        texts = self._under("label_keys" if "click" in self._kinds else "action_keys")
        texts = texts if "text" not in self._kinds else iter(())
        actions = [word for text in islice(texts, _MAX_ACTIONS) for word in name_words(text[:_MAX_ACTION_CHARS])]
        pairs = ["_".join(pair) for pair in (*pairwise(words), *pairwise(actions))]
        pairs += [f"{action}_{word}" for action in actions for word in words]
        thing = self._thing(actions)
        pairs += [f"{word}_{thing}" for word in (*actions, *words) if thing]
        if any(known.get(pair) == "" for pair in pairs) or not self._table.lists["harmless_things"].isdisjoint(words):
            return SAFE
        said = [*pairs, *actions, *words]
        for word in said:
            if phrase := known.get(word):
                return dangerous(phrase).about(word.replace("_", " "))
        return SAFE if any(word in known for word in said) else unknown("this tool")

    def _thing(self, actions: list[str]) -> str:
        """Return the kind of thing that is acted on, as `tool_verbs` names it, or ""."""
        lists, words, given = self._table.lists, self._words, self._given
        ends = (words[0], words[-1]) if len(words) > 1 else (*words, *given)
        is_drive = not lists["drives"].isdisjoint((*ends, *actions))
        is_passing = not lists["passing"].isdisjoint(words[-1:]) and lists["path_keys"].isdisjoint(given)
        return "@drives" if is_drive else "@passing" if is_passing else ""


@lru_cache(maxsize=2048)
def _tool_words(tool: str) -> tuple[str, ...]:
    """Return the words of a tool's name without its server's: `github__delete_repository` is delete, repository."""
    return tuple(name_words(tool.rsplit("__", 1)[-1]))


@lru_cache(maxsize=2048)
def _tool_kinds(tool: str, table: DangerTable) -> frozenset[str]:
    """Return what a tool takes, as far as its name tells: shell, sql, code, …"""
    lists = ((name, words) for name, words in table.lists.items() if name.endswith("_tools"))
    return frozenset(name.removesuffix("_tools") for name, words in lists if not words.isdisjoint(_tool_words(tool)))


def _texts(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every text with the name it stands under, in small letters."""
    if isinstance(value, str):
        yield key, value
    elif depth < _MAX_DEPTH and isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, str(name).lower(), depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, list):
        for item in value:
            yield from _texts(item, key, depth + 1)
