"""Judge of programs in scripting languages: Python by its syntax tree, others by the names of the calls they make."""

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from server.policy.danger.danger_table import DangerTable, DangerVerdict, dangerous, worst
from server.policy.danger.sql_statements import judge_sql, looks_like_sql

_MAX_CHARS: Final = 65_536
_BEHIND_CHARS: Final = 200
"""Signs behind a call's name in which its arguments are looked for."""
_MAGIC: Final = re.compile(r"^[ \t]*(?:!|%%?(?:bash|sh|system|sx)\b|%(?=rm\b))(.*)$", re.MULTILINE)
"""Lines of a notebook that a shell runs."""
_STRING: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\]|\\.)*+`|//[^\n]*|(?<!\S)#[^\n]*")
_CALL: Final = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\.|::|->)[A-Za-z_$][\w$]*+)*+!?(?=\s?[(\"'\[{$<@~/]|\s\w)")
_SLOT: Final = re.compile(r"\"(\d+)\"")
_HIDDEN: Final = dangerous("runs code that cannot be seen before it runs")


class LineJudge(Protocol):
    """Judge of what code hands to the operating system."""

    def line(self, text: str) -> DangerVerdict: ...

    def argv(self, words: Sequence[str]) -> DangerVerdict: ...


@dataclass(frozen=True, slots=True)
class _CodeCall:
    """Call in a program, as far as it can be read."""

    name: str
    texts: Sequence[str]
    """Texts among its arguments, or of the list that is the first of them."""
    is_unseen: bool = False
    """Whether what stands first is put together while the program runs."""
    is_bare: bool = False
    path: str = ""
    """The file that is opened for writing."""


def judge_code(code: str, language: str, table: DangerTable, runner: LineJudge) -> DangerVerdict:
    """Rate a program by the calls it makes, and by the command lines and SQL it hands on."""
    if len(code) > _MAX_CHARS:
        return dangerous("is more code than can be looked at")
    lines: list[DangerVerdict] = []
    calls = _calls_by_name(code)
    if language in table.words("pythons"):
        lines = [runner.line(match[1]) for match in _MAGIC.finditer(code)]
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # else read as any other language
            calls = _python_calls(ast.parse(_MAGIC.sub("", code)))
    try:
        return worst([*lines, *(verdict for call in calls for verdict in _judge(call, table, runner))])
    except RecursionError:
        return dangerous("is code nested too deeply to be looked at")


def _judge(call: _CodeCall, table: DangerTable, runner: LineJudge) -> Iterator[DangerVerdict]:
    method = call.name.rpartition(".")[2]
    phrase = table.calls.get(call.name) or (table.calls.get(f".{method}") if "." in call.name else "")
    if phrase and not (call.is_bare and method in table.words("with_arguments")):
        yield dangerous(phrase, call.name).about(f"{call.name}(…)")
    if call.texts and method in table.words("sql_methods") and looks_like_sql(call.texts[0], table):
        yield judge_sql(call.texts[0], table)
    elif call.name in table.words("runs") or f".{method}" in table.words("runs"):
        if call.texts:
            yield runner.line(call.texts[0]) if len(call.texts) == 1 else runner.argv(call.texts)
        elif call.is_unseen:
            yield _HIDDEN
    elif call.name in ("eval", "exec", "Function"):
        yield judge_code(call.texts[0], "python", table, runner) if call.texts else _HIDDEN
    if call.path and table.paths["protected"](call.path):
        yield dangerous("writes where the system or the login is set up").about(call.path)


def _python_calls(tree: ast.AST) -> Iterator[_CodeCall]:
    nodes = list(ast.walk(tree))
    names: dict[str, str] = {}  # what an imported name stands for
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update((alias.asname or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
    for node in nodes:
        if isinstance(node, ast.Call):
            first = node.args[0] if node.args else None
            items = first.elts if isinstance(first, ast.List | ast.Tuple) else node.args
            texts = [_text(item) for item in items]
            yield _CodeCall(
                name=_dotted(node.func, names),
                texts=[text or "…" for text in texts] if texts and texts[0] is not None else [],
                is_unseen=first is not None,
                is_bare=not node.args and not node.keywords,
                path=_written(node),
            )


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    """Return `os.remove`, also where it was imported as `r` or is reached by `__import__('os').remove`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(names.get(node.id, node.id))
    else:
        module = _text(node.args[0]) if isinstance(node, ast.Call) and node.args else None
        parts.append(module if module and module.isidentifier() else "…")
    return ".".join(reversed(parts))


def _text(node: ast.AST) -> str | None:
    """Return a text as far as it can be read: literals, f-strings, sums of texts, `"rm x".split()`."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "…" for value in values)
        case ast.BinOp(left=left, right=right, op=ast.Add()) if (start := _text(left)) is not None:
            return start + (_text(right) or "…")
        case ast.Call(func=ast.Attribute(value=value, attr="split" | "format" | "strip")):
            return _text(value)
    return None


def _written(call: ast.Call) -> str:
    """Return the path of `open(path, "w")` and `Path(path).write_text(…)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    method = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    opens = method == "open" and any(sign in (_text(mode) or "") for mode in modes for sign in "wax+")
    path = call if opens else owner if method in ("write_text", "write_bytes") else None
    return (_text(path.args[0]) or "") if isinstance(path, ast.Call) and path.args else ""


def _calls_by_name(code: str) -> Iterator[_CodeCall]:
    """Yield the names that are called, outside of strings and comments, with the strings behind them."""
    strings: list[str] = []

    def keep(match: re.Match[str]) -> str:
        strings.append(match[0][1:-1])
        return f'"{len(strings) - 1}"' if match[0][0] in "\"'`" else " "

    plain = _STRING.sub(keep, code)
    for match in _CALL.finditer(plain):
        behind = re.split(r"[;\n)]", plain[match.end() : match.end() + _BEHIND_CHARS], maxsplit=1)[0]
        texts = [strings[int(slot[1])].replace('\\"', '"') for slot in _SLOT.finditer(behind)]
        yield _CodeCall(match[0].replace("::", ".").replace("->", ".").removesuffix("!"), texts)
