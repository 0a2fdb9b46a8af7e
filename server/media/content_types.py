"""Content types of files: by their first bytes, and only then by what was declared. Pure."""

from typing import Final

UNKNOWN: Final = "application/octet-stream"
"""Type of files that are downloaded, never opened."""

IMAGES_FOR_MODELS: Final = frozenset(("image/png", "image/jpeg", "image/webp"))

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
)
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_MP4_BRANDS: Final = {b"M4A ": "audio/mp4", b"M4B ": "audio/mp4", b"avif": "image/avif"}

# Of these containers the first bytes do not tell sound from pictures: the declaration counts.
_CONTAINERS: Final = (("audio/ogg", "video/ogg"), ("audio/webm", "video/webm"), ("audio/mp4", "video/mp4"))

_TEXT: Final = frozenset(
    ("text/plain", "text/csv", "text/markdown", "text/calendar", "application/json", "application/jsonl")
)
"""Types that are believed when declared: such files are only downloaded, and not run by anything."""

_OFFICE: Final = (
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
    "application/epub+zip",
)

_BY_SUFFIX: Final = {
    "txt": "text/plain",
    "log": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "ics": "text/calendar",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "epub": "application/epub+zip",
    "oga": "audio/ogg",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "m4a": "audio/mp4",
}
"""Types by the name's suffix; a table of our own, as the system's differs from machine to machine."""

_SUFFIXES: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/avif": "avif",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/flac": "flac",
    "audio/webm": "webm",
    "video/ogg": "ogv",
    "video/webm": "webm",
    "video/mp4": "mp4",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/gzip": "gz",
    **{kind: suffix for suffix, kind in reversed(_BY_SUFFIX.items())},
}


def content_type(head: bytes, *, declared: str = "", name: str = "") -> str:
    """Return the type under which a file may be served.

    Its first bytes decide. What is declared, or said by the name, only tells
    apart what they leave open, and is never believed of a type that a browser
    would show: no declaration makes a picture of a page, and SVG or HTML are
    always UNKNOWN.
    """
    said = declared.partition(";")[0].strip().lower() or _BY_SUFFIX.get(name.rpartition(".")[2].lower(), "")
    seen = _seen(head)
    for container in _CONTAINERS:
        if seen in container:
            return said if said in container else seen
    if seen == "application/zip" and said.startswith(_OFFICE):
        return said
    if seen:
        return seen
    return said if said in _TEXT else UNKNOWN


def _seen(head: bytes) -> str:
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "")
    if head[4:8] == b"ftyp":
        return _MP4_BRANDS.get(head[8:12], "video/mp4")
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2:  # a frame of MPEG sound, layer III
        return "audio/mpeg"
    return ""


def is_shown(kind: str) -> bool:
    """Return whether a browser may show the file in its place; everything else is downloaded."""
    return kind.startswith(("image/", "audio/", "video/"))


def suffix_of(kind: str) -> str:
    return _SUFFIXES.get(kind, "bin")
