"""Tools for the authors of process hooks: `python -m server.hooks test | replay`."""

import argparse
import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hook_tools.replay import RecordingUnusable, Replayed, read_recording, replay
from hook_tools.report import Printer, as_json
from hook_tools.trial import Plan, Trial, why_not_started
from server import config
from server.config_file import load_config
from server.errors import ConfigError
from server.hooks.process.hook_process import no_listener
from server.hooks.process.process_settings import enabled_hooks
from server.hooks.process.recording import Recording
from server.hooks.stages import STAGES

OK, PROBLEMS, USAGE, PIPE_CLOSED = 0, 1, 2, 128 + signal.SIGPIPE

_EPILOG = """\
Exit status: 0 no problems, 1 the hook has problems (or its replies differ), 2 the command is wrong.
Without --config, --intercept and --observe the hook is called at every stage and receives every event.

  python -m server.hooks test -- python3 my_hook.py
  python -m server.hooks test --intercept before_tool,approve_tool -- node gate.js
  python -m server.hooks test --config parley.yaml --name guard
  python -m server.hooks replay traffic.jsonl -- python3 my_hook.py
"""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    arguments, command = _split(arguments)
    options = _parse(arguments)
    plan = None
    try:
        plan = _plan(options, command, environ)
        if options.part == "replay":
            return asyncio.run(_replay(options.file, plan, environ))
        return asyncio.run(_test(options, plan, environ))
    except BrokenPipeError:  # the reader of our output, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return PIPE_CLOSED
    except (ConfigError, RecordingUnusable, OSError) as error:
        print(f"hooks: {why_not_started(error, plan.hook.command if plan else ())}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return 130


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the command line at `--`: our arguments stand before it, the hook's command behind it."""
    if "--" not in arguments:
        return list(arguments), []
    at = list(arguments).index("--")
    return list(arguments[:at]), list(arguments[at + 1 :])


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown and not unknown[0].startswith("-"):
        parser.error(f"the hook's command goes after --: {options.part} … -- {shlex.join(unknown)}")
    if unknown:
        parser.error(f"unrecognized arguments: {shlex.join(unknown)}")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m server.hooks",
        description="Tools for the authors of process hooks.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    test = parts.add_parser("test", help="run the protocol against a hook and report its problems")
    test.add_argument("--json", action="store_true", help="print one JSON document at the end instead of lines")
    test.add_argument("--record", type=Path, metavar="FILE", help="append the traffic to this file, as JSON Lines")
    again = parts.add_parser("replay", help="send a recording's calls to a hook and compare the replies")
    again.add_argument("file", type=Path, metavar="FILE")
    for part in (test, again):
        part.usage = f"python -m server.hooks {part.prog.split()[-1]} [options] -- COMMAND [ARGUMENT …]"
        _add_settings(part)
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="take the hook's settings from this configuration")
    parser.add_argument("--name", metavar="N", help="… from its entry hooks.processes.N")
    parser.add_argument("--intercept", type=_names, metavar="STAGE,…", help=", ".join(STAGES))
    parser.add_argument("--observe", type=_names, metavar="EVENT,…", help="such as tool_exec_end; * for all")
    parser.add_argument("--event-method", choices=["hook.runtime_event", "hook.event"])
    parser.add_argument("--env", action="append", type=_pair, default=[], metavar="KEY=VALUE")
    parser.add_argument("--dir", type=Path, help="the working directory")
    parser.add_argument("--timeout-ms", type=int, help="of each call")
    parser.add_argument("--wait-s", type=float, default=10.0, help="no longer than this (default: %(default)g)")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError("expected KEY=VALUE")
    return key, value


def _plan(options: argparse.Namespace, command: list[str], environ: Mapping[str, str]) -> Plan:
    """Return the plan of the configuration, with the command line's options over it. Raises ConfigError."""
    hook, defaults = config.ProcessHookSettings(), config.HookDefaults()
    if options.config is not None or options.name is not None:
        hooks = load_config(options.config, environ).hooks
        hook, defaults = _entry(hooks, options.name), hooks.defaults
    is_chosen = bool(hook.intercept or hook.observe or options.intercept or options.observe)
    changes = {
        "command": command,
        "intercept": options.intercept,
        "observe": options.observe,
        "event_method": options.event_method,
        "dir": options.dir,
        "timeout_ms": options.timeout_ms,
    }
    hook = msgspec.structs.replace(
        hook,
        enabled=True,
        env={**hook.env, **dict(options.env)},
        **{key: value for key, value in changes.items() if value},
    )
    if not is_chosen:
        hook = msgspec.structs.replace(hook, intercept=list(STAGES), observe=["*"])
    if not hook.command:
        raise ConfigError("command is required: put it after --, as in: test -- python3 my_hook.py")
    name = options.name or "hook"
    enabled_hooks(config.HooksSettings(processes={name: hook}))
    return Plan(name=name, hook=hook, defaults=defaults, is_chosen=is_chosen, wait_s=options.wait_s)


def _entry(hooks: config.HooksSettings, name: str | None) -> config.ProcessHookSettings:
    if name is None and len(hooks.processes) == 1:
        [name] = hooks.processes
    if name not in hooks.processes:
        known = ", ".join(hooks.processes) or "none"
        raise ConfigError(f"--name: hooks.processes has no entry {name or 'that was meant'}; there are: {known}")
    return hooks.processes[name]


async def _test(options: argparse.Namespace, plan: Plan, environ: Mapping[str, str]) -> int:
    recording = None
    if options.record is not None:
        recording = Recording(options.record, plan.name, plan.hook.command)
    on_line = no_listener if recording is None else recording.add
    printer = Printer(sys.stdout, environ)
    if options.json:
        trial = Trial(plan, environ, show=lambda _: None, on_line=on_line)
    else:
        trial = Trial(plan, environ, show=printer.step, announce=printer.announce, on_line=on_line)
    try:
        if not options.json:
            printer.begin(plan)
        await trial.run()
    finally:
        if recording is not None:
            recording.close()
    if options.json:
        print(as_json(plan, trial))
    else:
        printer.end(trial)
    return PROBLEMS if trial.problems else OK


async def _replay(file: Path, plan: Plan, environ: Mapping[str, str]) -> int:
    processes = read_recording(file)
    calls = list[Replayed]()

    def show(call: Replayed) -> None:
        calls.append(call)
        then = "" if call.recorded_ms is None else f" (then {call.recorded_ms:.0f} ms)"
        print(f"  {'DIFFERS' if call.differences else 'same   '}  {call.number} {call.method}  {call.ms:.0f} ms{then}")
        for difference in call.differences:
            print(f"           - {difference}")
        sys.stdout.flush()

    await replay(processes, plan.hook, environ, wait_s=plan.wait_s, show=show)
    differing = sum(bool(call.differences) for call in calls)
    print(f"{len(calls)} calls, {differing} differ" if differing else f"{len(calls)} calls, all as recorded")
    return PROBLEMS if differing else OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
