"""The commands that bring skills in and give them away: add, list, update, remove, pack, import."""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import NamedTuple, TypeAlias

from skill_tools.authoring.lint import LONG_HOOK_CHARS, leaves_of, lint_skill
from skill_tools.sharing.bundle import MAX_BYTES, SharingError, SkillBundle, pack_skill
from skill_tools.sharing.install import (
    InstalledSkill,
    add_skill,
    difference,
    installed_skills,
    put_skill,
    remove_skill,
    replace_skill,
    require_free,
)
from skill_tools.sharing.lorebook import read_lorebook, spec_name
from skill_tools.sharing.sources import Arrival, fetch, parse_source
from skill_tools.testing.reload_tests import run_skill_tests
from skills_engine.diagnostics import has_errors, named, quoted, visible_text
from skills_engine.hook_entries import HookInfo
from skills_engine.library import SkillsSnapshot
from skills_engine.skills_folder import LoadedSkill, list_skills, load_skill

OK, FAILED = 0, 1
MAX_SHOWN_FILES = 40

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(commands: Commands) -> None:
    """Add the subcommands to the parser of `python -m skills_engine`."""
    add = _command(commands, "add", "add a skill from a folder, a zip or a git URL", _add)
    add.add_argument(
        "source", metavar="SOURCE", help="FOLDER, FILE.zip or GIT-URL[@REF], each with [#PATH] to the skill in it"
    )
    add.add_argument("--name", help="the name of its folder (default: as in the source)")
    _asks(add)

    _command(commands, "list", "list the skills that were added", _list)

    update = _command(commands, "update", "show what is new in added skills, and take it over", _update)
    update.add_argument("names", nargs="*", metavar="NAME", help="which (default: all)")
    update.add_argument("--force", action="store_true", help="overwrite changes that were made here")
    _asks(update)
    for command in (add, update):
        command.add_argument("--insecure", action="store_true", help="take http:// and git://, which others can alter")

    remove = _command(commands, "remove", "delete an added skill", _remove)
    remove.add_argument("name", metavar="NAME")
    remove.add_argument("--force", action="store_true", help="also if it was changed here")
    _asks(remove)

    importing = _command(commands, "import", "make a skill of a lorebook of SillyTavern, a JSON file", _import)
    importing.add_argument("file", metavar="FILE", type=Path)
    importing.add_argument("--name", help="the name of the skill (default: from the file's)")

    pack = commands.add_parser("pack", help="make a zip of one skill; the same files give the same bytes")
    pack.add_argument("path", metavar="PATH", type=Path, help="the folder of the skill")
    pack.add_argument("--out", type=Path, metavar="FILE", help="where (default: NAME.zip in this folder)")
    pack.set_defaults(run=_pack)


def _command(
    commands: Commands, name: str, help_text: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=help_text)
    command.add_argument("--dir", type=Path, default=Path("skills"), help="the folder of skills (default: %(default)s)")
    command.set_defaults(run=run)
    return command


def _asks(command: argparse.ArgumentParser) -> None:
    command.add_argument("--yes", action="store_true", help="do it without a question")


def _show(text: str) -> None:
    print(visible_text(text))


