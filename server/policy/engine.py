"""The tool policy (layer 3): hands each turn the policy in force for its user and runs its handlers around calls."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from server import config
from server.approval.asking import Answer, AnsweredBy, AskHuman, Question, text_for_model
from server.bounded.fair_share import FairShare, ShareFull, account_of
from server.bounded.limits import BoundedDict
from server.errors import ConfigError, PolicyError, ToolError
from server.policy.bound_handler import BoundHandler, BoundStages, HandlerFailed, HandlerParts, load_custom
from server.policy.confirmation_handler import ConfirmationSettings, DangerJudge
from server.policy.document import NO_POLICY, HandlerSpec, PolicyDocument, check_document, to_json
from server.policy.hook_types import HookAction, HookContext, HookResult, HookType
from server.policy.scan_handler import (
    WITHHELD,
    AuditLogHandler,
    AuditSettings,
    ScanSettings,
    SecretScanner,
    SecurityScan,
    WriteEntry,
)
from server.toolguard.scans import ScanTooSlow
from server.tools.tool_calls import MAX_EDITS, Ending, ToolInvocation, ToolOutcome, TurnFacts

logger = logging.getLogger(__name__)

_MAX_BOUND: Final = 1000
"""Documents (with custom handlers: of each user) whose handlers are kept built; beyond it the longest unused is
built anew."""
_REMEMBERED: Final = 64
_THREADS: Final = 4
"""Threads for scans and judgements that take long, one for each user."""
_PHASES: Final[dict[Ending, HookType]] = {
    "ran": HookType.POST_TOOL_USE,
    "answered": HookType.POST_TOOL_USE,
    "failed": HookType.TOOL_ERROR,
}
BUILTIN_SPECS: Final = (
    HandlerSpec(
        name="audit_log",
        description="Writes every call, its result, failure or refusal to the audit log.",
        settings=AuditSettings,
    ),
    HandlerSpec(
        name="dangerous_confirmation",
        description="Asks a human before a dangerous call of a WRITE or EXTERNAL tool runs.",
        stages=("pre_tool_use",),
        settings=ConfirmationSettings,
    ),
    HandlerSpec(
        name="security_scan",
        description="Redacts passwords, keys and tokens before the model or the user reads the result.",
        stages=("pre_tool_use", "post_tool_use", "tool_error"),
        settings=ScanSettings,
    ),
)


class PolicyEngine:
    """The policy of every user. A turn keeps the policy that was in force when it began."""

    def __init__(
        self, effective: Callable[[str], PolicyDocument], write_entry: WriteEntry, settings: config.HooksSettings
    ) -> None:
        """Load the custom handlers; `effective` returns the policy for a user's next turn. Raises ConfigError."""
        threads = FairShare(_THREADS, per_user=1, name="policy")
        self.scanner = SecretScanner(settings.secrets_table, threads)
        self.judge = DangerJudge(settings.danger_table, threads)
        # a mistake in a table of the operator's own is reported at the start, whatever documents are stored
        tables = {"security_scan": settings.secrets_table, "dangerous_confirmation": settings.danger_table}
        self._own_tables = frozenset(handler for handler, table in tables.items() if table is not None)
        self._effective = effective
        builtin = frozenset(spec.name for spec in BUILTIN_SPECS)
        self._parts = HandlerParts(
            write_entry=write_entry,
            scanner=self.scanner,
            judge=self.judge,
            custom=load_custom(settings.custom_dir, taken=builtin, scanner=self.scanner),
            limit_s=settings.defaults.interceptor_timeout_ms / 1000,
        )
        # by user and document; the user is "" where many can share the handlers of one document
        self._bound = BoundedDict[tuple[str, bytes], BoundStages](_MAX_BOUND)
        self._latest: tuple[PolicyDocument, str, BoundStages | None] = (NO_POLICY, "", None)

    @property
    def custom_specs(self) -> tuple[HandlerSpec, ...]:
        """The operator's own handlers, as documents may name them."""
        return tuple(handler.spec for handler in self._parts.custom.values())

    def check(self, document: PolicyDocument, *, may_lock: bool, below: PolicyDocument = NO_POLICY) -> None:
        """Raise PolicyError for a document that names what is not there or does not fit."""
        specs = {spec.name: spec for spec in (*BUILTIN_SPECS, *self.custom_specs)}
        check_document(document, specs, may_lock=may_lock, below=below)

    def check_config(self, document: PolicyDocument) -> None:
        """Check the document of parley.yaml and load its rules.

        Raises ConfigError: the server does not start with a guard that cannot work.
        """
        try:
            self.check(document, may_lock=True)
        except PolicyError as error:
            raise ConfigError(f"hooks{error.path.removeprefix('$')}: {error}") from error
        self.load_rules(document.handler_names | self._own_tables)

    def has_rules(self, handlers: frozenset[str]) -> bool:
        """Return whether everything is loaded that these handlers need."""
        return all(part.is_loaded for part in self._rules(handlers))

    def load_rules(self, handlers: frozenset[str]) -> None:
        """Load what these handlers need. The first time it takes a while, so not in the event loop."""
        for part in self._rules(handlers):
            part.load()

    def _rules(self, handlers: frozenset[str]) -> Iterator[SecretScanner | DangerJudge]:
        if handlers:
            yield self.scanner  # whatever handlers there are, arguments are shown without secrets
        if "dangerous_confirmation" in handlers:
            yield self.judge

    def for_turn(self, facts: TurnFacts, ask: AskHuman | None) -> "TurnPolicy | None":
        """Return the policy of a turn that begins now, None where nothing is configured."""
        account = account_of(facts.user_id)
        document = self._effective(account)
        latest, owner, stages = self._latest
        if document is not latest or owner not in ("", account):
            # a custom handler may remember what it has seen: one user's calls are none of another's business
            owner = "" if self._parts.custom.keys().isdisjoint(document.handler_names) else account
            stages = self._bind(document, owner)
            self._latest = (document, owner, stages)
        return None if stages is None else TurnPolicy(stages, facts, ask)

    def _bind(self, document: PolicyDocument, owner: str) -> BoundStages | None:
        key = (owner, to_json(document))
        stages = self._bound.get(key) or BoundStages(document, self._parts)
        self._bound[key] = stages
        return None if stages.is_empty else stages


