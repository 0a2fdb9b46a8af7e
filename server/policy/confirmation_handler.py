"""dangerous_confirmation: asks a human before a dangerous call runs."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from server import config
from server.approval.asking import Question, phrase, text_for_model
from server.approval.edits import approvable
from server.bounded.fair_share import FairShare, ShareFull
from server.policy.call_filter import Matcher, matcher
from server.policy.hook_types import ALLOW, HookAction, HookContext, HookResult
from server.toolguard import Permission

if TYPE_CHECKING:
    from server.toolguard.danger.danger_table import DangerVerdict

_INLINE_CHARS: Final = 2000
"""Arguments up to this length are rated in the event loop, in well under a millisecond; longer ones in a thread."""
_LIMIT_S: Final = 5.0
"""Time limit of a rating; a call that takes longer is asked about."""
_MAX_COMMAND_CHARS: Final = 64
_NOBODY: Final = "This call needs a human's approval, and nobody can be asked here, so it was not made."

_written: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode

Globs = Annotated[list[config.Glob], Meta(max_length=256)]


class ConfirmationSettings(config.Section, frozen=True, kw_only=True):
    always: Globs = msgspec.field(default_factory=list)
    """Tools that are asked about whatever they do (also where READ)."""
    never: Globs = msgspec.field(default_factory=list)
    """Tools that are never asked about; wins over the rest."""
    patterns: Globs = msgspec.field(default_factory=list)
    """Further signs of danger, looked for in the arguments' JSON: words, or `re:` and a regular expression."""
    unknown: Literal["allow", "ask"] = "allow"
    """Treatment of calls that the rules know nothing about."""
    timeout_s: config.Seconds | None = None
    """Time limit for the human, if it is not that of `hooks.approval.timeout_s`."""

    def __post_init__(self) -> None:
        for pattern in (*self.always, *self.never, *self.patterns):
            matcher(pattern)


class DangerJudge:
    """Ratings of calls. Its rules are imported at the first use, which takes a while: see `load`."""

    def __init__(self, table: Path | None = None, threads: FairShare | None = None) -> None:
        """`table`: the operator's own rules, laid over the built-in ones."""
        self._table = table
        self.threads = threads or FairShare(1, per_user=1)
        """Threads for whatever takes long to judge."""
        self.is_loaded = False

    def load(self) -> None:
        """Load the rules now, where waiting does no harm. Idempotent. Raises ConfigError for a wrong line of a table."""
        from server.toolguard.danger import danger_table, judge  # noqa: F401  # judge: so that a call need not import it

        danger_table.load_table(self._table)
        self.is_loaded = True

    def rate(self, tool: str, permission: Permission, arguments: Any, *, destructive: bool | None) -> "DangerVerdict":
        """Rate a call by the rules. `destructive`: what a trusted server says of its tool."""
        from server.toolguard.danger.danger_table import load_table
        from server.toolguard.danger.judge import judge_call

        return judge_call(tool, permission, arguments, destructive=destructive, table=load_table(self._table))

    async def command_of(self, tool: str, arguments: Any) -> str | None:
        """Return the name of the plain command that a call would run, such as "git push"; None where there is none.

        None also where the arguments make the command worse than its name says: `git push --force`.
        """
        if self.is_loaded and len(_written(arguments)) <= _INLINE_CHARS:
            return self._command_of(tool, arguments)
        try:
            return await self.threads.in_thread(self._command_of, tool, arguments)
        except ShareFull:
            return None

    def _command_of(self, tool: str, arguments: Any) -> str | None:
        from server.toolguard.danger.danger_table import load_table
        from server.toolguard.danger.judge import command_name, is_worse_than_plain

        table = load_table(self._table)
        name = command_name(tool, arguments, table=table)
        if name is None or len(name) > _MAX_COMMAND_CHARS or is_worse_than_plain(tool, arguments, table=table):
            return None
        return name


