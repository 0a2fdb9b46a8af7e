"""What a file is."""

import pytest

from server.media.content_types import UNKNOWN, content_type, is_shown, suffix_of

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"GIF89a\1\0", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"RIFF\0\0\0\0AVI LIST", UNKNOWN),
        (b"ID3\4\0", "audio/mpeg"),
        (b"\xff\xfb\x90\x44", "audio/mpeg"),
        (b"fLaC\0", "audio/flac"),
        (b"OggS\0", "audio/ogg"),
        (b"\x1a\x45\xdf\xa3\x9f", "video/webm"),
        (b"\0\0\0\x20ftypisom\0", "video/mp4"),
        (b"\0\0\0\x20ftypM4A \0", "audio/mp4"),
        (b"\0\0\0\x20ftypavif\0", "image/avif"),
        (b"%PDF-1.7", "application/pdf"),
        (b"PK\3\4\0", "application/zip"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", UNKNOWN),
        (b"<!doctype html><script>", UNKNOWN),
        (b"", UNKNOWN),
        (b"\xff", UNKNOWN),
        (b"RIFF", UNKNOWN),
    ],
)
def test_the_first_bytes_tell_what_a_file_is(head: bytes, kind: str) -> None:
    assert content_type(head) == kind


@pytest.mark.parametrize(
    "declared", ["image/png", "image/svg+xml", "text/html", "audio/mpeg", "video/mp4", "application/pdf"]
)
def test_a_declaration_makes_nothing_of_a_page(declared: str) -> None:
    assert content_type(b"<svg onload='alert(1)'>", declared=declared) == UNKNOWN


@pytest.mark.parametrize(
    ("head", "declared", "name", "kind"),
    [
        (PNG, "image/jpeg", "", "image/png"),
        (PNG, "text/html", "x.html", "image/png"),
        (b"OggS\0", "video/ogg", "", "video/ogg"),
        (b"OggS\0", "text/html", "", "audio/ogg"),
        (b"\x1a\x45\xdf\xa3", "audio/webm; codecs=opus", "", "audio/webm"),
        (b"\0\0\0\x20ftypisom\0", "Audio/MP4", "", "audio/mp4"),
        (b"hello", "text/plain; charset=utf-8", "", "text/plain"),
        (b"hello", "", "notes.TXT", "text/plain"),
        (b"a,b\n", "", "table.csv", "text/csv"),
        (b"<p>", "", "page.html", UNKNOWN),
        (b"PK\3\4\0", "", "letter.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"PK\3\4\0", "text/html", "", "application/zip"),
    ],
)
def test_a_declaration_tells_apart_what_the_bytes_leave_open(head: bytes, declared: str, name: str, kind: str) -> None:
    assert content_type(head, declared=declared, name=name) == kind


def test_pictures_sound_and_films_are_shown_and_everything_else_is_downloaded() -> None:
    assert all(is_shown(kind) for kind in ("image/png", "audio/wav", "video/mp4"))
    assert not any(is_shown(kind) for kind in ("application/pdf", "text/plain", UNKNOWN))


def test_a_file_without_a_name_gets_the_suffix_of_its_type() -> None:
    assert [suffix_of(kind) for kind in ("image/jpeg", "text/plain", "audio/ogg", UNKNOWN)] == [
        "jpg",
        "txt",
        "oga",
        "bin",
    ]
