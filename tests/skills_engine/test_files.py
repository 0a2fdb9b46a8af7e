"""Reading a skill's files, also while something else swaps them for links."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from skills_engine.files import UnreadableError, read_inside
from tests.support.swapping import swapped_for_a_link


@pytest.mark.slow
@pytest.mark.parametrize("swapped", ["hooks/hint.md", "hooks"])
def test_a_link_that_is_swapped_in_while_a_skill_is_read_leads_nowhere(tmp_path: Path, swapped: str) -> None:
    skill, outside = tmp_path / "tutor", tmp_path / "outside"
    for folder, text in ((skill, "ours"), (outside, "secret")):
        (folder / "hooks").mkdir(parents=True)
        (folder / "hooks" / "hint.md").write_text(text)
    read = set()
    with swapped_for_a_link(skill / swapped, outside / swapped, tmp_path / "aside"):
        for _ in range(4000):
            with suppress(UnreadableError):
                read.add(read_inside(skill, "hint.md", max_bytes=100, inner="hooks"))

    assert read == {b"ours"}


def test_a_file_beyond_the_limit_and_what_is_no_file_say_so(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("x" * 2049)
    os.mkfifo(tmp_path / "pipe.md")

    for name, problem in (
        ("long.md", "is larger than 2 KiB"),
        ("pipe.md", "is not a regular file"),
        (".", "is not a regular file"),
        ("none.md", "does not exist"),
        ("../x.md", f"leads out of {tmp_path.name}/"),
    ):
        with pytest.raises(UnreadableError, match=problem):
            read_inside(tmp_path, name, max_bytes=2048)
