"""Programs in other languages than Python, by the calls they make."""

import re
from collections.abc import Callable
from itertools import islice
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.code.runner import Runner
from server.policy.danger.code.services import CLIENTS, by_service
from server.policy.danger.paths import is_protected
from server.policy.danger.sql import judge_sql, looks_like_sql

MAX_CODE_CHARS: Final = 100_000

_COMMENTS: Final = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]|\\.){0,5000}+\"|'(?:[^'\\\n]|\\.){0,5000}+'|`(?:[^`\\]|\\.){0,5000}+`|\\.)|//[^\n]*|/\*.{0,20000}?\*/|^[ \t]*(?:#(?!include)|--|;)[^\n]*",
    re.DOTALL | re.MULTILINE,
)
# an escaped quote outside of a text begins none
_STRINGS: Final = re.compile(
    r"\"(?:[^\"\\\n]|\\.){0,5000}+\"|'(?:[^'\\\n]|\\.){0,5000}+'|`(?:[^`\\]|\\.){0,5000}+`|\\."
)
_CALLS: Final = Anchored(
    (re.compile(shape), reason)
    for shape, reason in (
        # JavaScript, TypeScript: nodejs.org, deno.com, developer.mozilla.org
        (r"\b(?:unlink|rmdir|rm|truncate|ftruncate)Sync\s*\(|\bfs(?:p|\.promises|Promises)?\.(?:unlink|rm|rmdir|truncate)\s*\(|\brimraf\b|\bfse?\.(?:remove|emptyDir)(?:Sync)?\s*\(|\bDeno\.(?:remove|kill|truncate)(?:Sync)?\s*\(|\bdel(?:Sync)?\s*\(\[|\bremoveSync\s*\(", "deletes files"),
        (r"\b(?:localStorage|sessionStorage|indexedDB|caches)\s*\.\s*(?:clear|deleteDatabase|delete)\s*\(|\bdocument\.cookie\s*=", "deletes what the browser keeps"),
        (r"\bprocess\.(?:kill|exit)\s*\(\s*(?!\s*[01]?\s*\))|\bDeno\.exit\b", "ends processes"),
        (r"(?:method|type)\s*:\s*['\"](?:DELETE|delete)['\"]|\.method\s*=\s*['\"]DELETE|\baxios\.delete\s*\(|\b(?:client|http|api|octokit[\w.]{0,80}|request)\.(?:delete|del)\w*\s*\(", "deletes over HTTP"),
        (r"\)\.(?:rm|unlink|rmdir)\s*\(|\(delete-(?:file|directory)\b|(?:^|\n)[ \t]*(?:Kill|RmDir|FileSystem\.Kill)\s+[\"'\w]|\.Delete(?:File|Folder)\b|\bFile(?:Delete|Recycle|RemoveDir)\b", "deletes files"),
        (r"\bprocess\.kill\s*\(|\bwhile\s*\(?\s*true\s*\)?\s*\{?[^}]{0,80}\bfork\s*\(", "ends or starts processes without end"),
        (r"\bmethod\s*:\s*['\"](?:PUT|PATCH)['\"]|\baxios\.(?:put|patch)\s*\(", "changes something over HTTP"),
        (r"(?:\bfetch|\bsendBeacon|\baxios\.post|\bnew Image|\.src\s*=|\.send\s*\()[^;\n]{0,300}(?:document\.cookie|localStorage|sessionStorage|process\.env\b(?!\.))", "sends away what is private"),
        (r"\b(?:shell|shelljs|sh)\.(?:rm|mv)\s*\(|\btrash\s*\(\s*\[|\bdel\s*\(\s*['\"x]|\.emptyDir(?:Sync)?\s*\(|\bunlinkPromise\b|\bfs(?:Extra)?\.(?:outputFile|writeFile)(?:Sync)?\s*\([^,]{1,300},\s*(?:''|\"\")\s*\)", "deletes files"),
        (r"\.(?:delete|terminate|destroy|purge|revoke|disable|ban|kick)(?:User|Bucket|Object|Objects|Repo|Repository|Instance|Instances|Table|Stack|Cluster|Function|Account|Member|Database|Collection|Topic|Queue|Project|Namespace|Namespaced\w+|Channel|Message|Customer|Secret|Key|Keys|Volume|Server|Branch|Ref|All|Many)\w*\s*\(", "deletes what a service keeps"),
        (r"\bsync\s*\(\s*\{\s*force\s*:\s*true|\bdropSchema\s*:\s*true|\bclearDatabase\s*\(|\)\.(?:del|truncate)\s*\(\s*\)", "empties a database"),
        (r"\bmessages\.create\s*\(\s*\{|\b(?:charges|refunds|payouts|transfers|paymentIntents|subscriptions)\.(?:create|cancel|capture)\s*\(|\.(?:sendRawTransaction|sendSignedTransaction)\s*\(|\bchat\.postMessage\s*\(", "spends money, or speaks to others"),
        (r"\bform\w*(?:\[\w+\])?\.submit\s*\(\s*\)|\bhistory\.deleteAll|\bchrome\.(?:browsingData|history|bookmarks|downloads)\.(?:remove|delete|erase)\w*", "acts in the browser for good"),
        (r"\$(?:out|merge)\b", "overwrites a collection"),
        (r"\.(?:update|updateMany|update_many|replaceOne|findOneAndDelete|deleteMany|remove)\s*\(\s*\{\s*\}", "changes everything"),
        (r"\.(?:createUser|updateUser|grantRolesToUser|changeUserPassword|fsyncLock|renameCollection|removeUser|dropAllRoles|dropRole|revokeRolesFromUser|stepDown|killOp)\s*\(|\b(?:rs|sh)\.(?:stepDown|remove|reconfig|removeShard\w*|stopBalancer|freeze)\s*\(", "changes the database's server"),
        (r"\b(?:dropDatabase|shutdown|dropAllUsersFromDatabase|drop|killOp|replSetStepDown|setParameter|fsync|renameCollection|killAllSessions)\s*:\s*(?:1|true|x|['\"])", "drops or stops by a command"),
        # MongoDB, Redis, ORMs
        (r"\.(?:dropDatabase|dropCollection|drop_database|drop_collection|shutdownServer|flushall|flushdb|flushAll|flushDb|destroyAll|truncate|delete_all|destroy_all|drop_table|drop_all|dropSchema|dropAllTables|dropUser|dropIndexes)\b", "empties or drops"),
        (r"\.(?:deleteMany|remove|updateMany)\s*\(\s*(?:\{\s*\}|\))", "changes everything"),
        (r"\.drop\s*\(\s*\)(?=[^.]*\Z|\s*;)", "drops a collection"),
        (r"\bdestroy\s*\(\s*\{\s*(?:where\s*:\s*\{\s*\}|truncate\s*:\s*true)", "deletes every row"),
        (r"(?:&:|\.)(?:destroy|delete|destroy_all|delete_all|update_all|destroy_by|delete_by|really_destroy)!?(?:\)|\s*\(\s*\w+:|\s*$)|\.(?:destroy|delete|update)_(?:all|by)\b|\.really_destroy!|\.destroy!|\bdeleteMany\s*:", "deletes or changes many"),
        (r"\b(?:PStore|YAML::Store|SDBM|GDBM|DBM)\b[\s\S]{0,2000}\.delete\b", "deletes what a store keeps"),
        (r"(?<![.\w])(?:[a-z]+_)?(?:delete|destroy|purge|terminate|wipe|trash)_(?!at\b|char|line|cookie|word|row|col|if\b|prefix|suffix)[a-z]\w*\s*\(", "deletes what a service keeps"),
        (r"\.toFile\(\)\.delete\s*\(|\b(?:File|Files)::delete\w*|\bdeleteDir\s*\(", "deletes files"),
        (r"\.(?:each|forEach|map|find_each|eachDir|eachFile)\b[^;]{0,300}\.(?:delete|destroy|remove|deleteDir)\s*\(\s*\)", "deletes each of many"),
        (r"\.(?:ClearContents|ClearAll|UsedRange\.(?:Clear|Delete)|deleteSheet|deleteRows?|clearContent|EntireRow\.Delete)\b|\.(?:Rows|Columns|Cells|Sheets|Worksheets)\b[^\n]{0,80}\.(?:Delete|Clear)\b", "empties a sheet"),
        (r"(?<![.\w])rm\s*\([^\n]{0,200}(?:recursive|force)\s*=\s*true", "deletes files"),
        (r"(?i:(?:^|[;{\s])(?:delete|undelete|update)\s+\[\s*select\b|\bDatabase\.(?:delete|emptyRecycleBin)\s*\()", "deletes records"),
        # Ruby, Perl, PHP, R, Lua
        (r"\bFileUtils\.(?:rm|remove|rmdir|mv|chown|chmod_R)\w*|\b(?:File|Dir|Pathname|IO)\.(?:delete|unlink|rmdir|truncate|rmtree)\b|\brmtree\b|\bremove_tree\b", "deletes files"),
        (r"(?<![.\w>$])unlink\s*[(\s]\s*[\"'$@<\[a-z]|['\"]unlink['\"]|(?<![.\w>$])rmdir\s*\(|\bfile\.remove\s*\(|\bunlink\s*\(|\bos\.remove\s*\(|\bos\.execute\s*\(", "deletes files"),
        # Rust, Go, Java, Kotlin, C#, Swift, C, Scala, Elixir, Haskell
        (r"\bremove_dir_all\b|\bfs::remove_(?:file|dir)\b|\bos\.(?:RemoveAll|Remove|Truncate)\s*\(|\bsyscall\.(?:Kill|Unlink|Rmdir|Reboot)\b", "deletes files"),
        (r"\bFiles\.(?:delete|deleteIfExists|walkFileTree)\s*\(|\bFileUtils\.(?:delete|clean|force)\w*\(|\bdelete(?:Recursively|OnExit|Directory)\s*\(|\bnew File\([^)]*\)\.delete\s*\(|\b(?:File|Directory|IO\.File|IO\.Directory)\.(?:Delete|Move)\s*\(|\bremoveItem\s*\(|\.removeItem\(at", "deletes files"),
        (r"\bstd::filesystem::remove(?:_all)?\b|\bfs::remove_all\b|(?<![.\w])remove\s*\(\s*\"|\bFile\.rm(?:_rf)?!?\s*\(|\bremoveDirectoryRecursive\b|\bremovePathForcibly\b|\bNSFileManager\b.*remove|\bDeleteFile[AW]?\s*\(|\brm_rf\b", "deletes files"),
        # processes
        (r"\bfork\s*\(?\)?\s*(?:while|until)\s+|\bwhile\s*\(?\s*(?:1|true)\s*\)?\s*\{?\s*(?:os\.)?fork\b|\bloop\s*\{\s*fork|\bwhile\s+true\s*do\s+fork|\bfork\s+while\b|for\s*\(\s*;\s*;\s*\)\s*\{?\s*fork", "a fork bomb"),
        (r"\bProcess\.(?:kill|daemon)\b|\.destroyForcibly\s*\(|\.Kill\s*\(\s*\)|\bkill\s+['\"]?(?:KILL|TERM|9)\b|\bposix_kill\s*\(|\bsyscall\.Kill\b|\bkillpg\s*\(|\braise\s+SignalException", "kills processes"),
        (r"\bMail\.(?:deliver|send)|\bmail\s*\(\s*[\"'$]|\bsmtp\.(?:SendMail|send)|\bSmtpClient\b|\bdeliver_now\b|\bPHPMailer\b", "sends mail"),
        (r"\bFile\.(?:write|truncate)\s*\([^,]{1,300},\s*(?:''|\"\"|0)\s*\)|\bfile_put_contents\s*\([^,]{1,300},\s*(?:''|\"\")\s*\)|\.truncate\s*\(\s*0?\s*\)", "empties a file"),
        (r"\b(?:pickle|Marshal|marshal)\.loads?\s*\(|\bunserialize\s*\(\s*\$_|\binstance_eval\b|\beval\s*\(?\s*(?:open|URI|Net::HTTP|file_get_contents|params|\$_(?:GET|POST|REQUEST))", "runs what a text holds"),
        # AppleScript, for people
        (r"\bsend\s+(?:message|every|the|it|new|x|outgoing|theMessage|newMessage|[\"'])|\bmake new outgoing message\b|\bkeystroke\b|\bkey code\b|\b(?:quit|close)\s+(?:every|all)\b|\bunmount\b|\beject\b", "acts for the user by AppleScript"),
        (r"\b(?:delete|move)\s+\(?(?:every|all|the|file|folder|items?|first|last|contents|note|event|message)\b|\bempty\s+(?:the\s+)?trash\b|\bto\s+(?:shut\s*down|restart|log\s*out|erase|sleep)\b|\bwith administrator privileges\b", "deletes or stops by AppleScript"),
        # things on a network
        (r"\bsend(?:Mail|_mail|Email|Message|Transaction|transaction)\s*\(|\.transfer\s*\(\s*['\"]?0x|\bstripe\.\w+\.(?:create|refund)|\bcreateTransport\b", "sends something"),
        (r"\beval\s*\(\s*(?:atob|Buffer\.from|unescape|base64_decode|gzinflate|decodeURIComponent|fetch|await|String\.fromCharCode|require\(['\"]http)|\bnew Function\s*\(\s*(?:atob|await)|\bassert\s*\(\s*base64_decode|\bload(?:string)?\s*\(\s*(?:http|io)", "runs hidden code"),
        (r"\bSystem\.(?:exit|setSecurityManager)\b.*\bRuntime\b|\bExitWindowsEx\b|\bInitiateSystemShutdown", "stops the machine"),
        (r"\bprune\b.*--force|\b(?:DROP|TRUNCATE)\s+(?:TABLE|DATABASE|SCHEMA)\b(?=[^\n]*(?:execute|query|exec|raw)\()", "drops a table"),
    )
)  # fmt: skip
_RUNNERS: Final = re.compile(
    r"(?:\b(?:exec|execSync|spawn|spawnSync|execFile|execFileSync|system|shell_exec|passthru|popen|proc_open|run|shell|sh|command|check_output|Popen|start|ProcessStartInfo|getRuntime\(\)\.exec|Process\.Start|execute|os\.execute|io\.popen|Command::new|Command|backtick|qx|open|system2|IO\.popen|Open3\.\w+|Kernel\.\w+|Deno\.run|Deno\.Command|Bun\.spawn|execa|execaCommand|\$|do shell script|do script)\b|%x|\$)"
    r"\s*[\[({ ]?\s*(?:[\[(]\s*)?(?P<q>[\"'`\[{|])",
)
_DELETES: Final = re.compile(r"\s*delete\s", re.IGNORECASE)
_LOOP: Final = re.compile(r"\b(?:for|foreach|while|each|forEach|map|times|loop)\b")
_SQL_CALL: Final = re.compile(
    r"(?:execute|query|exec|raw|run|prepare|Exec|Query|ExecContext|executeUpdate|executeQuery|createStatement|unsafe|sql|\$executeRaw\w*)\s*\(?\s*(?P<q>[\"'`])"
)
_WRITES: Final = re.compile(
    r"(?:writeFile(?:Sync)?|createWriteStream|appendFile(?:Sync)?|file_put_contents|fopen|File\.write|WriteAllText|rename(?:Sync)?|copyFile(?:Sync)?)\s*\(\s*[\"']([^\"'\n]{1,300})[\"']"
)
_STRING_RUNS: Final = re.compile(
    r"%x[(\[{]([^)\]}\n]{2,300})|(?<!\\)\"((?:[^\"\\\n]|\\.){2,300}+)\"\s*\.(?:execute\(|!|lineStream)|(?<!\\)'((?:[^'\\\n]|\\.){2,300}+)'\s*\.(?:execute\(|!|lineStream)|\((?:uiop:)?(?:run-program|shell-command|call-process)\s+\"([^\"\n]{2,300})\"|exec_command\(\s*[\"']([^\"'\n]{2,300})[\"']"
)
_SOCKET: Final = re.compile(
    r"\b(?:fsockopen|socket_connect|TCPSocket|IO::Socket|use Socket|net\.(?:connect|Socket|createConnection|Dial)|TcpClient|TcpStream|new Socket)\b"
)
_SHELL: Final = re.compile(
    r"\b(?:popen|proc_open|shell_exec)\b|/bin/(?:ba|z|da)?sh\b|\bcmd(?:\.exe)?[\"']|powershell|[\"']sh(?: -i)?\b"
)
_STRANGERS: Final = re.compile(
    r"\bimport\s*\(\s*['\"`](?:data:|https?:)|\bimportScripts\s*\(|\brequire\s*\(\s*['\"]https?:|\b(?:source|include|require_once|load|dofile)\s*\(?\s*['\"]https?:|\b(?:devtools|remotes)::install_|\bfrom\s+['\"]https?://(?!esm\.sh|deno\.land|cdn\.jsdelivr|unpkg|jsr\.io)"
)
_FETCHES: Final = re.compile(
    r"https?\.get\s*\(|\bfetch\s*\(|\baxios\b|urlopen|urlretrieve|URI\.open|Net::HTTP|file_get_contents\s*\(\s*['\"]http|http\.Get\(|LWP::|HttpClient|download\w*\s*\(|reqwest|curl_exec"
)
_KEEPS: Final = re.compile(
    r"createWriteStream|writeFile|WriteAll|file_put_contents|File\.(?:write|open|Create)|os\.(?:Create|WriteFile)|\bopen\s*\([^)]{0,100}['\"]wb?['\"]|urlretrieve|write_bytes|downloadTo|getstore|io\.Copy|Files\.copy|download\.file"
)
_STARTS: Final = re.compile(
    r"\b(?:spawn|exec|execFile|fork|execSync|spawnSync|require|system|Popen|import|dofile|load|source|chmod\w*|ProcessBuilder|Command|shell_exec|include|Start)\s*\(\s*(?!['\"][\w/:.@-]{1,60}['\"]\s*\))"
)
_CLICK: Final = re.compile(r"\.(?:click|tap|press|submit|dispatchEvent|requestSubmit)\s*\(")
_TAKING: Final = re.compile(
    r"delet|remov|deactivat|close[ -]account|pay|purchase|checkout|place[ -]order|buy|confirm|transfer|unsubscrib|publish|send|löschen|kündig|bestell|kaufen|bezahl|supprim|effac|achet|borrar|elimin|compr|pagar|cancella|删除|支付|注销|購入|退会",
    re.IGNORECASE,
)
_MAX_CLICKS: Final = 100
_LABEL_CHARS: Final = 300
_BACKTICKS: Final = re.compile(r"`([^`$\n]{3,300})`")
_ARGUMENTS: Final = re.compile(r"[\"'`]((?:[^\"'`\\]|\\.){0,2000})[\"'`]")


