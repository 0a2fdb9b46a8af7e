"""Edits of files: whole ones that go, checks that are taken out, settings that let everybody in, code that runs by itself."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call
from server.policy.danger.arguments.programs import judge_program
from server.policy.danger.commands.line import judge_shell

_DELETED_FILE: Final = re.compile(r"^(?:\*\*\* Delete File: |deleted file mode |\+\+\+ /dev/null)", re.MULTILINE)
_CHECK: Final = re.compile(
    r"\b(?:verify\w*|authenticat\w*|authoriz\w*|is_?admin|require_?(?:login|auth\w*|role|permission)|login_required|permission_?\w*|check_?(?:password|token|signature|auth\w*)|csrf\w*|validate_?(?:token|signature)|hmac|deny all|auth_basic|Unauthorized|Forbidden|allow \d)",
    re.IGNORECASE,
)
_WEAKENED: Final = re.compile(
    r"allow all\b|auth_basic off|verify\s*=\s*False|rejectUnauthorized:\s*false|InsecureSkipVerify:\s*true|AllowAny\b|permitAll\(\)|csrf\(\)\.disable|NOPASSWD|bypassPermissions|PermitRootLogin yes|PasswordAuthentication yes"
    r"|PermitEmptyPasswords yes|StrictHostKeyChecking no|autoindex on; root /;|allow_origins=\[[\"']\*|Access-Control-Allow-Origin[\"':, ]+\*|trust\s*$|disable_existing_auth|AUTH_ENABLED\s*[=:]\s*[\"']?(?:false|0)|allow read, write: if true"
    r"|\"Principal\":\s*(?:\"\*\"|\{\s*\"AWS\":\s*\"\*\")|\"Action\":\s*\"\*\",\s*\"Resource\":\s*\"\*\"|cidr_blocks\s*=\s*\[\"0\.0\.0\.0/0\"|force_destroy\s*=\s*true|skip_final_snapshot\s*=\s*true|prevent_destroy\s*=\s*false|privileged:\s*true|hostPath:|hostPID:\s*true|cluster-admin"
    r"|skipLibCheckSignatures|ssl_verify\s*[=:]\s*(?:no|off|false)|http\.sslVerify\s*=?\s*false|--no-verify|PROTECTED\s*=\s*False|DEBUG\s*=\s*True",
    re.IGNORECASE | re.MULTILINE,
)
_WEAKENINGS: Final = Anchored([(_WEAKENED, True)])
_PROSE: Final = re.compile(
    r"\.(?:md|txt|rst|adoc|org|html?|tex|csv|ipynb)\Z|(?:^|/)(?:tests?|specs?|docs?|examples?|fixtures?)/|test_\w+\.\w+\Z|_test\.\w+\Z",
    re.IGNORECASE,
)
_OLD: Final = ("old", "old_string", "old_str", "find", "search", "before", "oldText", "old_text", "original", "pattern")
_NEW: Final = ("new", "new_string", "new_str", "replace", "replacement", "after", "newText", "new_text", "with")
_PATCHES: Final = ("patch", "diff", "input", "changes")
_RUN_BY_THEMSELVES: Final = re.compile(
    r"(?:^|/)(?:setup\.py|conftest\.py|sitecustomize\.py|usercustomize\.py|__init__\.pth|noxfile\.py|Gemfile|Podfile|build\.rs|gulpfile\.js|Rakefile)\Z"
)
_LIFECYCLE: Final = re.compile(r'"(?:pre|post)?(?:install|prepare|publish|pack|test)"\s*:\s*"((?:[^"\\]|\\.){1,2000})"')
_UNIT: Final = re.compile(r"^[ \t]*Exec(?:Start|Stop|Reload|Condition)(?:Pre|Post)?=[-@+!]*(.{1,2000})$", re.MULTILINE)
_STEP: Final = re.compile(
    r"^[ \t]*(?:-\s+(?:run:\s*)?|run:\s*|command:\s*|script:\s*)[\"']?([^\s:{}\[\]#][^\n]{3,1000}?)[\"']?[ \t]*$",
    re.MULTILINE,
)
_CI: Final = re.compile(
    r"(?:^|/)(?:\.github/workflows/|\.gitlab-ci|\.circleci/|Jenkinsfile|azure-pipelines|bitbucket-pipelines|\.drone|\.travis|buildkite)|\bstages?:|^jobs:|^on:",
    re.MULTILINE,
)
_PIPELINES: Final = Anchored([(_CI, True)])
_EDITED: Final = frozenset((*_NEW, *_PATCHES, *keys.CONTENTS, "yaml", "config", "unit", "manifest"))
"""Under one of these stands what is written."""
_GIVEN_AWAY: Final = ("sends", "runs a stranger's", "runs hidden", "opens a connection", "runs what it has just")
_MAX_STEPS: Final = 60
_MAX_CHARS: Final = 50_000


def by_patches(call: Call) -> str | None:
    if _EDITED.isdisjoint(key for key, _ in call.texts):
        return None
    path = next((text for key, text in call.texts if key in ("path", "file", "file_path", "filename", "name")), "")
    for key, text in call.texts:
        if key in _PATCHES and _DELETED_FILE.search(text):
            return "deletes files"
    if not _PROSE.search(path):
        for old, new in _edits(call):
            if len(_CHECK.findall(old)) > len(_CHECK.findall(new)) and not _CHECK.search(new):
                return "takes a check out"
            if _WEAKENINGS.first(new) and not _WEAKENED.search(old):
                return "weakens protection"
    return next((reason for text in _contents(call) if (reason := _by_content(path, text))), None)


def _edits(call: Call) -> Iterator[tuple[str, str]]:
    """What stood there, and what will."""
    old = ""
    for key, text in call.texts:
        if key in _OLD:
            old = text
        elif key in _NEW:
            yield old[:_MAX_CHARS], text[:_MAX_CHARS]
            old = ""
        elif key in _PATCHES:
            lines = text[:_MAX_CHARS].split("\n")
            yield (
                "\n".join(line for line in lines if line[:1] == "-"),
                "\n".join(line for line in lines if line[:1] == "+"),
            )


def _contents(call: Call) -> Iterator[str]:
    yield from (
        text[:_MAX_CHARS]
        for key, text in call.texts
        if key in keys.CONTENTS or key in ("yaml", "config", "unit", "manifest")
    )


def _by_content(path: str, text: str) -> str | None:
    """Of a file that something runs without being asked."""
    if _RUN_BY_THEMSELVES.search(path) and (
        reason := judge_program(text, "python" if path.endswith(".py") else "", frozenset())
    ):
        return reason
    if "Exec" in text and _UNIT.search(text):
        return next((reason for line in _UNIT.findall(text)[:_MAX_STEPS] if (reason := judge_shell(line))), None)
    if path.endswith("package.json"):
        lines = (line.replace('\\"', '"') for line in _LIFECYCLE.findall(text)[:_MAX_STEPS])
        return next((reason for line in lines if (reason := judge_shell(line))), None)
    if _CI.search(path) or (path == "" and _PIPELINES.first(text)):
        reasons = (judge_shell(line) for line in _STEP.findall(text)[:_MAX_STEPS])
        return next((reason for reason in reasons if reason and reason.startswith(_GIVEN_AWAY)), None)
    return "weakens protection" if path and not _PROSE.search(path) and _WIDE_OPEN.search(text) else None


_WIDE_OPEN: Final = re.compile(
    r"autoindex on; root /;|NOPASSWD|PermitRootLogin yes|PermitEmptyPasswords yes|bypassPermissions|allow read, write: if true|cluster-admin|\"Principal\":\s*\"\*\""
)
