"""SillyTavern's lorebooks (world info) as skills: each entry becomes a hook, and what has no counterpart is listed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from skill_tools.sharing.bundle import SharingError, SkillBundle
from skills_engine.conditions.text_patterns import PatternError, Patterns
from skills_engine.conditions.when_entry import MAX_LEAVES
from skills_engine.diagnostics import named
from skills_engine.hooks_config import MAX_FILE_BYTES

MAX_ENTRIES = 10_000
MAX_PATTERNS = 32
MAX_SCAN_TURNS = 20
MAX_TURNS = 1000
_MAX_LINES_BYTES = MAX_FILE_BYTES - len('{"hooks": [\n]}')
"""Limit for the lines of a hooks.json; its last break is as long as the first comma."""
_AT_DEPTH = 4
_USER, _ASSISTANT = 1, 2
_READ = {"key", "keysecondary", "comment", "name", "content", "constant", "selective", "selectiveLogic", "order"}
_READ |= {"disable", "enabled", "depth", "role", "sticky", "cooldown", "delay", "group", "scanDepth", "caseSensitive"}
_READ |= {"matchWholeWords", "position", "probability", "useProbability"}
_BOOKKEEPING = {"uid", "id", "addMemo", "displayIndex", "hash", "world", "useRegex", "extensions", "priority", "keys"}
_DEFAULTS = {"groupWeight": 100, "characterFilter": {"isExclude": False, "names": [], "tags": []}}
_NEVER_MET = "it would never be met, so the hook is off"
_REASONS = {
    "excludeRecursion": "recursion: only what the user says is searched",
    "preventRecursion": "recursion: only what the user says is searched",
    "delayUntilRecursion": "recursion: only what the user says is searched, so it fires without it",
    "vectorized": "vectors: only its keys count",
    "groupWeight": "groupWeight: in a group the highest priority wins, not chance",
    "groupOverride": "groupOverride: in a group the highest priority always wins",
}
_EXPRESSION = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)
_OURS = re.compile(r"/.+/i?", re.DOTALL)  # what we would take for an expression
_MACRO = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_SAME_MACROS = {"user", "date", "time", "weekday", "model"}
_CAMEL = re.compile(r"_([a-z])")

_Hook: TypeAlias = tuple[str, str, str]
"""A hook's file, its line in hooks.json with what stands before it, and its text."""


@dataclass
class ImportedLorebook:
    """The skills that a lorebook becomes (several where one hooks.json would be too large), and what was not taken over."""

    skills: dict[str, SkillBundle] = field(default_factory=dict)
    notes: dict[str, dict[str, None]] = field(default_factory=dict)
    """The differences, with the hooks they concern."""

    @property
    def differences(self) -> list[str]:
        """The notes, a line for each."""
        return [f"differs: {message}: {named([*hooks])}" for message, hooks in self.notes.items()]

    def note(self, message: str, hook: str) -> None:
        self.notes.setdefault(message, {})[hook] = None


def spec_name(text: str) -> str:
    """Return the name for a skill that a text gives, or "" for a text without a Latin letter or digit."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:50].strip("-")


def read_lorebook(data: bytes, name: str) -> ImportedLorebook:
    """Turn the JSON of a lorebook, or of a character card that holds one, into skills. Raises SharingError."""
    try:
        book = json.loads(data)
        json.dumps(book, ensure_ascii=False).encode()  # half of a surrogate pair cannot be written
    except (ValueError, RecursionError) as error:
        raise SharingError(f"this is not JSON that can be read ({error})") from error
    if isinstance(book, dict) and isinstance(card := book.get("data"), dict):
        book = card.get("character_book")
    entries = book.get("entries") if isinstance(book, dict) else None
    entries = list(entries.values()) if isinstance(entries, dict) else entries
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SharingError(
            "this is no lorebook of SillyTavern: expected an object with `entries`; export it there as JSON"
        )
    if len(entries) > MAX_ENTRIES:
        raise SharingError(f"this lorebook has more than {MAX_ENTRIES} entries: divide it")
    imported = ImportedLorebook()
    for key in ("token_budget", "recursive_scanning"):
        if book.get(key):
            imported.note(f"{key}: skills.hook_tokens limits all hooks; there is no recursion", "the whole book")
    hooks: list[_Hook] = []
    normal = [_normalized(entry, book.get("scan_depth")) for entry in entries]
    orders = sorted({_number(entry.get("order")) or 0 for entry in normal})
    last = len(orders) - 1  # beyond 100, the ranks are spread over the range of priorities
    priorities = {order: rank if last <= 100 else rank * 200 // last - 100 for rank, order in enumerate(orders)}
    for entry, hook_name in zip(normal, _names(normal), strict=True):
        hook, text = _hook(entry, hook_name, imported)
        if priority := priorities[_number(entry.get("order")) or 0]:
            hook["priority"] = priority
        line = f",\n  {json.dumps(hook, ensure_ascii=False)}"
        if not text or len(text.encode()) >= MAX_FILE_BYTES or len(line.encode()) > _MAX_LINES_BYTES:
            imported.note("without a text, or with 64 KiB or more: left out", hook_name)
        else:
            hooks.append((hook["file"], line, f"{text}\n"))
    if not hooks:
        reason = (
            f"none of its {len(entries)} entries has a text of less than 64 KiB" if entries else "it has no entries"
        )
        raise SharingError(f"nothing is imported from this lorebook: {reason}")
    _share_out(hooks, name, str(book.get("description") or "Imported from SillyTavern.")[:10_000], imported)
    return imported


def _normalized(entry: Mapping[str, Any], scan_depth: object) -> dict[str, Any]:
    """Give an entry of a character card the names that world info has."""
    if "keys" not in entry:
        return {"scanDepth": scan_depth, **{key: value for key, value in entry.items() if value is not None}}
    extensions = entry.get("extensions")
    merged = {**entry, **(extensions if isinstance(extensions, dict) else {})}
    fields = {
        _CAMEL.sub(lambda match: match[1].upper(), key): value for key, value in merged.items() if value is not None
    }
    renamed = {"key": fields.pop("keys", None), "keysecondary": fields.pop("secondaryKeys", None), "selective": False}
    return {"scanDepth": scan_depth, "order": fields.pop("insertionOrder", 100), **renamed, **fields}


def _names(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each hook after its entry's comment or first key, each name once."""
    taken: dict[str, None] = {}
    for number, entry in enumerate(entries, 1):
        label = entry.get("comment") or entry.get("name") or next(iter(_keys(entry.get("key"))), "")
        slug = "-".join(re.findall(r"\w+", str(label)))[:40].strip("-").lower() or "entry"
        taken[slug if slug not in taken else f"{slug}--{number}"] = None  # no slug has two hyphens
    return list(taken)


