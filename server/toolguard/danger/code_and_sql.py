"""Judge of code: Python by the calls in its syntax tree, other languages by what looks like a call, SQL by its verbs."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from server.toolguard.danger.danger_table import SAFE, DangerTable, DangerVerdict, dangerous, name_words, unknown, worst

_MAGIC: Final = re.compile(r"^[ \t]*(?:!|%%?(?:bash|sh|system|sx)\b|%(?=rm\b))(.*)$", re.MULTILINE)
"""Lines of a notebook that a shell runs."""
_ASIDE: Final = re.compile(
    r"--[^\n]*|/\*(?!!)(?:[^*]|\*(?!/))*+(?:\*/|\Z)|'(?:[^'\\]|''|\\.)*+(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|\[[A-Za-z][\w ]*\]",
    re.DOTALL,
)
"""Comments, literals and quoted names."""
_WORD: Final = re.compile(r"[a-z_][\w$]*+\(?|;|=|\d+|\*")
"""Words, with the bracket where they call a function: `truncate(price, 2)` empties nothing."""
_TOKEN: Final = re.compile(
    r"(?<!\S)(?://|#|--)[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
    r"|(?P<text>'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?|`[^`]*`?)"
    r"|(?P<name>[A-Za-z_$][\w$]*+(?:(?:\.|::|->)[A-Za-z_]\w*+)*+)",
    re.DOTALL,
)
"""Comments, literals and dotted names of most languages."""
_START: Final = re.compile(r"(?:[\s(]++|--[^\n]*+(?:\n|\Z))*+([a-zA-Z]+)")
_MAX_TEXTS: Final = 50
"""Literals behind a name that count as its arguments."""
_ALWAYS_TRUE: Final = (["true"], ["1", "=", "1"], ["1"])
_FILE: Final = "<code of a call>"
_HIDDEN: Final = dangerous("runs code that cannot be seen before it runs")

# not `catch_warnings`, which changes the filters of all threads and may leave them changed
warnings.filterwarnings("ignore", module=_FILE)


def effects(code: str, language: str, table: DangerTable) -> Iterator[DangerVerdict | Sequence[str]]:
    """Rate a program by the calls it makes; yields verdicts, and the command lines that it would run."""
    if not language.startswith(("python", "ipython", "jupyter", "notebook", "pypy")):
        yield from _unparsed_effects(code, language, table)
        return
    is_script = code.lstrip().startswith(("%%bash", "%%sh", "%%script"))
    yield [code.partition("\n")[2] if is_script else "\n".join(_MAGIC.findall(code))]
    try:
        calls = list(_python_calls(ast.parse("" if is_script else _MAGIC.sub("", code), _FILE)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _unparsed_effects(code, language, table)
        return
    for name, texts in calls:
        yield from _effects(name, texts, table)


def _effects(name: str, texts: list[str], table: DangerTable) -> Iterator[DangerVerdict | Sequence[str]]:
    method = name.rpartition(".")[2]
    words = name_words(method) if "." in name else []  # rm and sync of fs.rmSync
    keys = (name, f".{'_'.join(words)}", f".{words[0]}_*" if words[1:] else "") if words else (name,)
    if phrase := next((phrase for key in keys if (phrase := table.calls.get(key)) is not None), ""):
        yield dangerous(phrase).about(f"{name}(…)")
    if name == "open" and not set("wax+").isdisjoint("".join(texts[1:2])) and table.paths["protected"](texts[0]):
        yield dangerous("writes where the system or the login is set up").about(texts[0])
    if texts and table.paths["private_keys"](texts[0]):
        yield dangerous("reads a private key").about(f"{name}({texts[0]})")
    if texts and method in table.lists["sql_methods"] and looks_like_sql(texts[0], table):
        yield judge_sql(texts[0], table)
    elif name in table.lists["runs"] or f".{method}" in table.lists["runs"]:
        yield texts or _HIDDEN
    elif name in ("eval", "exec"):
        yield ["python", "-c", texts[0]] if texts else _HIDDEN


def _unparsed_effects(code: str, language: str, table: DangerTable) -> Iterator[DangerVerdict | Sequence[str]]:
    """Rate a program of any language; a name with the literals behind it counts as a call."""
    texts: list[str] = []
    for token in reversed(list(_TOKEN.finditer(code))):
        if text := token["text"]:
            texts.append(text.strip("'\"`"))
            if text[0] == "`" and language in table.lists["backticks_run"]:
                yield texts[-1:]
        elif name := token["name"]:
            name = name.replace("::", ".").replace("->", ".")
            name = name if "." in name else f"{language}.{name}"
            given, texts = texts[: -_MAX_TEXTS - 1 : -1], []
            yield from _effects(name, given, table)
            if given and name.rpartition(".")[2] in table.lists["runs_elsewhere"]:
                yield given
            if given and language == "php":
                yield from _effects(f"{name}.{given[0]}", given[1:], table)  # array_map('unlink', …)
    yield unknown(f"code of {language}")


def _python_calls(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Yield the names that are called, and the texts among their arguments or in the list that comes first."""
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
            texts = [_text(item) for item in (first.elts if isinstance(first, ast.List | ast.Tuple) else node.args)]
            yield _dotted(node.func, names), [text or "…" for text in texts] if texts[:1] not in ([], [None]) else []


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    """Return `os.remove`, also where it was imported as `r` or is reached by `__import__('os').remove`."""
    match node:
        case ast.Attribute(value=value, attr=attr):
            return f"{_dotted(value, names)}.{attr}"
        case ast.Name(id=name):
            return names.get(name, name)
        case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(module)), *_]):
            return module
    return "…"


def _text(node: ast.AST) -> str | None:
    """Return a text as far as it can be read: literals, f-strings, `"rm x".split()`."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "…" for value in values)
        case ast.Call(func=ast.Attribute(value=value, attr="split" | "format" | "strip")):
            return _text(value)
    return None


# --- SQL


def judge_sql(text: str, table: DangerTable) -> DangerVerdict:
    """Rate SQL by its statements; those that delete, or update without a WHERE, are dangerous."""
    plain = _ASIDE.sub(lambda m: " " if m[0][:2] in ("--", "/*") else " x ", text).lower()
    statements: list[list[str]] = [[]]
    for word in _WORD.findall(plain):
        if word == ";":
            statements.append([])
        else:
            statements[-1].append(word)
    return worst(_judge_statement(words, table).about(text) for words in statements if words)


def looks_like_sql(text: str, table: DangerTable) -> bool:
    """Return whether a text begins as an SQL statement does."""
    start = _START.match(text)
    return start is not None and start[1].lower() in table.lists["sql_verbs"]


def _judge_statement(words: list[str], table: DangerTable) -> DangerVerdict:
    first = words[0].rstrip("(")
    if first in ("show", "describe", "desc", "help") or (first == "explain" and "analyze" not in words[:3]):
        return SAFE
    is_limited = "where" in words and words[words.index("where") + 1 :] not in _ALWAYS_TRUE
    if is_limited and first == "update":
        words = words[1:]
    pairs = (*words, *(f"{a}_{b}" for a, b in pairwise(words)))
    for word in pairs:
        if reason := table.sql.get(word):
            return dangerous(reason)
    return SAFE if first in table.sql or is_limited else unknown(f"the statement {first}")
