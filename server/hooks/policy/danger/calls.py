"""Whether a tool call is one to ask about: its permission class first, then what its name and arguments say."""

from collections.abc import Mapping
from typing import Any

from server.hooks.policy.danger.arguments.commands import by_commands, by_hidden_commands
from server.hooks.policy.danger.arguments.databases import by_mongo, by_redis, by_sql
from server.hooks.policy.danger.arguments.flags import by_flags, is_dry
from server.hooks.policy.danger.arguments.home import by_home
from server.hooks.policy.danger.arguments.http import by_http
from server.hooks.policy.danger.arguments.money import by_money
from server.hooks.policy.danger.arguments.orders import by_orders
from server.hooks.policy.danger.arguments.paths import by_paths, writes
from server.hooks.policy.danger.arguments.people import by_people
from server.hooks.policy.danger.arguments.programs import by_code
from server.hooks.policy.danger.names.judge import judge_name
from server.hooks.policy.danger.names.kinds import Kind, kind_of
from server.hooks.types import Permission


def judge_call(tool: str, permission: Permission, arguments: Any) -> str | None:
    """Why a careful person would want to be asked first; None: nothing speaks for it. READ never asks."""
    if permission == "READ":
        return None
    given = arguments if isinstance(arguments, Mapping) else {"input": arguments}
    if is_dry(given):
        return None
    if reason := judge_name(tool):
        return reason
    kind = kind_of(tool)
    if kind == "text":
        return by_paths(tool, given) if writes(tool) else None
    return (
        _by_kind(tool, kind, given)
        or by_flags(tool, given)
        or by_paths(tool, given)
        or by_people(tool, given)
        or by_home(tool, given)
        or by_money(tool, given)
    )


def _by_kind(tool: str, kind: Kind, given: Mapping[str, Any]) -> str | None:
    match kind:
        case "shell" if isinstance(given.get("code"), str):
            return by_code(tool, given)
        case "shell":
            return by_commands(tool, given) or by_orders(given, only_foreign=True)
        case "sql":
            return by_sql(given) or by_mongo(given) or by_http(tool, given)
        case "redis":
            return by_redis(given) or by_commands(tool, given)
        case "code":
            return by_code(tool, given)
        case "http":
            return by_http(tool, given)
        case "words":
            return by_orders(given) or by_http(tool, given)
    return by_http(tool, given) or by_mongo(given) or by_hidden_commands(given)
