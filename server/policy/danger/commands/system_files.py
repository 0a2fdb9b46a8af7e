"""Everyday programs of files, where what they write or take away is the system's."""

from typing import Final

from server.policy.danger.commands.step import Step
from server.policy.danger.paths import is_protected

_COPIERS: Final = ("cp", "mv", "install", "ln", "rename")


def by_system_files(step: Step) -> str | None:
    if step.name in _COPIERS:
        plain = [word for word in step.rest if not word.startswith("-")]
        if len(plain) > 1 and is_protected(plain[-1]):
            return "writes where the system or the login is set up"
        if step.name == "mv" and any(map(is_protected, plain)):
            return "takes files of the system away"
    if step.name in ("chmod", "chown") and any(word.startswith("/") and is_protected(word) for word in step.rest):
        return "changes the system's rights"
    if step.name == "tee" and "-a" not in step.rest and _reads_nothing(step) and step.rest:
        return "empties a file"
    return None


def _reads_nothing(step: Step) -> bool:
    is_redirected = any(redirect.sign == "<" and redirect.target == "/dev/null" for redirect in step.command.redirects)
    return is_redirected or any(feeder.words == ["cat", "/dev/null"] for feeder in step.feeders)
