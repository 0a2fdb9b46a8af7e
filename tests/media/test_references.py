"""What may be named as a file."""

import base64
import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.media.references import MAX_NAME_CHARS, MediaError, clean_name, media_id, read_data_url, read_path

ID = "0123456789abcdef" * 2


def test_an_id_is_told_from_everything_else() -> None:
    assert media_id(f"media://{ID}") == ID
    assert media_id("data:text/plain,hi") is None
    assert media_id("media.png") is None


@pytest.mark.parametrize("rest", ["", "../secret", ID[:-1], ID.upper(), f"{ID}/..", f"{ID}\n"])
def test_a_malformed_id_is_refused(rest: str) -> None:
    with pytest.raises(MediaError, match="not a media:// id"):
        media_id(f"media://{rest}")


@pytest.mark.parametrize(
    ("url", "data", "declared", "name"),
    [
        ("data:image/png;base64,AAEC", b"\0\1\2", "image/png", ""),
        ("DATA:image/png;BASE64,AAEC", b"\0\1\2", "image/png", ""),
        ("data:,hello%20you", b"hello you", "", ""),
        ("data:text/plain;charset=utf-8,%C3%A4", "ä".encode(), "text/plain", ""),
        ("data:text/csv;name=list%20of%20all.csv;base64,YSxi", b"a,b", "text/csv", "list of all.csv"),
        ("data:image/png;base64,AA%3D%3D", b"\0", "image/png", ""),
    ],
)
def test_a_data_url_is_read(url: str, data: bytes, declared: str, name: str) -> None:
    loaded = read_data_url(url, max_bytes=100)

    assert (loaded.data, loaded.declared, loaded.name) == (data, declared, name)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("data:image/png;base64", "the comma is missing"),
        ("data:image/png;base64,A", "not valid base64"),
        ("data:image/png;base64,A A=", "not valid base64"),
        ("data:image/png;base64,AA==AAAA", "not valid base64"),
        ("data:image/png;base64,%FF", "not valid base64"),
        ("data:image/png;base64,ä", "not valid base64"),
        (f"data:;base64,{base64.b64encode(bytes(1 << 20)).decode()}AAAA", "larger than 1 MiB"),
        (f"data:,{'a' * ((1 << 20) + 1)}", "larger than 1 MiB"),
        (f"data:,{'%61' * (1 << 21)}", "larger than 1 MiB"),
        (f"data:,{'%61' * 400_000}", "give it as base64"),
        (f"data:;base64,{'QUJD' * 300_000}%3D", "not valid base64"),
        (f"data:;base64,{'QUJD' * 16_383}QQ=={'QUJD' * 16}", "not valid base64"),
    ],
)
def test_a_data_url_that_cannot_be_taken_says_why(url: str, problem: str) -> None:
    with pytest.raises(MediaError, match=problem):
        read_data_url(url, max_bytes=1 << 20)


def test_a_long_data_url_is_read_whole() -> None:
    data = bytes(range(256)) * 3000

    assert read_data_url(f"data:;base64,{base64.b64encode(data).decode()}", max_bytes=1 << 20).data == data


@given(st.text())
def test_any_text_behind_data_gives_a_file_or_an_error(text: str) -> None:
    with contextlib.suppress(MediaError):
        read_data_url(f"data:{text}", max_bytes=1000)


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    folder = tmp_path / "shown"
    folder.mkdir()
    (folder / "a.txt").write_text("hello")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def test_a_file_inside_a_folder_is_read_by_either_kind_of_path(shown: Path) -> None:
    for path in ("a.txt", str(shown / "a.txt"), f"file://{shown / 'a.txt'}", "./x/../a.txt"):
        assert read_path(path, [shown / "missing", shown], max_bytes=5).data == b"hello"


def test_a_link_to_another_allowed_folder_is_followed(shown: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("b")
    (shown / "b.txt").symlink_to(other / "b.txt")

    assert read_path("b.txt", [shown, other], max_bytes=5).data == b"b"


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", "link.txt", "up/secret.txt", "missing.txt", ".", "a\0b", "x" * 5000, ""]
)
def test_nothing_outside_the_folders_is_read_and_the_error_tells_nothing(
    shown: Path, tmp_path: Path, path: str
) -> None:
    (shown / "link.txt").symlink_to(tmp_path / "secret.txt")
    (shown / "up").symlink_to(tmp_path)

    with pytest.raises(
        MediaError, match=r"no such file in a folder that may be shown; put it into one of tools\.roots"
    ) as raised:
        read_path(path, [shown], max_bytes=100)

    assert str(tmp_path) not in str(raised.value)


def test_a_pipe_in_the_folder_is_no_file(shown: Path) -> None:
    os.mkfifo(shown / "pipe")

    with pytest.raises(MediaError, match="no such file"):
        read_path("pipe", [shown], max_bytes=100)


def test_a_file_that_is_too_large_is_not_read_to_its_end(shown: Path) -> None:
    with (shown / "large").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(MediaError, match=r"larger than 1 MiB \(media\.max_item_bytes\)"):
        read_path("large", [shown], max_bytes=1 << 20)


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("report 1.pdf", "report 1.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\x.png", "x.png"),
        ('a"b\r\nSet-Cookie: x', "a_b__Set-Cookie_ x"),
        ("gpj\u202e.exe", "gpj_.exe"),
        ("\ud800.png", "_.png"),
        ("grüße 你好.txt", "grüße 你好.txt"),
        ("...", "file.bin"),
        ("", "file.bin"),
        ("///", "file.bin"),
        ("x" * 300 + ".jpeg", "x" * 115 + ".jpeg"),
        ("x" * 300, "x" * 120),
        ("x." + "y" * 300, "x." + "y" * 118),
    ],
)
def test_a_name_is_made_safe(name: str, clean: str) -> None:
    assert clean_name(name, default="file.bin") == clean


@given(st.text())
def test_a_clean_name_has_no_way_out(name: str) -> None:
    clean = clean_name(name, default="file")

    assert 0 < len(clean) <= MAX_NAME_CHARS
    assert not set(clean) & set('/\\"\r\n\0')
    clean.encode()
