"""`pack`: one skill as a zip, the same bytes for the same files."""

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from skill_tools.sharing.bundle import SKIPPED, FolderTree, collect
from skills_engine.files import is_segment

_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip knows: the same files give the same zip


def pack_skill(folder: Path) -> bytes:
    """Pack the skill under its folder's name, by the rules by which one is added. Raises SharingError and OSError."""
    bundle, packed = collect(FolderTree(folder)), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in sorted(bundle.files.items()):
            entry = zipfile.ZipInfo(f"{folder.name}/{path}", _TIME)
            entry.external_attr = (stat.S_IFREG | (0o755 if path in bundle.programs else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return packed.getvalue()


def skill_files(folder: Path) -> Iterator[Path]:
    """Give the files of a skill by name, without hidden and unusable names and what programs leave behind."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_segment(name) and name not in SKIPPED)
        for name in sorted(files):
            path = Path(parent, name)
            if is_segment(name) and path.is_file():
                yield path
