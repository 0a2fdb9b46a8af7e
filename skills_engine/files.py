"""Reading a skill's files: inside its folder, of a bounded size, or a reason why not."""

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path


class UnreadableError(Exception):
    """A file that cannot be read; the text ends a sentence that begins with the file's name."""


_NO_SEGMENT = re.compile(r"[/\\:\x00-\x1f\x7f\ud800-\udfff]")  # surrogates: of a name that is not UTF-8
SEGMENT_BYTES = 255  # what a file system takes as one name


def is_segment(name: str) -> bool:
    """Return whether `name` may be joined to a folder: a skill's name can come from a browser (L1-05).

    Names that begin with a dot are no skills: "." and ".." lead away, the rest is hidden.
    """
    if not name or name.startswith(".") or _NO_SEGMENT.search(name):
        return False
    return len(name.encode()) <= SEGMENT_BYTES


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether `path` lies in `folder`, with symlinks followed in both. It need not exist."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except ValueError:  # no name that a file could have: a NUL, half of a surrogate pair
        return False


def read_inside(folder: Path, relative: str, *, max_bytes: int, inner: str = "") -> bytes:
    """Return the bytes of a regular file below `folder`, or below its folder `inner`. Raises UnreadableError.

    Links are followed to where they stay inside; one that is swapped in meanwhile leads nowhere.
    """
    try:
        data = _read_plain(folder, f"{inner}/{relative}" if inner else relative, max_bytes)
    except (OSError, ValueError):  # a link on the way, or the reason why it cannot be read
        data = _read_resolved(folder, relative, max_bytes, inner)
    if len(data) > max_bytes:
        raise UnreadableError(f"is larger than {max_bytes // 1024} KiB")
    return data


def _read_plain(folder: Path, relative: str, max_bytes: int) -> bytes:
    """Read a file to which no link leads below `folder`: most, at a tenth of the cost. Raises OSError, ValueError."""
    parts = relative.split("/")
    if not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError(f"not a plain path: {relative}")
    with os.fdopen(_open_parts(folder, parts), "rb") as file:
        return file.read(max_bytes + 1)


def _read_resolved(folder: Path, relative: str, max_bytes: int, inner: str) -> bytes:
    out_of = f"leads out of {(folder / inner).name}/"
    try:
        paths = (folder, folder / inner, folder / inner / relative)
        root, holder, target = (Path(os.path.realpath(path)) for path in paths)
        if not (target.is_relative_to(holder) and holder.is_relative_to(root)):
            raise UnreadableError(out_of if holder.is_relative_to(root) else f"leads out of {folder.name}/")
        with os.fdopen(open_beneath(root, target), "rb") as file:
            return file.read(max_bytes + 1)
    except ValueError as error:  # no name that a file could have
        raise UnreadableError(out_of) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableError("does not exist") from error
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})" if error.strerror else str(error)) from error


def open_beneath(folder: Path, target: Path, *, is_folder: bool = False) -> int:
    """Open `target`, which stands below `folder` or is it, for reading; returns the descriptor, for the caller to close.

    Follows no link on the way, so both paths must be resolved: a link that is met has been put there since.
    Raises OSError; also for what is no regular file, or no folder where one is wanted. Waits for nothing.
    """
    return _open_parts(folder, target.relative_to(folder).parts, is_folder=is_folder)


def _open_parts(folder: Path, parts: Sequence[str], *, is_folder: bool = False) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    last = os.O_DIRECTORY if is_folder else os.O_NONBLOCK | os.O_NOCTTY  # a pipe would wait for its writer
    descriptor = os.open(folder, flags | (os.O_DIRECTORY if parts else last))
    for number, part in enumerate(parts, 1):
        kind = last if number == len(parts) else os.O_DIRECTORY
        try:
            following = os.open(part, flags | kind, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = following
    if not is_folder and not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("is not a regular file")
    return descriptor
