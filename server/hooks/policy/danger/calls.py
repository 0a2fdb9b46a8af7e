"""Whether a tool call is one to ask about: its permission class first, then what its name and arguments say."""

import re
from collections.abc import Mapping
from typing import Any, Final

from server.hooks.policy.danger.code.other import judge_code
from server.hooks.policy.danger.code.python import judge_python
from server.hooks.policy.danger.commands.line import RUNNER, judge_argv, judge_shell
from server.hooks.policy.danger.http_calls import judge_http
from server.hooks.policy.danger.leaves import leaves
from server.hooks.policy.danger.names.judge import judge_name
from server.hooks.policy.danger.names.kinds import kind_of
from server.hooks.policy.danger.outside import by_audience, by_home, by_money
from server.hooks.policy.danger.paths import is_private, is_protected, is_scratch
from server.hooks.policy.danger.spoken import judge_order
from server.hooks.policy.danger.sql import judge_sql, looks_like_sql
from server.hooks.policy.danger.verbs import DESTRUCTIVE
from server.hooks.policy.redaction.words import words_of
from server.hooks.types import Permission

_COMMAND_KEYS: Final = frozenset(
    "command cmd line script input shell commands commandline run exec entrypoint statement bash argv args program executable file cmdline shell_command pre post hook before after pre_hook post_hook precommand on_success on_failure action_command steps step".split()
)
_ARGUMENT_KEYS: Final = ("args", "arguments", "argv", "params", "parameters")
_PROGRAM_KEYS: Final = ("command", "cmd", "program", "executable", "file", "binary", "path")
_SQL_KEYS: Final = frozenset(
    "sql query statement statements queries cypher cql q script command body text stmt".split()
)
_CODE_KEYS: Final = frozenset(
    "code script source program cell snippet form expression input body content cells".split()
)
_WORD_KEYS: Final = frozenset(
    "text task prompt instruction instructions goal order message query request command objective say utterance job input".split()
)
_PATH_KEYS: Final = frozenset(
    "path file filename file_path filepath target destination dest dst to output output_path out name uri location into folder directory dir from source src".split()
)
_CONTENT_KEYS: Final = ("content", "contents", "text", "data", "body", "new_content")
_FORCING: Final = frozenset(
    "permanent permanently force overwrite recursive purge purge_disks hard hard_delete delete_extraneous delete_extra wipe skip_trash no_backup skip_backup autonomous-x no_confirm skip_confirmation "
    "destroy erase truncate factory_reset delete_source remove_source mirror_delete cascade delete_after force_delete delete_all all-x allow_data_loss i_am_sure disable_safety ignore_safety clobber prune make_public public skip_final_snapshot replace_existing unsafe reset drop_existing if_exists_replace delete_missing delete_data kick discard_changes force_push rewrite_history no_undo irreversible replace is_admin is_superuser make_admin grant_admin".split()
)
_NEEDS_MORE: Final = frozenset("force recursive public prune reset all replace".split())
_ACTIONS: Final = frozenset(
    "delete remove destroy drop erase wipe purge truncate terminate unlock disarm shutdown reboot restart poweroff kill stop reset factory_reset format uninstall revoke unlink rm ban publish pay transfer buy purchase dump_all refund sell disable deactivate empty clear_all delete_all remove_all overwrite force_push merge_to_main power_off turn_off-x halt open_door cancel_subscription close_account open_cover-x löschen supprimer eliminar borrar удалить 删除 削除 삭제 trash archive_all expel kick unsubscribe flush flushall flushdb mass_delete bulk_delete deleteone deletemany detonate withdraw rollback".split()
)
_ACTION_KEYS: Final = frozenset(
    "action operation op method verb mode service task event command intent type function request cmd mutation_type procedure transition".split()
)
_REDIS: Final = frozenset(
    "flushall flushdb shutdown del unlink config debug slaveof replicaof script eval evalsha rename renamenx move migrate restore swapdb cluster acl failover getdel function module bgrewriteaof save client reset xtrim ltrim spop expire pexpire expireat persist-x delete_all flush_all".split()
)
_REDIS_LOOKS: Final = frozenset(
    (
        "get",
        "list",
        "info",
        "help",
        "getname",
        "id",
        "exists",
        "usage",
        "whoami",
        "cat",
        "count",
        "nodes",
        "keyslot",
        "no-evict",
    )
)
_MONGO: Final = frozenset(
    "dropdatabase drop delete deletemany remove dropuser droprole dropindexes shutdown dropallusersfromdatabase renamecollection fsync compact setparameter grantrolestouser createuser updateuser replsetstepdown".split()
)


