"""Layer 3: what the operator and the user decided about tool calls, at work in a turn."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from server import config
from server.approval.asking import AskHuman
from server.errors import ConfigError, PolicyError, ToolError
from server.policy.audit_handler import AuditLogHandler, AuditSink
from server.policy.bound_handler import BoundHandler, HandlerFailed, Stages, check_stages
from server.policy.custom_handlers import CustomHandler, load_custom
from server.policy.document import STAGES, HandlerSpec, PolicyDocument
from server.policy.hook_types import HookAction, HookContext, HookType
from server.policy.kinds import BUILTIN_SPECS
from server.policy.scan_handler import WITHHELD, SecurityScan, conceal, scan_text
from server.tool_calls import MAX_EDITS, ToolInvocation, ToolOutcome, TurnFacts

logger = logging.getLogger(__name__)

_MAX_USERS: Final = 1000
_REMEMBERED: Final = 64
_UNSEEN: Final = {"withheld": "could not be scanned for secrets"}


class PolicyDocuments(Protocol):
    def effective(self, user_id: str) -> PolicyDocument:
        """In force for the user's next turn; the same object until something changes."""
        ...


class PolicyEngine:
    """Gives each turn the policy that is in force when it begins; the turn keeps it whatever changes meanwhile."""

    def __init__(self, documents: PolicyDocuments, sink: AuditSink, settings: config.HooksSettings) -> None:
        """Loads the custom handlers. Raises ConfigError."""
        self._documents = documents
        self._sink = sink
        self._limit_s = settings.defaults.interceptor_timeout_ms / 1000
        builtin = frozenset(kind.name for kind in BUILTIN_SPECS)
        self._custom: Mapping[str, CustomHandler] = load_custom(settings.custom_dir, taken=builtin)
        self._ready: OrderedDict[str, tuple[PolicyDocument, Stages]] = OrderedDict()

    def custom_specs(self) -> tuple[HandlerSpec, ...]:
        return tuple(
            HandlerSpec(
                name=handler.name,
                description=handler.description,
                stages=tuple(name for name in STAGES if HookType(name) in handler.phases),
                settings=None,
            )
            for handler in self._custom.values()
        )

    def check(self, document: PolicyDocument) -> None:
        """The operator's, of parley.yaml. Raises ConfigError: a guard that cannot work must not seem to stand."""
        kinds = {kind.name: kind for kind in (*BUILTIN_SPECS, *self.custom_specs())}
        try:
            check_stages(document, kinds, may_lock=True)
        except PolicyError as error:
            raise ConfigError(f"hooks{error.path.removeprefix('$')}: {error}") from error

    def for_turn(self, facts: TurnFacts, ask: AskHuman | None) -> "TurnPolicy | None":
        """None: nothing is configured."""
        stages = self._stages(facts.user_id)
        return None if stages.is_empty else TurnPolicy(stages, facts, ask)

    def _stages(self, user_id: str) -> Stages:
        document = self._documents.effective(user_id)
        known = self._ready.get(user_id)
        if known is not None and known[0] is document:
            return known[1]
        stages = Stages(document, sink=self._sink, custom=self._custom, limit_s=self._limit_s)
        self._ready[user_id] = (document, stages)
        self._ready.move_to_end(user_id)
        if len(self._ready) > _MAX_USERS:
            self._ready.popitem(last=False)
        return stages