def _is_agreed(question: str, arguments: argparse.Namespace, *, otherwise: str) -> bool:
    """Ask at the terminal; return whether the answer is y or yes. Raises SharingError without a terminal."""
    try:
        is_agreed = arguments.yes or input(f"{visible_text(question)} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError as error:
        raise SharingError("this is no terminal, so nothing can be asked: repeat the command with --yes") from error
    if not is_agreed:
        _show(otherwise)
    return is_agreed


def _add(arguments: argparse.Namespace) -> int:
    arrival = fetch(parse_source(arguments.source), is_trusted=arguments.insecure)
    if arguments.name is not None:
        arrival = replace(arrival, name=arguments.name)
    require_free(arguments.dir, arrival.name)
    review = describe(arrival, arguments.dir)
    _show(review.text)
    if not _is_agreed(f"Add it as {arguments.dir / arrival.name}?", arguments, otherwise="not added"):
        return FAILED
    _show(f"added: {add_skill(arguments.dir, arrival)}")
    return review.status


class Review(NamedTuple):
    """The text that shows a skill to its future user, and the status of the command."""

    text: str
    status: int


def describe(arrival: Arrival, root: Path) -> Review:
    """Describe what comes in, and what its tests and lint say of it beside the skills of `root`."""
    bundle = arrival.bundle
    lines = [_title(arrival), f"files: {len(bundle.files)}, {sum(map(len, bundle.files.values()))} bytes"]
    lines += [
        f"  {path}{' (a program; Parley does not run it)' if path in bundle.programs else ''}"
        for path in sorted(bundle.files)[:MAX_SHOWN_FILES]
    ]
    if len(bundle.files) > MAX_SHOWN_FILES:
        lines.append(f"  … and {len(bundle.files) - MAX_SHOWN_FILES} more")
    if bundle.left_out:
        lines.append(f"left out: {named(bundle.left_out)}")
    review = _review(arrival, root, are_hooks_shown=True)
    return Review("\n".join([*lines, review.text]), review.status)


def _title(arrival: Arrival) -> str:
    return f"{arrival.name}, from {arrival.source}{f', commit {arrival.commit}' if arrival.commit else ''}"


def _review(arrival: Arrival, root: Path, *, are_hooks_shown: bool = False) -> Review:
    """Lint the skill and run its tests beside the skills of `root`."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / arrival.name
        arrival.bundle.write(folder)
        folders = {name: root.resolve() / name for name in list_skills(root)[0]} | {arrival.name: folder}
        loaded = {name: load_skill(folders[name], is_named=True) for name in sorted(folders)}
        skills = SkillsSnapshot(tuple(one.skill for one in loaded.values() if one.skill is not None))
        tests = run_skill_tests(arrival.name, skills)
        diagnostics = lint_skill(folder, hooks=skills.hooks(None))
    lines = list(_hook_lines(loaded[arrival.name])) if are_hooks_shown else []
    lines.append(f"tests: {tests.count}, failed: {tests.failed}" if tests.count else "tests: none")
    lines += [f"  {test.file}:{test.line}: {test.name}\n{_cited(test.details)}" for test in tests.failures]
    # a note on a group is shown: it silences hooks of other skills
    lines += [str(one) for one in diagnostics if one.severity != "info" or one.path.endswith(".group")]
    return Review("\n".join(lines), FAILED if tests.failed or has_errors(diagnostics) else OK)


def _hook_lines(loaded: LoadedSkill) -> Iterator[str]:
    """Yield the hooks with their moments and texts, the triggers, and the tools that the skill asks for."""
    hooks = loaded.hooks_file.hooks
    asked = [*loaded.skill.allowed_tools] if loaded.skill else []
    yield f"hooks: {len(hooks) or 'none'}"
    for hook in hooks:
        yield f"  {hook.name}: {_moment(hook)}\n{_cited(hook.content)}"
        leaves = leaves_of(json.loads(hook.when.source), "when") if hook.when else ()
        in_when = [name for _, key, names in leaves if key == "tool" for name in names]
        asked += [*sorted(hook.tool_filter or ()), *in_when, *hook.requires_tools]
    for trigger in loaded.hooks_file.triggers:
        yield f"speaks first: {trigger.name}: {trigger.on}\n{_cited(trigger.content)}"
    yield f"tools it names: {', '.join(dict.fromkeys(asked)) or 'none'}"


def _moment(hook: HookInfo) -> str:
    """Return when the hook fires: its timing and role, and the keys of its entry that have other values than by default."""
    set_keys = [key.name for key in fields(hook) if key.default not in (MISSING, getattr(hook, key.name))]
    values = {name: getattr(hook, name) for name in set_keys}
    marks = [f"{name} {quoted(one)}" if isinstance(one, str | int) else name for name, one in values.items()]
    return ", ".join([hook.timing, hook.role, *["persistent"] * hook.persistent, *marks])


def _cited(text: str) -> str:
    """Return a stranger's text behind bars, so that none of it looks like a line of ours; a long one is cut."""
    more = f"\n… and {len(text) - LONG_HOOK_CHARS} more characters" if len(text) > LONG_HOOK_CHARS else ""
    return indent(visible_text(text[:LONG_HOOK_CHARS]) + more, "    | ", lambda _: True)


def _list(arguments: argparse.Namespace) -> int:
    for one in _chosen(arguments.dir, []):
        commit = f" at {one.locked.commit[:12]}" if one.locked.commit else ""
        _show(f"{one.name}: {one.state}, from {one.locked.source}{commit}")
    return OK


def _update(arguments: argparse.Namespace) -> int:
    return max((_update_one(one, arguments) for one in _chosen(arguments.dir, arguments.names)), default=OK)


def _update_one(one: InstalledSkill, arguments: argparse.Namespace) -> int:
    arrival = replace(fetch(parse_source(one.locked.source), is_trusted=arguments.insecure), name=one.name)
    edited = one.state == "edited"
    if arrival.bundle.digest == one.locked.hash and one.state != "missing" and not (edited and arguments.force):
        _show(f"{one.name}: up to date{'; your changes are kept' if edited else ''}")
        return OK
    _show(_title(arrival))
    for line in difference(one.bundle or SkillBundle({}), arrival.bundle):
        _show(line)
    if edited and not arguments.force:
        _show(f"{one.name} is not updated, since it was changed here: --force overwrites your changes")
        return FAILED
    review = _review(arrival, arguments.dir)
    _show(review.text)
    if not _is_agreed(f"Update {arguments.dir / one.name}?", arguments, otherwise="not updated"):
        return FAILED
    replace_skill(arguments.dir, arrival)
    _show(f"updated: {arguments.dir / one.name}")
    return review.status


def _chosen(root: Path, names: list[str]) -> list[InstalledSkill]:
    by_name = {one.name: one for one in installed_skills(root)}
    if unknown := [name for name in names if name not in by_name]:
        raise SharingError(
            f"{', '.join(unknown)}: not in {root / 'skills.lock'}, where there are {', '.join(by_name) or 'none'}"
        )
    if not by_name:
        _show(f"no skill in {root} was added from elsewhere; `add` does that")
    return [by_name[name] for name in names or by_name]


def _remove(arguments: argparse.Namespace) -> int:
    [one] = _chosen(arguments.dir, [arguments.name])
    if one.state == "edited" and not arguments.force:
        _show(f"{one.name} is not removed, since it was changed here: --force deletes your changes, too")
        return FAILED
    if not _is_agreed(f"Delete {arguments.dir / one.name}?", arguments, otherwise="not removed"):
        return FAILED
    remove_skill(arguments.dir, one.name)
    _show(f"removed: {arguments.dir / one.name}")
    return OK


def _import(arguments: argparse.Namespace) -> int:
    file: Path = arguments.file
    with file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SharingError(f"{file} is larger than {MAX_BYTES >> 20} MiB")
    book = read_lorebook(data, arguments.name or spec_name(file.stem) or "lorebook")
    for skill in book.skills:
        require_free(arguments.dir, skill)
    for skill, bundle in book.skills.items():
        folder = put_skill(arguments.dir, skill, bundle)
        count = len(bundle.files) - 2
        _show(f"imported: {folder} ({count} hook{'s' * (count != 1)})")
    for line in book.differences:
        _show(line)
    return OK


def _pack(arguments: argparse.Namespace) -> int:
    folder = arguments.path.resolve()
    if load_skill(folder, is_named=True).skill is None:
        raise SharingError(f"{arguments.path} is no skill: give a folder with SKILL.md in it")
    target = arguments.out or Path(f"{folder.name}.zip")
    target.write_bytes(pack_skill(folder))
    _show(f"packed: {target}")
    return OK
