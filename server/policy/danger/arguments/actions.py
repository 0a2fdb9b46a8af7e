"""Arguments that name what is done: an action of the tool, a job that it starts, calls that a call holds."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.commands.line import judge_shell
from server.policy.danger.commands.programs import is_service
from server.policy.danger.lexicon.meanings import key_of
from server.policy.danger.names.judge import judge_action, only_looks
from server.policy.danger.names.kinds import kind_of

_ACTIONS: Final = frozenset(
    "action actions op operation verb method command cmd call do tool function func fn procedure mutation cmdlet api subcommand service "
    "rpc step endpoint directory page handling tool_name operation_name action_type task intent directive act rest".split()
)
_SNAKE: Final = re.compile(r"[a-z]+(?:_[a-z]+)+")
_LINES: Final = ("command", "cmd", "commands")
"""Actions, but of tools that run command lines."""
_JOBS: Final = frozenset(
    "workflow pipeline job playbook runbook routine macro flow dag scene automation shortcut recipe preset mode stack_action lambda dag".split()
)
"""What is started by its name."""
_NAMED_JOBS: Final = frozenset(
    "shortcut workflow scene routine macro playbook automation pipeline job dag flow runbook".split()
)
_JOBS_AND_NAMES: Final = _JOBS | {"name", "title", "id"}
_STARTING: Final = frozenset(
    "run start trigger execute invoke dispatch call launch activate apply schedule n8n zapier make ifttt jenkins airflow prefect ci scene "
    "workflow shortcut home assistant automation webhook github gitlab lambda".split()
)
_NAME: Final = re.compile(r"[^\s'\"`$<>{}()=;|&?]{2,80}(?: [^\s'\"`$<>{}()=;|&?-]{2,30}){0,3}")
"""Of an action, rather than a sentence, a command line or an address."""
_ADDRESS: Final = re.compile(r"://|^/|/.*/|\.(?:py|sh|js|ya?ml|json|txt|md)$")
_STEPS: Final = frozenset(
    "steps actions action requests operations ops calls commands tasks sequence then else do jobs batch queue tool_calls events "
    "mutations changes transactions services items on_success on_failure nodes".split()
)
_DOINGS: Final = ("batch", "steps", "actions", "action", "sequence", "operations", "ops")
_INPUT_KEYS: Final = "input inputs arguments args params parameters payload data with kwargs".split()
_INPUTS: Final = frozenset(_INPUT_KEYS)
_CALLED: Final = ("tool", "tool_name", "function", "name", "call", "do", "service", "action", "type", "op", "method")
_MAX_PARTS: Final = 6
_MAX_INNER: Final = 50


def by_actions(call: Call) -> str | None:
    looks = any(only_looks(value) for key, value in call.leaves if key in _ACTIONS and isinstance(value, str))
    takes_lines = kind_of(call.tool) in ("shell", "code")
    jobs = _JOBS_AND_NAMES if not _NAMED_JOBS.isdisjoint(call.words) else _JOBS
    for key, value in call.leaves:
        if takes_lines and key in _LINES and not (isinstance(value, str) and _SNAKE.fullmatch(value)):
            continue
        if key in _ACTIONS or (
            key.removesuffix("_name").removesuffix("_id") in jobs and not looks and not _STARTING.isdisjoint(call.words)
        ):
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, str) and (reason := _judge(call.tool, item)):
                    return reason
    return None


def _judge(tool: str, action: str) -> str | None:
    first, _, rest = action.partition(" ")
    if rest and is_service(first):
        return judge_shell(action)
    if first.startswith("/") and not rest and action.count("/") < _MAX_PARTS:
        action = action.rsplit("/", maxsplit=1)[-1]
    is_name = _NAME.fullmatch(action) is not None and not _ADDRESS.search(action)
    return judge_action(tool, action) if is_name else None


def inner_calls(call: Call) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Calls that this one holds, each with its tool: `{"tool": …, "input": {…}}`, `{"steps": [{"do": …}, {"click": …}]}`."""
    count = 0
    for one in (call.given, *_steps(call.given)):
        for tool, arguments in _calls(one, is_whole=one is call.given):
            count += 1
            if count > _MAX_INNER:
                return
            yield tool, arguments


def _steps(given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key, value in given.items():
        if key in _STEPS and isinstance(value, list):
            yield from ({key_of(str(k)): v for k, v in item.items()} for item in value if isinstance(item, Mapping))
            yield from ({"action": item} for item in value if isinstance(item, str) and key in _DOINGS)
        elif key in _STEPS and isinstance(value, Mapping):
            yield {key_of(str(k)): v for k, v in value.items()}


def _calls(one: Mapping[str, Any], *, is_whole: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """`is_whole`: the call itself, which holds another only if it names a tool and its input."""
    if is_whole and _INPUTS.isdisjoint(one):
        return
    name = next((one[key] for key in _CALLED if isinstance(one.get(key), str)), None)
    given = next((one[key] for key in _INPUT_KEYS if isinstance(one.get(key), Mapping)), None)
    if name is not None and given is not None:
        yield name, given
    elif name is not None and not is_whole:
        yield name, {key: value for key, value in one.items() if value is not name}
    if is_whole:
        return
    for key, value in one.items():  # `{"deleteSheet": {…}}`, `{"click": "Pay"}`
        if key not in _CALLED:
            yield key, value if isinstance(value, Mapping) else {"value": value}
