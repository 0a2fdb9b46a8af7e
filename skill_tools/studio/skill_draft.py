"""Drafts of hooks: the model writes one for a wish, and mends it by what lint and its tests say. Nothing is saved."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import yaml
from msgspec import Meta, Struct

from server.accounts.principal import Principal
from server.agent.chunks import LLMChunk
from server.errors import TurnError
from server.wire import frames as wire
from skill_tools.studio.skill_files import EditError
from skill_tools.studio.skill_preview import EditedSkill, check_edits
from skill_tools.studio.skill_trial import SkillTrial, overlaid
from skills_engine import TIMINGS, Diagnostic, HookState, SkillsSnapshot
from skills_engine.conditions.turn_facts import Value
from skills_engine.conditions.when_entry import WhenEntry
from skills_engine.diagnostics import FailedTest
from skills_engine.hook_entries import HookEntry
from skills_engine.hooks_config import HOOKS_JSON
from skills_engine.skills_config import is_spec_name

MAX_DRAFTS: Final = 3
"""Drafts for one wish: the first, and those that mend it."""
TESTS: Final = 3
"""Tests of a draft, at least."""
LIMIT_S: Final = 300.0
"""Time for all drafts of a wish."""
MAX_REPLY_CHARS: Final = 65_536
MAX_PROBLEMS: Final = 20
_ASKING = ("ask", "compare")

_TASK: Final = Path(__file__).with_name("draft_task.txt").read_text("utf-8").strip()


class DraftRequest(EditedSkill, frozen=True, kw_only=True, forbid_unknown_fields=True):
    wish: Annotated[str, Meta(min_length=1, max_length=2000)]
    """The wish, in a sentence or a few."""


class HookDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hooks as the model writes them, each with its `text` in place of a `file`, and their tests."""

    hooks: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=8)]
    variables: Annotated[dict[str, Value], Meta(max_length=16)] = {}
    tests: Annotated[list[dict[str, Any]], Meta(min_length=TESTS, max_length=32)]


class _HooksJson(Struct):
    hooks: list[Any] = []
    variables: dict[str, Any] = {}


class DraftStep(Struct, frozen=True, kw_only=True):
    """One draft, and what is wrong with it."""

    draft: int
    """Its number, from 1 on."""
    problems: list[str]
    """Findings of lint and failed tests, in the words that the model reads; empty for a draft that is right."""
    is_linted: bool = False
    """Whether lint finds nothing in it."""
    broken: list[str] = []
    """Tests of the skill that would fail, and pass without it."""
    tests: int = 0
    passed: int = 0
    hooks: list[dict[str, Any]] = []
    """Entries for hooks.json; none where the draft cannot be used."""
    variables: dict[str, Value] = {}
    """Variables that the skill has not yet, with their start values."""
    files: dict[str, str] = {}
    """The files that go with them, by path: texts and tests, none of which exists yet."""


class _Reply:
    """Collects what the model writes (ChunkChannel)."""

    def __init__(self) -> None:
        self.text = ""

    async def put(self, *chunks: LLMChunk) -> None:
        self.text += "".join(chunk.text or "" for chunk in chunks)
        if len(self.text) > MAX_REPLY_CHARS:
            message = f"the model wrote more than {MAX_REPLY_CHARS} characters; try again, or choose another model"
            raise TurnError("draft_too_long", message)


async def write_drafts(
    trial: SkillTrial,
    principal: Principal,
    folder: Path,
    request: DraftRequest,
    send: Callable[[DraftStep], Awaitable[None]],
) -> None:
    """Send each draft for the wish, until one is right or the last one is made.

    Raises what `send` raises, TurnError, TurnAborted, ProviderError and EditError, the last for a model that is too small,
    a skill without a place for a hook, and three drafts of no use.
    """
    if trial.services.model().is_included:
        raise EditError("model_too_small", "the included model is too small to write hooks; choose a larger one")
    drafts = await asyncio.to_thread(_Drafts, trial, folder, request)
    about = f"The skill {folder.name} has this {HOOKS_JSON}:\n{drafts.hooks_json}\n\nThe wish: {request.wish}"
    messages = [wire.Message(role="user", content=about)]
    settings = wire.TurnSettings(voice=False, enable_tools=False, instructions=instructions())
    limit, step = asyncio.timeout(LIMIT_S), DraftStep(draft=0, problems=[])
    try:
        async with limit:
            for number in range(1, MAX_DRAFTS + 1):
                reply = _Reply()
                await trial.answer(principal, SkillsSnapshot(), messages, reply, settings, HookState())
                step = await asyncio.to_thread(drafts.check, number, reply.text)
                await send(step)
                if not step.problems:
                    break
                wrong = "\n".join(f"- {problem}" for problem in step.problems)
                said = f"This is wrong with it:\n{wrong}\nAnswer with the whole JSON object, mended."
                messages += [
                    wire.Message(role="assistant", content=reply.text or "(nothing)"),
                    wire.Message(role="user", content=said),
                ]
    except TimeoutError:
        if not limit.expired():
            raise
        raise TurnError("draft_timeout", f"the drafts took longer than {LIMIT_S:g} s and were ended") from None
    if not step.hooks:
        cure = "say the wish in other words, or choose another model"
        raise EditError("draft_invalid", f"none of {MAX_DRAFTS} drafts can be used: {cure}; {step.problems[0]}")


