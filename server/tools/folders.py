"""The folders that tools may read, and the paths inside them. Blocking: called in a thread."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from server.errors import ToolError

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
MAX_FILES = 20_000


class Folders:
    """Resolves the paths a model gives: relative to one of the roots, or absolute inside one."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)

    def find(self, path: str) -> Path:
        """Return the existing file or folder meant by `path`, symbolic links followed.

        The first root that has it counts. Raises ToolError where it leaves
        every root or is not there.
        """
        if "\0" in path:
            raise ToolError("the path contains a NUL character")
        left_a_root = False
        for root in self._resolved():
            try:
                target = (root / path).resolve()
                if not target.is_relative_to(root):
                    left_a_root = True
                elif target.exists():
                    return target
            except (OSError, RuntimeError) as error:  # a name too long, a loop of links
                reason = getattr(error, "strerror", None) or "a loop of symbolic links"
                raise ToolError(f"{path}: cannot be read: {reason}") from error
        if left_a_root:
            raise ToolError(f"{path}: outside the folders that may be read; give a path relative to one of them")
        raise ToolError(f"{path}: no such file; search_text finds files by their text")

    def files(self, start: str | None) -> Iterator[tuple[str, Path]]:
        """Yield every regular file below `start` (None: all roots), sorted, as (shown path, path); at most 20,000."""
        count = 0
        for base in [self.find(start)] if start else self._resolved():
            root = self._root_of(base)
            for file in [base] if base.is_file() else _walk(base):
                if not file.resolve().is_relative_to(root):
                    continue
                yield file.relative_to(root).as_posix(), file
                count += 1
                if count >= MAX_FILES:
                    return

    def _resolved(self) -> list[Path]:
        return [root.resolve() for root in self._roots if root.is_dir()]

    def _root_of(self, path: Path) -> Path:
        return next(root for root in self._resolved() if path.is_relative_to(root))


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            file = Path(here, name)
            if file.is_file():  # no pipe, no device: opening one could wait for ever
                yield file
