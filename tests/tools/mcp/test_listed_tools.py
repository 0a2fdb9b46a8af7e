"""Foreign tools become ours, whatever their server writes."""

import re
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types

from server.config import McpServerSettings
from server.llm.language_model import ToolSpec
from server.tools.mcp.conversion import (
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    MAX_SCHEMA_BYTES,
    MAX_TOOLS,
    convert_tools,
    model_schema,
    plain_schema,
)
from server.tools.registry import Tool
from server.tools.tool_calls import ToolAnswer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "minimum",
        "maxLength",
        "additionalProperties",
        "$ref",
        "pattern",
    ]
)
SCHEMAS = st.recursive(
    JSON, lambda inner: st.dictionaries(KEYWORDS | st.text(max_size=3), inner, max_size=4), max_leaves=12
)


async def answer(_name: str, _arguments: dict[str, Any]) -> ToolAnswer:
    return ToolAnswer()


def listed(name: str, description: str = "", schema: dict[str, Any] | None = None, **hints: Any) -> types.Tool:
    annotations = types.ToolAnnotations(**hints) if hints else None
    return types.Tool(name=name, description=description, input_schema=schema or {}, annotations=annotations)


def take(*tools: types.Tool, **settings: Any) -> tuple[list[Tool], list[str]]:
    return convert_tools("srv", McpServerSettings(command="x", **settings), tools, call=answer, timeout_s=1.0)


def names(*remote: str) -> list[str]:
    return [tool.name for tool in take(*map(listed, remote))[0]]


def test_a_tool_is_called_after_its_server_and_itself() -> None:
    [taken] = take(listed("read-file", description="Reads.", schema={"type": "object"}))[0]

    assert taken.spec == ToolSpec(
        name="srv__read-file", description="Reads.", parameters={"type": "object", "properties": {}}
    )
    assert taken.permission == "EXTERNAL"


def test_names_that_no_provider_takes_are_made_fit_and_stay_apart() -> None:
    fit = names("a.b", "a/b", "a b", "grüße", "x" * 100, "x" * 101)

    assert fit[0] == "srv__a_b"
    assert re.fullmatch(r"srv__a_b_[0-9a-f]{6}", fit[1])
    assert len(set(fit)) == len(fit)
    assert all(len(name) <= MAX_NAME_CHARS for name in fit)


def test_a_name_does_not_depend_on_what_stands_beside_it_if_it_is_its_own() -> None:
    assert names("x" * 100) == names("y", "x" * 100)[1:]


def test_a_tool_that_runs_as_a_task_only_is_not_offered() -> None:
    supports: list[Literal["required", "optional"]] = ["required", "optional"]
    tools = [
        types.Tool(name=support, input_schema={}, execution=types.ToolExecution(task_support=support))
        for support in supports
    ]

    taken, left_out = take(*tools)

    assert [tool.name for tool in taken] == ["srv__optional"]
    assert left_out == ["'required': it runs as a task only, which is not supported"]


def test_of_two_tools_with_one_name_the_first_is_taken() -> None:
    taken, _ = take(listed("a", description="1"), listed("a", description="2"))

    assert [tool.spec.description for tool in taken] == ["1"]


@given(st.lists(st.text(), max_size=8))
def test_every_name_can_be_sent_and_is_one_of_its_kind(remote: list[str]) -> None:
    fit = names(*remote)

    assert len(set(fit)) == len(fit)
    assert all(re.fullmatch(r"srv__[A-Za-z0-9_-]{0,59}", name) for name in fit)


def test_only_the_tools_that_are_wanted_are_taken() -> None:
    taken, _ = take(listed("read_a"), listed("write_a"), listed("list"), tools=["read_*", "list"])

    assert [tool.name for tool in taken] == ["srv__read_a", "srv__list"]
    assert take(listed("a"), tools=[]) == ([], [])


