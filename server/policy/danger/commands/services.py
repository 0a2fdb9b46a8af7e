"""The command lines of services: nouns, verbs, and flags that say more than the verb."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.danger.commands.words import followed
from server.policy.danger.verbs import (
    CHANGING,
    DESTRUCTIVE,
    EXPOSING,
    FLAG_VALUES,
    FLAGS,
    LOOKING,
    OWN_SETTINGS,
    PUBLISHING,
)

_LOOKED_AT: Final = LOOKING | {"download"}
_THINGS_LOOKED_AT: Final = frozenset(
    "images logs log events history stats template templates version dashboard output outputs graph read".split()
)
"""Of a service: things, and what is done to them stands behind."""
_NOUNS_TOO: Final = frozenset(
    "restore backup release deploy build run change update transfer request order purchase set lock install patch share".split()
)
"""Verbs that are nouns where a word behind them looks: `velero restore describe`."""
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
"""Of `DeleteInstance`, `delete-instance`, `pg:reset`."""


def judge_verbs(rest: list[str]) -> str | None:
    """For the tools of services, whose words are nouns and verbs."""
    if is_dry(rest):
        return None
    plain = list(_without_values(rest))[:4]
    if reason := _shows_secrets(plain, rest):
        return reason
    for at, word in enumerate(plain):
        parts = re.split(r"[-:_./]", word.lower())
        if word.lower() in EXPOSING or word.lower().endswith(("-iam-policy", "-iam-policy-binding")):
            return "gives access away"
        if word in _THINGS_LOOKED_AT and not DESTRUCTIVE.isdisjoint(plain[at + 1 :]):
            continue
        if parts[0] in LOOKING or word.lower() in LOOKING:
            return _flags(rest)
        if word in ("run", "exec"):
            return _flags(rest) or mounts_the_host(rest)
        if DESTRUCTIVE & set(parts) and (at < 3 or parts[0] in DESTRUCTIVE):
            return "removes or stops something for good"
        if PUBLISHING & set(parts[:1]) and at < 2 and not _LOOKED_AT & set(plain[at + 1 : at + 2]):
            return "puts something into the world"
        if (
            word.lower() in ("workflow", "secret", "secrets", "variable")
            and plain[at + 1 : at + 2]
            and plain[at + 1] in ("run", "set", "edit")
        ):
            return "changes what others run"
        if word == "edit" and any(w.startswith("--visibility") for w in rest):
            return "changes who can see it"
    return _flags(rest)


def judge_cloud(rest: list[str]) -> str | None:
    """Whatever changes a cloud: it costs, or others use it."""
    plain = list(_without_values(rest))[:4]
    if not plain or not OWN_SETTINGS.isdisjoint((plain[0], *plain[0].split(":"), *plain[1:2])) or is_dry(rest):
        return _shows_secrets(plain, rest)
    if plain == ["start"]:  # on this machine
        return None
    if reason := _shows_secrets(plain, rest):
        return reason
    for word in plain:
        parts = [part.lower() for part in _PARTS.findall(word)]
        if word in _THINGS_LOOKED_AT and not DESTRUCTIVE.isdisjoint(plain):
            continue
        while len(parts) > 1 and parts[0] in ("admin", "batch"):
            del parts[0]
        if not parts or parts[0] in LOOKING:
            return None
        if word in _NOUNS_TOO and any(other in LOOKING for other in plain):
            return None
        if not {parts[0], parts[-1]}.isdisjoint(CHANGING | DESTRUCTIVE):
            return "changes what a cloud runs, or costs"
    return None


def _shows_secrets(plain: list[str], rest: list[str]) -> str | None:
    """`kubectl get secret x -o yaml`, `gcloud secrets versions access 1`"""
    if not any(word.split("/")[0] in ("secret", "secrets") for word in plain):
        return None
    shows_values = {"show", "access", "reveal", "decrypt", "download"} & set(plain)
    is_whole = any(
        word.startswith(("-o", "--output", "--template")) and not word.endswith(("wide", "name")) for word in rest
    )
    return "shows secrets" if shows_values or ("get" in plain and is_whole) else None


def is_dry(rest: list[str]) -> bool:
    return any(w in ("--dry-run", "-WhatIf") or (w.startswith("--dry-run=") and not w.endswith("=none")) for w in rest)


def mounts_the_host(rest: list[str]) -> str | None:
    for word, following in followed(rest):
        mount = (
            following
            if word in ("-v", "--volume", "--mount")
            else word.partition("=")[2]
            if word.startswith(("--volume=", "--mount=", "-v="))
            else ""
        )
        if (
            mount.startswith(("/:", "/etc", "/var/run/docker.sock", "/root", "/home:", "/usr"))
            or "source=/," in mount
            or "src=/," in mount
        ):
            return "reaches the host's files"
        if word in ("--privileged", "--pid=host", "--cap-add=ALL", "--cap-add=SYS_ADMIN"):
            return "has the host's rights"
    return None


def _flags(rest: list[str]) -> str | None:
    for word, following in followed(rest):
        if word in FLAGS or (word, following) in FLAG_VALUES or tuple(word.split("=", 1)) in FLAG_VALUES:
            return "removes, exposes or stops something"
        if word in ("-X", "--method", "--request") and following.upper() in ("DELETE", "PUT", "PATCH"):
            return "changes something over HTTP"
        if word.startswith("-X") and word[2:].upper() == "DELETE":
            return "deletes over HTTP"
    return None


def _without_values(rest: list[str]) -> Iterator[str]:
    """The words that are no flags and, as far as can be told, no flag's value."""
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = "=" not in word and word in _VALUE_FLAGS
        else:
            yield word


_VALUE_FLAGS: Final = frozenset(
    "-n --namespace -f --file -p --profile --region --project -s -c --context --cluster --stack -g --resource-group -t --org --account --app -a --output -o --kubeconfig -H --host --repo -R --zone --subscription --cwd -C --config --chdir --dir --env -e -l --selector --kube-context --name".split()
)
