"""Lint: what an author should know before a skill runs. The loader's diagnostics, and what authors trip over."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from skill_tools.authoring.condition_advice import LOOP, conditions_advice
from skill_tools.testing.tests_files import read_tests
from skill_tools.testing.tests_format import ExpectSpec
from skills_engine.diagnostics import Diagnostic, Report
from skills_engine.front_matter import split_front_matter
from skills_engine.hook_entries import NEVER_FIRES, HookInfo
from skills_engine.hooks_config import HOOKS_JSON, HooksFile
from skills_engine.skills_config import Skill, find_skill_file, read_skill_text
from skills_engine.skills_folder import LoadedSkill, list_skills, load_skill

LONG_HOOK_CHARS = 2000
LONG_BODY_LINES = 500

_COMMAND = re.compile(r"!`[^`\n]+`")
_VARIABLE = re.compile(r"\$\{CLAUDE_\w+\}|\$ARGUMENTS\b")
_SEPARATOR = re.compile(r"[\s,]")
_COPIES = {
    "after_user_input": "a copy a turn",
    "before_planning": "a copy a turn",
    "before_first_agent": "a copy for each turn that uses tools",
    "before_each_agent": "a copy a round",
    "after_tool_call": "a copy for each tool call",
}


def is_skill_folder(path: Path) -> bool:
    return find_skill_file(path) is not None or (path / "hooks").is_dir()


def lint(path: Path) -> dict[Path, list[Diagnostic]]:
    """Return the diagnostics of one skill, or of every skill in a folder of skills, by the skill's folder. Raises OSError."""
    if is_skill_folder(path):
        return {path: lint_skill(path.resolve())}
    names, diagnostics = list_skills(path)
    by_folder = {path: diagnostics} if diagnostics else {}
    loaded = {name: load_skill(path.resolve() / name, is_named=True) for name in names}  # also those off by default
    groups = _groups(loaded.values())
    return by_folder | {path / name: _lint(path.resolve() / name, one, groups) for name, one in loaded.items()}


def diagnostic_line(folder: Path, diagnostic: Diagnostic) -> str:
    """Return a line for a terminal, which can open the path at its beginning."""
    place = f"{folder / diagnostic.file} {diagnostic.path}".rstrip()
    return f"{place}: {diagnostic.severity}: {diagnostic.message}"


def lint_skill(folder: Path, *, groups: Counter[str] | None = None) -> list[Diagnostic]:
    """Return what is wrong with a skill. `groups` counts the hooks of each group in all skills, or by default in this one."""
    loaded = load_skill(folder, is_named=True)
    return _lint(folder, loaded, _groups([loaded]) if groups is None else groups)


def _lint(folder: Path, loaded: LoadedSkill, groups: Counter[str]) -> list[Diagnostic]:
    diagnostics = [  # what loads but can never work is an error (L1-02)
        replace(one, severity="error") if one.message == NEVER_FIRES else one for one in loaded.diagnostics
    ]
    if loaded.skill is not None:
        diagnostics += _body_advice(loaded.skill)
        diagnostics += _hooks_advice(loaded.hooks_file, folder.name, groups)
        diagnostics += _misplaced(folder) or _orphans(folder, loaded.hooks_file)
        diagnostics += _tests_advice(folder)
    return diagnostics


def _tests_advice(folder: Path) -> list[Diagnostic]:
    """Return the mistakes in files of tests, and the tests that cannot fail."""
    read = read_tests(folder)
    message = "line {}: the test “{}” expects nothing, so it cannot fail: say what fires, is silent or is read"
    idle = [test for test in read.tests if all(turn.expect in (None, ExpectSpec()) for turn in test.turns)]
    return [
        *read.diagnostics,
        *(Diagnostic("warning", folder.name, test.file, "", message.format(test.line, test.name)) for test in idle),
    ]


