"""Programs as text: Python by its syntax tree, other languages by the calls they make."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from server.hooks.policy.danger.paths import is_protected
from server.hooks.policy.danger.sql import judge_sql, looks_like_sql


@dataclass(frozen=True, slots=True)
class Runner:
    """Judges what a program hands to a shell."""

    line: Callable[[str], str | None]
    argv: Callable[[Sequence[str]], str | None]


# dotted names as they are called, whatever they were imported as
_PYTHON: Final = {
    "os.remove": "deletes files", "os.unlink": "deletes files", "os.rmdir": "deletes files", "os.removedirs": "deletes files", "os.truncate": "cuts files",
    "os.replace": "overwrites files", "os.kill": "kills processes", "os.killpg": "kills processes", "os.fork": "starts processes without end", "os.chmod": "", "os.chown": "gives files away",
    "shutil.rmtree": "deletes folders", "shutil.move": "", "send2trash.send2trash": "deletes files", "os._exit": "", "os.setuid": "becomes another user",
    "requests.delete": "deletes over HTTP", "httpx.delete": "deletes over HTTP", "session.delete": "deletes over HTTP", "ctypes.CDLL": "", "pickle.loads": "runs what a text holds", "marshal.loads": "runs what a text holds",
    "smtplib.SMTP": "sends mail", "smtplib.SMTP_SSL": "sends mail", "pty.spawn": "opens a shell", "winreg.DeleteKey": "changes the registry", "winreg.SetValueEx": "changes the registry",
    "psutil.Process.kill": "kills processes", "os.abort": "", "os.reboot": "stops the machine", "boto3.resource": "", "shutil.copyfile": "", "os.symlink": "", "glob.glob": "", "os.execv": "runs a program", "os.ftruncate": "cuts files",
}  # fmt: skip
_PYTHON_METHODS: Final = {
    "rmtree": "deletes folders", "unlink": "deletes files", "rmdir": "deletes folders", "removedirs": "deletes folders", "delete_many": "deletes many", "drop_database": "drops a database",
    "drop_collection": "drops a collection", "drop_all": "drops all tables", "drop_table": "drops a table", "flushall": "empties a database", "flushdb": "empties a database", "delete_bucket": "deletes a bucket", "delete_object": "deletes an object", "delete_objects": "deletes objects",
    "terminate_instances": "stops machines", "delete_table": "deletes a table", "delete_stack": "deletes a stack", "delete_repo": "deletes a repository", "delete_index": "deletes an index", "send_message": "sends a message", "sendmail": "sends mail", "stop_instances": "stops machines",
    "delete_db_instance": "deletes a database", "delete_collection": "deletes a collection", "killpg": "kills processes", "delete_user": "deletes a user", "send_keys": "", "delete_function": "deletes a function", "delete_cluster": "deletes a cluster", "delete_namespaced_pod": "deletes a pod", "delete_namespace": "deletes a namespace",
}  # fmt: skip
_PYTHON_SHELLS: Final = frozenset(
    "os.system os.popen subprocess.run subprocess.call subprocess.Popen subprocess.check_call subprocess.check_output subprocess.getoutput "
    "subprocess.getstatusoutput commands.getoutput asyncio.create_subprocess_shell asyncio.create_subprocess_exec os.execvp os.execv os.execl os.execlp os.spawnlp os.spawnvp "
    "pexpect.spawn pexpect.run sh.bash invoke.run plumbum.local get_ipython.system fabric.run".split()
)
_PYTHON_HIDDEN: Final = frozenset("exec eval compile __import__".split())
MAX_CODE_CHARS: Final = 100_000


def judge_python(code: str, runner: Runner) -> str | None:
    """Why somebody should be asked; code that does not parse is looked at as any other."""
    if len(code) > MAX_CODE_CHARS:
        return "more code than can be looked at"
    lines = []
    for line in code.splitlines():
        stripped = line.lstrip()
        if stripped.startswith(("!", "%%bash", "%%sh", "%rm", "%sx")):
            if reason := runner.line(stripped.lstrip("!% ").removeprefix("bash").removeprefix("sh")):
                return reason
            line = ""
        lines.append("" if stripped.startswith("%") else line)
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return judge_code(code, runner)
    return _Python(tree, runner).judge()


class _Python:
    def __init__(self, tree: ast.AST, runner: Runner) -> None:
        self.runner = runner
        self.names: dict[str, str] = {}
        self.nodes = list(ast.walk(tree))
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.names[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                dotted = self._dotted(node.value)
                if dotted in _PYTHON or dotted in _PYTHON_SHELLS:
                    self.names[node.targets[0].id] = dotted

    def judge(self) -> str | None:
        for node in self.nodes:
            if isinstance(node, ast.Call) and (reason := self._call(node)):
                return reason
            if (
                isinstance(node, (ast.Name, ast.Attribute))
                and (dotted := self._dotted(node)) in _PYTHON
                and _PYTHON[dotted]
                and self._is_passed(node)
            ):
                return _PYTHON[dotted]
        return None

    def _is_passed(self, node: ast.AST) -> bool:
        """`map(os.remove, files)`"""
        return any(isinstance(call, ast.Call) and node in call.args for call in self.nodes)

    def _call(self, call: ast.Call) -> str | None:
        dotted = self._dotted(call.func)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if dotted in _PYTHON_SHELLS or method in ("getoutput", "check_output"):
            return self._command(call)
        if dotted in _PYTHON_HIDDEN:
            return self._hidden(dotted, call)
        if dotted == "getattr" and len(call.args) > 1:
            name = _text(call.args[1])
            return (
                "calls by a hidden name"
                if name is None or name in ("system", "remove", "unlink", "rmtree", "popen")
                else None
            )
        if reason := _PYTHON.get(dotted) or _PYTHON_METHODS.get(method):
            return reason
        if (
            method in ("execute", "executescript", "executemany", "raw", "text", "query", "read_sql", "run")
            and call.args
            and (sql := _text(call.args[0]))
        ):
            return judge_sql(sql) if looks_like_sql(sql) else None
        if method == "delete" and self._dotted(call.func).split(".")[0] in (
            "requests",
            "httpx",
            "session",
            "client",
            "s3",
            "bucket",
            "repo",
            "queryset",
            "ec2",
        ):
            return "deletes"
        if method in ("delete", "update") and ".objects" in ast.unparse(call.func):
            return "deletes or changes many rows"
        if method == "write_text" or method == "write_bytes" or dotted == "open":
            return self._write(call, dotted)
        if (reason := self._by_words(call, dotted, method)) is not None:
            return reason
        if method in ("kill", "terminate") and "psutil" in ast.unparse(call.func):
            return "kills processes"
        if dotted in ("requests.post", "requests.put", "httpx.post", "urllib.request.urlopen") and re.search(
            r"os\.environ|open\(|read_text|\.ssh|passwd|password", ast.unparse(call)
        ):
            return "sends away what is private"
        if method == "connect" and any(
            self._dotted(n) == "os.dup2" for n in self.nodes if isinstance(n, ast.Attribute)
        ):
            return "opens a shell to another machine"
        if dotted in ("ctypes.windll.kernel32", "ctypes.CDLL") or "windll" in dotted:
            return "calls the system directly"
        return None

    def _by_words(self, call: ast.Call, dotted: str, method: str) -> str | None:
        texts = [text for item in (*call.args, *(k.value for k in call.keywords)) if (text := _text(item)) is not None]
        if dotted in ("os.rename", "os.replace", "shutil.move", "os.chmod", "shutil.copy", "shutil.copyfile") and any(
            map(is_protected, texts)
        ):
            return "changes files of the system"
        if method == "exec_command" and texts:
            return self.runner.line(texts[0])
        if method == "push" and {"--force", "-f", "--mirror", "--delete"} & set(texts):
            return "overwrites what others have"
        if method == "to_sql" and "replace" in texts:
            return "replaces a table"
        if method == "prune" or (method == "delete" and ".indices" in f".{dotted}"):
            return "deletes many"
        if method == "create" and dotted.startswith(("stripe.", "paypal", "braintree", "square.")):
            return "spends money"
        if method in ("kill", "terminate") and any(name.startswith("psutil") for name in self.names.values()):
            return "kills processes"
        return None

    def _command(self, call: ast.Call) -> str | None:

        if not call.args:
            return None
        first = call.args[0]
        if isinstance(first, (ast.List, ast.Tuple)):
            return self.runner.argv([_text(item) or "…" for item in first.elts])
        text = _text(first)
        if text is None:
            if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and first.func.attr == "split":
                text = _text(first.func.value)
            elif isinstance(first, (ast.JoinedStr, ast.BinOp)):
                text = re.sub(
                    r"\{[^}]*\}", "x", "".join(_text(n) or "" for n in ast.walk(first) if isinstance(n, ast.Constant))
                )
            else:
                return (
                    "runs hidden commands"
                    if any(
                        self._dotted(n.func) in ("base64.b64decode", "bytes.fromhex", "codecs.decode")
                        for n in ast.walk(first)
                        if isinstance(n, ast.Call)
                    )
                    else None
                )
        others = [_text(a) for a in call.args[1:]]
        if others and all(o is not None for o in others):
            return self.runner.argv([text or "", *[o or "" for o in others]])
        return self.runner.line(text or "")

    def _hidden(self, dotted: str, call: ast.Call) -> str | None:
        if not call.args:
            return None
        text = _text(call.args[0])
        if dotted == "__import__":
            return None
        if text is not None:
            return judge_python(text, self.runner)
        return (
            "runs code that cannot be seen"
            if dotted in ("exec", "eval") and not isinstance(call.args[0], ast.Name)
            else ("runs code that cannot be seen" if dotted == "exec" else None)
        )

    def _write(self, call: ast.Call, dotted: str) -> str | None:

        target = call.args[0] if dotted == "open" and call.args else call.func
        path = next((n.value for n in ast.walk(target) if isinstance(n, ast.Constant) and isinstance(n.value, str)), "")
        mode = (
            _text(call.args[1])
            if dotted == "open" and len(call.args) > 1
            else next((_text(k.value) for k in call.keywords if k.arg == "mode"), None)
        )
        writes = dotted != "open" or (mode is not None and any(sign in mode for sign in "wax+"))
        if writes and is_protected(path):
            return "writes where the system or the login is set up"
        if (
            dotted == "open"
            and mode is not None
            and mode.startswith("w")
            and not isinstance(self._parent_use(call), ast.With)
            and self._closes_at_once(call)
        ):
            return "empties a file"
        return None

    def _closes_at_once(self, call: ast.Call) -> bool:
        return any(isinstance(n, ast.Attribute) and n.value is call and n.attr == "close" for n in self.nodes) or any(
            isinstance(n, ast.Expr) and n.value is call for n in self.nodes
        )

    def _parent_use(self, call: ast.Call) -> ast.AST | None:
        return next(
            (n for n in self.nodes if isinstance(n, ast.With) and any(item.context_expr is call for item in n.items)),
            None,
        )

    def _dotted(self, node: ast.AST) -> str:
        """`os.remove` also where it was written `from os import remove as r; r`, or `__import__('os').remove`."""
        if isinstance(node, ast.Attribute):
            return f"{self._dotted(node.value)}.{node.attr}"
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if (
            isinstance(node, ast.Call)
            and node.args
            and self._dotted(node.func) in ("__import__", "importlib.import_module")
        ):
            return _text(node.args[0]) or "…"
        return "…"


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


# --- other languages

_COMMENTS: Final = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]|\\.){0,5000}\"|'(?:[^'\\\n]|\\.){0,5000}'|`(?:[^`\\]|\\.){0,5000}`)|//[^\n]*|/\*.{0,20000}?\*/|^\s*(?:#(?!include)|--|;)[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_STRINGS: Final = re.compile(r"\"(?:[^\"\\\n]|\\.){0,5000}\"|'(?:[^'\\\n]|\\.){0,5000}'|`(?:[^`\\]|\\.){0,5000}`")
_CALLS: Final = tuple(
    (re.compile(shape), reason)
    for shape, reason in (
        # JavaScript, TypeScript: nodejs.org, deno.com, developer.mozilla.org
        (r"\b(?:unlink|rmdir|rm|truncate|ftruncate)Sync\s*\(|\bfs(?:p|\.promises|Promises)?\.(?:unlink|rm|rmdir|truncate)\s*\(|\brimraf\b|\bfse?\.(?:remove|emptyDir)(?:Sync)?\s*\(|\bDeno\.(?:remove|kill|truncate)(?:Sync)?\s*\(|\bdel(?:Sync)?\s*\(\[|\bremoveSync\s*\(", "deletes files"),
        (r"\b(?:localStorage|sessionStorage|indexedDB|caches)\s*\.\s*(?:clear|deleteDatabase|delete)\s*\(|\bdocument\.cookie\s*=", "deletes what the browser keeps"),
        (r"\bprocess\.(?:kill|exit)\s*\(\s*(?!\s*[01]?\s*\))|\bDeno\.exit\b", "ends processes"),
        (r"(?:method|type)\s*:\s*['\"](?:DELETE|delete)['\"]|\.method\s*=\s*['\"]DELETE|\baxios\.delete\s*\(|\b(?:client|http|api|octokit[\w.]*|request)\.(?:delete|del)\w*\s*\(", "deletes over HTTP"),
        (r"\)\.(?:rm|unlink|rmdir)\s*\(|\(delete-(?:file|directory)\b|^\s*Kill\s+[\"']|\bFile(?:Delete|Recycle|RemoveDir)\b", "deletes files"),
        (r"\bprocess\.kill\s*\(|\bwhile\s*\(?\s*true\s*\)?\s*\{?[^}]{0,80}\bfork\s*\(", "ends or starts processes without end"),
        # MongoDB, Redis, ORMs
        (r"\.\s*(?:dropDatabase|deleteMany|remove|drop|dropIndexes|dropCollection|dropUser|shutdownServer|dropAllUsers|bulkWrite)\s*\(\s*(?:\{\s*\}|\)|\{\s*\}\s*,|\{\s*[\"']?_id)?", "?"),
        (r"\.(?:dropDatabase|dropCollection|drop_database|drop_collection|shutdownServer|flushall|flushdb|flushAll|flushDb|destroyAll|truncate|delete_all|destroy_all|drop_table|drop_all|dropSchema|dropAllTables|dropUser|dropIndexes)\b", "empties or drops"),
        (r"\.(?:deleteMany|remove|updateMany)\s*\(\s*(?:\{\s*\}|\))", "changes everything"),
        (r"\.drop\s*\(\s*\)(?=[^.]*\Z|\s*;)", "drops a collection"),
        (r"\bdestroy\s*\(\s*\{\s*(?:where\s*:\s*\{\s*\}|truncate\s*:\s*true)", "deletes every row"),
        # Ruby, Perl, PHP, R, Lua
        (r"\bFileUtils\.(?:rm|remove|rmdir|mv|chown|chmod_R)\w*|\b(?:File|Dir|Pathname|IO)\.(?:delete|unlink|rmdir|truncate|rmtree)\b|\brmtree\b|\bremove_tree\b", "deletes files"),
        (r"(?<![.\w>$])unlink\s*[(\s]\s*[\"'$@<\[a-z]|['\"]unlink['\"]|(?<![.\w>$])rmdir\s*\(|\bfile\.remove\s*\(|\bunlink\s*\(|\bos\.remove\s*\(|\bos\.execute\s*\(", "deletes files"),
        # Rust, Go, Java, Kotlin, C#, Swift, C, Scala, Elixir, Haskell
        (r"\bremove_dir_all\b|\bfs::remove_(?:file|dir)\b|\bos\.(?:RemoveAll|Remove|Truncate)\s*\(|\bsyscall\.(?:Kill|Unlink|Rmdir|Reboot)\b", "deletes files"),
        (r"\bFiles\.(?:delete|deleteIfExists|walkFileTree)\s*\(|\bFileUtils\.(?:delete|clean|force)\w*\(|\bdelete(?:Recursively|OnExit|Directory)\s*\(|\bnew File\([^)]*\)\.delete\s*\(|\b(?:File|Directory|IO\.File|IO\.Directory)\.(?:Delete|Move)\s*\(|\bremoveItem\s*\(|\.removeItem\(at", "deletes files"),
        (r"\bstd::filesystem::remove(?:_all)?\b|\bfs::remove_all\b|(?<![.\w])remove\s*\(\s*\"|\bFile\.rm(?:_rf)?!?\s*\(|\bremoveDirectoryRecursive\b|\bremovePathForcibly\b|\bNSFileManager\b.*remove|\bDeleteFile[AW]?\s*\(|\brm_rf\b", "deletes files"),
        # processes
        (r"\bfork\s*\(?\)?\s*(?:while|until)\s+|\bwhile\s*\(?\s*(?:1|true)\s*\)?\s*\{?\s*(?:os\.)?fork\b|\bloop\s*\{\s*fork|\bwhile\s+true\s*do\s+fork|\bfork\s+while\b|for\s*\(\s*;\s*;\s*\)\s*\{?\s*fork", "a fork bomb"),
        # AppleScript, for people
        (r"\b(?:delete|move)\s+(?:every|all|the|file|folder|items?|first|last|contents|note|event|message)\b|\bempty\s+(?:the\s+)?trash\b|\bto\s+(?:shut\s*down|restart|log\s*out|erase|sleep)\b|\bwith administrator privileges\b", "deletes or stops by AppleScript"),
        # things on a network
        (r"\bsend(?:Mail|_mail|Email|Message|Transaction|transaction)\s*\(|\.transfer\s*\(\s*['\"]?0x|\bstripe\.\w+\.(?:create|refund)|\bcreateTransport\b", "sends something"),
        (r"\beval\s*\(\s*(?:atob|Buffer\.from|unescape|base64_decode|gzinflate|decodeURIComponent|fetch|await|String\.fromCharCode|require\(['\"]http)|\bnew Function\s*\(\s*(?:atob|await)|\bassert\s*\(\s*base64_decode|\bload(?:string)?\s*\(\s*(?:http|io)", "runs hidden code"),
        (r"\bSystem\.(?:exit|setSecurityManager)\b.*\bRuntime\b|\bExitWindowsEx\b|\bInitiateSystemShutdown", "stops the machine"),
        (r"\bprune\b.*--force|\b(?:DROP|TRUNCATE)\s+(?:TABLE|DATABASE|SCHEMA)\b(?=[^\n]*(?:execute|query|exec|raw)\()", "drops a table"),
    )
)  # fmt: skip
_RUNNERS: Final = re.compile(
    r"(?:\b(?:exec|execSync|spawn|spawnSync|execFile|execFileSync|system|shell_exec|passthru|popen|proc_open|run|shell|sh|command|check_output|Popen|start|ProcessStartInfo|getRuntime\(\)\.exec|Process\.Start|execute|os\.execute|io\.popen|Command::new|Command|backtick|qx|open|system2|IO\.popen|Open3\.\w+|Kernel\.\w+|Deno\.run|Deno\.Command|Bun\.spawn|execa|execaCommand|\$|do shell script)\b|%x|\$)"
    r"\s*[\[({ ]?\s*(?:[\[(]\s*)?(?P<q>[\"'`\[{|])",
)
_SQL_CALL: Final = re.compile(
    r"(?:execute|query|exec|raw|run|prepare|Exec|Query|ExecContext|executeUpdate|executeQuery|createStatement|unsafe|sql|\$executeRaw\w*)\s*\(?\s*(?P<q>[\"'`])"
)
_WRITES: Final = re.compile(
    r"(?:writeFile(?:Sync)?|createWriteStream|appendFile(?:Sync)?|file_put_contents|fopen|File\.write|WriteAllText|rename(?:Sync)?|copyFile(?:Sync)?)\s*\(\s*[\"']([^\"'\n]{1,300})[\"']"
)
_STRING_RUNS: Final = re.compile(
    r"%x[(\[{]([^)\]}\n]{2,300})|[\"']([^\"'\n]{2,300})[\"']\s*\.(?:execute\(|!|lineStream)|\((?:uiop:)?(?:run-program|shell-command|call-process)\s+\"([^\"\n]{2,300})\"|exec_command\(\s*[\"']([^\"'\n]{2,300})[\"']"
)
_BACKTICKS: Final = re.compile(r"`([^`$\n]{3,300})`")
_ARGUMENTS: Final = re.compile(r"[\"'`]((?:[^\"'`\\]|\\.){0,2000})[\"'`]")


def judge_code(code: str, runner: Runner) -> str | None:
    if len(code) > MAX_CODE_CHARS:
        return "more code than can be looked at"

    plain = _COMMENTS.sub(lambda m: m["string"] or " ", code)
    for match in _RUNNERS.finditer(plain):
        texts = [
            unquoted.replace('\\"', '"') for unquoted in _ARGUMENTS.findall(_argument_text(plain, match.start("q")))
        ]
        if texts and (reason := runner.line(texts[0]) or (runner.argv(texts) if len(texts) > 1 else None)):
            return reason
    for match in _BACKTICKS.finditer(plain):
        if reason := runner.line(match[1]):
            return reason
    for match in _SQL_CALL.finditer(plain):
        if (
            (text := _ARGUMENTS.match(plain, match.start("q")))
            and looks_like_sql(text[1])
            and (reason := judge_sql(text[1]))
        ):
            return reason
    for match in _WRITES.finditer(plain):
        if is_protected(match[1]):
            return "writes where the system or the login is set up"
    for match in _STRING_RUNS.finditer(plain):
        if reason := runner.line(next(text for text in match.groups() if text)):
            return reason
    without = _STRINGS.sub(_keep_telling, plain)
    for shape, reason in _CALLS:
        if reason != "?" and shape.search(without):
            return reason
    return None


def _keep_telling(match: re.Match[str]) -> str:
    """Strings go, but for those that say what is done."""
    text = match[0]
    inner = text[1:-1]
    return (
        text if inner in ("DELETE", "unlink", "delete", "rmdir") or inner.startswith("0x") else f"{text[0]}x{text[0]}"
    )


def _argument_text(text: str, at: int) -> str:
    """From the first argument to where its call ends."""
    stop = at
    depth = 0
    for stop in range(at, min(len(text), at + 2000)):
        sign = text[stop]
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif sign in ";\n" and depth <= 0 and stop > at + 1 and text[at] != "`":
            break
    return text[at : stop + 1]