class DangerousConfirmation:
    """Handler of the type `dangerous_confirmation`."""

    def __init__(self, settings: ConfirmationSettings, judge: DangerJudge, *, limit_s: float = _LIMIT_S) -> None:
        self._judge = judge
        self._limit_s = limit_s
        self._levels = ("dangerous", "unknown") if settings.unknown == "ask" else ("dangerous",)
        self._timeout_s = settings.timeout_s
        self._always = [matcher(glob) for glob in settings.always]
        self._never = [matcher(glob, in_doubt=False) for glob in settings.never]
        self._is_slow = any(pattern.startswith("re:") for pattern in settings.patterns)
        self._patterns = [(pattern, _sign(pattern)) for pattern in settings.patterns]

    async def pre_execute(self, ctx: HookContext) -> HookResult:
        verdict = await self._danger(ctx, ctx.arguments)
        if verdict.level not in self._levels:
            return ALLOW
        if ctx.ask is None:
            return HookResult(action=HookAction.DENY, message=_NOBODY)
        shown = approvable(ctx.shown_arguments, ctx.arguments)
        answer = await ctx.ask.ask(
            Question(
                tool=ctx.tool_name,
                arguments=shown,
                message=_question(ctx, await self._shown_reason(ctx, shown, verdict)),
                origin="dangerous_confirmation",
                permission=ctx.metadata.get("permission", "EXTERNAL"),
                timeout_s=self._timeout_s,
                real_arguments=ctx.arguments,
            )
        )
        if not answer.approved:
            return HookResult(action=HookAction.DENY, message=text_for_model(answer), approval=answer.by)
        if answer.arguments is not None and answer.arguments != ctx.arguments:
            return HookResult(action=HookAction.MODIFY, modified_args=answer.arguments, approval=answer.by)
        return HookResult(action=HookAction.ALLOW, approval=answer.by)

    async def _shown_reason(self, ctx: HookContext, arguments: Any, verdict: "DangerVerdict") -> str:
        """Return the reason as it may be shown, and say so where redaction has hidden what it speaks of."""
        if arguments == ctx.arguments:
            return verdict.reason
        shown = await self._danger(ctx, arguments)
        if shown.phrase == verdict.phrase:
            return shown.reason
        return f"{verdict.phrase}; the part that does so is hidden below, because it could be a secret"

    async def _danger(self, ctx: HookContext, arguments: Any) -> "DangerVerdict":
        from server.toolguard.danger.danger_table import SAFE, dangerous

        if any(fits(ctx.tool_name) for fits in self._never):
            return SAFE
        if any(fits(ctx.tool_name) for fits in self._always):
            return dangerous("always needs your approval")
        permission: Permission = ctx.metadata.get("permission", "EXTERNAL")
        if permission == "READ":
            return SAFE
        text = _written(arguments)
        if len(text) <= _INLINE_CHARS and not self._is_slow:
            return self._rate(ctx, permission, arguments, text)
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._judge.threads.in_thread(self._rate, ctx, permission, arguments, text)
        except TimeoutError:
            return dangerous(f"takes longer than {self._limit_s:g} s to be judged")
        except ShareFull:
            return dangerous("cannot be judged, as too many calls are being judged")

    def _rate(self, ctx: HookContext, permission: Permission, arguments: Any, text: str) -> "DangerVerdict":
        from server.toolguard.danger.danger_table import dangerous

        for pattern, fits in self._patterns:
            if fits(text):
                return dangerous(f"matches the pattern {pattern}")
        return self._judge.rate(ctx.tool_name, permission, arguments, destructive=ctx.metadata.get("destructive"))


def _sign(pattern: str) -> Matcher:
    """Return a search for plain words anywhere, in any case; for `re:` and globs the usual matcher."""
    if pattern.startswith("re:") or "*" in pattern or "?" in pattern:
        return matcher(pattern)
    words = pattern.casefold()
    return lambda text: words in text.casefold()


def _question(ctx: HookContext, reason: str) -> str:
    """Return the question in the user's language; the reason, in English, has a line of its own, not read aloud."""
    ask = phrase("ask", ctx.metadata.get("language")).format(tool=ctx.tool_name)
    return f"{ask}\n{ctx.tool_name}: {reason}"
