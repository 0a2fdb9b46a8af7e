"""Turns with a scripted model in the place of a real one: what each call reads, and which hooks fire or stay out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from skill_tools.testing.tests_format import CallSpec, StepSpec
from skills_engine.conditions.turn_facts import CallFacts, HookFacts, HookState
from skills_engine.hook_entries import HookInfo
from skills_engine.hook_manager import HookManager, Message, VariableChange
from skills_engine.trigger_entries import TriggerInfo
from skills_engine.turn_sequence import SilentHook, TurnSequence

MAX_PERSISTENT: Final = 64
"""The default of `limits.max_hook_frames_per_turn` (L1-30)."""


@dataclass(frozen=True)
class ReadMessage:
    """A message that a model call read, and the hook that it came from."""

    role: str
    text: str
    hook: HookInfo | None
    is_stand_in: bool = False
    """Whether it stands for what the server or the model would have written here."""


@dataclass(frozen=True)
class ScriptedCall:
    """One call of the model: `planning`, `round N`, or the only one where tools are off."""

    title: str
    messages: tuple[ReadMessage, ...]


@dataclass
class PlayedTurn:
    """A turn that was played: its calls, its hooks, and what the next turn starts from."""

    calls: list[ScriptedCall] = field(default_factory=list)
    """The calls of the model; empty for a turn that its trigger did not begin."""
    fired: list[HookInfo] = field(default_factory=list)
    """Hooks in the order in which they were put in, one entry for each time."""
    silent: list[SilentHook] = field(default_factory=list)
    """The hooks that stayed out, some of them at times only, with the reasons for their author."""
    changes: list[VariableChange] = field(default_factory=list)
    """The changes of variables, in order."""
    history: list[Message] = field(default_factory=list)
    """The messages that a client keeps: those before, the user's, persistent hooks and the reply."""
    state: HookState = field(default_factory=HookState)


@dataclass(frozen=True)
class TurnScript:
    """One turn of a conversation that is to be played."""

    hooks: Sequence[HookInfo]
    beginning: str | TriggerInfo
    """The words of the user, or the trigger that begins the turn."""
    steps: Sequence[StepSpec]
    """The replies of the model."""
    facts: HookFacts
    """The facts that the turns before do not decide, with the seed of the whole conversation."""


def play_conversation(
    turns: Iterable[TurnScript], start: PlayedTurn, *, max_persistent: int = MAX_PERSISTENT
) -> Iterator[PlayedTurn]:
    """Play the turns one by one, each with the history and the state of the one before; the first with those of `start`."""
    last = start
    for turn in turns:
        facts = replace(turn.facts, state=last.state, seed=f"{turn.facts.seed} {last.state.turn}")
        last = play_turn(
            turn.hooks, turn.beginning, turn.steps, history=last.history, facts=facts, max_persistent=max_persistent
        )
        yield last


def play_turn(
    hooks: Sequence[HookInfo],
    beginning: str | TriggerInfo,
    script: Sequence[StepSpec],
    *,
    history: Sequence[Message],
    facts: HookFacts,
    max_persistent: int = MAX_PERSISTENT,
) -> PlayedTurn:
    """Play one turn. A script that begins with calls needs tools; one that ends without an answer answers nothing.

    `beginning`: what the user says, or the trigger that begins the turn, unless its conditions do not hold. The user
    messages of `facts` are those of the history and this one.
    """
    said = [message["content"] for message in history if message["role"] == "user" and "_hook" not in message]
    facts = replace(
        facts,
        user_messages=(*said, *([beginning] if isinstance(beginning, str) else ())),
        is_new_message=isinstance(beginning, str),
        last_reply=_last_reply(history),
    )
    if isinstance(beginning, TriggerInfo):
        if (stayed_out := _why_no_turn(beginning, history, facts)) is not None:
            return PlayedTurn(silent=[stayed_out], history=list(history), state=facts.state)
        hooks = [*hooks, beginning.hook]
    asked = [{"role": "user", "content": beginning}] if isinstance(beginning, str) else []
    turn = _ScriptedTurn(hooks, [*history, *asked], facts, max_persistent)
    turn.keep(turn.sequence.start())
    first = script[0] if script else StepSpec(answer="")
    if not facts.tools:
        turn.call("the only call: tools are off")
        turn.say(first.answer)
    else:
        turn.plan(first)
        if first.answer is None:
            turn.loop([*(script if first.calls else script[1:]), StepSpec()])
    turn.played.fired = turn.hooks.fired
    turn.played.silent = turn.sequence.silent_hooks()
    turn.played.changes = turn.hooks.changes
    turn.played.state = turn.hooks.state or facts.state
    return turn.played


