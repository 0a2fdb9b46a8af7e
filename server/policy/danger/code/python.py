"""Python, by its syntax tree; a text that is none is looked at as other languages are."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from server.policy.danger.code import python_names as names
from server.policy.danger.code.folding import Folded
from server.policy.danger.code.other import MAX_CODE_CHARS, judge_code
from server.policy.danger.code.runner import Runner
from server.policy.danger.code.services import by_service
from server.policy.danger.code.tree import nodes_of
from server.policy.danger.paths import is_protected
from server.policy.danger.requests import judge_request
from server.policy.danger.sql import judge_sql, looks_like_sql

_CELL_OF_SHELL: Final = re.compile(r"\s*%%(?:bash|sh|script \S+|system|!)[^\n]*\n")
"""The whole cell of a notebook is a script."""
_MAGICS: Final = ("!", "%%bash", "%%sh", "%rm", "%sx")
"""Lines of a notebook that a shell runs."""
_PRIVATE: Final = re.compile(r"os\.environ|open\(|read_text|\.ssh|passwd|password")
_FIELD: Final = re.compile(r"\{[^}]*\}")
_UNSEEN: Final = "…"
_TOO_LONG: Final = "more code than can be looked at"


def judge_python(code: str, runner: Runner) -> str | None:
    """Why somebody should be asked; None: nothing speaks for it."""
    if len(code) > MAX_CODE_CHARS:
        return _TOO_LONG
    if cell := _CELL_OF_SHELL.match(code):
        return runner.line(code[cell.end() :])
    lines = code.splitlines()
    for line in lines:
        stripped = line.lstrip()
        if stripped.startswith(_MAGICS):
            command = stripped.lstrip("!% ").removeprefix("bash").removeprefix("sh")
            if reason := runner.line(command):
                return reason
    try:
        tree = ast.parse("\n".join("" if line.lstrip().startswith(("!", "%")) else line for line in lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return judge_code(code, runner)
    try:
        folding = Folded(tree)
        reason = _Program(folding.visit(tree), runner).judge() or by_service(code)
    except RecursionError:
        return "code nested too deep to be looked at"
    return reason or (None if folding.is_whole else _TOO_LONG)


class _Program:
    def __init__(self, tree: ast.AST, runner: Runner) -> None:
        self._runner = runner
        self._nodes = nodes_of(tree)
        self._calls = [node for node in self._nodes if isinstance(node, ast.Call)]
        opened = [call for call in self._calls if _opens(call)]
        self._is_in_memory = opened != [] and all(map(_is_in_memory, opened))  # gone when the program ends
        self._loops = any(isinstance(node, (ast.For, ast.While, ast.AsyncFor)) for node in self._nodes)
        self._names: dict[str, str] = {}  # what a name stands for, if it was imported or is another name of a call
        for node in self._nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign)):
                self._names.update(self._named_by(node))

    def judge(self) -> str | None:
        for call in self._calls:
            if reason := self._judge(call):
                return reason
        passed = (argument for call in self._calls for argument in call.args)  # `map(os.remove, files)`
        reasons = (
            names.CALLS.get(self._dotted(node)) for node in passed if isinstance(node, (ast.Name, ast.Attribute))
        )
        return next((reason for reason in reasons if reason), None) or _overwrites_its_source(self._calls)

    def _named_by(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    package = alias.name.split(".")[0]
                    yield (alias.asname, alias.name) if alias.asname else (package, package)
            case ast.ImportFrom(module=module, names=aliases):
                yield from ((alias.asname or alias.name, f"{module}.{alias.name}") for alias in aliases)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                dotted = self._dotted(value)
                if dotted in names.CALLS or dotted in names.SHELLS:
                    yield name, dotted

    def _judge(self, call: ast.Call) -> str | None:
        dotted = self._dotted(call.func)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if dotted in names.SHELLS or method in names.SHELL_METHODS:
            return self._command(call)
        if dotted in names.HIDING:
            return self._hidden(dotted, call)
        if dotted == "getattr":
            return _hidden_attribute(call)
        if reason := names.CALLS.get(dotted) or names.METHODS.get(method):
            return reason
        if method in names.SQL_METHODS and call.args and (sql := _text(call.args[0])):
            return self._sql(sql, method) if looks_like_sql(sql) and not self._is_in_memory else None
        if method in ("write_text", "write_bytes") or dotted == "open":
            return self._write(call, is_open=dotted == "open")
        return (
            self._deletes(call, dotted, method)
            or self._by_texts(call, dotted, method)
            or self._reaches_out(call, dotted, method)
        )

    def _sql(self, sql: str, method: str) -> str | None:
        if reason := judge_sql(sql):
            return reason
        is_many = method == "executemany" or self._loops
        return "deletes many rows" if is_many and sql.lstrip()[:6].lower() == "delete" else None

    def _deletes(self, call: ast.Call, dotted: str, method: str) -> str | None:
        owner = ast.unparse(call.func) if method in ("delete", "update") else ""
        if method == "delete" and (dotted.split(".", maxsplit=1)[0] in names.CLIENTS or ".query(" in owner):
            return "deletes"
        if method.startswith(names.TAKING_AWAY) and not method.startswith(names.NOT_TAKING_AWAY):
            return "deletes what a service keeps"
        if method == "delete" and not call.args and not call.keywords:
            return "deletes"
        if method in ("drop", "truncate") and _is_bare(call):
            return "drops or empties"
        if method == "remove" and any(keyword.arg == "force" for keyword in call.keywords):
            return "removes by force"
        if method in ("delete", "update") and ".objects" in owner:
            return "deletes or changes many rows"
        if method == "prune" or (method == "delete" and ".indices" in f".{dotted}"):
            return "deletes many"
        return "kills processes" if method in ("kill", "terminate") and self._has_processes else None

    @cached_property
    def _has_processes(self) -> bool:
        return any(name.startswith("psutil") for name in self._names.values())

    def _by_texts(self, call: ast.Call, dotted: str, method: str) -> str | None:
        """What the texts among the arguments say."""
        arguments = (*call.args, *(keyword.value for keyword in call.keywords))
        texts = [text for item in arguments if (text := _text(item)) is not None]
        if dotted in names.MOVERS and any(text == "/dev/null" or is_protected(text) for text in texts):
            return "changes files of the system, or moves them into nothing"
        if method in ("reset", "clean", "checkout") and {"--hard", "-fd", "-fdx", "-f", "-xdf"} & set(texts):
            return "throws edits away"
        if method == "create" and {"to", "body"} <= {keyword.arg for keyword in call.keywords}:
            return "sends a message, which costs"
        if method == "write" and texts == [""] and "open(" in ast.unparse(call.func):
            return "empties a file"
        if method == "exec_command" and texts:
            return self._runner.line(texts[0])
        if method == "push" and names.FORCING & set(texts):
            return "overwrites what others have"
        return "replaces a table" if method == "to_sql" and "replace" in texts else None

    def _reaches_out(self, call: ast.Call, dotted: str, method: str) -> str | None:
        if method == "create" and dotted.startswith(names.PAYING):
            return "spends money"
        if reason := _request(call, dotted, method):
            return reason
        if method == "connect" and self._redirects:
            return "opens a shell to another machine"
        return "calls the system directly" if dotted == "ctypes.CDLL" or "windll" in dotted else None

    @cached_property
    def _redirects(self) -> bool:
        """What the program reads or writes itself goes elsewhere."""
        return any(self._dotted(node) == "os.dup2" for node in self._nodes if isinstance(node, ast.Attribute))

    def _command(self, call: ast.Call) -> str | None:
        if not call.args:
            return None
        first, *others = call.args
        if isinstance(first, (ast.List, ast.Tuple)):
            return self._runner.argv([_text(item) or _UNSEEN for item in first.elts])
        text = _line(first)
        if text is None:
            return "runs hidden commands" if self._decodes(first) else None
        more = [_text(argument) for argument in others]
        if more and None not in more:
            return self._runner.argv([text, *(word or "" for word in more)])
        return self._runner.line(text)

    def _decodes(self, node: ast.AST) -> bool:
        calls = (n for n in nodes_of(node) if isinstance(n, ast.Call))
        return any(self._dotted(call.func) in names.DECODERS for call in calls)

    def _hidden(self, dotted: str, call: ast.Call) -> str | None:
        if not call.args or dotted == "__import__":
            return None
        text = _text(call.args[0])
        if text is not None:
            return judge_python(text, self._runner)
        is_unseen = dotted == "exec" or (dotted == "eval" and not isinstance(call.args[0], ast.Name))
        return "runs code that cannot be seen" if is_unseen else None

    def _write(self, call: ast.Call, *, is_open: bool) -> str | None:
        target = call.args[0] if is_open and call.args else call.func
        path = next((n.value for n in ast.walk(target) if isinstance(n, ast.Constant) and isinstance(n.value, str)), "")
        mode = _mode(call) if is_open else "w"
        if any(sign in mode for sign in "wax+") and is_protected(path):
            return "writes where the system or the login is set up"
        if is_open and mode.startswith("w") and id(call) in self._closed_at_once:
            return "empties a file"
        if not is_open and call.args and isinstance(call.args[0], ast.Constant) and not call.args[0].value:
            return "empties a file"
        return None

    @cached_property
    def _closed_at_once(self) -> frozenset[int]:
        """Of calls as in `open("a", "w").close()`."""
        return frozenset(id(value) for node in self._nodes if (value := _closed(node)) is not None)

    def _dotted(self, node: ast.AST) -> str:
        """`os.remove` also where it was written `from os import remove as r; r`, or `__import__('os').remove`."""
        match node:
            case ast.Attribute(value=value, attr=attr):
                return f"{self._dotted(value)}.{attr}"
            case ast.Name(id=name):
                return self._names.get(name, name)
            case ast.Call(func=func, args=[first, *_]) if self._dotted(func) in (
                "__import__",
                "importlib.import_module",
            ):
                return _text(first) or _UNSEEN
        return _UNSEEN


def _opens(call: ast.Call) -> bool:
    """A database, or a connection to one."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("connect", "create_engine", "Connection")


