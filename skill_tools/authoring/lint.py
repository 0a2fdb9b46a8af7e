"""Lint: what an author should know before a skill runs. The loader's diagnostics, and what authors trip over.

That is also what loads, but hardly does what was meant: conditions, memory and variables of hooks.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

from skill_tools.testing.tests_files import FoundTests, SkillTest, read_tests
from skill_tools.testing.tests_format import ExpectSpec
from skills_engine.bounded_yaml import YamlError, path_of, read_yaml
from skills_engine.conditions.hook_variables import lasting_words, used_variables
from skills_engine.conditions.set_entry import captured_variables
from skills_engine.conditions.text_patterns import MAX_TEXT_BYTES, Patterns, SearchedText
from skills_engine.diagnostics import Diagnostic, Report, did_you_mean, named, quoted
from skills_engine.front_matter import split_front_matter
from skills_engine.hook_entries import BUILTIN_TOOLS, NEVER_FIRES, HookInfo
from skills_engine.hooks_config import HOOKS_JSON, HooksFile
from skills_engine.skills_config import Skill, find_skill_file, read_skill_text
from skills_engine.skills_folder import LoadedSkill, list_skills, load_skill
from skills_engine.trigger_entries import OF_HISTORY, TriggerInfo

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

LOOP = ("before_first_agent", "before_each_agent", "after_tool_call")
_AFTER_CALLS = ("before_each_agent", "after_tool_call")
_TIMINGS_OF = {"tool": LOOP[2:], "tool_status": LOOP[2:], "round": LOOP}
"""The timings at which a variable of texts has a value, where these are not all."""
_ABOUT_CALLS = ("tool", "tool_status", "tool_args", "tool_result")
_LANGUAGE = re.compile(r"(\*|[A-Za-z]{2,3}|[xi](?=-))(-|$)")
"""The beginning of a language range: a code of two or three letters, or any."""
_FLAGS = re.compile(r"/.+/[gimsuy]+", re.DOTALL)
"""An expression with the flags of JavaScript, of which only i is one here."""
_LOCK = re.compile(r"verif|paid|quota|admin|allowed|auth|unlock")
"""A name of a variable that reads like a permission."""
_NARROW = re.compile(r"\\[wWbB]|a-z|A-Z")
"""Classes that RE2 matches to ASCII letters only."""
_CLOSED = re.compile(r"(?<!\\)\(\[(\\p\{?[LMN]\}?|\\d|[a-zA-Z0-9 '.-])+\][+*?{}0-9,]*\)")
"""The group of a `match` that is one class of harmless characters."""
_WORDS = re.compile(r"[^\W\d_]+")
_LATIN_WORD = re.compile(r"[a-z\u00df-\u024f]{4,}")
_GLOB = frozenset("*?[")
_Groups = Mapping[str, Sequence[HookInfo]]
"""The hooks of each group, the one that wins first (L1-46)."""
_ANY_TIME = 'holds at any time: give it days, or from and to, such as {"from": "21:00", "to": "06:00"}'


def is_skill_folder(path: Path) -> bool:
    return find_skill_file(path) is not None or (path / "hooks").is_dir()


def lint(path: Path) -> dict[Path, list[Diagnostic]]:
    """Return the diagnostics of one skill, or of every skill in a folder of skills, by the skill's folder. Raises OSError."""
    if is_skill_folder(path):
        return {path: lint_skill(path.resolve())}
    names, diagnostics = list_skills(path)
    by_folder = {path: diagnostics} if diagnostics else {}
    loaded = {name: load_skill(path.resolve() / name, is_named=True) for name in names}  # also those off by default
    groups = _groups(hook for one in loaded.values() for hook in one.hooks_file.hooks)
    return by_folder | {path / name: _lint(path.resolve() / name, one, groups) for name, one in loaded.items()}


def diagnostic_line(folder: Path, diagnostic: Diagnostic) -> str:
    """Return a line for a terminal, which can open file and line at its beginning."""
    line = line_of(folder, diagnostic)
    place = f"{folder / diagnostic.file}{f':{line}' if line else ''} {diagnostic.path}".rstrip()
    return f"{place}: {diagnostic.severity}: {diagnostic.message}"