def instructions() -> str:
    """Return what the model is told of hooks: an example, and every key with what it means."""
    keys = {name: of for name, of in _described(HookEntry).items() if name not in ("file", "tool_filter")}
    lists = {"Keys of a hook": keys, "Keys of `when`, all of which must hold": _described(WhenEntry)}
    told = [f"{title}:\n" + "\n".join(f"- {name}: {of}" for name, of in each.items()) for title, each in lists.items()]
    return "\n\n".join([_TASK, *told, f"Timings: {', '.join(TIMINGS)}."])


def _described(struct: type[Struct]) -> Mapping[str, str]:
    properties = msgspec.json.schema(struct)["$defs"][struct.__name__]["properties"]
    return {name: schema.get("description", "") for name, schema in properties.items()}


class _Drafts:
    """Checks drafts against the skill as its edits have it. One call at a time; each reads files."""

    def __init__(self, trial: SkillTrial, folder: Path, request: DraftRequest) -> None:
        """Read the skill, and what is wrong with it already. Raises EditError."""
        with overlaid(folder, request.files) as place:
            self._taken = {path.relative_to(place).as_posix() for path in place.rglob("*")}
            text = (place / HOOKS_JSON).read_text(errors="replace") if HOOKS_JSON in self._taken else "{}"
        self._document = _read_json(text, HOOKS_JSON)
        try:
            self._there = msgspec.convert(self._document, _HooksJson)
        except msgspec.ValidationError as error:
            raise EditError("draft_invalid", f"{HOOKS_JSON} has no place for a hook: mend it first ({error})") from None
        self.hooks_json = json.dumps(self._document, ensure_ascii=False)
        self._check = partial(check_edits, trial, folder)
        self._request = request
        checked = self._check(request)
        self._known = {*map(_line, checked.diagnostics), *map(_place, checked.tests.failures)}

    def check(self, number: int, reply: str) -> DraftStep:
        try:
            draft = msgspec.convert(_read_json(reply[max(reply.find("{"), 0) :], "the answer"), HookDraft)
            if scripted := [key for test in draft.tests for key in _ASKING if key in test]:
                raise EditError("draft_invalid", f"tests: {scripted[0]}: write scripted tests only")
            hooks, files = self._entries(draft)
            new = {name: start for name, start in draft.variables.items() if name not in self._there.variables}
            document = {"variables": {**self._there.variables, **new}, "hooks": [*self._there.hooks, *hooks]}
            edits = {**self._request.files, **files, HOOKS_JSON: json.dumps({**self._document, **document})}
            checked = self._check(msgspec.structs.replace(self._request, files=edits))
        except (EditError, msgspec.ValidationError, RecursionError) as error:
            return DraftStep(draft=number, problems=[str(error)])
        found = [_line(one) for one in checked.diagnostics if one.severity != "info"]
        lint = [line for line in found if line not in self._known]
        failed = [test for test in checked.tests.failures if test.file in files]
        others = [_place(test) for test in checked.tests.failures if test not in failed]
        return DraftStep(
            draft=number,
            problems=[*lint, *(f"{_place(test)} fails:\n{test.details}" for test in failed)][:MAX_PROBLEMS],
            is_linted=not lint,
            broken=[place for place in others if place not in self._known],
            tests=len(draft.tests),
            passed=len(draft.tests) - len(failed),
            hooks=hooks,
            variables=new,
            files=files,
        )

    def _entries(self, draft: HookDraft) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Return the entries for hooks.json, and the files that go with them. Raises EditError."""
        names = {str(hook.get("name")) for hook in self._there.hooks if isinstance(hook, dict)}
        entries, files = [], {}
        for hook in draft.hooks:
            name, text = str(hook.get("name")), hook.get("text")
            if not is_spec_name(name) or "file" in hook:
                cure = "a hook has a `name` of lower-case letters, digits and hyphens, a `text`, and no `file`"
                raise EditError("draft_invalid", f"{name}: {cure}")
            if name in names or f"hooks/{name}.md" in self._taken:
                raise EditError("draft_invalid", f"there is a hook, or a text, {name} already; choose another name")
            names.add(name)
            entry = {key: value for key, value in hook.items() if key != "text"}
            if "text" in hook:
                if not isinstance(text, str) or not text.strip():
                    raise EditError("draft_invalid", f"the text of {name} is empty")
                files[f"hooks/{name}.md"] = f"{text.strip()}\n"
                entry = {"name": name, "file": f"{name}.md", **entry}
            entries.append(entry)
        paths = (f"tests/{draft.hooks[0]['name']}{number}.yaml" for number in ("", *range(2, 1000)))
        free = next(path for path in paths if path not in self._taken)
        files[free] = yaml.safe_dump({"tests": draft.tests}, sort_keys=False, allow_unicode=True, width=100)
        return entries, files


def _read_json(text: str, what: str) -> Any:
    """Return the object at the beginning of the text. Raises EditError."""
    try:
        value = json.JSONDecoder().raw_decode(text.lstrip())[0]
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair cannot be written
    except (ValueError, RecursionError) as error:
        raise EditError("draft_invalid", f"{what} is not JSON that can be read: {error}") from None
    return value


def _line(found: Diagnostic) -> str:
    return f"{found.file} {found.path}: {found.message}"


def _place(test: FailedTest) -> str:
    return f"{test.file}, test “{test.name}”"