class TurnPolicy:
    """The ToolPolicy of one turn."""

    def __init__(self, stages: BoundStages, facts: TurnFacts, ask: AskHuman | None) -> None:
        self._stages = stages
        self._facts = facts
        self._ask = ask
        self._scanner = stages.scanner
        self._shown = BoundedDict[int, tuple[Any, Any]](_REMEMBERED)

    async def before(self, call: ToolInvocation) -> ToolInvocation | ToolOutcome:
        """Run the pre_tool_use handlers in order.

        A human who changed the arguments is not asked again about them by the same handler; all others see the call anew.
        """
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
        """Pass the stage once. A pair means: the handler at that place had a human change the call to this one."""
        auditors: list[AuditLogHandler] = []
        for index, bound in enumerate(self._stages.at(HookType.PRE_TOOL_USE)):
            if index == edited_by or not await bound.fits(call):
                continue
            ctx = await self._context(call, HookType.PRE_TOOL_USE)
            withdrawn: list[Answer] = []
            if ctx.ask is not None:
                ctx.ask = _WatchedAsk(ctx.ask, call.id, withdrawn.append)
            try:
                result = await bound.call(ctx)
            except asyncio.CancelledError:  # the turn ends while a human is asked, who may have left
                for answer in withdrawn:
                    await self._note(call, auditors, index, "denied", text_for_model(answer), answer.by)
                raise
            except HandlerFailed as error:
                if isinstance(bound.handler, AuditLogHandler):
                    continue  # a record that cannot be written stops no call
                text = f"Not run: this server's policy could not be checked ({error})."
                result = HookResult(action=HookAction.DENY, message=text)
            if isinstance(bound.handler, AuditLogHandler):
                auditors.append(bound.handler)
            match result:
                case HookResult(action=HookAction.DENY):
                    text = result.message or f"The policy of this server ({bound.name}) does not allow this call."
                    await self._note(call, auditors, index, "denied", text, result.approval)
                    return _denied(call, text)
                case HookResult(action=HookAction.MODIFY):
                    call = replace(call, arguments=result.modified_args)
                    await self._note(call, auditors, index, "modified", approval=result.approval)
                    if result.approval is not None:
                        return index, call
                case HookResult() if result.approval is not None:
                    await self._note(call, auditors, index, "approved", approval=result.approval)
        return call

    async def after(self, call: ToolInvocation, outcome: ToolOutcome) -> ToolOutcome:
        """Run the handlers that may change the result in order, then the scan, then the audit logs."""
        phase = _PHASES.get(outcome.ending, HookType.TOOL_SKIP)
        handlers = [bound for bound in self._stages.at(phase) if await bound.fits(call)]
        for bound in handlers:
            if not isinstance(bound.handler, (AuditLogHandler, SecurityScan)):
                outcome = await self._change(bound, call, outcome, phase)
        outcome, counts = await self._scan(call, outcome)
        for bound in handlers:
            if isinstance(bound.handler, AuditLogHandler):
                ctx = await self._context(call, phase, outcome)
                ctx.metadata |= {"redacted": counts, "is_scanned": counts is not None}
                try:
                    await bound.call(ctx)
                except HandlerFailed as error:
                    logger.error("the call %s is missing from the audit log: %s", call.id, error)  # noqa: TRY400  # the text says all
        return outcome

    async def _change(
        self, bound: BoundHandler, call: ToolInvocation, outcome: ToolOutcome, phase: HookType
    ) -> ToolOutcome:
        try:
            result = await bound.call(await self._context(call, phase, outcome))
        except HandlerFailed as error:
            logger.warning("a result stays as it was: %s", error)
            return outcome
        if result is None or result.action is not HookAction.MODIFY_RESULT:
            return outcome
        return replace(outcome, content=result.modified_result)

    async def _scan(self, call: ToolInvocation, outcome: ToolOutcome) -> tuple[ToolOutcome, dict[str, int] | None]:
        """Scan what the model reads and what the user is shown, each once, however many scans are configured.

        The counts are None where none is.
        """
        if not any([await bound.fits(call) for bound in self._stages.scans]):
            return outcome, None
        try:
            content, counts = await self._scanner.scan_text(outcome.content)
            for_user = content
            if outcome.for_user != outcome.content:
                for_user, more = await self._scanner.scan_text(outcome.for_user)
                counts += more
        except (ScanTooSlow, ShareFull) as error:
            logger.warning("a result of %s is withheld: %s", call.name, error)
            text = f"[The result was withheld: {error}.]"
            return replace(outcome, content=text, for_user="", is_error=True), {"withheld": 1}
        except Exception:  # whatever it is: what was not scanned is not shown
            logger.exception("a result of %s is withheld: it could not be scanned", call.name)
            return replace(outcome, content=WITHHELD, for_user="", is_error=True), {"withheld": 1}
        if content is outcome.content and for_user is outcome.for_user:
            return outcome, {}
        return replace(outcome, content=content, for_user=for_user), dict(counts)

    async def conceal(self, value: Any) -> Any:
        """Return a value without its secrets, or, where it could not be scanned, `{"withheld": reason}`."""
        known = self._shown.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        try:
            shown, _ = await self._scanner.conceal(value)
        except (ScanTooSlow, ShareFull) as error:
            logger.warning("arguments are withheld: %s", error)
            shown = {"withheld": str(error)}
        except Exception:  # whatever it is: what was not scanned is not shown
            logger.exception("arguments are withheld: they could not be scanned")
            shown = {"withheld": "could not be scanned for secrets"}
        if isinstance(value, (dict, list)):  # held here, so the number stays this object's
            self._shown[id(value)] = (value, shown)
        return shown

    async def _context(self, call: ToolInvocation, phase: HookType, outcome: ToolOutcome | None = None) -> HookContext:
        metadata: dict[str, Any] = {
            "permission": call.permission,
            "destructive": call.destructive,
            "call_id": call.id,
            "turn_id": self._facts.turn_id,
            "language": self._facts.language,
            "facts": self._facts,
        }
        if outcome is not None:
            metadata |= {"duration_ms": outcome.duration_ms, "ending": outcome.ending, "error_type": outcome.error_type}
        return HookContext(
            tool_name=call.name,
            arguments=call.arguments,
            phase=phase,
            result=None if outcome is None else outcome.content,
            error=ToolError(outcome.content) if outcome is not None and outcome.ending == "failed" else None,
            session_id=self._facts.session_id,
            user_id=account_of(self._facts.user_id),
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
        message: str = "",
        approval: AnsweredBy | None = None,
    ) -> None:
        """Write a decision to the audit logs that have seen the call.

        A refusal and a human's answer are final, so the audit logs further down are told as well.
        """
        handlers = self._stages.at(HookType.PRE_TOOL_USE)
        further_down = handlers[index + 1 :] if outcome == "denied" or approval else ()
        others = [
            one.handler for one in further_down if isinstance(one.handler, AuditLogHandler) and await one.fits(call)
        ]
        ctx = await self._context(call, HookType.PRE_TOOL_USE)
        for auditor in (*auditors, *others):
            auditor.write(ctx, outcome, handler=handlers[index].name, message=message, approval=approval or "")


class _WatchedAsk:
    """An AskHuman that names the call and tells of a question that ends with its turn."""

    def __init__(self, ask: AskHuman, call_id: str, on_withdrawn: Callable[[Answer], None]) -> None:
        self._ask = ask
        self._call_id = call_id
        self._on_withdrawn = on_withdrawn

    async def ask(self, question: Question) -> Answer:
        return await self._ask.ask(replace(question, call_id=self._call_id, on_withdrawn=self._on_withdrawn))


def _denied(call: ToolInvocation, text: str) -> ToolOutcome:
    return ToolOutcome(id=call.id, name=call.name, content=text, is_error=True, ending="denied")