def _hook(entry: Mapping[str, Any], name: str, imported: ImportedLorebook) -> tuple[dict[str, Any], str]:
    hook: dict[str, Any] = {"name": name, "file": f"{name}.md", "timing": "after_user_input"}
    at_depth = entry.get("position") == _AT_DEPTH
    hook |= {"role": "user" if at_depth and entry.get("role") == _USER else "system", "persistent": False}
    text, decorators = _without_decorators(str(entry.get("content") or ""))
    text, hook_vars = _with_variables(text, name, imported)
    is_off = entry.get("disable") or entry.get("enabled") is False or "@@dont_activate" in decorators
    if not entry.get("constant") and "@@activate" not in decorators:
        when = _when(entry, name, imported)
        is_off = is_off or when is None
        hook |= {"when": when} if when else {}
    if (delay := _number(entry.get("delay")) or 0) > 0:
        hook["when"] = {**hook.get("when", {}), "turn": {"min": delay}}
    for key in ("sticky", "cooldown"):
        if (turns := _number(entry.get(key)) or 0) > 0:
            hook[key] = min(turns, MAX_TURNS)
            if turns > MAX_TURNS:
                imported.note(f"{key}: lowered to the {MAX_TURNS} turns that there are at most", name)
    if {"sticky", "cooldown"} & hook.keys() or delay:
        imported.note("sticky, cooldown, delay: the numbers count turns here and messages there", name)
    if group := str(entry.get("group") or "").strip():
        hook["group"], *others = [one.strip() for one in group.split(",")]
        if others:
            imported.note("several groups: only the first is kept", name)
    if entry.get("useProbability", True) and (chance := _number(entry.get("probability", 100))) != 100:
        is_off = is_off or not chance
        imported.note("probability: there is no chance here; it always fires, or with 0 never", name)
    hook |= ({"enabled": False} if is_off else {}) | ({"vars": True} if hook_vars else {})
    _list_differences(entry, name, decorators, imported, at_depth=at_depth)
    return hook, text


def _list_differences(
    entry: Mapping[str, Any], name: str, decorators: Sequence[str], imported: ImportedLorebook, *, at_depth: bool
) -> None:
    if not at_depth or entry.get("depth") != 0:
        imported.note("position, depth: every text stands behind the user's message", name)
    if at_depth and entry.get("role") == _ASSISTANT:
        imported.note("role assistant: it is system here", name)
    if others := [one for one in decorators if one not in ("@@activate", "@@dont_activate")]:
        imported.note(f"decorators {', '.join(others)}: left out", name)
    for key, value in entry.items():
        if key not in _READ | _BOOKKEEPING and value and value != _DEFAULTS.get(key):
            imported.note(_REASONS.get(key, f"{key}: no counterpart"), name)
    if entry.get("group") and not entry.get("groupOverride"):
        imported.note(_REASONS["groupWeight"], name)


