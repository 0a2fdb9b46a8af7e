"""read_file, search_text and current_time, as a model calls them."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema
import pytest

from server.config import ToolsSettings as Settings
from server.llm.language_model import ToolCall
from server.tools.builtin import build_registry
from server.tools.executor import ToolExecutor
from server.tools.tool_calls import ToolOutcome
from skills_engine.hook_entries import BUILTIN_TOOLS


class Tools:
    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self.folder = folder
        settings = settings or Settings()
        self.executor = ToolExecutor(build_registry(settings, folder), settings)

    async def use(self, name: str, **arguments: Any) -> ToolOutcome:
        return await self.executor.run(ToolCall("c1", name, json.dumps(arguments)))

    async def read(self, path: str, **arguments: Any) -> str:
        outcome = await self.use("read_file", path=path, **arguments)
        assert not outcome.is_error, outcome.content
        return outcome.content

    async def search(self, pattern: str, **arguments: Any) -> str:
        outcome = await self.use("search_text", pattern=pattern, **arguments)
        assert not outcome.is_error, outcome.content
        return outcome.content

    async def fails(self, name: str, **arguments: Any) -> str:
        outcome = await self.use(name, **arguments)
        assert outcome.is_error, outcome.content
        return outcome.content


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_the_tools_read_only_and_their_schemas_are_schemas(tools: Tools) -> None:
    registry = tools.executor.registry

    assert registry.names == ["read_file", "search_text", "current_time"]
    for name in registry.names:
        tool = registry.get(name)
        assert tool is not None
        assert tool.permission == "READ"
        jsonschema.Draft202012Validator.check_schema(dict(tool.spec.parameters))


# --- read_file ----------------------------------------------------------------------------------------------------


async def test_a_file_is_read_whole(tools: Tools) -> None:
    (tools.folder / "a.md").write_text("one\n\n  two\n")

    assert await tools.read("a.md") == "one\n\n  two"


async def test_further_roots_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("a note")

    assert await Tools(tmp_path / "skills", Settings(roots=[tmp_path / "notes"])).read("a.md") == "a note"


async def test_offset_and_limit_choose_lines_and_the_rest_is_told(tools: Tools) -> None:
    (tools.folder / "a.txt").write_text(numbered(5))

    assert await tools.read("a.txt", offset=4) == "line 4\nline 5"
    assert await tools.read("a.txt", limit=5) == numbered(5).rstrip()
    assert await tools.read("a.txt", limit=2) == "line 1\nline 2\n(truncated, 3 lines left; go on with offset 3)"
    assert await tools.read("a.txt", offset=2, limit=1) == "line 2\n(truncated, 3 lines left; go on with offset 3)"
    assert await tools.read("a.txt", offset=5.0, limit=1.0) == "line 5", "JSON has one kind of number"


async def test_at_most_2000_lines_are_read_at_once(tools: Tools) -> None:
    (tools.folder / "a.txt").write_text(numbered(2001))

    text = await tools.read("a.txt", limit=5000)

    assert text == numbered(2000) + "(truncated, 1 lines left; go on with offset 2001)"


async def test_no_more_lines_are_read_than_a_result_may_hold(tmp_path: Path) -> None:
    tools = Tools(tmp_path, Settings(max_result_bytes=256))
    (tmp_path / "a.txt").write_text(numbered(1000))

    text = await tools.read("a.txt")

    assert len(text) <= 256
    assert text == numbered(14) + "(truncated, 986 lines left; go on with offset 15)"
    assert (await tools.read("a.txt", offset=15)).startswith("line 15\n")


async def test_a_line_longer_than_a_result_is_cut(tmp_path: Path) -> None:
    tools = Tools(tmp_path, Settings(max_result_bytes=256))
    (tmp_path / "a.txt").write_text("x" * 1000)

    assert await tools.read("a.txt") == "x" * 256 + "\n(truncated, 1 lines left)"


async def test_an_empty_file_says_so(tools: Tools) -> None:
    (tools.folder / "a.txt").write_text("")

    assert await tools.read("a.txt") == "(the file is empty)"


async def test_an_offset_behind_the_end_names_the_end(tools: Tools) -> None:
    (tools.folder / "a.txt").write_text(numbered(2))

    assert await tools.fails("read_file", path="a.txt", offset=3) == "a.txt has 2 lines; offset 3 is past its end"


@pytest.mark.parametrize("arguments", [{"offset": 0}, {"offset": -1}, {"offset": "1"}, {"limit": 0}, {"encoding": "x"}])
async def test_arguments_are_checked(tools: Tools, arguments: dict[str, Any]) -> None:
    assert (await tools.fails("read_file", path="a.txt", **arguments)).startswith(
        "the arguments do not fit read_file: "
    )


async def test_a_folder_names_what_it_holds(tools: Tools) -> None:
    (tools.folder / "sub" / "deep").mkdir(parents=True)
    (tools.folder / "sub" / "a.txt").write_text("")

    assert await tools.fails("read_file", path="sub") == "sub is a folder; it contains: a.txt, deep/"
    assert await tools.fails("read_file", path="sub/deep") == "sub/deep is a folder; it contains: nothing"


async def test_of_a_large_folder_100_names_are_told(tools: Tools) -> None:
    (tools.folder / "sub").mkdir()
    for number in range(103):
        (tools.folder / "sub" / f"{number:03}").write_text("")

    text = await tools.fails("read_file", path="sub")

    assert text == f"sub is a folder; it contains: {', '.join(f'{n:03}' for n in range(100))} and 3 more"


async def test_what_is_no_text_is_refused(tools: Tools) -> None:
    (tools.folder / "a.png").write_bytes(b"\x89PNG\r\n\0")
    os.mkfifo(tools.folder / "pipe")
    (tools.folder / "big.txt").touch()
    os.truncate(tools.folder / "big.txt", (10 << 20) + 1)

    assert await tools.fails("read_file", path="a.png") == "a.png is a binary file"
    assert await tools.fails("read_file", path="pipe") == "pipe is not a regular file"
    assert await tools.fails("read_file", path="big.txt") == "big.txt is larger than 10 MiB"


async def test_a_file_of_ten_mib_is_read(tools: Tools) -> None:
    (tools.folder / "big.txt").write_bytes(b"x" * (10 << 20))

    assert (await tools.read("big.txt")).startswith("xxx")


async def test_a_byte_order_mark_is_taken_off_and_wrong_bytes_are_replaced(tools: Tools) -> None:
    (tools.folder / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo \xff")

    assert await tools.read("a.txt") == "one\ntwo \ufffd"


async def test_a_path_that_leaves_the_folder_is_refused(tools: Tools) -> None:
    assert "outside the folders" in await tools.fails("read_file", path="../x")
    assert "outside the folders" in await tools.fails("search_text", pattern="x", path="../")


# --- search_text --------------------------------------------------------------------------------------------------


async def test_every_matching_line_is_given_with_path_and_number(tools: Tools) -> None:
    (tools.folder / "b.txt").write_text("no\n  a hat  \nTHE CAT\n")
    (tools.folder / "sub").mkdir()
    (tools.folder / "sub" / "a.txt").write_text("cat, cat\n")

    assert await tools.search("[hc]at") == "b.txt:2: a hat\nsub/a.txt:1: cat, cat"
    assert await tools.search("(?i)cat$") == "b.txt:3: THE CAT\nsub/a.txt:1: cat, cat"
    assert await tools.search("cat", path="b.txt") == "no matches"
    assert await tools.search("cat", path="sub") == "sub/a.txt:1: cat, cat"
    assert await tools.search("dog") == "no matches"


async def test_binary_and_large_files_are_passed_over(tools: Tools) -> None:
    (tools.folder / "a.bin").write_bytes(b"cat\0")
    (tools.folder / "b.txt").write_bytes(b"cat" * (4 << 20))
    (tools.folder / "c.txt").write_text("cat")

    assert await tools.search("cat") == "c.txt:1: cat"


async def test_200_matches_are_given_and_the_others_counted(tools: Tools) -> None:
    (tools.folder / "a.txt").write_text("cat\n" * 203)

    lines = (await tools.search("cat")).split("\n")

    assert lines[198:] == ["a.txt:199: cat", "a.txt:200: cat", "(truncated, 3 lines left)"]


async def test_no_more_matches_are_given_than_a_result_may_hold(tmp_path: Path) -> None:
    tools = Tools(tmp_path, Settings(max_result_bytes=256))
    (tmp_path / "a.txt").write_text("cat\n" * 500)

    lines = (await tools.search("cat")).split("\n")

    assert lines == [*(f"a.txt:{n}: cat" for n in range(1, 9)), "(truncated, 492 lines left)"]


async def test_a_match_that_fills_the_result_alone_is_given(tmp_path: Path) -> None:
    tools = Tools(tmp_path, Settings(max_result_bytes=256))
    (tmp_path / "a.txt").write_text("c" * 150 + "\ncat")

    assert await tools.search("c") == f"a.txt:1: {'c' * 150}\n(truncated, 1 lines left)"


async def test_of_a_long_line_500_characters_are_given(tools: Tools) -> None:
    (tools.folder / "a.txt").write_text("x" * 600)

    assert await tools.search("x") == f"a.txt:1: {'x' * 500}"


async def test_a_pattern_that_is_none_says_why(tools: Tools) -> None:
    text = await tools.fails("search_text", pattern="(cat")

    assert text == "not a regular expression: missing ) at position 4; put a backslash before special characters"
    assert "do not fit" in await tools.fails("search_text", pattern="")
    assert "do not fit" in await tools.fails("search_text", pattern="x" * 1001)


async def test_a_pattern_may_count(tools: Tools) -> None:
    (tools.folder / "a.txt").write_text("on 2026-11-21\n")

    assert await tools.search(r"\d{4}-\d{2}-\d{2}.{0,2000}$") == "a.txt:1: on 2026-11-21"


# --- current_time -------------------------------------------------------------------------------------------------


async def minute(tools: Tools, **arguments: str) -> tuple[datetime, str]:
    """What stands in the tool's brackets: the minute, and the place."""
    outcome = await tools.use("current_time", **arguments)
    match = re.fullmatch(r"(It is .+)\n\((\d{4}-\d\d-\d\d \d\d:\d\d), (.+)\)", outcome.content)
    assert match, outcome.content
    minute = datetime.strptime(match[2], "%Y-%m-%d %H:%M")  # noqa: DTZ007 - a clock on the wall has no zone
    city = f" in {match[3].split(',')[0].rpartition('/')[2].replace('_', ' ')}" if arguments else ""
    hour = f"{minute.hour % 12 or 12}:{minute:%M} {'a.m.' if minute.hour < 12 else 'p.m.'}"
    assert match[1] == f"It is {hour}{city}, {minute:%A}, {minute.day} {minute:%B}."
    return minute, match[3]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("asia/kolkata", "Asia/Kolkata"),
        ("tokyo", "Asia/Tokyo"),
        (" New York ", "America/New_York"),
        ("UTC", "UTC"),
    ],
)
async def test_the_time_of_a_zone_is_found_by_its_name_or_its_city(tools: Tools, name: str, key: str) -> None:
    said, place = await minute(tools, timezone=name)

    there = datetime.now(ZoneInfo(key))
    assert abs((there.replace(tzinfo=None) - said).total_seconds()) < 120
    offset = there.strftime("%z")
    assert place == f"{key}, UTC{offset[:3]}:{offset[3:]}"


async def test_without_a_zone_it_is_the_time_here(tools: Tools) -> None:
    said, place = await minute(tools)

    here = datetime.now(UTC).astimezone()
    assert abs((here.replace(tzinfo=None) - said).total_seconds()) < 120
    assert re.fullmatch(r"UTC[+-]\d\d:\d\d", place)


@pytest.mark.parametrize("name", ["Atlantis", "", "../etc/passwd", "Europe", "x" * 500])
async def test_a_zone_that_is_not_there_says_so(tools: Tools, name: str) -> None:
    text = await tools.fails("current_time", timezone=name)

    assert text == f"there is no time zone {name}; name a large city near it, or an IANA zone such as Europe/Berlin"


def test_a_root_that_is_not_there_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("x")

    build_registry(Settings(roots=[tmp_path, tmp_path / "gone", tmp_path / "file"]), tmp_path)

    assert [record.getMessage() for record in caplog.records] == [
        f"tools.roots: {tmp_path / name} is not a folder; nothing is read there until it is"
        for name in ("gone", "file")
    ]


def test_the_loader_of_hooks_knows_the_names_of_these_tools(tmp_path: Path) -> None:
    assert sorted(build_registry(Settings(), tmp_path).names) == sorted(BUILTIN_TOOLS)