def line_of(folder: Path, diagnostic: Diagnostic) -> int | None:
    """Return the line of its place, or of what the place is missing in; None where there is none to be found."""
    path = diagnostic.path
    lines = _lines((folder / diagnostic.file).read_text("utf-8-sig", errors="replace")) if path else {}
    while path and path not in lines:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return lines.get(path)


@lru_cache(maxsize=1)
def _lines(text: str) -> Mapping[str, int]:
    """Return the line of each path in YAML, in JSON (which is YAML but for its tabs), or in a page's front matter."""
    try:
        document = read_yaml(text.split("\n---", 1)[0].replace("\t", " "))
    except YamlError:
        return {}
    return {path_of(place): line for place, line in document.lines.items()}


def lint_skill(folder: Path, *, hooks: Iterable[HookInfo] | None = None) -> list[Diagnostic]:
    """Return what is wrong with a skill. `hooks`: those of all skills in their order, this one's included; by default its own."""
    loaded = load_skill(folder, is_named=True)
    return _lint(folder, loaded, _groups(loaded.hooks_file.hooks if hooks is None else hooks))


def _lint(folder: Path, loaded: LoadedSkill, groups: _Groups) -> list[Diagnostic]:
    diagnostics = [  # what loads but can never work is an error (L1-02)
        replace(one, severity="error") if one.message == NEVER_FIRES else one for one in loaded.diagnostics
    ]
    if loaded.skill is not None:
        diagnostics += _body_advice(loaded.skill)
        read = read_tests(folder)
        diagnostics += _hooks_advice(loaded.hooks_file, folder.name, groups, read.tests)
        diagnostics += _misplaced(folder) or _orphans(folder, loaded.hooks_file)
        diagnostics += _tests_advice(folder, read)
    return diagnostics


def _tests_advice(folder: Path, read: FoundTests) -> list[Diagnostic]:
    """Return the mistakes in files of tests, and the tests that cannot fail."""
    message = "line {}: the test “{}” expects nothing, so it cannot fail: say what fires, is silent or is read"
    idle = [test for test in read.tests if all(turn.expect is None for turn in test.turns)]
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


def _groups(hooks: Iterable[HookInfo]) -> _Groups:
    groups: dict[str, list[HookInfo]] = {}
    for hook in sorted(hooks, key=lambda one: -one.priority):
        if hook.full_group is not None:
            groups.setdefault(hook.full_group, []).append(hook)
    return groups


def _hooks_advice(hooks: HooksFile, skill: str, groups: _Groups, tests: Sequence[SkillTest]) -> list[Diagnostic]:
    report = Report(skill, HOOKS_JSON)
    for hook, place in zip(hooks.hooks, hooks.places, strict=True):
        _hook_advice(hook, place, groups, report)
    for trigger, place in zip(hooks.triggers, hooks.trigger_places, strict=True):
        _text_advice(trigger, place, report)
        for path, key, _ in _advised_leaves(trigger, place, report):
            if trigger.on == "connect" and key in OF_HISTORY and key != "scan_turns":
                report.warning(path, "never holds: connect is answered in a conversation without messages only")
    _memory_advice(hooks, report)
    _words_advice(hooks, tests, report)
    return [*report.first]  # of 64 conditions, each pair may exclude one another


def _hook_advice(hook: HookInfo, place: str, groups: _Groups, report: Report) -> None:
    if hook.timing in LOOP:
        report.info(f"{place}.timing", f"{hook.timing} never fires in a turn that needs no tools")
    for name in sorted(hook.tool_filter or ()):
        if _SEPARATOR.search(name):
            message = f"{name} matches no tool: write each name as a string of its own"
            report.warning(f"{place}.tool_filter", message)
    if hook.persistent:
        growth = f"the conversation grows by {_COPIES[hook.timing]}"
        if hook.timing == "before_planning":
            growth = f"a persistent before_planning hook stays visible to the agent loop; {growth}"
        report_growth = report.warning if hook.timing in ("before_planning", "before_each_agent") else report.info
        report_growth(f"{place}.persistent", growth)
    _text_advice(hook, place, report)
    for path, key, value in _advised_leaves(hook, place, report):
        _leaf_advice(hook, path, key, value, report)
    for name in hook.requires_tools:
        _tool_advice(name, f"{place}.requires_tools", report)
    if hook.full_group is not None:
        _group_advice(hook, groups[hook.full_group], f"{place}.group", report)
    if hook.once is not None and hook.sticky is not None:
        message = f"beside once, it still fires in {hook.sticky} further turns after the one in which it fired"
        report.warning(f"{place}.sticky", message)
    if hook.once == "conversation" and hook.cooldown is not None:
        report.warning(f"{place}.cooldown", "changes nothing beside once: conversation")


