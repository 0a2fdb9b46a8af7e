"""Judge of programs in scripting languages: Python by its syntax tree, others by the names of the calls they make."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from server.policy.danger.danger_table import DangerTable, Verdict, dangerous, worst
from server.policy.danger.sql_statements import judge_sql, looks_like_sql

_MAX_CHARS: Final = 65_536
_MAGIC: Final = re.compile(r"^[ \t]*(?:!|%%?(?:bash|sh|system|sx)\b|%(?=rm\b))(.*)$", re.MULTILINE)
"""Lines of a notebook that a shell runs."""
_STRING: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\]|\\.)*+`|//[^\n]*|(?<!\S)#[^\n]*")
_CALL: Final = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\.|::|->)[A-Za-z_$][\w$]*+){0,9}!?(?=\s*[(\"'\[{$<@~/]|\s+\w)")
_FOLDER: Final = re.compile(r"\s*(?:,|=>|:|\(|\[)?\s*")
_TOO_LONG: Final = dangerous("is more code than can be looked at")
_HIDDEN: Final = dangerous("runs code that cannot be seen before it runs")


class Runner(Protocol):
    """Judge of what code hands to the operating system."""

    def line(self, text: str) -> Verdict: ...

    def argv(self, words: Sequence[str]) -> Verdict: ...


def judge_code(code: str, language: str, table: DangerTable, runner: Runner) -> Verdict:
    """Rate a program by the calls it makes, and by the command lines and SQL it hands on."""
    if len(code) > _MAX_CHARS:
        return _TOO_LONG
    lines = [runner.line(match[1]) for match in _MAGIC.finditer(code)] if language.startswith(("py", "ipy")) else []
    if language.startswith(("py", "ipy", "jupyter", "notebook")):
        try:
            tree = ast.parse(_MAGIC.sub("", code) if lines else code)
            return worst([*lines, *_PythonCode(tree, table, runner).verdicts()])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return worst([*lines, *_by_text(code, table, runner)])


class _PythonCode:
    def __init__(self, tree: ast.AST, table: DangerTable, runner: Runner) -> None:
        self._table = table
        self._runner = runner
        self._nodes = list(ast.walk(tree))
        self._names: dict[str, str] = {}  # what an imported name stands for
        for node in self._nodes:
            if isinstance(node, ast.Import):
                self._names.update((alias.asname or "", alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                self._names.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)

    def verdicts(self) -> Iterator[Verdict]:
        for node in self._nodes:
            if isinstance(node, ast.Call):
                yield from self._judge(node)

    def _judge(self, call: ast.Call) -> Iterator[Verdict]:
        dotted = self._dotted(call.func)
        method = dotted.rpartition(".")[2]
        texts = [text for argument in call.args if (text := _text(argument)) is not None]
        if dotted in self._table.words("python_runs"):
            yield self._command(call, texts)
            return
        if dotted in ("eval", "exec", "compile", "__import__"):
            if dotted in ("eval", "exec") and texts:
                yield judge_code(texts[0], "python", self._table, self._runner)
            elif dotted == "exec" or (call.args and isinstance(call.args[0], ast.Call)):
                yield _HIDDEN
            return
        if dotted == "getattr" and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant | ast.Name):
            yield _HIDDEN
        reason = self._table.calls.get(dotted) or (self._table.calls.get(f".{method}") if "." in dotted else "")
        if reason and not (method in self._table.words("with_arguments") and not call.args):
            yield dangerous(reason, dotted).about(f"{dotted}(…)")
        if method in self._table.words("sql_methods") and texts and looks_like_sql(texts[0], self._table):
            yield judge_sql(texts[0], self._table)
        if _writes(dotted, call) and (path := _path(call, texts)) and self._table.paths["protected"](path):
            yield dangerous("writes where the system or the login is set up").about(path)

    def _command(self, call: ast.Call, texts: list[str]) -> Verdict:
        first = call.args[0] if call.args else None
        if isinstance(first, ast.List | ast.Tuple):
            return self._runner.argv([_text(item) or "…" for item in first.elts] or ["true"])
        if texts:
            return self._runner.line(texts[0]) if len(texts) == 1 else self._runner.argv(texts)
        return _HIDDEN if isinstance(first, ast.Call) else dangerous("runs a command that cannot be seen")

    def _dotted(self, node: ast.AST) -> str:
        """Return `os.remove`, also where it was imported as `r` or is reached by `__import__('os').remove`."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self._names.get(node.id, node.id))
        elif isinstance(node, ast.Call):
            name = _text(node.args[0]) if node.args and isinstance(node.func, ast.Name) else None
            parts.append(name if name and name.isidentifier() else "…")
        else:
            parts.append("…")
        return ".".join(reversed(parts))


def _text(node: ast.AST) -> str | None:
    """Return a text as far as it can be read: literals, f-strings, sums of texts, `"rm x".split()`."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "…" for value in values)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod()) if (start := _text(left)) is not None:
            return start + (_text(node.right) or "…" if isinstance(node.op, ast.Add) else "")
        case ast.Call(func=ast.Attribute(value=value, attr="split" | "format" | "strip")):
            return _text(value)
    return None


def _writes(dotted: str, call: ast.Call) -> bool:
    method = dotted.rpartition(".")[2]
    if method in ("write_text", "write_bytes"):
        return True
    modes = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return method == "open" and any(sign in (_text(mode) or "") for mode in modes for sign in "wax+")


def _path(call: ast.Call, texts: list[str]) -> str:
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        call = call.func.value
        texts = [text for argument in call.args if (text := _text(argument)) is not None]
    return texts[0] if texts else ""


def _by_text(code: str, table: DangerTable, runner: Runner) -> Iterator[Verdict]:
    """Judge the names that are called, outside of strings and comments, and the strings that are run."""
    strings: list[str] = []

    def keep(match: re.Match[str]) -> str:
        strings.append(match[0][1:-1])
        return f'"{len(strings) - 1}"' if match[0][0] in "\"'`" else " "

    plain = _STRING.sub(keep, code)
    for match in _CALL.finditer(plain):
        name = match[0].replace("::", ".").replace("->", ".")
        method = name.rpartition(".")[2]
        reason = table.calls.get(name) or table.calls.get(f".{method}" if "." in name else name)
        if reason:
            yield dangerous(reason, name).about(f"{match[0]}(…)")
        if method in table.words("runs") or method in table.words("sql_methods"):
            texts = _strings_behind(plain, match.end(), strings)
            if texts and looks_like_sql(texts[0], table):
                yield judge_sql(texts[0], table)
            elif texts and method in table.words("runs"):
                yield runner.line(texts[0]) if len(texts) == 1 else runner.argv(texts)
            elif method in ("eval", "exec") and plain[match.end() : match.end() + 2].strip("( ")[:1].isalpha():
                yield _HIDDEN


_SLOT: Final = re.compile(r"\"(\d+)\"")
_BEHIND_CHARS: Final = 200


def _strings_behind(plain: str, at: int, strings: list[str]) -> list[str]:
    """Return the strings among a call's arguments."""
    behind = plain[at : at + _BEHIND_CHARS].partition(";")[0].partition("\n")[0].partition(")")[0]
    return [strings[int(slot[1])].replace('\\"', '"') for slot in _SLOT.finditer(behind)]
