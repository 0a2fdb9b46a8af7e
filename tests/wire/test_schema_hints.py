"""What messages name as possible at a place."""

from server.config import Config
from server.wire.schema_hints import has_keys_at, keys_at, values_at


def test_the_keys_of_an_object_are_found_through_lists_entries_and_alternatives() -> None:
    assert keys_at(Config, ".hooks.pre_tool_use[3]") == ["config", "filter", "locked", "type"]
    assert keys_at(Config, ".hooks.pre_tool_use.handlers[0].filter") == ["arguments", "permissions", "tools"]
    assert "on_error" in keys_at(Config, ".hooks.processes[...]")
    assert "hooks" in keys_at(Config, "")


def test_values_are_listed_where_they_are_few() -> None:
    assert sorted(values_at(Config, "log.level")) == ["debug", "error", "info", "warning"]
    assert values_at(Config, "listen.port") == []
    assert values_at(Config, "not.there[0]") == keys_at(Config, "not.there") == []


def test_an_object_stands_where_its_keys_or_their_type_are_known() -> None:
    assert has_keys_at(Config, ("hooks", "processes", "a.b", "env"))
    assert has_keys_at(Config, ("hooks", "pre_tool_use", "0"))
    assert not has_keys_at(Config, ("hooks", "processes", "a.b", "env", "A"))
    assert not has_keys_at(Config, ("llm", "options", "anything"))
    assert not has_keys_at(Config, ("not", "there"))
