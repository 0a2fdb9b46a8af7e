"""Frames that tell a client what there is: the server, its model, and skills with their hooks, triggers, tests and defects."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from server import __version__
from server.accounts.principal import Principal
from server.session.services import Services
from server.session.settings import ClientRights
from server.wire import frames as wire
from skills_engine import Diagnostic, HookInfo, Skill, SkillsSnapshot
from skills_engine.diagnostics import SkillTestReport

MAX_HOOK_TEXT_CHARS: Final = 2000
MAX_HOOK_TEXTS_CHARS: Final = 200_000
"""Limit of the characters of all texts of hooks in one frame together; with more hooks, each is cut shorter."""
MAX_LISTED_HOOKS: Final = 200
"""Limit of the hooks that a frame lists; with more, it says of each skill how many it has."""


def ready_frame(
    services: Services, principal: Principal, session_id: str, snapshot: SkillsSnapshot, *, shows_texts: bool
) -> wire.Ready:
    tests = _shown_tests(services, principal)
    return wire.Ready(
        protocol=wire.PROTOCOL,
        session_id=session_id,
        server=f"parley/{__version__}",
        skills=_skill_items(snapshot, None, tests, shows_texts=shows_texts),
        model=model_item(services),
        speech=services.speech.status,
        limits=msgspec.convert(services.limits, wire.LimitItems, from_attributes=True),
        user=wire.UserItem(
            name=principal.user_id,
            is_operator=principal.is_operator,
            is_logged_in=principal.is_logged_in,
        ),
    )


def skills_frame(
    services: Services,
    principal: Principal,
    snapshot: SkillsSnapshot,
    selected: Sequence[str] | None,
    *,
    shows_texts: bool,
) -> wire.Skills:
    tests = _shown_tests(services, principal)
    of_tests = [one for report in tests.values() for one in report.diagnostics]
    return wire.Skills(
        skills=_skill_items(snapshot, selected, tests, shows_texts=shows_texts),
        diagnostics=[_diagnostic_item(one) for one in (*snapshot.diagnostics, *of_tests)],
    )


def hooks_of_skill(services: Services, principal: Principal, name: str) -> list[wire.HookItem] | None:
    """List the hooks of one skill, or return None where the client may choose no skill of this name."""
    rights = ClientRights.of(principal, services.security)
    text_chars = MAX_HOOK_TEXT_CHARS if rights.may_trace else None
    found = rights.skills(services.skills.current).select([name])
    return _hook_items(found[0], text_chars) if found else None


def model_item(services: Services) -> wire.ModelItem:
    return msgspec.convert(services.model(), wire.ModelItem, from_attributes=True)


def _shown_tests(services: Services, principal: Principal) -> dict[str, SkillTestReport]:
    """Return the latest reports; what failed in detail, which quotes what the model reads, for operators only."""
    reports = services.skill_tests()
    if principal.is_operator:
        return dict(reports)
    return {name: replace(report, failures=()) for name, report in reports.items()}


def _skill_items(
    snapshot: SkillsSnapshot, selected: Sequence[str] | None, tests: Mapping[str, SkillTestReport], *, shows_texts: bool
) -> list[wire.SkillItem]:
    """List every skill that the client may choose; `enabled` says whether its own selection leaves it on."""
    skills = snapshot.all_skills
    count = sum(len(skill.hooks) for skill in skills)
    has_all = count <= MAX_LISTED_HOOKS
    text_chars = min(MAX_HOOK_TEXT_CHARS, MAX_HOOK_TEXTS_CHARS // max(1, count)) if shows_texts else None
    return [
        wire.SkillItem(
            name=skill.name,
            description=skill.description,
            enabled=skill.on_by_default if selected is None else skill.name in selected,
            default=UNSET if skill.on_by_default else "off",
            hooks=_hook_items(skill, text_chars) if has_all else [],
            hooks_omitted=UNSET if has_all else len(skill.hooks),
            tests=_tests_item(tests.get(skill.name)),
            triggers=[wire.TriggerItem(name=one.name, on=one.on) for one in skill.triggers] or UNSET,
        )
        for skill in skills
    ]


def _tests_item(report: SkillTestReport | None) -> wire.SkillTestsItem | UnsetType:
    """Return what came of the tests; nothing where there are none, or were none since the start."""
    if report is None or not report.count:
        return UNSET
    return msgspec.convert(report, wire.SkillTestsItem, from_attributes=True)


def _hook_items(skill: Skill, text_chars: int | None) -> list[wire.HookItem]:
    return [
        wire.HookItem(
            name=hook.name,
            timing=hook.timing,
            role=hook.role,
            persistent=hook.persistent,
            tool_filter=_followed_tools(hook),
            text=UNSET if text_chars is None else _beginning(hook.content, text_chars),
        )
        for hook in skill.hooks
    ]


def _followed_tools(hook: HookInfo) -> list[str] | None:
    """Return the tools that the hook follows, by `when` or by `tool_filter`; None: it is bound to none."""
    named = hook.tool_filter if hook.when is None else json.loads(hook.when.source).get("tool", hook.tool_filter)
    return None if named is None else sorted(named)


def _beginning(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[:max_chars] + "…"


def _diagnostic_item(one: Diagnostic) -> wire.DiagnosticItem:
    return wire.DiagnosticItem(
        severity=one.severity,
        skill=one.skill or None,
        file=one.file or None,
        path=one.path or None,
        message=one.message,
    )