class TurnPolicy:
    """types.ToolPolicy for one turn."""

    def __init__(self, stages: Stages, facts: TurnFacts, ask: AskHuman | None) -> None:
        self._stages = stages
        self._facts = facts
        self._ask = ask
        self._shown: OrderedDict[int, tuple[Any, Any]] = OrderedDict()

    async def before(self, call: ToolInvocation) -> ToolInvocation | ToolOutcome:
        """The handlers in order. A human who changed the arguments is not asked again about them by the same handler;
        all the others see the call anew."""
        edited_by: int | None = None
        for _ in range(MAX_EDITS + 1):
            step = await self._pass(call, edited_by)
            if not isinstance(step, tuple):
                return step
            edited_by, call = step
        return _denied(call, "Not run: its arguments were changed too often while it was approved.")

    async def _pass(
        self, call: ToolInvocation, edited_by: int | None
    ) -> ToolInvocation | ToolOutcome | tuple[int, ToolInvocation]:
        """Once through the stage; with a place and a call: who stands there had a human change it to that."""
        phase = HookType.PRE_TOOL_USE
        auditors: list[AuditLogHandler] = []
        shared: HookContext | None = None  # of those that leave it as it is
        for index, stand in enumerate(self._stages.at(phase)):
            if index == edited_by or not await stand.filter.fits(call.name, call.permission, call.arguments):
                continue
            if shared is None:
                shared = await self._context(call, phase)
            try:
                result = await stand.call(shared if stand.is_looking else await self._context(call, phase))
            except HandlerFailed as error:
                if isinstance(stand.handler, AuditLogHandler):
                    continue  # a record that cannot be written stops nobody
                text = f"Not run: the policy of this server could not be asked ({error})."
                await self._note(call, auditors, index, "denied", stand.name, HookAction.DENY, text)
                return _denied(call, text)
            if isinstance(stand.handler, AuditLogHandler):
                auditors.append(stand.handler)
            if result is None:
                continue
            if result.action is HookAction.DENY:
                text = result.message or f"The policy of this server ({stand.name}) does not allow this call."
                await self._note(call, auditors, index, "denied", stand.name, result.action, text, result.approval)
                return _denied(call, text)
            if result.action is HookAction.MODIFY:
                call, shared = replace(call, arguments=result.modified_args), None
                await self._note(call, auditors, index, "modified", stand.name, result.action, "", result.approval)
                if result.approval is not None:
                    return index, call
            elif result.approval is not None:
                await self._note(call, auditors, index, "approved", stand.name, result.action, "", result.approval)
        return call

    async def after(self, call: ToolInvocation, outcome: ToolOutcome) -> ToolOutcome:
        """Changers in order, then the scan, then those that only look."""
        phase = _phase(outcome)
        stands = [
            stand
            for stand in self._stages.at(phase)
            if await stand.filter.fits(call.name, call.permission, call.arguments)
        ]
        for stand in stands:
            if not isinstance(stand.handler, (AuditLogHandler, SecurityScan)):
                outcome = await self._change(stand, call, outcome, phase)
        outcome, counts = await self._scan(call, outcome)
        is_scanned = counts is not None
        for stand in stands:
            if isinstance(stand.handler, AuditLogHandler):
                ctx = await self._context(call, phase, outcome)
                ctx.metadata |= {"redacted": counts, "is_scanned": is_scanned}
                try:
                    await stand.call(ctx)
                except HandlerFailed as error:
                    logger.error("the call %s is missing in the audit log: %s", call.id, error)  # noqa: TRY400  # the text says all
        return outcome

    async def _change(
        self, stand: BoundHandler, call: ToolInvocation, outcome: ToolOutcome, phase: HookType
    ) -> ToolOutcome:
        try:
            result = await stand.call(await self._context(call, phase, outcome))
        except HandlerFailed as error:
            logger.warning("a result stays as it was: %s", error)
            return outcome
        if result is None or result.action is not HookAction.MODIFY_RESULT:
            return outcome
        return replace(outcome, content=result.modified_result)

    async def _scan(self, call: ToolInvocation, outcome: ToolOutcome) -> tuple[ToolOutcome, dict[str, int] | None]:
        """What the model reads and what the user is shown; each scanned once, whatever number of scans is wanted.

        The counts are None where no scan is wanted.
        """
        for stand in self._stages.scans:
            if await stand.filter.fits(call.name, call.permission, call.arguments):
                return await self._scanned(call, outcome)
        return outcome, None

    async def _scanned(self, call: ToolInvocation, outcome: ToolOutcome) -> tuple[ToolOutcome, dict[str, int]]:
        try:
            content, counts = await scan_text(outcome.content)
            for_user = outcome.for_user
            if for_user and for_user != outcome.content:
                for_user, more = await scan_text(for_user)
                counts += more
            elif for_user:
                for_user = content
        except Exception:  # whatever it is: what was not scanned is not shown
            logger.exception("a result of %s is withheld: it could not be scanned", call.name)
            return replace(outcome, content=WITHHELD, for_user="", is_error=True), {"withheld": 1}
        if content is outcome.content and for_user is outcome.for_user:
            return outcome, {}
        return replace(outcome, content=content, for_user=for_user), dict(counts)

    async def conceal(self, value: Any) -> Any:
        known = self._shown.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        try:
            shown, _ = await conceal(value)
        except Exception:  # whatever it is: what was not scanned is not shown
            logger.exception("arguments are withheld: they could not be scanned")
            shown = _UNSEEN
        if isinstance(value, (dict, list)):  # held here, so the number stays this object's
            self._shown[id(value)] = (value, shown)
            if len(self._shown) > _REMEMBERED:
                self._shown.popitem(last=False)
        return shown

    async def _context(self, call: ToolInvocation, phase: HookType, outcome: ToolOutcome | None = None) -> HookContext:
        metadata: dict[str, Any] = {
            "permission": call.permission,
            "call_id": call.id,
            "turn_id": self._facts.turn_id,
            "language": self._facts.language,
            "facts": self._facts,
        }
        if outcome is not None:
            metadata |= {"duration_ms": outcome.duration_ms, "ending": outcome.ending}
        return HookContext(
            tool_name=call.name,
            arguments=call.arguments,
            phase=phase,
            result=None if outcome is None else outcome.content,
            error=ToolError(outcome.content) if outcome is not None and outcome.ending == "failed" else None,
            session_id=self._facts.session_id,
            user_id=self._facts.user_id,
            metadata=metadata,
            ask=self._ask,
            shown_arguments=await self.conceal(call.arguments),
        )

    async def _note(
        self,
        call: ToolInvocation,
        auditors: list[AuditLogHandler],
        index: int,
        outcome: str,
        handler: str,
        action: HookAction,
        message: str,
        approval: Any = None,
    ) -> None:
        """To every audit log that has seen the call; what is decided for good, a refusal and a human's answer, also to
        those that stand behind."""
        behind = self._stages.at(HookType.PRE_TOOL_USE)[index + 1 :] if action is HookAction.DENY or approval else ()
        from_here = [
            stand.handler
            for stand in behind
            if isinstance(stand.handler, AuditLogHandler)
            and await stand.filter.fits(call.name, call.permission, call.arguments)
        ]
        ctx = await self._context(call, HookType.PRE_TOOL_USE)
        for auditor in (*auditors, *from_here):
            auditor.note_decision(ctx, outcome, handler, message=message, approval=approval or "")


def _phase(outcome: ToolOutcome) -> HookType:
    match outcome.ending:
        case "ran" | "answered":
            return HookType.POST_TOOL_USE
        case "failed":
            return HookType.TOOL_ERROR
    return HookType.TOOL_SKIP


def _denied(call: ToolInvocation, text: str) -> ToolOutcome:
    return ToolOutcome(id=call.id, name=call.name, content=text, is_error=True, ending="denied")