def _when(entry: Mapping[str, Any], name: str, imported: ImportedLorebook) -> dict[str, Any] | None:
    """Return the condition that the keys make; None where it would never be met."""
    scan: dict[str, int] = {}
    if (depth := _number(entry.get("scanDepth"))) is not None:
        if depth < 1:
            imported.note(f"scanDepth 0: {_NEVER_MET}", name)
            return None
        scan = {"scan_turns": min(depth, MAX_SCAN_TURNS)} if depth > 1 else {}
        if depth > MAX_SCAN_TURNS:
            imported.note(f"scanDepth: lowered to the {MAX_SCAN_TURNS} messages that there are at most", name)
        imported.note("scanDepth: counts the user's messages only; the replies are not searched", name)
    primary = list(_patterns(_keys(entry.get("key")), entry, name, imported))
    if not primary:
        imported.note(f"no key that can be searched: {_NEVER_MET}", name)
        return None
    when = _found(primary, scan)
    asked = _keys(entry.get("keysecondary")) if entry.get("selective", True) else []
    secondary = list(_patterns(asked, entry, name, imported))
    if len(secondary) < len(asked) or len(secondary) + len(primary) // MAX_PATTERNS + 2 > MAX_LEAVES:
        imported.note("secondary keys that cannot all be searched: the hook is off", name)
        return None
    if not secondary:
        return when
    match entry.get("selectiveLogic"):
        case 1:  # NOT ALL
            return when | {"not": {"all": [_found([one], scan) for one in secondary]}}
        case 2:  # NOT ANY
            return when | {"not": _found(secondary, scan)}
        case 3:  # AND ALL
            return when | {"all": [_found([one], scan) for one in secondary]}
        case _:  # AND ANY
            return when | {"all": [_found(secondary, scan)]}


def _found(patterns: Sequence[str], scan: Mapping[str, int]) -> dict[str, Any]:
    parts = [patterns[at : at + MAX_PATTERNS] for at in range(0, len(patterns), MAX_PATTERNS)]
    leaves = [{"user_text": part, **scan} for part in parts]
    return leaves[0] if len(leaves) == 1 else {"any": leaves}


def _patterns(keys: Sequence[str], entry: Mapping[str, Any], name: str, imported: ImportedLorebook) -> Iterator[str]:
    for key in keys:
        pattern = _pattern(key, entry)
        try:
            Patterns([pattern])
        except PatternError:
            imported.note(f"key {key}: an expression with look-around or the like is left out", name)
            continue
        if "{{" in key:
            imported.note(f"key {key}: a macro is not filled in, so the key is left out", name)
        else:
            yield pattern


def _pattern(key: str, entry: Mapping[str, Any]) -> str:
    """Return the pattern that finds what SillyTavern finds by this key; its whole words are ours."""
    if match := _EXPRESSION.fullmatch(key):
        flags = "".join(sorted({"m", "s"} & set(match[2])))
        return f"/{f'(?{flags})' if flags else ''}{match[1]}/{'i' if 'i' in match[2] else ''}"
    is_whole, has_case = entry.get("matchWholeWords") is not False, bool(entry.get("caseSensitive"))
    if is_whole and not has_case and not _OURS.fullmatch(key):
        return key
    edges = (r"(?:^|[^\pL\pN_])", r"(?:$|[^\pL\pN_])") if is_whole else ("", "")
    return f"/{edges[0]}{re.escape(key)}{edges[1]}/{'' if has_case else 'i'}"


def _keys(value: object) -> list[str]:
    return [key for key in (str(one).strip() for one in value) if key] if isinstance(value, list) else []


def _number(value: object) -> int | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e9:  # no infinity, either
        return None
    return int(value)


def _without_decorators(text: str) -> tuple[str, list[str]]:
    lines = text.strip().split("\n")
    count = next((at for at, line in enumerate(lines) if not line.startswith("@@")), len(lines))
    return "\n".join(lines[count:]).strip(), [line.split()[0] for line in lines[:count]]


def _with_variables(text: str, name: str, imported: ImportedLorebook) -> tuple[str, bool]:
    """Keep the macros that mean the same here as variables; the others stay text."""
    macros = [macro.lower() for macro in _MACRO.findall(text)]
    if others := sorted(set(macros) - _SAME_MACROS):
        imported.note(f"macros {', '.join(f'{{{{{one}}}}}' for one in others)[:200]}: not filled in", name)
    if not _SAME_MACROS.intersection(macros):
        return text, False
    kept = _MACRO.sub(lambda match: f"\0{match[1].lower()}\1" if match[1].lower() in _SAME_MACROS else match[0], text)
    return kept.replace("{{", "{{{{").replace("\0", "{{").replace("\1", "}}"), True


def _share_out(hooks: Sequence[_Hook], name: str, about: str, imported: ImportedLorebook) -> None:
    """Put the hooks into as many skills as their hooks.json need."""
    parts: list[list[_Hook]] = [[]]
    size = 0
    for hook in hooks:
        length = len(hook[1].encode())
        if size + length > _MAX_LINES_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(hook)
        size += length
    for number, part in enumerate(parts, 1):
        skill = name if number == 1 else f"{name}-{number}"
        head = f"name: {skill}\ndescription: {len(part)} texts of a lorebook.\ndisable-model-invocation: true\n"
        page = f"---\n{head}---\n\n# {skill}\n\n{about}\n"
        lines = "".join(line for _, line, _ in part).removeprefix(",")
        files = {"SKILL.md": page.encode(), "hooks/hooks.json": f'{{"hooks": [{lines}\n]}}\n'.encode()}
        files |= {f"hooks/{file}": text.encode() for file, _, text in part}
        imported.skills[skill] = SkillBundle(files)