def _last_reply(history: Sequence[Message]) -> str | None:
    """Return what the assistant said after the user's last message."""
    users = [at for at, message in enumerate(history) if message["role"] == "user" and "_hook" not in message]
    replies = [m["content"] for m in history[users[-1] if users else 0 :] if m["role"] == "assistant"]
    return "\n".join(replies) or None


def _why_no_turn(trigger: TriggerInfo, history: Sequence[Message], facts: HookFacts) -> SilentHook | None:
    if trigger.on == "connect" and history:
        return SilentHook(trigger.hook, "not_empty")
    if (path := trigger.why_not(facts)) is not None:
        return SilentHook(trigger.hook, "no_turn", path)
    return None


class _ScriptedTurn:
    def __init__(self, hooks: Sequence[HookInfo], history: Sequence[Message], facts: HookFacts, limit: int) -> None:
        self.stand_ins: list[Message] = [{"role": "system", "content": "(the system prompt and the catalogue)"}]
        self.messages: list[Message] = [*self.stand_ins, *history]
        self.played = PlayedTurn(history=[*history])
        self.hooks = HookManager(self.messages, hooks, max_persistent=limit, facts=facts)
        self.sequence = TurnSequence(self.hooks)

    def keep(self, persistent: Sequence[dict[str, Any]]) -> None:
        self.played.history += [
            {"role": frame["role"], "content": frame["content"], "_hook": frame["name"], "_skill": frame["skill"]}
            for frame in persistent
        ]

    def say(self, text: str | None) -> None:
        if text:
            self.played.history.append({"role": "assistant", "content": text})

    def call(self, title: str) -> None:
        messages = (
            ReadMessage(m["role"], m["content"], self.hooks.origin(m), any(m is one for one in self.stand_ins))
            for m in self.messages
        )
        self.played.calls.append(ScriptedCall(title, tuple(messages)))

    def call_with_prompt(self, title: str) -> None:
        self.stand_ins.append(self.messages[-1])
        self.call(title)

    def plan(self, step: StepSpec) -> None:
        self.keep(self.sequence.begin_planning("(the planning prompt)"))
        self.call_with_prompt("planning")
        self.sequence.end_planning()
        self.say(step.answer or step.need_tools)

    def loop(self, steps: Sequence[StepSpec]) -> None:
        for number, step in enumerate(steps, start=1):
            prompt = "(the first step prompt)" if number == 1 else "(the agent loop prompt)"
            self.keep(self.sequence.begin_round(prompt))
            self.call_with_prompt(f"round {number}")
            if step.calls:
                self.run_tools([_facts_of(call) for call in step.calls])
            self.sequence.end_round()
            if not step.calls:
                self.say(step.answer)
                break
        self.sequence.end_loop()

    def run_tools(self, calls: Sequence[CallFacts]) -> None:
        asked: Message = {"role": "assistant", "content": f"(calls {', '.join(call.name for call in calls)})"}
        self.stand_ins.append(asked)
        self.messages.append(asked)
        self.messages.extend({"role": "tool", "content": call.result} for call in calls)
        self.keep(self.sequence.end_batch(calls))


def _facts_of(call: CallSpec) -> CallFacts:
    name = call.tool or ""
    if call.refused is not None:
        return CallFacts(name=name, status="refused", arguments=call.arguments, result=call.refused)
    if call.error is not None:
        return CallFacts(name=name, status="error", arguments=call.arguments, result=call.error)
    result = f"(result of {name})" if call.result is None else call.result
    return CallFacts(name=name, arguments=call.arguments, result=result)
