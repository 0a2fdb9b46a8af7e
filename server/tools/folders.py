"""The folders that the built-in tools read: paths resolved inside them, files listed and read."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Final

from server.errors import ToolError
from skills_engine.files import open_beneath

MAX_FILE_BYTES: Final = 10 << 20
MAX_FILES: Final = 20_000
"""Limit of the files below a folder that are searched."""
_SKIPPED: Final = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_SNIFFED_BYTES: Final = 8192


class Folders:
    """Resolves the paths a model gives: relative to one of the roots, or absolute inside one. Blocks: for a thread."""

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
        roots = self._resolved()
        for root in roots:
            try:
                target = (root / path).resolve()
                if not any(target.is_relative_to(other) for other in roots):
                    left_a_root = True
                elif target.exists():
                    return target
            except (OSError, RuntimeError) as error:  # a name too long, a loop of links
                reason = getattr(error, "strerror", None) or "a loop of symbolic links"
                raise ToolError(f"{path}: cannot be read: {reason}") from error
        if left_a_root:
            raise ToolError(f"{path}: outside the folders that may be read; give a path relative to one of them")
        raise ToolError(f"{path}: no such file; search_text finds files by their text")

    def files(self, start: str | None) -> Iterator[tuple[str, Path, Path]]:
        """Yield the regular files below `start`, or all roots, sorted: shown path, root, path. At most 20,000."""
        count = 0
        for base in [self.find(start)] if start else self._resolved():
            root = self.root_of(base)
            for file in [base] if base.is_file() else _walk(base):
                target = file.resolve()
                if not target.is_relative_to(root):
                    continue
                yield file.relative_to(root).as_posix(), root, target
                count += 1
                if count >= MAX_FILES:
                    return

    def _resolved(self) -> list[Path]:
        return [root.resolve() for root in self._roots if root.is_dir()]

    def root_of(self, path: Path) -> Path:
        """Return the root in which `find` has found the path."""
        return next(root for root in self._resolved() if path.is_relative_to(root))


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            file = Path(here, name)
            if file.is_file():  # no pipe, no device: opening one could wait for ever
                yield file


def read_text(root: Path, file: Path, shown: str) -> str:
    if not file.is_file():
        raise ToolError(f"{shown} is not a regular file")
    with opened(root, file, shown) as descriptor, open(descriptor, "rb", closefd=False) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise ToolError(f"{shown} is larger than {MAX_FILE_BYTES >> 20} MiB")
    if b"\0" in data[:_SNIFFED_BYTES]:
        raise ToolError(f"{shown} is a binary file")
    return data.decode("utf-8-sig", "replace")


@contextmanager
def opened(root: Path, target: Path, shown: str, *, is_folder: bool = False) -> Iterator[int]:
    """Open a file or folder and translate what fails until it is closed."""
    try:
        descriptor = open_beneath(root, target, is_folder=is_folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ToolError(f"{shown}: cannot be read: {error.strerror or error}") from error


def how_many_fit(lines: Sequence[str], max_bytes: int) -> int:
    sizes = accumulate(len(line.encode("utf-8", "replace")) + 1 for line in lines)
    return sum(1 for _ in takewhile(lambda size: size <= max_bytes, sizes))