def _text_advice(one: HookInfo | TriggerInfo, place: str, report: Report) -> None:
    """Report what its text holds without effect, and a long text."""
    place, file = f"{place}.{'file' if one.file else 'text'}", one.file or "text"
    if len(one.content) > LONG_HOOK_CHARS:
        report.warning(place, f"{file} has {len(one.content)} characters, which every model call after it reads again")
    for message in _left_literal(one.content):
        report.warning(place, f"{file} {message}")
    for name in sorted(used_variables(one.content)):
        if not one.vars:
            report.warning(place, f"{file} holds {{{{{name}}}}}, which is kept as text without vars: true")
        elif isinstance(one, HookInfo) and one.timing not in _TIMINGS_OF.get(name, (one.timing,)):
            report.warning(place, f"{file} holds {{{{{name}}}}}, which is empty at {one.timing}")


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
    texts = {text.relative_to(folder).as_posix(): text for text in sorted((folder / "hooks").glob("**/*.md"))}
    for file in files:
        texts.pop(f"hooks/{file}", None)
    named = {(folder / "hooks" / file).resolve() for file in files if texts}  # however they are written
    orphans = [file for file, text in texts.items() if text.resolve() not in named]
    message = "no hook in hooks.json names this file"
    return [Diagnostic("warning", folder.name, file, "", message) for file in orphans]


def _memory_advice(hooks: HooksFile, report: Report) -> None:
    """Report on what the hooks remember, and on whose words they would repeat."""
    sets = [{} if hook.set is None else json.loads(hook.set.source) for hook in hooks.hooks]
    strange = frozenset(captured_variables([{"set": {n: c for n, c in one.items() if _is_open(c)}} for one in sets]))
    for hook, changes, place in zip(hooks.hooks, sets, hooks.places, strict=True):
        for name, change in changes.items():
            _change_advice(change, f"{place}.set.{name}", report)
        if hook.role == "system" and (words := lasting_words(hook.content, hook.owner, strange)) and hook.vars:
            message = f"{hook.file or 'text'} holds {words}: words from elsewhere get a system voice here; give it the role user"
            report.warning(f"{place}.role", message)
    for name in hooks.hooks[0].variables if hooks.hooks else ():
        if _LOCK.search(name):
            report.warning(f"$.variables.{name}", "is no lock: the client can send an older state, or none")


def _change_advice(change: Any, place: str, report: Report) -> None:
    source, match = (change.get(key, "") if isinstance(change, dict) else "" for key in ("from", "match"))
    if source.startswith("tool_"):
        report.info(place, f"takes {source} as the user may see it; conditions see what the model reads")
    if narrow := _NARROW.search(match):
        report.warning(place, f"{narrow[0]} knows ASCII letters only: \\pL is any letter")


def _is_open(change: Any) -> bool:
    """Return whether it may capture more than letters, digits, spaces, `'`, `-` and `.`."""
    return isinstance(change, dict) and not _CLOSED.search(change.get("match", ""))


def _advised_leaves(one: HookInfo | TriggerInfo, place: str, report: Report) -> list[tuple[str, str, Any]]:
    """Return place, name and value of every condition, and report what is to say of each wherever it stands."""
    if one.when is None:
        return []
    leaves = list(leaves_of(json.loads(one.when.source), f"{place}.when"))
    expressions = (each for search in one.when.searches for each in search.expressions)
    large = {each.written: each for each in expressions if each.max_bytes < MAX_TEXT_BYTES}
    for path, key, value in leaves:
        if message := _constant(key, value):
            report.warning(path, message)
        for pattern in (large[each] for each in _patterns_of(key, value) if each in large):
            extent = f"the first {pattern.max_bytes} bytes of a text"
            report.info(path, f"{quoted(pattern.written)} has {pattern.steps} steps: it looks at {extent}")
    _exclusion_advice(leaves, report)
    return leaves


