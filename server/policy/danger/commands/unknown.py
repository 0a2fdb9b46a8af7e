"""Programs that no rule knows: most take a verb as their first or second word, or a flag that says it."""

import re
from typing import Final

from server.policy.danger.commands.step import Step
from server.policy.danger.verbs import LOOKING

_VERBS: Final = frozenset(
    "delete del destroy terminate purge wipe drop remove rm rmi uninstall erase revoke nuke prune reset flush decommission deprovision unregister deregister "
    "factory-reset delete-all remove-all force-delete poweroff shutdown reboot power-off publish unpublish deploy undeploy rollback transfer pay withdraw "
    "detach evict expunge truncate unlink disable deactivate suspend kill stop-all drain failover promote rotate rekey seal burn sell".split()
)
_FLAGS: Final = frozenset(
    "--delete --delete-all --purge --wipe --destroy --erase --remove-all --factory-reset --uninstall --drop --force-delete --drop-all --nuke --reset-all "
    "--yes-i-really-mean-it --i-know-what-i-am-doing --no-preserve-root --wipe-data --delete-data --remove-data --drop-database --delete-source --shutdown --reboot".split()
)
_OTHERS: Final = frozenset(
    "cd mkdir touch cp ls code vim vi nano emacs open test pytest jest mocha man grep sort uniq cut tr awk date sleep export read set local return exit pushd popd "
    "source which type seq tee ssh scp go cargo make cmake tsc node python python3 ruby perl java javac gcc g++ clang rustc pandoc latexmk pdflatex jq yq xsv "
    "mv tar zip unzip gzip ffmpeg convert identify exiftool diff patch case select function declare readonly eval exec time trap mapfile alias dirname git-grep "
    "ps top htop tmux screen xdg-open start ping curl wget nslookup dig tree fold paste join column comm nl tac rev xxd fd rg ag ack bat z".split()
)
"""Behind these stand names and patterns, not verbs."""


_PROGRAM: Final = re.compile(r"[A-Za-z][\w.-]{1,40}")
_LOOKING_NAMES: Final = re.compile(
    r"find|grep|search|show|list|stat|cache|info|query|log|view|doc|help|test|lint|fmt|last|^(?:rem|ver|whoami|getent|w|who|id|groups|set|say|title)$"
)


def by_unknown(step: Step) -> str | None:
    if step.name in _OTHERS or not _PROGRAM.fullmatch(step.name) or _LOOKING_NAMES.search(step.name):
        return None
    if not _FLAGS.isdisjoint(step.rest):
        return "removes or resets something"
    plain = [word for word in step.rest if not word.startswith("-")]
    is_first = plain[:1] != [] and plain[0] in _VERBS and len(plain) > 1
    is_second = plain[1:2] != [] and plain[1] in _VERBS and plain[0] not in LOOKING and plain[0].isalpha()
    return "removes, stops or spends something" if is_first or is_second else None
