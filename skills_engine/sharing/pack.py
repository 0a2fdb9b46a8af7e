"""`pack`: one skill as a zip, the same bytes for the same files."""

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from skills_engine.files import is_inside

MAX_FILES = 2000
MAX_BYTES = 32 << 20
"""Limits of a skill that travels, in files and in bytes."""

SKIPPED = ("node_modules", "__pycache__")
_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip knows: the same files give the same zip


class PackError(Exception):
    """The skill cannot be packed; the text says why, beginning with the file."""


def pack_skill(folder: Path) -> bytes:
    """Pack the skill in `folder` under its folder's name. Hidden files stay behind. Raises PackError and OSError."""
    packed, size = io.BytesIO(), 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, path in enumerate(skill_files(folder), 1):
            name = path.relative_to(folder).as_posix()
            if not is_inside(path, folder):
                raise PackError(f"{name} leads out of {folder.name}/: put the file itself there, not a link")
            size += path.stat().st_size
            if number > MAX_FILES or size > MAX_BYTES:
                raise PackError(f"{folder.name} holds more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB")
            entry = zipfile.ZipInfo(f"{folder.name}/{name}", _TIME)
            is_program = path.stat().st_mode & stat.S_IXUSR
            entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return packed.getvalue()


def skill_files(folder: Path) -> Iterator[Path]:
    """Give the files of a skill by name, without hidden ones and what programs leave behind."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        for name in sorted(files):
            path = Path(parent, name)
            if not name.startswith(".") and path.is_file():
                yield path