def _group_advice(hook: HookInfo, group: Sequence[HookInfo], place: str, report: Report) -> None:
    """Say what its group does: nothing to a hook alone, and what it wins over stays out in other skills, too (L1-46)."""
    if len(group) < 2:
        report.warning(place, f"no other hook is in the group {hook.group}: alone it changes nothing")
    behind = [(one.skill, one.name) for one in group].index((hook.skill, hook.name)) + 1
    others = [one for one in group[behind:] if one.skill != hook.skill and one.timing == hook.timing]
    if others and hook.enabled:
        message = f"keeps out {named([f'{one.skill}/{one.name}' for one in others])} of the group {hook.group}"
        if replace(hook, group=None, priority=0, vars=False).is_plain and hook.tool_filter is None:
            report.warning(place, f"{message} for good: it always fires")
        else:
            report.info(place, f"{message} when it fires")


def _exclusion_advice(leaves: Sequence[tuple[str, str, Any]], report: Report) -> None:
    """Report what never holds beside another condition: its opposite, or a number or channel that the other excludes."""
    has_scan = any(key == "scan_turns" for _, key, _ in leaves)  # which two user_text need not have in common
    for (path, key, value), (other, other_key, other_value) in combinations(leaves, 2):
        ways = path.split("."), other.split(".")
        apart = next(at for at, steps in enumerate(zip(*ways, strict=False)) if steps[0] != steps[1])
        in_any = [any(step.startswith("any[") for step in way[apart:]) for way in ways]
        if key != other_key or all(in_any):  # of alternatives, neither excludes the other
            continue
        if denied := [".".join(way).rpartition(".not.")[0] for way in ways for step in way[apart:] if step == "not"]:
            is_alone = sum(place.startswith(f"{denied[0]}.not.") for place, _, _ in leaves) == 1
            excluded = len(denied) == 1 and is_alone and value == other_value and not (has_scan and key == "user_text")
        else:
            spans = [one if isinstance(one, dict) else {"min": one, "max": one} for one in (value, other_value)]
            low, high = ([one[end] for one in spans if end in one] for end in ("min", "max"))
            excluded = key in ("turn", "round", "channel") and bool(low) and bool(high) and max(low) > min(high)
        if excluded:
            place, beside = (path, other) if in_any[0] else (other, path)
            report.warning(place, f"never holds beside {beside[beside.index('when') :]}")


def leaves_of(when: Mapping[str, Any], place: str) -> Iterator[tuple[str, str, Any]]:
    """Yield place, name and value of every condition in the tree, and every `all` or `any` without one."""
    for key, value in when.items():
        path = f"{place}.{key}"
        match key:
            case "all" | "any" if value:
                for index, part in enumerate(value):
                    yield from leaves_of(part, f"{path}[{index}]")
            case "not":
                yield from leaves_of(value, path)
            case _:
                yield path, key, value


def _leaf_advice(hook: HookInfo, path: str, key: str, value: Any, report: Report) -> None:
    if key == "round" and hook.timing not in LOOP:
        report.warning(path, f"never holds: {hook.timing} is outside the agent loop")
    elif key == "round" and hook.timing == "before_first_agent" and _least(value) != 1:
        report.warning(path, "never holds: before_first_agent comes in round 1")
    elif key in _ABOUT_CALLS and hook.timing not in _AFTER_CALLS:
        report.warning(path, f"never holds: at {hook.timing} there is no tool call to ask about")
    elif key == "tool_args" and not value:
        report.warning(path, 'holds for every call: name an argument and its patterns, such as {"path": ["notes"]}')
    elif key == "tool":
        for name in value:
            _tool_advice(name, path, report)
        filters = sorted(hook.tool_filter or ()) if ".not" not in path else []
        if filters and not any(_may_overlap(name, other) for name in value for other in filters):
            report.warning(path, f"never holds: tool_filter names other tools: {', '.join(filters)}")
    elif key == "language":
        for name in value:
            if not _LANGUAGE.match(name):
                report.warning(path, f"{quoted(name)} fits no language: expected a tag such as de or pt-BR, or *")
    for text in _patterns_of(key, value):
        if len(text) > 1 and "*" in re.sub(r"[^\W\d_]\*$", "", text) and not Patterns([text]).each[0].steps:
            message = f"{quoted(text)} is searched with its *, which stands for letters only behind a last letter"
            report.warning(path, message)
        elif _FLAGS.fullmatch(text) and not text.endswith("/i"):
            report.warning(path, f"{quoted(text)} is searched as a text: an expression ends with / or with /i")


