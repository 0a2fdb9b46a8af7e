"""The arithmetic of `make bench`; what it measures is measured there."""

import time
from pathlib import Path

import pytest

from benchmarks import public_skills
from benchmarks.figures import figure, table
from benchmarks.stamps import Stamps
from benchmarks.voice_engines import STAMPS
from server.speech.pcm_reader import PcmReader


def test_a_figure_is_the_median_with_p95_and_the_largest() -> None:
    summed = figure("delay", "ms", [float(n) for n in range(100, 0, -1)], goal_p95=96)

    assert (summed.count, summed.p50, summed.p95, summed.largest) == (100, 50.5, 96.0, 100.0)
    assert (summed.goal, summed.is_met) == ("p95 ≤ 96", True)


def test_a_missed_goal_is_seen_in_the_table() -> None:
    lines = table([figure("delay", "ms", [3.0], goal_p50=2), figure("size", "B", [1234.5])]).splitlines()

    assert lines[1].split() == ["delay", "ms", "1", "3.00", "3.00", "3.00", "p50", "≤", "2", "MISSED"]
    assert lines[2].split() == ["size", "B", "1", "1234", "1234", "1234"]


def test_a_figure_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="delay: nothing was measured"):
        figure("delay", "ms", [])


def test_stamps_tell_how_long_a_request_and_each_token_were_on_their_way() -> None:
    stamps = Stamps()
    sent_ns = time.monotonic_ns() - 4_000_000

    stamps.read(f"r{sent_ns} ", started_ns=sent_ns - 2_000_000)
    stamps.read(f"t{sent_ns} t{sent_ns}. ", started_ns=0)

    assert stamps.request_ms == [2.0]
    assert len(stamps.chunk_ms) == 2
    assert min(stamps.chunk_ms) >= 4.0


def test_a_duration_in_place_of_sound_is_not_taken_for_another_format() -> None:
    like_aac = int.from_bytes(b"\xff\xf1\x50\x80", "little")
    sound = STAMPS.pack(like_aac, 0)

    assert PcmReader().feed(sound) == sound


def test_public_skills_are_counted_by_repository_and_the_refused_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, text in {
        "one/skills/good/SKILL.md": "---\nname: good\ndescription: Good.\n---\n",
        "one/skills/off/SKILL.md": "---\nname: off\ndescription: x\ndefault: off\n---\n",
        "one/.git/SKILL.md": "",
        "two/a/b/plain/skill.md": "# Without front matter",
        "two/empty/SKILL.md": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)

    assert public_skills.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["one", "2", "2", "100.00%", "2"],
        ["two", "2", "1", "50.00%", "0"],
        ["all", "4", "3", "75.00%", "2"],
    ]
    assert lines[4:] == ["refused: two/empty: SKILL.md: is empty"]

    assert public_skills.main([str(tmp_path / "one" / "skills" / "good")]) == 0
    assert public_skills.main([]) == public_skills.main([str(tmp_path / "gone")]) == 2