def _body_advice(skill: Skill) -> list[Diagnostic]:
    text = read_skill_text(skill.directory, skill.file, Report("", ""))  # the loader has reported what is wrong with it
    if text is None:
        return []
    report = Report(skill.name, skill.file)
    body = split_front_matter(text).body.strip()
    lines = body.count("\n") + 1
    if not body:
        report.warning("", "has no body: the model finds nothing when it reads the skill")
    elif lines > LONG_BODY_LINES:
        report.info("", f"has {lines} lines: move details into files that the model reads on demand")
    for message in _left_literal(body):
        report.warning("", message)
    return report.found


def _groups(skills: Iterable[LoadedSkill]) -> Counter[str]:
    return Counter(hook.group for skill in skills for hook in skill.hooks_file.hooks if hook.group is not None)


def _hooks_advice(hooks: HooksFile, skill: str, groups: Counter[str]) -> list[Diagnostic]:
    report = Report(skill, HOOKS_JSON)
    for hook, place in zip(hooks.hooks, hooks.places, strict=True):
        _hook_advice(hook, place, report)
    for trigger, place in zip(hooks.triggers, hooks.trigger_places, strict=True):
        _text_advice(trigger.file, trigger.content, f"{place}.file", report)
    conditions_advice(hooks, report, groups=groups)
    return report.found


def _hook_advice(hook: HookInfo, place: str, report: Report) -> None:
    if hook.timing in LOOP:
        report.info(f"{place}.timing", f"{hook.timing} never fires in a turn that needs no tools")
    for name in sorted(hook.tool_filter or ()):
        if _SEPARATOR.search(name):
            message = f"{name} matches no tool: write each name as a string of its own"
            report.warning(f"{place}.tool_filter", message)
    if hook.persistent:
        _persistent_advice(hook, f"{place}.persistent", report)
    _text_advice(hook.file, hook.content, f"{place}.file", report)


def _text_advice(file: str, content: str, place: str, report: Report) -> None:
    if len(content) > LONG_HOOK_CHARS:
        report.warning(place, f"{file} has {len(content)} characters, which every model call after it reads again")
    for message in _left_literal(content):
        report.warning(place, f"{file} {message}")


def _persistent_advice(hook: HookInfo, place: str, report: Report) -> None:
    growth = f"the conversation grows by {_COPIES[hook.timing]}"
    if hook.timing == "before_planning":
        report.warning(place, f"a persistent before_planning hook stays visible to the agent loop; {growth}")
    elif hook.timing == "before_each_agent":
        report.warning(place, growth)
    else:
        report.info(place, growth)


def _left_literal(text: str) -> Iterator[str]:
    if match := _COMMAND.search(text):
        yield f"holds {match[0]}, which is kept as text: no command is run"
    if match := _VARIABLE.search(text):
        yield f"holds {match[0]}, which is kept as text: nothing is filled in"


def _misplaced(folder: Path) -> list[Diagnostic]:
    """Report a hooks.json that is not read, since it lies beside SKILL.md or in a folder that is not hooks/."""
    if (folder / HOOKS_JSON).exists():
        return []
    strays = [path for path in (folder / "hooks.json", *sorted(folder.glob("*/hooks.json"))) if path.is_file()]
    message = f"is not read here: move it to {HOOKS_JSON}"
    return [Diagnostic("error", folder.name, path.relative_to(folder).as_posix(), "", message) for path in strays[:1]]


def _orphans(folder: Path, hooks: HooksFile) -> list[Diagnostic]:
    """Report texts that no entry names, unless an entry is broken, which may be why."""
    if any(diagnostic.severity == "error" or diagnostic.path.endswith(".file") for diagnostic in hooks.diagnostics):
        return []
    files = [*(hook.file for hook in hooks.hooks), *(trigger.file for trigger in hooks.triggers)]
    named = {(folder / "hooks" / file).resolve() for file in files}
    texts = sorted((folder / "hooks").glob("**/*.md"))
    orphans = (text.relative_to(folder).as_posix() for text in texts if text.resolve() not in named)
    message = "no hook in hooks.json names this file"
    return [Diagnostic("warning", folder.name, file, "", message) for file in orphans]