def test_of_too_many_tools_the_rest_is_left_out_and_told() -> None:
    taken, left_out = take(*(listed(str(number)) for number in range(MAX_TOOLS + 2)))

    assert len(taken) == MAX_TOOLS
    assert left_out == ["all but 128 tools; choose with tools.mcp.srv.tools"]


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        (listed(" "), "it has no name"),
        (listed("a", schema={"type": "string"}), "its arguments are not an object"),
        (listed("a", schema={"properties": []}), "its properties are not an object"),
        (listed("a", schema={"description": "x" * MAX_SCHEMA_BYTES}), "its schema is larger than 32 KiB"),
    ],
)
def test_a_tool_that_cannot_be_taken_costs_itself_only(tool: types.Tool, problem: str) -> None:
    taken, left_out = take(tool, listed("fine"))

    assert [tool.name for tool in taken] == ["srv__fine"]
    assert left_out == [f"{tool.name!r}: {problem}"]


def test_a_description_is_bounded_and_hides_nothing() -> None:
    [long, sly] = take(
        listed("a", description="x" * 9000), listed("b", description="a\u202e\u2065b\x1b[2J\u200bc\ufff0\n\td")
    )[0]

    assert len(long.spec.description) == MAX_DESCRIPTION_CHARS
    assert sly.spec.description == "ab[2Jc\n\td"


@pytest.mark.parametrize(
    ("settings", "permission"),
    [
        ({}, "EXTERNAL"),
        ({"permission": "WRITE"}, "WRITE"),
        ({"trust_hints": True}, "READ"),
        ({"permissions": {"l*": "WRITE", "look": "READ"}, "trust_hints": True}, "WRITE"),
        ({"permissions": {"other": "READ"}}, "EXTERNAL"),
    ],
)
def test_the_operator_says_what_a_tool_may_touch(settings: dict[str, Any], permission: str) -> None:
    [taken] = take(listed("look", read_only_hint=True), **settings)[0]

    assert taken.permission == permission


def test_a_hint_counts_only_where_it_is_given() -> None:
    [taken] = take(listed("look"), trust_hints=True)[0]

    assert taken.permission == "EXTERNAL"


@pytest.mark.parametrize(("trust", "hint", "expected"), [(True, True, True), (True, False, False), (False, True, None)])
def test_a_destructive_hint_counts_only_from_a_trusted_server(
    *, trust: bool, hint: bool, expected: bool | None
) -> None:
    [taken] = take(listed("look", destructive_hint=hint), trust_hints=trust)[0]

    assert taken.destructive is expected


def test_a_model_is_told_what_every_provider_takes() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {
            "a": {"type": "string", "pattern": "^a+$"},
            "b": {"$ref": "#/$defs/b", "description": "B"},
            "c": {"$ref": "https://example.org/c"},
            "pattern": {"type": "string"},
        },
        "$defs": {"b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["a"],
    }

    assert model_schema(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"$ref": "#/$defs/b", "description": "B"},
            "c": {},
            "pattern": {"type": "string"},
        },
        "$defs": {"b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["a"],
    }


HOSTILE: dict[str, Any] = {
    "type": "object",
    "$ref": "http://169.254.169.254/latest",
    "properties": {
        "a": {"type": "string", "pattern": "(a+)+$", "maxLength": 5},
        "b": {"$ref": "#"},
        "c": {"anyOf": [{"$ref": "#/$defs/x"}] * 50},
        "d": {"type": "list of things"},
        "e": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": -1, "maxItems": True},
    },
    "$defs": {"x": {"allOf": [{"$ref": "#/$defs/x"}] * 2}},
    "required": ["a", 5],
    "additionalProperties": False,
}


def test_of_a_schema_the_plain_part_is_checked_here() -> None:
    assert plain_schema(HOSTILE) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "maxLength": 5},
            "b": {},
            "c": {},
            "d": {},
            "e": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        },
    }


@given(SCHEMAS, JSON)
def test_checking_never_fails_whatever_the_schema(schema: Any, arguments: Any) -> None:
    plain = plain_schema(schema)

    jsonschema.Draft202012Validator.check_schema(plain)
    list(jsonschema.Draft202012Validator(plain).iter_errors(arguments))


def test_a_hostile_schema_cannot_hold_the_server_up() -> None:
    [tool] = take(listed("a", schema=HOSTILE))[0]

    assert tool.explain_misfit({"a": "a" * 40 + "!"}) is not None
    assert tool.explain_misfit({"a": "aa!", "c": 1, "other": 2}) is None


def test_a_schema_nested_without_end_is_checked_so_far() -> None:
    schema: dict[str, Any] = {}
    for _ in range(500):
        schema = {"type": "array", "items": schema}

    assert str(plain_schema(schema)).count("items") <= 17
