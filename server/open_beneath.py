"""Opening of files below a folder, also while somebody swaps what stands on the way for a link or a pipe."""

import os
import stat
from pathlib import Path


def open_beneath(folder: Path, target: Path, *, is_folder: bool = False) -> int:
    """Open `target`, which stands below `folder` or is it, for reading; returns the descriptor, for the caller to close.

    Follows no link on the way, so both paths must be resolved: a link that is met has been put there since.
    Raises OSError; also for what is no regular file, or no folder where one is wanted. Waits for nothing.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    last = os.O_DIRECTORY if is_folder else os.O_NONBLOCK | os.O_NOCTTY  # a pipe would wait for its writer
    parts = target.relative_to(folder).parts
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
        raise OSError("not a regular file")
    return descriptor
