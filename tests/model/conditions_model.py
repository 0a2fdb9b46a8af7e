"""What the rules L1-41 … L1-53 say, a second time: slow, plain, and without a look at the product.

A hook here is its entry of hooks.json as it was written, and its text; nothing is
compiled or indexed. Every question goes through the whole entry again, in the order
in which the rules name things, so each function can be read beside the rule it cites.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from skills_engine import CallFacts, HookFacts
from tests.model.entry_rules import DAYS, Hook, Json
from tests.model.pattern_rules import TooMuchWork, Work, are_alike, fits_any, fits_glob, is_any_found
from tests.model.variable_rules import NotFound, Source, Values, Variables, new_values, throw

LOOP = ("before_first_agent", "before_each_agent", "after_tool_call")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

HUNDREDTHS = {
    ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF)): 25,
    ((0x2E80, 0x2FDF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)): 70,
    ((0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)): 68,
    ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7A3)): 60,
    ((0xE00, 0xE7F),): 40,
    ((0x600, 0x6FF), (0x750, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)): 33,
    ((0x400, 0x52F),): 27,
    ((0x200D, 0x200D), (0x2600, 0x27BF), (0xFE0F, 0xFE0F), (0x1F000, 0x1FAFF)): 125,
}
"""Tokens of a hundred characters by the ends of their blocks (L1-47)."""


@dataclass(frozen=True, kw_only=True)
class State:
    """L1-45. `fired`: (skill, name) → F and the last turn in which that still counts; infinite for `once`."""

    turn: int = 0
    fired: Mapping[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    variables: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Moment:
    """One injection: where the turn stands, and the calls that tool leaves may look at."""

    timing: str
    round: int | None
    calls: tuple[CallFacts, ...]
    call: CallFacts | None = None
    """The call that after_tool_call fires for."""
    work: Work = field(default_factory=Work)
    variables: Variables = field(default_factory=lambda: Variables({}))
    hook: Hook = field(default_factory=lambda: Hook("", {"name": ""}, ""))
    """The hook that is decided on."""


def no_of(when: Json, facts: HookFacts, moment: Moment, path: str) -> str | None:
    """Return the path of the first that says no, None if all hold."""
    calls = moment.calls
    for key, value in when.items():
        here = f"{path}.{key}"
        match key:
            case "all":
                for number, inner in enumerate(value):
                    if (said := no_of(inner, facts, moment, f"{here}[{number}]")) is not None:
                        return said
            case "any":
                noes: list[str | None] = []
                while len(noes) < len(value) and None not in noes:
                    noes.append(no_of(value[len(noes)], facts, moment, f"{here}[{len(noes)}]"))
                if None not in noes:
                    return noes[0] if len(noes) == 1 else here
            case "not":
                if no_of(value, facts, moment, here) is None:
                    return _yes_of(value, facts, moment, here)
            case "scan_turns":
                pass
            case "user_text":
                last_first = facts.user_messages[: -when.get("scan_turns", 1) - 1 : -1]
                if "set" in moment.hook.entry and not facts.is_new_message:  # L1-51
                    last_first = ()
                if not any(is_any_found(value, text, moment.work) for text in last_first):
                    return here
            case "tool" | "tool_status" | "tool_args" | "tool_result":
                calls = tuple(call for call in calls if _call_fits(key, value, call, moment.work))
                if not calls:
                    return here
            case _:
                if not _leaf_holds(key, value, facts, moment):
                    return here
    return None


def _yes_of(when: Json, facts: HookFacts, moment: Moment, path: str) -> str:
    """Return the path of what makes this condition hold, as far in as only one thing can be meant; of `any` the first."""
    keys = [key for key in when if key != "scan_turns"]
    if len(keys) != 1:
        return path
    key, value = keys[0], when[keys[0]]
    if key == "not":
        return no_of(value, facts, moment, f"{path}.not") or path
    if key == "any":
        first = next(n for n, inner in enumerate(value) if no_of(inner, facts, moment, path) is None)
        return _yes_of(value[first], facts, moment, f"{path}.any[{first}]")
    if key == "all" and len(value) == 1:
        return _yes_of(value[0], facts, moment, f"{path}.all[0]")
    return f"{path}.{key}"


def _call_fits(key: str, value: Any, call: CallFacts, work: Work) -> bool:
    match key:
        case "tool":
            return fits_any(value, call.name)
        case "tool_status":
            return call.status in value
        case "tool_result":
            return is_any_found(value, call.result, work)
    return all(_argument_fits(path, patterns, call, work) for path, patterns in value.items())


def _argument_fits(path: str, patterns: Sequence[str], call: CallFacts, work: Work) -> bool:
    arguments: Any = call.arguments
    for step in path.split("."):
        if not isinstance(arguments, Mapping) or step not in arguments:
            return False
        arguments = arguments[step]
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return is_any_found(patterns, arguments, work)


def _leaf_holds(key: str, value: Any, facts: HookFacts, moment: Moment) -> bool:
    match key:
        case "round":
            return moment.round is not None and _is_within(moment.round, value)
        case "turn":
            return _is_within(len(facts.user_messages), value)
        case "channel":
            return bool(facts.channel == value)
        case "language":
            return facts.language is not None and any(_is_in_range(facts.language, one) for one in value)
        case "model":
            place = "local" if facts.is_local else "cloud"
            return any(fits_glob(one, facts.model) or one == place for one in value)
        case "user":
            return facts.user is not None and any(_is_user(one, facts.user, facts.is_operator) for one in value)
        case "skills":
            return all(name in facts.skills for name in value)
        case "time":
            return _is_time(value, facts.started_at)
        case "variables":
            return all(_is_one_of(wanted, _variable(name, moment)) for name, wanted in value.items())
        case "context":
            return all(_is_one_of(wanted, facts.context.get(name)) for name, wanted in value.items())
        case "last_reply":
            return facts.last_reply is not None and is_any_found(value, facts.last_reply, moment.work)
        case "interrupted":
            return facts.interrupted
        case "spoken":
            return facts.spoken
        case "attachments":
            return any(one in facts.attachments for one in value)
        case "chance":
            return bool(throw(facts.seed, moment.hook.skill, moment.hook.name) < value * 2**64)
    raise AssertionError(key)


def _variable(name: str, moment: Moment) -> Any:
    skill, _, inner = name.rpartition("/")
    return moment.variables.get(skill or moment.hook.skill, inner)


def _is_one_of(wanted: Any, value: Any) -> bool:
    """L1-52: what a condition asks of a variable, or of a key of the context; a list holds where one item does."""
    if isinstance(value, list | tuple):
        return any(_is_one_of(wanted, one) for one in value)
    if isinstance(wanted, list):
        return any(_is_one_of(one, value) for one in wanted)
    if isinstance(wanted, dict):
        return not isinstance(value, bool) and isinstance(value, int | float) and _is_within(value, wanted)
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    if isinstance(wanted, str):
        return isinstance(value, str) and are_alike(value, wanted)
    return isinstance(value, int | float) and bool(wanted == value)


def _is_within(number: float, span: Any) -> bool:
    if isinstance(span, dict):
        return bool(span.get("min", number) <= number <= span.get("max", number))
    return bool(number == span)


def _is_in_range(tag: str, wanted: str) -> bool:
    """RFC 4647, 3.3.1: equal, or a prefix up to a hyphen; case does not count."""
    return wanted == "*" or f"{tag}-".lower().startswith(f"{wanted}-".lower())


def _is_user(glob: str, user: str, is_operator: bool) -> bool:
    return is_operator if glob == "operator" else fits_glob(glob, user)


def _is_time(value: Json, started_at: datetime) -> bool:
    now = started_at.astimezone(ZoneInfo(value["timezone"])) if "timezone" in value else started_at
    clock, day = f"{now.hour:02}:{now.minute:02}", now.weekday()
    begin, end = value.get("from", "00:00"), value.get("to", "24:00")
    if begin < end:
        is_in = begin <= clock < end
    elif begin == end or clock >= begin:
        is_in = True
    else:
        is_in, day = clock < end, (day - 1) % 7
    return is_in and DAYS[day] in value.get("days", DAYS)


@dataclass(frozen=True)
class Standing:
    """A hook that stands in the turn's list."""

    hook: Hook
    text: str


