"""Reading a skill's files: inside its folder, of a bounded size, or a reason why not."""

import os
import re
import stat
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


def read_inside(folder: Path, relative: str, *, max_bytes: int) -> bytes:
    """Return the bytes of a regular file below `folder`. Raises UnreadableError."""
    path = folder / relative
    if not is_inside(path, folder):
        raise UnreadableError(f"leads out of {folder.name}/")
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # asked first: opening a named pipe would wait for its writer
            raise UnreadableError("is not a regular file")
        if found.st_size > max_bytes:
            raise UnreadableError(f"is larger than {max_bytes // 1024} KiB")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableError("does not exist") from error
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})") from error