def _patterns_of(key: str, value: Any) -> list[str]:
    """Return what a condition searches in texts."""
    if key == "tool_args":
        return [pattern for patterns in value.values() for pattern in patterns]
    return value if key in ("user_text", "last_reply", "tool_result") else []


def _words_advice(hooks: HooksFile, tests: Sequence[SkillTest], report: Report) -> None:
    """Report words without * that miss a longer form of themselves, which a test or another pattern holds (L1-54)."""
    leaves = [
        (hook, path, patterns)
        for hook, place in zip(hooks.hooks, hooks.places, strict=True)
        if hook.when is not None
        for path, key, value in leaves_of(json.loads(hook.when.source), f"{place}.when")
        if (patterns := _patterns_of(key, value))
    ]
    said: list[tuple[str, ExpectSpec | None]] = [
        *((text, None) for _, _, patterns in leaves for text in patterns if not text.startswith("/")),
        *((turn.user or "", turn.expect) for test in tests for turn in test.turns),
    ]
    longer: dict[str, dict[str, list[ExpectSpec | None]]] = {}  # beginning → word → what is expected where it is said
    for text, expect in said:
        for word, cut in product(_WORDS.findall(text.casefold()), (1, 2, 3)):
            longer.setdefault(word[:-cut], {}).setdefault(word, []).append(expect)
    for hook, path, patterns in leaves:
        for text in (one for one in patterns if _LATIN_WORD.fullmatch(one.casefold())):
            for word, expected in longer.get(text.casefold(), {}).items():
                if not all(_is_kept_out(hook, expect) for expect in expected):
                    is_missed = not Patterns(patterns).are_found_in(SearchedText(word))
                    message = f"{quoted(text)} is not found in {quoted(word)}: {text}* fits further letters"
                    (report.warning if is_missed else report.info)(path, message)


def _is_kept_out(hook: HookInfo, expect: ExpectSpec | None) -> bool:
    """Return whether a turn is expected not to put the hook in, which tests cannot say of updates."""
    if expect is None or hook.is_update:
        return False
    names = {hook.name, f"{hook.skill}/{hook.name}"}
    return not names.isdisjoint(expect.silent or ()) or (expect.fires is not None and names.isdisjoint(expect.fires))


def _constant(key: str, value: Any) -> str:
    """Return what to say of a condition that always or never holds, wherever it stands; "" of others."""
    if key == "any":
        return "never holds: it has no alternatives"
    if key != "time" or value.get("days"):
        return ""
    start, end = value.get("from", "00:00"), value.get("to")
    return _ANY_TIME if end == start or (end is None and start == "00:00") else ""


def _may_overlap(name: str, other: str) -> bool:
    """Return whether a tool may fit both names or globs."""
    if _GLOB.isdisjoint(name) or _GLOB.isdisjoint(other):
        return fnmatchcase(name, other) or fnmatchcase(other, name)
    start, other_start = (re.split(r"[*?[]", glob)[0] for glob in (name, other))
    return start.startswith(other_start) or other_start.startswith(start)


def _least(value: Any) -> Any:
    return value.get("min", 1) if isinstance(value, dict) else value


def _tool_advice(name: str, path: str, report: Report) -> None:
    """Report a name that no built-in tool has; those of MCP servers hold `__`, and others' cannot be known here."""
    if name in BUILTIN_TOOLS or "__" in name or not _GLOB.isdisjoint(name):
        return
    report.warning(path, f"no built-in tool is called {name}{did_you_mean(name, BUILTIN_TOOLS)}")