def judge_code(code: str, runner: Runner) -> str | None:
    if len(code) > MAX_CODE_CHARS:
        return "more code than can be looked at"
    plain = _COMMENTS.sub(lambda m: m["string"] or " ", code)
    reasons = (judge(plain, runner) for judge in _JUDGES.held(plain))
    return next((reason for reason in reasons if reason), None) or _CALLS.first(_STRINGS.sub(_keep_telling, plain))


def _runs(code: str, runner: Runner) -> str | None:
    for match in _RUNNERS.finditer(code):
        texts = [
            unquoted.replace('\\"', '"') for unquoted in _ARGUMENTS.findall(_argument_text(code, match.start("q")))
        ]
        if texts and (reason := runner.line(texts[0]) or (runner.argv(texts) if len(texts) > 1 else None)):
            return reason
    return None


def _runs_backticks(code: str, runner: Runner) -> str | None:
    reasons = (runner.line(match[1]) for match in _BACKTICKS.finditer(code))
    return next((reason for reason in reasons if reason), None)


def _runs_sql(code: str, _runner: Runner) -> str | None:
    for match in _SQL_CALL.finditer(code):
        if (
            (text := _ARGUMENTS.match(code, match.start("q")))
            and looks_like_sql(text[1])
            and (reason := judge_sql(text[1]) or _many(code[: match.start()], text[1]))
        ):
            return reason
    return None


