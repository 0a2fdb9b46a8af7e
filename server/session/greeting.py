"""What a client is told of the server: `ready` and `skills`. Pure."""

from collections.abc import Iterable

from server import config
from server.accounts.principal import Principal
from server.llm.types import ModelInfo
from server.wire import frames as wire
from skills_engine import Diagnostic, HookInfo, Skill, SkillsSnapshot


def skill_items(snapshot: SkillsSnapshot, selected: list[str] | None) -> list[wire.SkillItem]:
    """Every skill of the operator; `enabled` tells what the client's own selection leaves on."""
    return [_skill_item(skill, selected is None or skill.name in selected) for skill in snapshot.skills]


def skills_frame(snapshot: SkillsSnapshot, selected: list[str] | None) -> wire.Skills:
    return wire.Skills(
        skills=skill_items(snapshot, selected), diagnostics=[_diagnostic_item(d) for d in snapshot.diagnostics]
    )


def model_item(info: ModelInfo) -> wire.ModelItem:
    return wire.ModelItem(name=info.name, host=info.host, location=info.location)


def user_item(principal: Principal) -> wire.UserItem:
    return wire.UserItem(name=principal.user_id, is_operator=principal.is_operator, is_logged_in=principal.is_logged_in)


def limit_items(limits: config.LimitsSettings) -> wire.LimitItems:
    return wire.LimitItems(
        max_message_bytes=limits.max_message_bytes,
        max_messages=limits.max_messages,
        max_binary_bytes=limits.max_binary_bytes,
        max_frames_per_s=limits.max_frames_per_s,
        max_hook_frames_per_turn=limits.max_hook_frames_per_turn,
        max_turn_s=limits.max_turn_s,
    )


def _skill_item(skill: Skill, is_enabled: bool) -> wire.SkillItem:
    return wire.SkillItem(
        name=skill.name, description=skill.description, enabled=is_enabled, hooks=_hook_items(skill.hooks)
    )


def _hook_items(hooks: Iterable[HookInfo]) -> list[wire.HookItem]:
    return [
        wire.HookItem(
            name=hook.name,
            timing=hook.timing,
            role=hook.role,
            persistent=hook.persistent,
            tool_filter=None if hook.tool_filter is None else sorted(hook.tool_filter),
        )
        for hook in hooks
    ]


def _diagnostic_item(diagnostic: Diagnostic) -> wire.DiagnosticItem:
    return wire.DiagnosticItem(
        severity=diagnostic.severity,
        skill=diagnostic.skill or None,
        file=diagnostic.file or None,
        path=diagnostic.path or None,
        message=diagnostic.message,
    )