def judge_call(tool: str, permission: Permission, arguments: Any) -> str | None:
    """Why a careful person would want to be asked first; None: nothing speaks for it. READ never asks."""
    if permission == "READ":
        return None
    given = arguments if isinstance(arguments, Mapping) else {"input": arguments}
    if _is_dry(given):
        return None
    kind = kind_of(tool)
    if kind == "text" and judge_name(tool) is None:
        return _by_path(tool, given) if _writes(tool) else None
    return (
        judge_name(tool)
        or _by_kind(tool, kind, given)
        or _by_flags(tool, given)
        or _by_path(tool, given)
        or by_audience(tool, given)
        or by_home(tool, given)
        or by_money(tool, given)
    )


def _is_dry(given: Mapping[str, Any]) -> bool:
    return any(
        given.get(key) is True
        for key in (
            "dry_run",
            "dryRun",
            "dryrun",
            "simulate",
            "preview",
            "validate_only",
            "whatif",
            "what_if",
            "plan_only",
            "check_only",
            "draft",
            "is_draft",
            "noop",
            "explain",
        )
    )


def _by_kind(tool: str, kind: str, given: Mapping[str, Any]) -> str | None:
    match kind:
        case "shell" if isinstance(given.get("code"), str):
            return _as_code(tool, given)
        case "shell":
            return _as_commands(tool, given) or _as_order(given, only_foreign=True)
        case "sql":
            return _as_sql(given)
        case "redis":
            return _as_redis(given) or _as_commands(tool, given)
        case "code":
            return _as_code(tool, given)
        case "http":
            return judge_http(tool, given)
        case "words":
            return _as_order(given) or judge_http(tool, given)
    return judge_http(tool, given) or _as_mongo(given) or _hidden_commands(given) or _plain_commands(given)


# --- command lines


def _as_commands(tool: str, given: Mapping[str, Any]) -> str | None:
    words = words_of(tool)
    for program in _PROGRAM_KEYS:
        for key in _ARGUMENT_KEYS:
            if isinstance(given.get(program), str) and isinstance(given.get(key), list):
                head = (
                    str(given[program]).split()
                    if " " in str(given[program]) and "/" not in str(given[program])
                    else [str(given[program])]
                )
                return judge_argv([*head, *map(str, given[key])])
    if "git" in words and isinstance(given.get("args"), (list, str)):
        args = given["args"]
        return judge_argv(["git", *(args if isinstance(args, list) else args.split())])
    for key in ("kubectl", "docker", "npm", "helm", "terraform", "aws", "gcloud", "az", "adb", "git"):
        args = next(
            (given[k] for k in ("args", "command", "arguments", "cmd") if isinstance(given.get(k), (list, str))), None
        )
        if key in words and args and str(args[0] if isinstance(args, list) else args.split(" ")[0]) != key:
            return judge_argv([key, *(map(str, args) if isinstance(args, list) else args.split())])
    for key, value in leaves(given):
        if key in (
            "host",
            "cwd",
            "user",
            "container",
            "name",
            "description",
            "cron",
            "workdir",
            "title",
            "comment",
            "label",
            "reason",
        ):
            continue
        if isinstance(value, list):
            if all(isinstance(item, str) for item in value) and (reason := _list(value)):
                return reason
        elif isinstance(value, str) and (reason := _one_line(key, value)):
            return reason
    if isinstance(given.get("target"), str) and "make" in words:
        return judge_argv(["make", str(given["target"])])
    return None


def _list(value: list[str]) -> str | None:
    is_argv = bool(value) and " " not in value[0].strip()
    if is_argv and (reason := judge_argv(value)):
        return reason
    return (
        None
        if is_argv and len(value) > 1 and not any(" " in v for v in value[:1]) and not _all_lines(value)
        else next((r for line in value if (r := judge_shell(line))), None)
    )


def _all_lines(value: list[str]) -> bool:
    """A list of command lines rather than of arguments: several have a program and arguments of their own."""
    return sum(" " in item for item in value) >= 1 and value[0] not in (
        "sh",
        "bash",
        "zsh",
        "echo",
        "python",
        "python3",
        "node",
        "cmd",
        "powershell",
        "git",
        "grep",
        "printf",
    )


def _one_line(key: str, value: str) -> str | None:
    if key == "code" or (
        looks_like_sql(value)
        and value.split(None, 1)[0].lower()
        in ("select", "insert", "update", "delete", "drop", "truncate", "alter", "create", "grant")
    ):
        return judge_sql(value) if looks_like_sql(value) else judge_shell(value)
    if value.lstrip().startswith(("import ", "from ", "#!/usr/bin/env python", "#!/usr/bin/python")):
        return judge_python(value, RUNNER)
    return judge_shell(value)


