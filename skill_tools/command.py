"""Commands for skill authors: `python -m skills_engine lint | new | simulate | test | schema | add | …`."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from skill_tools.authoring.lint import diagnostic_line, is_skill_folder, line_of, lint
from skill_tools.authoring.scaffold import NEUTRAL_TEXT, new_skill, schema_text
from skill_tools.authoring.simulate import play_turns, render, render_costs
from skill_tools.sharing import share_command
from skill_tools.sharing.bundle import SharingError
from skill_tools.testing import tests_command
from skill_tools.testing.tests_format import TIME_FORMS, CallSpec, clock_of
from skill_tools.testing.tests_report import counted
from skill_tools.testing.tests_runner import find_named
from skills_engine.conditions.set_entry import CONTEXT_KEY
from skills_engine.conditions.turn_facts import Channel, HookFacts, zone_of
from skills_engine.diagnostics import visible_text
from skills_engine.hook_entries import TIMINGS, HookInfo
from skills_engine.hooks_config import read_hooks
from skills_engine.library import load_snapshot
from skills_engine.skills_folder import list_skills
from skills_engine.trigger_entries import TRIGGER_EVENTS, TriggerInfo

OK, FAILED, USAGE = 0, 1, 2
_PATH_HELP = "the folder of one skill, or of many"
PIPE_CLOSED, INTERRUPTED = 128 + signal.SIGPIPE, 128 + signal.SIGINT


def main(argv: Sequence[str], connect: tests_command.Connect) -> int:
    """Run a command; `connect` reaches the server whose model is asked by tests."""
    arguments = _parser(connect).parse_args(argv)
    run = cast("Callable[[argparse.Namespace], int]", arguments.run)
    try:
        status = run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, SharingError) as error:  # a folder that is closed to us; a source or name refused
        print(f"error: {visible_text(_problem(error))}", file=sys.stderr)
        return USAGE


def _problem(error: OSError | SharingError) -> str:
    """Name the file, what is wrong with it, and what to look at."""
    if isinstance(error, FileNotFoundError):
        return f"{error.filename}: there is no such file or folder; check the path"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check the path, and whether you may read and write there"
    return str(error)


def _parser(connect: tests_command.Connect) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skills_engine",
        description="Tools for skill authors.",
        epilog="Exit status: 0 no errors, 1 an error in a skill, 2 a wrong command.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_lint(commands)
    _add_new(commands)
    _add_simulate(commands)

    test_command = commands.add_parser("test", help="run the tests of skills", epilog=tests_command.EPILOG)
    test_command.add_argument("path", metavar="PATH", type=_folder, help=_PATH_HELP)
    tests_command.add_options(test_command)
    test_command.set_defaults(run=partial(tests_command.run_tests, connect=connect))

    schema_command = commands.add_parser("schema", help="print the JSON Schema of hooks.json, or of files of tests")
    schema_command.add_argument("kind", nargs="?", choices=("hooks", "tests"), default="hooks")
    schema_command.set_defaults(run=_schema)

    share_command.register(commands)
    return parser


def _add_lint(commands: share_command.Commands) -> None:
    lint_command = commands.add_parser("lint", help="check skills and report problems")
    lint_command.add_argument("path", metavar="PATH", type=_folder, help=_PATH_HELP)
    lint_command.add_argument("--strict", action="store_true", help="warnings count as errors")
    lint_command.add_argument("--notes", action="store_true", help="print notes, too: what is right but good to know")
    lint_command.add_argument("--json", action="store_true", help="print a JSON list of diagnostics")
    lint_command.set_defaults(run=_lint)


def _add_new(commands: share_command.Commands) -> None:
    new_command = commands.add_parser("new", help="create a working skill to adapt")
    new_command.add_argument("name", metavar="NAME", help="lower-case letters, digits and hyphens")
    new_command.add_argument("--dir", type=Path, default=Path("skills"), help="where (default: %(default)s)")
    new_command.add_argument("--timing", choices=TIMINGS, help="when the model reads the text")
    new_command.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help="only after this tool, or those that a glob fits (files__*); give it again for another",
    )
    new_command.add_argument("--trigger", choices=TRIGGER_EVENTS, help="the skill speaks first, at this event")
    new_command.add_argument("--text", default=NEUTRAL_TEXT, help="what the model reads (default: %(default)s)")
    new_command.set_defaults(run=_new)


def _add_simulate(commands: share_command.Commands) -> None:
    simulate_command = commands.add_parser(
        "simulate", help="simulate a turn without a model, and print what each call reads"
    )
    simulate_command.add_argument("path", metavar="PATH", type=_folder, help=_PATH_HELP)
    simulate_command.add_argument(
        "--text",
        action="append",
        metavar="TEXT",
        help="what the user says; give it again for the next turn, of which the last is printed",
    )
    simulate_command.add_argument(
        "--round",
        action="append",
        type=_tool_calls,
        metavar="TOOL[,TOOL]",
        help="tools that the model calls in one round (TOOL=error, TOOL=refused: how the call ends); "
        "give it again for another (default: --round read_file)",
    )
    simulate_command.add_argument("--trigger", metavar="NAME", help="this trigger begins the turn, and no user")
    simulate_command.add_argument("--channel", choices=get_args(Channel), default="text", help="how the turn begins")
    simulate_command.add_argument("--language", metavar="TAG", help="the user's language, such as de-CH")
    simulate_command.add_argument("--user", metavar="NAME", help="the user who is logged in")
    simulate_command.add_argument("--model", default="", metavar="NAME", help="the model, or local or cloud")
    simulate_command.add_argument(
        "--time", type=_time, metavar="TIME", help=f"when the turn starts, such as {TIME_FORMS} (default: now)"
    )
    simulate_command.add_argument(
        "--context", type=_context, action="append", metavar="KEY=VALUE", help="what the application says; repeatable"
    )
    simulate_command.add_argument("--seed", default="", metavar="TEXT", help="decides what is drawn at random")
    simulate_command.add_argument(
        "--turns", type=int, default=1, metavar="N", help="repeat the last --text until there are so many turns"
    )
    ending = simulate_command.add_mutually_exclusive_group()
    ending.add_argument("--no-need", action="store_true", help="the model answers at once, without tools")
    ending.add_argument("--no-tools", action="store_true", help="tools are switched off")
    simulate_command.add_argument(
        "--cost", action="store_true", help="print what hooks cost, and what a prompt cache can use again"
    )
    simulate_command.set_defaults(run=_simulate)


def _folder(text: str) -> Path:
    path = Path(text)
    if path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is a file: give the folder of the skill, or of many")
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"no such folder: {text}")
    return path


def _tool_calls(text: str) -> list[CallSpec]:
    return [_tool_call(part.strip()) for part in text.split(",")]


def _tool_call(text: str) -> CallSpec:
    name, _, status = text.partition("=")
    match status:
        case "" | "ok":
            return CallSpec(tool=name)
        case "error":
            return CallSpec(tool=name, error=f"(error of {name})")
        case "refused":
            return CallSpec(tool=name, refused=f"(refusal of {name})")
    raise argparse.ArgumentTypeError(f"{text}: a call ends with ok, error or refused")


def _time(text: str) -> datetime:
    try:
        return clock_of(text, None).astimezone()
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text} is not a time: write it like {TIME_FORMS}") from error


def _lint(arguments: argparse.Namespace) -> int:
    by_folder = lint(arguments.path)
    if not by_folder:
        return _no_skills(arguments.path)
    reported = [
        (folder, diagnostic)
        for folder, diagnostics in by_folder.items()
        for diagnostic in diagnostics
        if arguments.notes or diagnostic.severity != "info"
    ]
    errors = sum(diagnostic.severity == "error" for _, diagnostic in reported)
    warnings = sum(diagnostic.severity == "warning" for _, diagnostic in reported)
    if arguments.json:
        found = [asdict(one) | {"line": line_of(folder, one)} for folder, one in reported]
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        for folder, diagnostic in reported:
            print(diagnostic_line(folder, diagnostic))
        print(
            f"{counted(len(by_folder), 'folder')} checked: {counted(errors, 'error')}, {counted(warnings, 'warning')}"
        )
    return FAILED if errors or (arguments.strict and warnings) else OK


def _no_skills(path: Path) -> int:
    print(
        f"error: {path} holds no skills: give the folder of a skill, with SKILL.md in it, or of many", file=sys.stderr
    )
    return USAGE


def _new(arguments: argparse.Namespace) -> int:
    folder = new_skill(
        arguments.name,
        arguments.dir,
        timing=arguments.timing,
        tools=arguments.tool,
        trigger=arguments.trigger,
        text=arguments.text,
    )
    print(f"{folder} is created: read {folder / 'SKILL.md'}, then change {folder / 'hooks' / 'hint.md'}")
    return OK


def _context(text: str) -> tuple[str, Any]:
    """Read KEY=VALUE; a value that is no JSON is a text. Raises ArgumentTypeError."""
    key, equals, value = text.partition("=")
    if not equals or not CONTEXT_KEY.fullmatch(key):
        raise argparse.ArgumentTypeError(f"{text}: expected KEY=VALUE, such as plan=pro")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _simulate(arguments: argparse.Namespace) -> int:
    if not is_skill_folder(arguments.path) and not list_skills(arguments.path)[0]:
        return _no_skills(arguments.path)
    rounds = [] if arguments.no_need else arguments.round or [[CallSpec(tool="read_file")]]
    hooks, triggers = _hooks_of(arguments.path)
    context = dict(arguments.context or ())
    facts = HookFacts(
        channel=arguments.channel,
        language=arguments.language,
        user=arguments.user,
        model=arguments.model,
        is_local=arguments.model == "local",
        skills=frozenset([*(hook.skill for hook in hooks), *(trigger.skill for trigger in triggers)]),
        started_at=(arguments.time or datetime.now(UTC)).astimezone(zone_of(context)),
        context=context,
        seed=arguments.seed,
    )
    texts, trigger = arguments.text or ["(the user's message)"], None
    if arguments.trigger is not None:
        texts = arguments.text or []
        try:
            trigger = find_named(arguments.trigger, triggers, "", kind="trigger")
        except LookupError as error:
            print(f"error: {error.args[0]}", file=sys.stderr)
            return USAGE
    texts += texts[-1:] * (arguments.turns - len(texts))
    replay = partial(play_turns, texts=texts, rounds=rounds, tools=not arguments.no_tools, facts=facts, trigger=trigger)
    costs = [render_costs(hooks, replay)] if arguments.cost else []
    print(render(replay(hooks)[-1]), *costs, sep="\n\n", flush=True)
    return _print_mistakes(arguments.path)


def _print_mistakes(path: Path) -> int:
    """Print what is wrong with the skill, since only its valid hooks are played."""
    mistakes = [(folder, one) for folder, diagnostics in lint(path).items() for one in diagnostics]
    for folder, diagnostic in mistakes:
        if diagnostic.severity != "info":
            print(diagnostic_line(folder, diagnostic), file=sys.stderr)
    return FAILED if any(diagnostic.severity == "error" for _, diagnostic in mistakes) else OK


def _hooks_of(path: Path) -> tuple[list[HookInfo], list[TriggerInfo]]:
    if is_skill_folder(path):
        file = read_hooks(path.resolve())
        return list(file.hooks), list(file.triggers)
    snapshot = load_snapshot(path)
    return snapshot.hooks(None), snapshot.triggers(None)


def _schema(arguments: argparse.Namespace) -> int:
    print(schema_text(arguments.kind), end="")
    return OK
