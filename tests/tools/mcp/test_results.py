"""What an MCP tool gives, and what becomes of it."""

from typing import Any

import pytest
from mcp import types

from server.tools.mcp.conversion import MAX_FILES, read_result
from server.tools.tool_calls import ToolAnswer


def read(*blocks: dict[str, Any], **fields: Any) -> ToolAnswer:
    return read_result(types.CallToolResult.model_validate({"content": list(blocks), **fields}))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(data: str = "AAAA", kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": kind}


def test_texts_stand_in_their_order_and_files_are_named_where_they_stood() -> None:
    answer = read(text("a"), image(), {"type": "audio", "data": "BBBB", "mimeType": "audio/wav"}, text("b"))

    assert answer.for_llm == "a\n[image]\n[sound]\nb"
    assert answer.media == ("data:image/png;base64,AAAA", "data:audio/wav;base64,BBBB")
    assert not answer.is_error


def test_resources_are_read_shown_or_named() -> None:
    answer = read(
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "words"}},
        {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "CCCC"}},
        {"type": "resource_link", "uri": "https://example.org/x", "name": "x", "description": "about x"},
    )

    assert answer.for_llm == "words\n[file file:///a.bin]\nx: https://example.org/x (about x)"
    assert answer.media == ("data:;base64,CCCC",)


def test_structured_content_is_read_where_there_is_no_text() -> None:
    assert read(structuredContent={"ä": 1}).for_llm == '{"ä":1}'
    assert read(image(), structuredContent={"a": 1}).for_llm == '[image]\n{"a":1}'
    assert read(text("1"), structuredContent={"a": 1}).for_llm == "1"


def test_an_error_stays_one() -> None:
    answer = read(text("no"), isError=True)

    assert (answer.for_llm, answer.is_error) == ("no", True)


def test_nothing_is_nothing() -> None:
    assert read() == ToolAnswer()


def test_of_many_files_the_rest_is_left_out_and_said() -> None:
    answer = read(*[image()] * (MAX_FILES + 2))

    assert len(answer.media) == MAX_FILES
    assert answer.for_llm.endswith("[image]\n[a further file, left out]\n[a further file, left out]")


@pytest.mark.parametrize("kind", ["text/html,<script>", "image/png;base64,AAAA,", "a\r\nb", "ä"])
def test_a_type_cannot_break_out_of_its_place(kind: str) -> None:
    assert read(image(kind=kind)).media == ("data:;base64,AAAA",)
