"""Git repositories and zips for the tests of sharing."""

import subprocess
import zipfile
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder`, without the settings of whoever runs the tests; returns what it prints."""
    settings = (
        "user.name=Test",
        "user.email=test@example.org",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
    )
    command = ["git", *(part for setting in settings for part in ("-c", setting)), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    """Make what is in `folder` the first commit of a repository there."""
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def commit(folder: Path, *arguments: str) -> str:
    """Commit everything; returns the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x", *arguments)
    return git(folder, "rev-parse", "HEAD")


def make_zip(path: Path, files: dict[str, bytes | str], *, links: tuple[str, ...] = ()) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o120777 if name in links else 0o100644) << 16
            archive.writestr(info, data)
    return path
