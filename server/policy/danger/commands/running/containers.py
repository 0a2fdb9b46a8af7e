"""Programs that run a command in a container, a pod or a virtual machine."""

from typing import Final

from server.policy.danger.commands.services import judge_verbs, mounts_the_host
from server.policy.danger.commands.step import HARMLESS, Judge, Step
from server.policy.danger.commands.transfers import SHELLS, program_of
from server.policy.danger.commands.words import CONTAINER_FLAGS, PRINTERS, PROGRAMS_IN_CONTAINERS

_BEGINNERS: Final = SHELLS | PROGRAMS_IN_CONTAINERS
_WITHOUT_IMAGES: Final = ("gcloud", "heroku", "fly", "flyctl", "ansible")
"""Their `run` is a noun or starts something for good."""
_ENGINES: Final = ("docker", "podman", "nerdctl")
"""`--` ends their options; the others put the command behind it."""


def _by_container(step: Step) -> str | None:
    if "--" in step.rest and step.name not in _ENGINES:
        return _behind_dashes(step)
    plain = [word for word in step.rest if not word.startswith("-")]
    if {"exec", "run"} & set(plain[:2]) and step.name not in _WITHOUT_IMAGES:
        return mounts_the_host(step.rest) or _behind_image(step)
    if step.name == "gcloud" and any("--command" in word for word in step.rest):
        return step.nested.line(_gcloud_command(step.rest)) or HARMLESS
    if step.name in ("vagrant", "machinectl") and "-c" in step.rest:
        return step.nested.line(step.after("-c")) or HARMLESS
    return None


def _behind_dashes(step: Step) -> str:
    at = step.rest.index("--")
    before = step.rest[:at]
    reason = None if "exec" in before else judge_verbs(before)
    return reason or step.nested.words(step.rest[at + 1 :]) or HARMLESS


def _behind_image(step: Step) -> str:
    """The command begins somewhere behind options and the image's name: at a program that is known."""
    start = next(at for at, word in enumerate(step.rest) if word in ("exec", "run"))
    words = step.rest[start + 1 :]
    for at, word in enumerate(words):
        if word.startswith("-") or at == 0 or words[at - 1] in CONTAINER_FLAGS:
            continue
        program = program_of(word)
        if program in PRINTERS:
            break
        if program in _BEGINNERS and (reason := step.nested.words(words[at:])):
            return reason
    return HARMLESS


def _gcloud_command(rest: list[str]) -> str:
    at = next((at for at, word in enumerate(rest) if word.startswith("--command")), len(rest))
    return next(iter(rest[at : at + 1]), "").partition("=")[2] or next(iter(rest[at + 1 : at + 2]), "")


JUDGES: Final[dict[str, Judge]] = dict.fromkeys(
    (
        "docker podman nerdctl kubectl k oc lxc incus docker-compose crictl ctr machinectl vagrant multipass heroku "
        "flyctl fly gcloud ansible nsenter"
    ).split(),
    _by_container,
)
