"""Whether a tool call is one to ask about: its permission class first, then what its name and arguments say."""

from typing import Any, Final

from server.policy.danger.arguments.actions import by_actions, inner_calls
from server.policy.danger.arguments.call import Call, call_of
from server.policy.danger.arguments.commands import by_commands, by_hidden_commands
from server.policy.danger.arguments.databases import by_mongo, by_redis, by_sql
from server.policy.danger.arguments.flags import by_flags, is_dry
from server.policy.danger.arguments.formats import by_formats, is_of_a_network
from server.policy.danger.arguments.home import by_home
from server.policy.danger.arguments.http import by_http
from server.policy.danger.arguments.money import by_money
from server.policy.danger.arguments.named_programs import by_named_program
from server.policy.danger.arguments.orders import by_orders
from server.policy.danger.arguments.patches import by_patches
from server.policy.danger.arguments.paths import by_paths, writes
from server.policy.danger.arguments.payments import by_payments
from server.policy.danger.arguments.people import by_people, is_to_oneself
from server.policy.danger.arguments.plants import by_plants, by_ranges
from server.policy.danger.arguments.programs import by_code, by_downloads
from server.policy.danger.arguments.scripts import by_scripts
from server.policy.danger.names.judge import judge_name
from server.policy.danger.names.kinds import Kind, kind_of, works_on_text
from server.tool_calls import Permission

_MAX_DEPTH: Final = 4
"""Of calls inside calls."""

_BY_ARGUMENTS: Final = (
    by_mongo,
    by_scripts,
    by_formats,
    by_patches,
    by_payments,
    by_plants,
    by_ranges,
    by_downloads,
    by_actions,
    by_flags,
    by_paths,
    by_people,
    by_home,
    by_money,
)


def judge_call(tool: str, permission: Permission, arguments: Any) -> str | None:
    """Why a careful person would want to be asked first; None: nothing speaks for it. READ never asks."""
    return None if permission == "READ" else _judge(tool, arguments, 0)


def _judge(tool: str, arguments: Any, depth: int) -> str | None:
    call = call_of(tool, arguments)
    if is_dry(call):
        return None
    if reason := judge_name(tool):
        return None if is_to_oneself(call) else reason
    kind = kind_of(tool)
    if kind == "text" and works_on_text(tool):
        return by_paths(call) or by_patches(call) or by_scripts(call) if writes(call) else None
    if is_of_a_network(call):
        return by_http(call) or _by_arguments(call) or _by_inner_calls(call, depth)
    return by_named_program(call) or _by_kind(kind, call) or _by_arguments(call) or _by_inner_calls(call, depth)


def _by_arguments(call: Call) -> str | None:
    for judge in _BY_ARGUMENTS:
        if reason := judge(call):
            return reason
    return None


def _by_inner_calls(call: Call, depth: int) -> str | None:
    if depth == _MAX_DEPTH:
        return None
    reasons = (_judge(tool, arguments, depth + 1) for tool, arguments in inner_calls(call))
    return next((reason for reason in reasons if reason), None)


def _by_kind(kind: Kind, call: Call) -> str | None:
    match kind:
        case "shell" if isinstance(call.given.get("code"), str):
            return by_code(call)
        case "shell":
            return by_commands(call) or by_orders(call, only_foreign=True) or by_http(call)
        case "sql":
            return by_sql(call) or by_mongo(call) or by_http(call)
        case "redis":
            return by_redis(call) or by_commands(call)
        case "code":
            return by_code(call)
        case "http":
            return by_http(call)
        case "words":
            return by_orders(call) or by_http(call)
    return by_http(call) or by_hidden_commands(call)
