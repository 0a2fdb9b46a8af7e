"""What a turn is given, made of what was configured, who asks and what counts now. Pure."""

from collections.abc import Sequence

from server import config
from server.accounts.principal import Principal
from server.agent.messages import SystemPolicy
from server.session.settings import ClientSettings
from server.tool_calls import TurnFacts
from server.wire import frames as wire
from skills_engine import SkillsSnapshot


def enabled_skills(wanted: list[str] | None, snapshot: SkillsSnapshot) -> list[str]:
    """A client's list can only narrow; None: all of the operator's."""
    known = [skill.name for skill in snapshot.skills]
    return known if wanted is None else [name for name in dict.fromkeys(wanted) if name in set(known)]


def system_policy(security: config.SecuritySettings, principal: Principal) -> SystemPolicy:
    policy = security.client_system_messages
    if policy == "auto":
        return "allow" if principal.is_local else "demote"
    return policy


def facts_of(
    turn_id: str, messages: Sequence[wire.Message], settings: ClientSettings, principal: Principal, *, session_id: str
) -> TurnFacts:
    return TurnFacts(
        session_id=session_id,
        turn_id=turn_id,
        user_id=principal.user_id,
        conversation=settings.conversation,
        user_message=_text_of(messages[-1]),
        language=settings.language,
        address=principal.address,
    )


def _text_of(message: wire.Message) -> str:
    """Its words, without pictures."""
    if isinstance(message.content, list):
        return "\n".join(part.text for part in message.content if isinstance(part, wire.TextPart))
    return message.content or ""