@dataclass(frozen=True)
class Out:
    """A hook that an injection of its timing did not put in."""

    hook: Hook
    reason: str
    path: str = ""


def _can_be_set(sets: Sequence[tuple[str, str, Any]], skill: str, name: str, value: str) -> bool:
    """L1-50: whether an entry sets this text, or any."""
    changes = [change for owner, variable, change in sets if (owner, variable) == (skill, name)]
    return any(c == value or (isinstance(c, dict) and ("from" in c or value in c.get("pick", []))) for c in changes)


@dataclass
class TurnModel:
    """One turn; `standing` are its hooks in the list, in order, `out` those that the last injection left out."""

    hooks: Sequence[Hook]
    facts: HookFacts
    before: State = State()
    """The state that came; the facts' own is not looked at."""
    max_persistent: int | None = None
    standing: list[Standing] = field(default_factory=list)
    out: list[Out] = field(default_factory=list)
    persistent: int = 0
    fired_in_turn: set[tuple[str, str]] = field(default_factory=set)
    fired_of_itself: set[tuple[str, str]] = field(default_factory=set)
    variables: Variables = field(init=False)

    def __post_init__(self) -> None:
        start = {hook.skill: hook.variables for hook in self.hooks}
        sets = [(hook.skill, name, change) for hook in self.hooks for name, change in hook.entry.get("set", {}).items()]
        came = {
            skill: {n: v for n, v in values.items() if not isinstance(v, str) or _can_be_set(sets, skill, n, v)}
            if skill in start
            else values
            for skill, values in self.before.variables.items()
        }
        self.variables = Variables.begin(start, came)

    @property
    def turn(self) -> int:
        """T of L1-44."""
        return self.before.turn + 1

    def inject(
        self,
        timing: str,
        *,
        call: CallFacts | None = None,
        calls: Sequence[CallFacts] = (),
        in_round: int | None = None,
    ) -> list[Standing]:
        """Return what is put in, in its order."""
        looked_at = () if timing not in ("after_tool_call", "before_each_agent") else tuple(calls)
        if timing == "after_tool_call":
            looked_at = () if call is None else (call,)
        moment = Moment(timing, in_round if timing in LOOP else None, looked_at, call, variables=self.variables)
        self.out = []
        self._update(moment)
        left: list[Hook] = []
        room = math.inf if self.max_persistent is None else self.max_persistent - self.persistent
        for hook in self.hooks:
            if hook.entry["timing"] != timing or hook.is_update:
                continue
            out = self._no(hook, moment)
            if out is None and hook.entry["persistent"]:
                out = Out(hook, "persistent") if room == 0 else None
                room -= out is None
            if out is None:
                left.append(hook)
            else:
                self.out.append(out)
        left = self._one_of_each_group(left)
        texts = {hook.key: self._fill(hook, moment) for hook in left}
        left = self._within_budget(left, texts)
        put_in = [Standing(hook, texts[hook.key]) for hook in sorted(left, key=lambda hook: hook.priority)]
        self.standing += put_in
        self.persistent += sum(hook.entry["persistent"] for hook in left)
        for one in put_in:
            self._remember(one.hook)
        for one in put_in:
            if "set" in one.hook.entry and (out := self._set(one.hook, moment)) is not None:
                self.out.append(out)
        return put_in

    def _remember(self, hook: Hook) -> None:
        if not self._is_sticking(hook):
            self.fired_of_itself.add(hook.key)
        self.fired_in_turn.add(hook.key)

    def _update(self, moment: Moment) -> None:
        """L1-51, Order (1): all conditions first, then the changes."""
        updates = [hook for hook in self.hooks if hook.is_update and hook.entry["timing"] == moment.timing]
        noes = [self._no(hook, moment) for hook in updates]
        for hook, no in zip(updates, noes, strict=True):
            out = no or self._set(hook, moment)
            if out is not None:
                self.out.append(out)
            else:
                self._remember(hook)

    def _set(self, hook: Hook, moment: Moment) -> Out | None:
        """Apply the whole `set`, or say why not."""
        call = moment.call if moment.timing == "after_tool_call" else None
        try:
            values = new_values(hook.entry, self.variables, hook.skill, Source(self.facts, call, moment.work))
        except NotFound as error:
            return Out(hook, "set", f"set.{error}")
        except TooMuchWork:
            return Out(hook, "search_limit")
        return None if self.variables.put(hook.skill, values) else Out(hook, "variables_full")

    def remove(self, timing: str) -> None:
        self.standing = [
            one for one in self.standing if one.hook.entry["timing"] != timing or one.hook.entry["persistent"]
        ]

    def state(self) -> State | None:
        """L1-45: what the next turn is given; None where no hook of this turn asks for it."""
        if not any(hook.remembers or hook.variables for hook in self.hooks):
            return None
        fired = dict(self.before.fired)
        for hook in self.hooks:
            if hook.key in self.fired_of_itself and hook.remembers:
                length = hook.entry.get("sticky", 0) + hook.entry.get("cooldown", 0)
                is_for_good = hook.entry.get("once") == "conversation"
                fired[hook.key] = self.turn, math.inf if is_for_good else self.turn + length
        lasting = {key: (F, until) for key, (F, until) in fired.items() if self.turn <= until}
        return State(turn=self.turn, fired=lasting, variables=self.variables.changed)

    def _no(self, hook: Hook, moment: Moment) -> Out | None:
        """L1-41: the first that says no, up to the condition."""
        entry = hook.entry
        if not entry.get("enabled", True):
            return Out(hook, "enabled")
        if moment.timing == "after_tool_call" and entry.get("tool_filter") is not None:
            name = moment.call.name if moment.call else ""
            if name not in entry["tool_filter"] and not fits_any(entry["tool_filter"], name):
                return Out(hook, "tool_filter")
        for glob in entry.get("requires_tools", []):
            if not any(fits_glob(glob, name) for name in self.facts.tools):
                return Out(hook, "requires_tools")
        has_words = self.facts.is_new_message or moment.timing not in ("after_user_input", "before_planning")
        if hook.is_update and not has_words:
            return Out(hook, "no_message")
        is_of_injection = entry.get("once") == "turn" or (entry.get("once") == "conversation" and hook.is_update)
        if is_of_injection and hook.key in self.fired_in_turn:
            return Out(hook, "once")
        if self._is_sticking(hook):
            return None
        if self._is_after(hook):
            if entry.get("once") == "conversation":
                return Out(hook, "once")
            if self.turn <= self._last(hook) + entry.get("sticky", 0) + entry.get("cooldown", 0):
                return Out(hook, "cooldown")
        try:
            said = no_of(entry.get("when", {}), self.facts, replace(moment, hook=hook), "when")
        except TooMuchWork:
            return Out(hook, "search_limit")
        return None if said is None else Out(hook, "when", said)

    def _is_after(self, hook: Hook) -> bool:
        """It fired of itself in an earlier turn, F < T, and not yet again in this one, T = F."""
        return hook.key in self.before.fired and hook.key not in self.fired_of_itself

    def _last(self, hook: Hook) -> int:
        return self.before.fired[hook.key][0]

    def _is_sticking(self, hook: Hook) -> bool:
        return self._is_after(hook) and self.turn <= self._last(hook) + hook.entry.get("sticky", 0)

    def _one_of_each_group(self, hooks: list[Hook]) -> list[Hook]:
        """L1-46, L1-57."""
        winners: dict[tuple[str, str], Hook] = {}
        for hook in hooks:
            group = _group(hook)
            if group is not None and (group not in winners or hook.priority > winners[group].priority):
                winners[group] = hook
        lost = [h for h in hooks if (group := _group(h)) is not None and winners[group] is not h]
        self.out += [Out(hook, "group") for hook in lost]
        return [hook for hook in hooks if hook not in lost]

    def _within_budget(self, hooks: list[Hook], texts: Mapping[tuple[str, str], str]) -> list[Hook]:
        """L1-47."""
        if self.facts.hook_tokens is None:
            return hooks
        others = sum(_tokens(one.text) for one in self.standing)
        hooks = list(hooks)
        while hooks and others + sum(_tokens(texts[hook.key]) for hook in hooks) > self.facts.hook_tokens:
            lowest = min(hook.priority for hook in hooks)
            leaves = [hook for hook in hooks if hook.priority == lowest][-1]
            hooks.remove(leaves)
            self.out.append(Out(leaves, "budget"))
        return hooks

    def _fill(self, hook: Hook, moment: Moment) -> str:
        """L1-48."""
        if not hook.entry.get("vars"):
            return hook.content
        values = _values(hook, self.facts, moment)

        def filled(found: re.Match[str]) -> str:
            name = found[1]
            if name is None:
                return "{{"
            if name.startswith("var."):
                value = _variable(name[4:], replace(moment, variables=self.variables, hook=hook))
            elif name.startswith("context."):
                value = self.facts.context.get(name[8:]) if self.facts.may_say_context else None
            else:
                return values.get(name, found[0])
            return _as_text(value)

        return re.sub(r"\{\{\{\{|\{\{([A-Za-z0-9_./-]+)\}\}", filled, hook.content)