_TEXT_KEYS: Final = frozenset(
    "text content contents body message query q title subject description pattern prompt note notes comment summary caption "
    "old new search label tags name question answer topic reason old_string new_string find replace value items item".split()
)
_COMMAND: Final = re.compile(
    r"\s*(?:sudo\s|rm\s+-|dd\s+if=|mkfs|shutdown\s|reboot\b|curl\s[^|]*\|\s*(?:ba|z)?sh|wget\s[^|]*\|\s*(?:ba|z)?sh|chmod\s+-R|chown\s+-R|git\s+push\s|git\s+reset\s|kubectl\s|docker\s|"
    r"systemctl\s|kill(?:all)?\s|del\s+/|format\s+[A-Za-z]:|Remove-Item\s|iptables\s|userdel\s|find\s.*-delete|bash\s+-c|sh\s+-c|powershell\s)"
)


def _plain_commands(given: Mapping[str, Any]) -> str | None:
    """Under whatever name: what is a command line beyond doubt, or SQL that says it is."""
    for key, value in leaves(given):
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str):
                continue
            if key not in _TEXT_KEYS and _COMMAND.match(item) and (reason := judge_shell(item)):
                return reason
            if key in ("sql", "statement", "stmt", "ddl") and looks_like_sql(item) and (reason := judge_sql(item)):
                return reason
    return None


def _hidden_commands(given: Mapping[str, Any]) -> str | None:
    for key, value in leaves(given):
        if key in _COMMAND_KEYS and key not in ("input", "file", "line", "script", "step", "action"):
            if isinstance(value, str) and " " in value and (reason := judge_shell(value)):
                return reason
            if (
                isinstance(value, list)
                and all(isinstance(item, str) for item in value)
                and value
                and (reason := _list(value))
            ):
                return reason
    return None


# --- data bases


def _as_sql(given: Mapping[str, Any]) -> str | None:
    for key, value in leaves(given):
        texts = value if isinstance(value, list) else [value]
        for text in texts:
            if isinstance(text, str) and (key in _SQL_KEYS or looks_like_sql(text)) and (reason := judge_sql(text)):
                return reason
            if (
                isinstance(text, str)
                and key in ("command", "script", "code", "query")
                and not looks_like_sql(text)
                and (reason := judge_code(text, RUNNER))
            ):
                return reason
    return _as_mongo(given) or judge_http("", given)


def _as_redis(given: Mapping[str, Any]) -> str | None:
    for key, value in leaves(given):
        words = value if isinstance(value, list) else value.split() if isinstance(value, str) else []
        if key not in ("argv", "command", "args", "cmd", "query", "commands", "line", "input") or not words:
            continue
        first = str(words[0]).lower()
        second = (
            str(words[1]).lower()
            if len(words) > 1
            else str((given.get("args") or [""])[0]).lower()
            if isinstance(given.get("args"), list) and given.get("args")
            else ""
        )
        if first in _REDIS and second not in _REDIS_LOOKS:
            return "deletes keys or changes the server"
        if key == "args":
            continue
    return None


def _as_mongo(given: Mapping[str, Any]) -> str | None:
    command = given.get("command") or given.get("operation") or given.get("cmd")
    if isinstance(command, Mapping) and (bad := next((k for k in command if str(k).lower() in _MONGO), None)):
        deletes = command.get("deletes")
        if (
            str(bad).lower() == "delete"
            and isinstance(deletes, list)
            and all(isinstance(d, Mapping) and d.get("q") for d in deletes)
        ):
            return None
        return "drops or deletes"
    return None


# --- code


def _as_code(tool: str, given: Mapping[str, Any]) -> str | None:
    words = set(words_of(tool))
    for key, value in leaves(given):
        if not isinstance(value, str) or key in (
            "language",
            "timeout",
            "cwd",
            "description",
            "title",
            "filename",
            "path",
            "name",
        ):
            if isinstance(value, list) and (
                reason := next((r for v in value if isinstance(v, str) and (r := judge_code(v, RUNNER))), None)
            ):
                return reason
            continue
        language = str(given.get("language", "")).lower()
        if words & {"bash", "shell", "sh", "zsh", "terminal"} and not language:
            language = "bash"
        if language in ("bash", "sh", "shell", "zsh", "powershell", "cmd"):
            reason = judge_shell(value)
        elif language == "sql":
            reason = judge_sql(value)
        elif (
            language.startswith("py")
            or words & {"python", "python3", "ipython", "jupyter", "notebook"}
            or (not language and _is_python(value))
        ):
            reason = judge_python(value, RUNNER)
        else:
            reason = judge_code(value, RUNNER)
            if not reason and words & {"r"} and re.search(r"\b(?:unlink|file\.remove|system2?)\(", value):
                reason = "deletes files"
        if reason:
            return reason
    return None