def _is_in_memory(call: ast.Call) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == ":memory:" for node in call.args)


def _overwrites_its_source(calls: Iterable[ast.Call]) -> str | None:
    """`read_csv("a.csv")`, and `to_csv("a.csv")`: what was left out is gone."""
    read: set[str] = set()
    written: set[str] = set()
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.args:
            path = _text(call.args[0])
            if path is not None and call.func.attr.startswith(("read_", "load", "open")):
                read.add(path)
            elif path is not None and call.func.attr.startswith(("to_", "save", "write_")):
                written.add(path)
    return "overwrites what it has read" if read & written else None


def _hidden_attribute(call: ast.Call) -> str | None:
    """`getattr(os, "rem" + "ove")`"""
    if len(call.args) < 2:
        return None
    name = _text(call.args[1])
    is_hiding = name is None or name in ("system", "remove", "unlink", "rmtree", "popen")
    return "calls by a hidden name" if is_hiding else None


def _request(call: ast.Call, dotted: str, method: str) -> str | None:
    """`requests.post(url, json=…)`, `requests.request("DELETE", url)`, `urlopen(Request(url, method="PUT"))`"""
    is_urllib = dotted.startswith("urllib.request.")
    if not is_urllib and (
        dotted.split(".", maxsplit=1)[0] not in names.HTTP_LIBRARIES or method not in names.HTTP_METHODS
    ):
        return None
    arguments = (*call.args, *(keyword.value for keyword in call.keywords))
    texts = [text for item in arguments if (text := _text(item)) is not None]
    told = next((text.upper() for text in texts if text.upper() in ("POST", "PUT", "PATCH", "DELETE")), "")
    verb = told or ("" if is_urllib or method == "request" else method.upper())
    body = ast.unparse(call)
    if verb != "GET" and _PRIVATE.search(body):
        return "sends away what is private"
    return judge_request(verb, next((text for text in texts if "/" in text), ""), body)


