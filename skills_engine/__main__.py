"""Door to the tools for skill authors: `python -m skills_engine lint | new | simulate | test | schema | add | …`."""

import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from skill_tools import command
from skill_tools.testing.tests_asker import Asker


def main(argv: Sequence[str]) -> int:
    return command.main(argv, _connect)


def _connect(url: str, token: str | None) -> AbstractAsyncContextManager[Asker]:
    from clients.skill_asker import connected  # only `test --server` needs it

    return connected(url, token)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
