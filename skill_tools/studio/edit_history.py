"""History of edits, for undo and redo: what each has replaced; one file for each skill."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

logger = logging.getLogger(__name__)

MAX_EDITS: Final = 20
"""Edits of a skill that can be undone, and as many that can be redone; the oldest go first."""
MAX_HISTORY_BYTES: Final = 4 << 20
"""Limit for the texts of one skill's edits; the oldest go first."""


class SkillEdit(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a skill's files."""

    at: datetime
    action: str
    path: str


class Edit(SkillEdit, frozen=True, kw_only=True):
    """A change, with what it has replaced."""

    files: Mapping[str, bytes | None]
    """Bytes by path; null for a file that did not exist."""
    skill: str = ""
    """The skill's name at that time; "" in histories that earlier versions have written."""


class Past(msgspec.Struct, kw_only=True):
    """Edits to undo and to redo, the next one last."""

    undo: list[Edit] = []
    redo: list[Edit] = []


class EditHistory:
    """Keeps each skill's past below `folder`. A past that cannot be read counts as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, skill: str) -> Past:
        try:
            return msgspec.json.decode(self._file(skill).read_bytes(), type=Past)
        except FileNotFoundError:
            return Past()
        except (OSError, msgspec.DecodeError) as error:
            logger.warning("earlier versions of the skill %s cannot be read: %s", skill, error)
            return Past()

    def rename(self, skill: str, name: str) -> None:
        """Give the past to the skill's new name."""
        self.forget(name)
        with suppress(FileNotFoundError):
            self._file(skill).replace(self._file(name))

    def forget(self, skill: str) -> None:
        self._file(skill).unlink(missing_ok=True)

    def _file(self, skill: str) -> Path:
        return self._folder / f"{skill}.json"

    def write(self, skill: str, past: Past) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f".{skill}.draft"
        draft.write_bytes(msgspec.json.encode(Past(undo=_newest(past.undo), redo=_newest(past.redo))))
        draft.replace(self._file(skill))


def _newest(edits: list[Edit]) -> list[Edit]:
    kept: list[Edit] = []
    size = 0
    for edit in reversed(edits[-MAX_EDITS:]):
        size += sum(len(data or b"") for data in edit.files.values())
        if size > MAX_HISTORY_BYTES:
            break
        kept.insert(0, edit)
    return kept