def _is_bare(call: ast.Call) -> bool:
    """Nothing is given but, at most, 0."""
    is_zero = all(isinstance(argument, ast.Constant) and argument.value == 0 for argument in call.args)
    return is_zero and not call.keywords


def _closed(node: ast.AST) -> ast.expr | None:
    """What is opened and does not stay open."""
    match node:
        case ast.Attribute(attr="close", value=value) | ast.Expr(value=value):
            return value
        case ast.With(items=[ast.withitem(context_expr=value), *_]) if _does_nothing(node):
            return value
    return None


def _does_nothing(node: ast.With) -> bool:
    return all(isinstance(statement, ast.Pass) for statement in node.body)


def _mode(call: ast.Call) -> str:
    """Of `open`; "": for reading, or it cannot be seen."""
    given = call.args[1:2] or [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    return (_text(given[0]) or "") if given else ""


def _line(node: ast.expr) -> str | None:
    """A command line as far as it can be read: `f"rm {x}"`, `"rm " + x`, `"rm x".split()`."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Call(func=ast.Attribute(value=value, attr="split")):
            return _text(value) or ""
        case ast.JoinedStr() | ast.BinOp():
            pieces = (_text(n) or "" for n in ast.walk(node) if isinstance(n, ast.Constant))
            return _FIELD.sub("x", "".join(pieces))
    return None


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
