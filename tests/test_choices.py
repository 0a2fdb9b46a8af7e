"""What messages name as possible at a place."""

from server.choices import keys_at, values_at
from server.config import Config


def test_the_keys_of_an_object_are_found_through_lists_entries_and_alternatives() -> None:
    assert keys_at(Config, ".hooks.pre_tool_use[3]") == ["config", "filter", "locked", "type"]
    assert keys_at(Config, ".hooks.pre_tool_use.handlers[0].filter") == ["arguments", "permissions", "tools"]
    assert "on_error" in keys_at(Config, ".hooks.processes[...]")
    assert "hooks" in keys_at(Config, "")


def test_values_are_listed_where_they_are_few() -> None:
    assert sorted(values_at(Config, "log.level")) == ["debug", "error", "info", "warning"]
    assert values_at(Config, "listen.port") == []
    assert values_at(Config, "not.there[0]") == keys_at(Config, "not.there") == []
