"""Tools that are a program: `doctl` with `argv`, `svn` with `args`, `kubectl_patch`, `aws_ec2_run`."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.commands.judge import is_known
from server.policy.danger.commands.line import judge_argv, judge_shell
from server.policy.danger.commands.programs import is_service
from server.policy.danger.names.judge import only_looks, own_name

_LISTS: Final = (
    "args",
    "argv",
    "arguments",
    "params",
    "parameters",
    "cli",
    "command",
    "cmd",
    "subcommand",
    "flags",
    "options",
    "action",
)
_LINES: Final = (
    "cli",
    "args",
    "argv",
    "command",
    "cmd",
    "cmdline",
    "subcommand",
    "command_line",
    "arguments",
    "line",
    "input",
    "action",
    "operation",
)
_ALIASES: Final = {
    "k8s": "kubectl", "kubernetes": "kubectl", "gcp": "gcloud", "google_cloud": "gcloud", "azure": "az", "digitalocean": "doctl", "hetzner": "hcloud",
    "hetzner_cloud": "hcloud", "ipmi": "ipmitool", "mongo": "mongosh", "linode": "linode-cli", "vultr": "vultr-cli", "scaleway": "scw", "keycloak": "kcadm",
    "keycloak_admin": "kcadm", "compose": "docker-compose", "docker_compose": "docker-compose", "ansible_run": "ansible-playbook", "django_manage": "manage.py",
    "django": "manage.py", "wordpress": "wp", "1password": "op", "signal_cli": "signal-cli",  "cmd.exe": "cmd", "openshift": "oc", "proxmox": "qm", "virtualbox": "VBoxManage",
}  # fmt: skip
_PARTS: Final = re.compile(r"[_.:/-]+")
_NO_PROGRAMS: Final = frozenset(
    "powershell pwsh run exec execute shell command terminal script write open start edit time watch make test at split cast code go fetch mc k sg ts render metal goal "
    "send near flow sl rip sync sh bash zsh python node eval source process job task batch console if then do else while until bind read set type job "
    "apply create delete update list get browser file search query".split()
)  # fmt: skip
"""Names of programs that are as often a tool's own verb."""


def by_named_program(call: Call) -> str | None:
    if only_looks(call.tool):
        return None
    program = _program(own_name(call.tool))
    if program is not None:
        for words in _arguments(call):
            if reason := _judge(program, words):
                return reason
    return _by_subcommand(call)


@lru_cache(maxsize=2048)
def _program(tool: str) -> str | None:
    """The program that a tool's name names as a whole, or with its first word."""
    name = tool.lower()
    first = name.replace(".", "_").split("_", maxsplit=1)[0]
    for one in (_ALIASES.get(name, ""), name, name.replace("_", "-"), _ALIASES.get(first, ""), first):
        if one and one not in _NO_PROGRAMS and is_known(one):
            return one
    return None


def _arguments(call: Call) -> Iterator[list[str]]:
    for key in _LISTS:
        if isinstance(value := call.given.get(key), list):
            yield [str(item) for item in value]
    for key in _LINES:
        if isinstance(value := call.given.get(key), str):
            yield value.split()


def _judge(program: str, words: list[str]) -> str | None:
    """The first argument may be the program once more, or another one."""
    if not words:
        return None
    is_program = words[0] == program or (is_known(words[0]) and words[0] not in _NO_PROGRAMS and len(words) > 1)
    if is_program and (reason := judge_shell(" ".join(words)) if " " in words[0] else judge_argv(words)):
        return reason
    return None if words[0] == program else judge_argv([program, *words])


def _by_subcommand(call: Call) -> str | None:
    """The name of a service's program, and what it is told."""
    first, *rest = _PARTS.split(own_name(call.tool).lower())
    if any(
        only_looks(action)
        for key in ("action", "op", "operation", "method")
        if isinstance(action := call.given.get(key), str)
    ):
        return None
    program = _ALIASES.get(first, first)
    if not rest or program in _NO_PROGRAMS or not is_service(program):
        return None
    return judge_argv([program, *rest, *_words(call.given.get("args"))])


def _words(given: Any) -> list[str]:
    return [str(item) for item in given] if isinstance(given, list) else []
