"""docs/protocol.md, read row by row: what it promises is there, under that name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from scripts.frame_schemas import frames_schema
from server.wire.frames import CLIENT_FRAMES, PROTOCOL, SERVER_FRAMES, ErrorCode, LimitItems

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8")
FRAMES: dict[tuple[str, Any], type[msgspec.Struct]] = {
    (side, frame.__struct_config__.tag): frame
    for side, frames in (("client", CLIENT_FRAMES), ("server", SERVER_FRAMES))
    for frame in frames
}


def rows() -> Iterator[tuple[str, str, str]]:
    """(side, type, the cell with its fields) of every frame on the page."""
    for side, title in (("client", "## Client → server"), ("server", "## Server → client")):
        table = PAGE.split(title)[1].split("\n\n### ")[0].split("\n## ")[0]
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) > 3 and cells[1].startswith("`"):
                yield from ((side, kind, cells[2]) for kind in re.findall(r"`(\w+)`", cells[1]))


def fields(cell: str) -> list[str]:
    """The names at the top of a cell: `a`, `b: […]` (…), `c`?"""
    flat = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", cell)
    return [name for quoted in re.findall(r"`([^`]*)`", flat) if (name := quoted.partition(":")[0]).isidentifier()]


ROWS = list(rows())


def test_the_page_has_every_frame_once() -> None:
    assert sorted((side, kind) for side, kind, _ in ROWS) == sorted(FRAMES)


@pytest.mark.parametrize(("side", "kind", "cell"), ROWS, ids=[f"{side} {kind}" for side, kind, _ in ROWS])
def test_the_fields_of_a_row_are_those_of_the_frame(side: str, kind: str, cell: str) -> None:
    frame = FRAMES[side, kind]

    of_all = ["ref"] if side == "client" else []
    assert sorted([*fields(cell), *of_all]) == sorted(field.encode_name for field in msgspec.structs.fields(frame))


def test_the_page_says_that_every_client_frame_may_carry_a_ref() -> None:
    assert "## Client → server\n\nEvery frame may carry `ref`, a string of at most 64 characters." in PAGE


@pytest.mark.parametrize(
    ("kind", "cell"), [(kind, cell) for side, kind, cell in ROWS if side == "server"], ids=lambda value: value[:20]
)
def test_what_may_be_missing_is_marked_and_the_schema_requires_the_rest(kind: str, cell: str) -> None:
    flat = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", cell)
    marked = {name.partition(":")[0] for name in re.findall(r"`([^`]*)`\?", flat)}
    schema = frames_schema(SERVER_FRAMES, "")["$defs"][FRAMES["server", kind].__name__]

    assert {*schema["properties"]} - {*schema["required"]} == marked


def test_the_page_has_every_error_code_and_no_other() -> None:
    listed = PAGE.split("Error codes: ")[1].split(". A code")[0]

    assert re.findall(r"`(\w+)`", listed) == list(get_args(ErrorCode))


def test_the_page_names_the_protocol_and_the_limits() -> None:
    assert f"`{PROTOCOL}`" in PAGE
    for field in msgspec.structs.fields(LimitItems):
        assert f"`{field.name}`" in PAGE