def _writes(code: str, _runner: Runner) -> str | None:
    is_far = any(is_protected(match[1]) for match in _WRITES.finditer(code))
    return "writes where the system or the login is set up" if is_far else None


def _runs_strings(code: str, runner: Runner) -> str | None:
    for match in _STRING_RUNS.finditer(code):
        if reason := runner.line(next(text for text in match.groups() if text)):
            return reason
    return None


def _takes_in(code: str, _runner: Runner) -> str | None:
    return "runs a stranger's code" if _STRANGERS.search(code) else None


def _downloads(code: str, _runner: Runner) -> str | None:
    is_run = _FETCHES.search(code) and _KEEPS.search(code) and _STARTS.search(code)
    return "runs what it has just downloaded" if is_run else None


def _reaches_services(code: str, _runner: Runner) -> str | None:
    return by_service(code)


def _clicks(code: str, _runner: Runner) -> str | None:
    """A button is pressed whose label or selector says what it does."""
    for match in islice(_CLICK.finditer(code), _MAX_CLICKS):
        before = (
            code[max(0, match.start() - _LABEL_CHARS) : match.start()]
            .rsplit(";", maxsplit=1)[-1]
            .rsplit("\n", maxsplit=1)[-1]
        )
        if _TAKING.search(before):
            return "acts in a page for good"
    return None


def _opens_shell(code: str, _runner: Runner) -> str | None:
    return "opens a shell to another machine" if _SOCKET.search(code) and _SHELL.search(code) else None


def _many(before: str, sql: str) -> str | None:
    """A row is deleted for each of many."""
    return "deletes many rows" if _DELETES.match(sql) and _LOOP.search(before) else None


def _keep_telling(match: re.Match[str]) -> str:
    """Strings go, but for those that say what is done."""
    text = match[0]
    if text[0] == "\\":
        return text
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


Judge = Callable[[str, Runner], str | None]
# each with what it cannot do without; the first reason counts
_JUDGES: Final[Anchored[Judge]] = Anchored(
    (
        (_RUNNERS, _runs),
        (_BACKTICKS, _runs_backticks),
        (_SQL_CALL, _runs_sql),
        (_WRITES, _writes),
        (_STRING_RUNS, _runs_strings),
        (_STRANGERS, _takes_in),
        (_FETCHES, _downloads),
        (CLIENTS, _reaches_services),
        (_CLICK, _clicks),
        (_SOCKET, _opens_shell),
    )
)