def _group(hook: Hook) -> tuple[str, str] | None:
    """L1-57: a group belongs to its skill, a shared one to all."""
    if "group" not in hook.entry:
        return None
    is_shared = hook.entry["group"].startswith("shared/")
    return "" if is_shared else hook.skill, hook.entry["group"]


def _values(hook: Hook, facts: HookFacts, moment: Moment) -> dict[str, str]:
    now = facts.started_at
    call = moment.call if moment.timing == "after_tool_call" else None
    return {
        "date": f"{now.year:04}-{now.month:02}-{now.day:02}",
        "time": f"{now.hour:02}:{now.minute:02}",
        "weekday": WEEKDAYS[now.weekday()],
        "timezone": now.tzname() or "",
        "user": facts.user or "",
        "language": facts.language or "",
        "channel": facts.channel,
        "model": facts.model,
        "skill": hook.skill,
        "tool": call.name if call else "",
        "tool_status": call.status if call else "",
        "round": "" if moment.round is None else str(moment.round),
        "turn": str(len(facts.user_messages)),
    }


def _as_text(value: Any) -> str:
    """L1-56: lists joined by ", ", numbers and booleans as JSON, what is absent empty; one short line (L1-48)."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        value = ", ".join(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"\{\{+", "{", " ".join(text.splitlines()))[:200]


def _tokens(text: str) -> int:
    return math.ceil(sum(map(_hundredths, text)) / 100)


def _hundredths(character: str) -> int:
    for ends, weight in HUNDREDTHS.items():
        if any(first <= ord(character) <= last for first, last in ends):
            return weight
    return 25 if character.isspace() else 50 if ord(character) < 128 else 35
