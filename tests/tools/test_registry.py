"""The tools there are."""

import json
import socket
from typing import Any

import pytest

from server.llm.language_model import ToolSpec
from server.tools.registry import DynamicToolRegistry, Tool, ToolRegistry


async def nothing(arguments: dict[str, Any]) -> str:
    return ""


def tool(name: str, **schema: Any) -> Tool:
    return Tool(spec=ToolSpec(name=name, description="", parameters=schema), run=nothing)


def test_instructions_come_and_go_with_their_owner() -> None:
    tools = DynamicToolRegistry(ToolRegistry([]))
    tools.put("a", [], "Use a.")
    tools.put("b", [], "Use b.")
    assert tools.instructions == "Use a.\n\nUse b."

    tools.put("a", [])
    assert tools.instructions == "Use b."


def test_tools_keep_their_order_and_the_first_of_one_name_stands() -> None:
    first, second, third = tool("b"), tool("a"), tool("b")
    registry = ToolRegistry([first, second, third])

    assert registry.names == ["b", "a"]
    assert registry.specs == (first.spec, second.spec)
    assert registry.get("b") is first
    assert registry.get("c") is None


def test_a_registry_may_be_empty() -> None:
    registry = ToolRegistry([])

    assert (registry.names, registry.specs) == ([], ())


def test_what_was_pinned_keeps_the_tools_that_a_server_has_taken_away() -> None:
    tools = DynamicToolRegistry(ToolRegistry([tool("own")]))
    tools.put("server", [tool("guest")])
    pinned = tools.current

    tools.put("server", [])

    assert pinned.names == ["own", "guest"]
    assert tools.current.names == ["own"]


def test_a_guest_cannot_take_the_name_of_our_own_tool() -> None:
    own = tool("read_file")
    tools = DynamicToolRegistry(ToolRegistry([own]))

    tools.put("server", [tool("read_file")])

    assert tools.current.get("read_file") is own


def test_an_owner_that_comes_back_has_its_old_place() -> None:
    tools = DynamicToolRegistry(ToolRegistry([]))
    for owner, names in (("a", "1"), ("b", "2"), ("a", ""), ("a", "34")):
        tools.put(owner, [tool(name) for name in names])

    assert tools.current.names == ["3", "4", "2"]


def test_a_tool_that_nobody_declared_is_external() -> None:
    assert tool("a").permission == "EXTERNAL"


@pytest.mark.parametrize(
    ("arguments", "misfit"),
    [
        ({"path": "a", "lines": {"first": 1}}, None),
        ({"path": 5}, "path: 5 is not of type 'string'"),
        ({"lines": {"first": "x"}}, "lines.first: 'x' is not of type 'integer'"),
        ("a", "'a' is not of type 'object'"),
        (None, "None is not of type 'object'"),
    ],
)
def test_a_misfit_names_the_place_and_what_is_wrong(arguments: Any, misfit: str | None) -> None:
    reader = tool(
        "read",
        type="object",
        properties={
            "path": {"type": "string"},
            "lines": {"type": "object", "properties": {"first": {"type": "integer"}}},
        },
    )

    assert reader.explain_misfit(arguments) == misfit


def test_what_a_schema_refers_to_elsewhere_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/schema.json"

        misfit = tool("a", type="object", properties={"path": {"$ref": url}}).explain_misfit({"path": "x"})

        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert misfit is None, "what cannot be checked is left to the tool"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "("}, "x"),
        ({"type": "objekt"}, "x"),
        ({"items": {"$ref": "#/properties/n"}}, json.loads("[" * 400 + "]" * 400)),
    ],
    ids=["no pattern", "no type", "nested too deep"],
)
def test_what_cannot_be_checked_is_left_to_the_tool(schema: dict[str, Any], value: Any) -> None:
    assert tool("a", type="object", properties={"n": schema}).explain_misfit({"n": value}) is None