def _is_python(code: str) -> bool:
    return (
        bool(re.search(r"^\s*(?:import \w|from \w+ import|def \w+\(|print\()", code, re.MULTILINE))
        and "{" not in code.split("\n", maxsplit=1)[0]
    )


# --- HTTP


# --- people, flags, paths, homes


def _as_order(given: Mapping[str, Any], *, only_foreign: bool = False) -> str | None:
    for key, value in leaves(given):
        if only_foreign and isinstance(value, str) and not re.match(r"[^\x00-\x7f]", value.strip()):
            continue  # begins like a command line
        if isinstance(value, str) and (key in _WORD_KEYS or len(given) == 1) and (reason := judge_order(value)):
            return reason
    return None


def _by_flags(tool: str, given: Mapping[str, Any]) -> str | None:
    acts = _acts(tool)
    if set(words_of(tool)) & {"plan", "preview", "diff", "compare"}:
        return None
    for key, value in leaves(given):
        name = "_".join(words_of(key))
        if value is True and name in _FORCING and (name not in _NEEDS_MORE or acts):
            return f"`{key}` is on"
        if (
            name in ("replicas", "desired_count", "desired_capacity", "num_nodes", "instances")
            and value == 0
            and acts | ("scale" in words_of(tool))
        ):
            return "stops something"
        if not isinstance(value, str):
            continue
        if value.strip() in ("0.0.0.0/0", "::/0") and not set(words_of(tool)) & {"check", "describe"}:
            return "opens something to everybody"
        lowered = value.strip().lower().replace("-", "_").replace(" ", "_")
        if name in _ACTION_KEYS and lowered in _ACTIONS and kind_of(tool) != "text":
            return f"`{key}` is {lowered[:40]}"
        if name in ("overwrite", "on_conflict", "if_exists", "conflict", "existing") and lowered in (
            "all",
            "overwrite",
            "replace",
            "always",
            "yes",
            "true",
            "force",
        ):
            return "overwrites"
        if name in ("visibility", "access", "acl", "sharing", "privacy", "audience") and lowered in (
            "public",
            "public_read",
            "everyone",
            "anyone",
            "world",
            "anyone_with_link",
            "anyone_with_the_link",
            "public_read_write",
            "all",
        ):
            return "shows to everybody"
        if (
            name in ("role", "permission", "permissions", "access_level", "level")
            and lowered
            in ("admin", "owner", "administrator", "root", "superuser", "maintainer", "write_all", "full_control")
            and (acts or words_of(tool)[0] in ("invite", "add", "set", "update", "create", "share", "change"))
        ):
            return "gives rights away"
    return None


def _acts(tool: str) -> bool:
    return bool(
        set(words_of(tool))
        & (
            DESTRUCTIVE
            | frozenset(
                "set sync move copy write push update upload apply extract unzip install migrate save replace rename put deploy restore create bulk manage run chmod permissions share execute import edit unpack clone backup post configure clean cleanup".split()
            )
        )
    )


def _writes(tool: str) -> bool:
    return bool(
        set(words_of(tool))
        & frozenset(
            "write append edit create save put patch update upload download move copy rename extract unzip unpack replace symlink link insert install touch overwrite store export chmod permissions set modify".split()
        )
    )


def _by_path(tool: str, given: Mapping[str, Any]) -> str | None:
    words = set(words_of(tool))
    if words & {"upload", "send", "share", "attach", "post", "publish", "email", "transfer", "paste"}:
        for _, value in leaves(given):
            for item in value if isinstance(value, list) else [value]:
                if (
                    isinstance(item, str)
                    and ("/" in item or "." in item or "\\" in item)
                    and len(item) < 300
                    and " " not in item.strip()
                    and "://" not in item
                    and is_private(item)
                ):
                    return "a private file leaves"
    if not _writes(tool):
        return None
    for key, value in leaves(given):
        if key not in _PATH_KEYS or not isinstance(value, str):
            continue
        if key in ("from", "source", "src", "url") and not words & {"move", "rename"}:
            continue
        if key in ("name", "to", "uri") and "/" not in value and "\\" not in value:
            continue
        if "://" not in value and is_protected(value):
            return "writes where the system or the login is set up"
    path = next((str(given[k]) for k in ("path", "file", "filename", "file_path") if isinstance(given.get(k), str)), "")
    content = next((given[k] for k in _CONTENT_KEYS if k in given), None)
    if (
        content == ""
        and path
        and not is_scratch(path)
        and words & {"write", "overwrite", "save", "replace", "put"}
        and not words & {"append", "create"}
    ):
        return "empties a file"
    return None
