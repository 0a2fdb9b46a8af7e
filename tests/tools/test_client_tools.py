"""Tools of a client: what of their schemas is checked, and in how little time."""

import time
from typing import Any

import pytest

from server.config import ToolsSettings
from server.llm.language_model import ToolCall
from server.tools.client_tools import ClientTool, client_tools
from server.tools.executor import ToolExecutor
from server.tools.registry import ToolRegistry
from server.wire import frames as wire


class NoClient:
    async def ask(self, call_id: str, name: str, arguments: dict[str, Any]) -> Any:
        raise AssertionError(f"{call_id} of {name} was sent to the client with {arguments}")

    def announce(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        raise AssertionError(f"{call_id} of {name} was announced with {arguments}")


def tool_with(**schema: Any) -> ClientTool:
    (tool,) = client_tools([wire.ToolItem(name="find_seat", parameters={"type": "object", **schema})], NoClient())
    return tool


def doubling(levels: int) -> dict[str, Any]:
    """A schema whose check takes 2 ** levels steps."""
    last = {f"d{levels}": {"type": "string"}}
    two = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": two | last, "properties": {"a": {"$ref": "#/$defs/d0"}}}


@pytest.mark.parametrize(
    ("schema", "arguments", "problem"),
    [
        ({"properties": {"row": {"type": "integer"}}}, {"row": "7"}, "row: '7' is not of type 'integer'"),
        ({"required": ["row"]}, {}, "'row' is a required property"),
        ({"additionalProperties": False}, {"row": 7}, "Additional properties are not allowed ('row' was unexpected)"),
        ({"properties": {"row": {"enum": [1, 2]}}}, {"row": 7}, "row: 7 is not one of [1, 2]"),
        (
            {"$defs": {"row": {"type": "integer"}}, "properties": {"row": {"$ref": "#/$defs/row"}}},
            {"row": "7"},
            "row: '7' is not of type 'integer'",
        ),
        ({"properties": {"row": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, {"row": None}, None),
        ({"properties": {"row": {"pattern": "^[0-9]$"}}}, {"row": "x"}, None),
        ({"patternProperties": {"^r": {"type": "integer"}}, "additionalProperties": False}, {"seat": "x"}, None),
        ({"type": "object"}, [], "[] is not of type 'object'"),
    ],
)
def test_arguments_are_checked_against_the_client_s_schema(
    schema: dict[str, Any], arguments: Any, problem: str | None
) -> None:
    assert tool_with(**schema).explain_misfit(arguments) == problem


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (doubling(40), "x"),
        (doubling(40), 5),
        ({"properties": {"a": {"pattern": "^(x+)+$"}}}, "x" * 40 + "!"),
        ({"propertyNames": {"pattern": "^(x+)+$"}, "patternProperties": {"^(a+)+b": {}}}, "x"),
        ({"properties": {"a": {"uniqueItems": True}}}, [{"n": n} for n in range(10_000)]),
        ({"properties": {"a": {"items": {"anyOf": [{"const": n} for n in range(4000)]}}}}, ["x"] * 20_000),
        ({"unevaluatedProperties": False, **doubling(40)}, "x"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "x"),
        ({"properties": {"a": {"$ref": "https://example.org/a.json"}}}, "x"),
        ({"properties": {"a": 5, "b": {"type": "everything"}}}, "x"),
        ({"properties": ["a"], "required": 5, "enum": {}}, "x"),
    ],
)
def test_no_schema_of_a_client_takes_long_to_check(schema: dict[str, Any], value: object) -> None:
    tool = tool_with(**schema)
    began_s = time.thread_time()

    tool.explain_misfit({"a": value})

    assert time.thread_time() - began_s < 1, "it should take milliseconds; each of these can take hours"


async def test_only_outputs_of_the_client_s_tools_are_taken() -> None:
    executor = ToolExecutor(ToolRegistry([]), ToolsSettings(max_result_bytes=1024), client_tools=[tool_with()])
    taken = await executor.take_output(ToolCall("c1", "find_seat", "{}"), "x\n" * 2000)
    foreign = await executor.take_output(ToolCall("c1", "other", "{}"), "x")

    assert taken is not None
    assert (taken.ending, len(taken.content) < 1100) == ("ran", True)
    assert foreign is None
