"""A conversation played without a model on a skill's edits: what each call would read, which hooks stay out, what is set."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from server.accounts.principal import Principal
from server.gateway.rest.operation import Refusal
from server.wire import client_frames as wire
from skill_tools.authoring.lint import lint_skill
from skill_tools.studio.skill_files import EditError
from skill_tools.studio.skill_trial import EditedSkills, SkillTrial, overlaid, with_skill
from skill_tools.testing.reload_tests import run_skill_tests
from skill_tools.testing.scripted_turn import PlayedTurn, ReadMessage, TurnScript, play_conversation
from skill_tools.testing.tests_format import TIME_FORMS, CallSpec, StepSpec, clock_of
from skills_engine import Diagnostic, HookFacts, HookInfo, Signer, SkillsSnapshot, estimate_tokens
from skills_engine.conditions.turn_facts import Channel, ToolStatus, TurnVariables, Value, zone_of
from skills_engine.diagnostics import SkillTestReport

MAX_TURNS: Final = 60
"""Limit of turns that are played before the one that is asked about."""
MAX_CHARS: Final = 8_000_000
"""Limit for what all calls of the turns read together; a turn that exceeds it is the last to be played."""
Name = Annotated[str, Meta(max_length=256)]
Words = Annotated[str, Meta(max_length=65_536)]


class SpokenMessage(wire.Message, kw_only=True, omit_defaults=True):
    """A message of the history: words, or a persistent hook as the server sent it."""

    content: Words


class EditedSkill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Edits that are not saved, and a conversation to try them on."""

    files: Annotated[dict[Annotated[str, Meta(max_length=1024)], str | None], Meta(max_length=100)] = {}
    """Texts of the edited files by path; null for a deleted file."""
    text: Words = ""
    """The words of the user in this turn."""
    history: Annotated[list[SpokenMessage], Meta(max_length=400)] = []
    state: Words | None = None
    """`turn_end.state` of the last turn of the history; null if it had none."""
    skills_off: Annotated[list[Name], Meta(max_length=5000)] = []
    """Other skills that are left out."""
    skills_on: Annotated[list[Name], Meta(max_length=5000)] = []
    """Other skills that are off by default and take part."""
    context: wire.Context = {}
    """Facts of the application around the client."""

    def skills(self, current: SkillsSnapshot, folder: Path, place: Path) -> EditedSkills:
        """Return the skills that play, this one as the files in `place` give it."""
        return with_skill(current, folder, place, off=self.skills_off, on=self.skills_on)


class PreviewToolCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tool: Name
    status: ToolStatus = "ok"
    arguments: dict[str, Any] = {}
    result: Words = ""
    """The text that the model reads of it, or empty for a stand-in."""


Rounds = Annotated[list[Annotated[list[PreviewToolCall], Meta(min_length=1, max_length=32)]], Meta(max_length=32)]
Attachments = Annotated[list[Literal["image", "document"]], Meta(max_length=2)]


class PreviewTurn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A turn that was before: what the user said, and what the model did and answered."""

    text: Words = ""
    rounds: Rounds = []
    reply: Words = ""
    interrupted: bool = False
    attachments: Attachments = []


class PreviewRequest(EditedSkill, frozen=True, kw_only=True, forbid_unknown_fields=True):
    before: Annotated[list[PreviewTurn], Meta(max_length=MAX_TURNS)] = []
    """Turns that are played between the history and the words."""
    rounds: Rounds = []
    """The tool calls of the model in each round; empty if it answers at once."""
    interrupted: bool = False
    """Whether the words end a running reply."""
    attachments: Attachments = []
    """Kinds of what comes with the words."""
    variables: Annotated[dict[Name, Value], Meta(max_length=16)] = {}
    """Values of the skill's variables before the turns that are played, where they are not as in the state."""
    seed: Name = ""
    """Seed of what is drawn at random."""
    spoken: bool = False
    """Whether the replies are spoken."""
    tools: bool = True
    channel: Channel = "text"
    language: Name | None = None
    model: Name | None = None
    """Name of the model, or `local` or `cloud`, or null for the one that answers now."""
    user: Name | None = None
    """The name of the user who is logged in."""
    is_operator: bool = True
    time: Annotated[str, Meta(max_length=40)] | None = None
    """Time of the turns, such as `14:05`, by the server's clock unless it names an offset; null for now."""

    @property
    def turns(self) -> tuple[PreviewTurn, ...]:
        """The turns to play, the one that is asked about last."""
        return (*self.before, msgspec.convert(self, PreviewTurn, from_attributes=True))


class PreviewHook(Struct, frozen=True):
    skill: str
    hook: str
    timing: str
    persistent: bool
    tokens: int
    """Tokens of the text, estimated."""


class PreviewLine(Struct, frozen=True, kw_only=True):
    role: str
    text: str
    hook: PreviewHook | None
    """Hook that put the line in, or null if none did."""


class PreviewCall(Struct, frozen=True, kw_only=True):
    title: str
    lines: list[PreviewLine]


class PreviewSilent(Struct, frozen=True, kw_only=True):
    skill: str
    hook: str
    timing: str
    reason: str
    code: str
    """The reason as a word that never changes, for pages that say it in their language."""
    detail: str
    """Name, number or path that the reason is about, such as the name of a group."""
    path: str
    """Path of the condition that failed, such as `when.not.channel`; "" if another key kept the hook out."""
    fired: bool
    """Whether it fired at another time of the turn."""


class PreviewChange(Struct, frozen=True):
    skill: str
    hook: str
    """Hook that has set the variable."""
    name: str
    value: Value


class TurnPreview(Struct, frozen=True, kw_only=True):
    calls: list[PreviewCall]
    """The model calls of the turn, with what each reads."""
    not_fired: list[PreviewSilent]
    changes: list[PreviewChange]
    """The changes of variables, in order."""


class Preview(TurnPreview, frozen=True, kw_only=True):
    before: list[TurnPreview]
    """The turns that were played before this one."""
    history: list[SpokenMessage]
    """The messages that a client would send before the words of this turn, with what hooks have left there."""
    state: str | None
    """The state that a client would send with them."""
    variables: dict[str, Value]
    """Variables of the skill as they are before the turns that are played."""
    diagnostics: list[Diagnostic]
    tests: SkillTestReport
    """Outcome of the skill's scripted tests, with the edits."""
    is_last_working: bool
    """Whether the last working version of the hooks plays, because the edited files have errors; saved, it would stay in use."""


class CheckedEdits(NamedTuple):
    edited: EditedSkills
    diagnostics: list[Diagnostic]
    tests: SkillTestReport


def check_edits(trial: SkillTrial, folder: Path, request: EditedSkill) -> CheckedEdits:
    """Lint the skill in `folder` with its edits, and run its scripted tests."""
    with overlaid(folder, request.files) as place:
        edited = request.skills(trial.services.skills.current, folder, place)
        others = (hook for hook in edited.snapshot.hooks(None) if hook.skill != folder.name)
        hooks = sorted((*edited.read.hooks_file.hooks, *others), key=lambda hook: hook.skill)
        return CheckedEdits(edited, lint_skill(place, hooks=hooks), run_skill_tests(folder.name, edited.snapshot))


def make_preview(trial: SkillTrial, principal: Principal, folder: Path, request: PreviewRequest) -> Preview:
    """Play the conversation of the request with its edits of the skill in `folder`, and run its tests. Raises TurnError."""
    skill = folder.name
    checked = check_edits(trial, folder, request)
    edited, hooks = checked.edited, checked.edited.snapshot.hooks(None)
    own = next((hook.variables for hook in hooks if hook.skill == skill and hook.variables), {})
    state = trial.read_state(request.state)
    came = {**state.variables, skill: {**state.variables.get(skill, {}), **request.variables}}
    first = TurnVariables({skill: own}, came).changed
    start = PlayedTurn(history=trial.admitted(principal, request.history), state=replace(state, variables=first))
    limit = trial.services.limits.max_hook_frames_per_turn
    scripts = _scripts(hooks, request, _facts(request, edited.snapshot, trial))
    turns: list[PlayedTurn] = []
    size = 0
    for played in play_conversation(scripts, start, max_persistent=limit):
        turns.append(played)
        size += sum(len(message.text) for call in played.calls for message in call.messages)
        if size > MAX_CHARS:  # each turn reads the ones before
            raise EditError("preview_too_large", f"these turns read more than {MAX_CHARS} characters: play fewer")
    *before, last = map(_turn_preview, turns)
    sent = (start, *turns)[-2]
    is_as_it_came = sent.state is start.state and not request.variables
    played_messages = (_signed(message, trial.previews) for message in sent.history[len(start.history) :])
    return Preview(
        **msgspec.structs.asdict(last),
        before=before,
        history=[*request.history, *msgspec.convert([*played_messages], list[SpokenMessage])],
        state=request.state if is_as_it_came else sent.state.signed(trial.previews),
        variables={**own, **first.get(skill, {})},
        diagnostics=checked.diagnostics,
        tests=checked.tests,
        is_last_working=edited.is_last_working,
    )


def _scripts(hooks: list[HookInfo], request: PreviewRequest, facts: HookFacts) -> list[TurnScript]:
    return [
        TurnScript(
            hooks,
            turn.text,
            [*(StepSpec(calls=list(map(_scripted, batch))) for batch in turn.rounds), StepSpec(answer=turn.reply)],
            replace(facts, interrupted=turn.interrupted, attachments=frozenset(turn.attachments)),
        )
        for turn in request.turns
    ]


def _signed(message: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """Return a message that was played as its client would keep it: a persistent hook with its signature."""
    if "_hook" not in message:
        return dict(message)
    origin = message["_skill"], message["_hook"], message["role"], message["content"]
    return {**message, "_sig": signer.sign(*origin)}


def _turn_preview(played: PlayedTurn) -> TurnPreview:
    return TurnPreview(
        calls=[PreviewCall(title=call.title, lines=list(map(_line, call.messages))) for call in played.calls],
        not_fired=[PreviewSilent(**{"path": "", **one.facts()}) for one in played.silent],
        changes=[PreviewChange(one.hook.skill, one.hook.name, one.name, one.value) for one in played.changes],
    )


def _facts(request: PreviewRequest, snapshot: SkillsSnapshot, trial: SkillTrial) -> HookFacts:
    called = [one.tool for turn in request.turns for batch in turn.rounds for one in batch]
    handler, model = trial.services.handler, trial.services.model()
    return HookFacts(
        channel=request.channel,
        language=request.language,
        model=model.name if request.model is None else request.model,
        is_local=(model.location if request.model is None else request.model) == "local",
        user=request.user,
        is_operator=request.is_operator,
        spoken=request.spoken,
        context={key: value for key, value in request.context.items() if value is not None},
        skills=frozenset(skill.name for skill in snapshot.skills),
        tools=frozenset((*handler.tool_names, *called)) if request.tools else frozenset(),
        started_at=_clock(request),
        hook_tokens=handler.hook_tokens,
        seed=request.seed,
    )


def _clock(request: PreviewRequest) -> datetime:
    try:
        moment = datetime.now(UTC) if request.time is None else clock_of(request.time, None).astimezone()
        return moment.astimezone(zone_of(request.context))
    except (ValueError, OverflowError):
        raise Refusal(400, "body_invalid", f"expected a time such as {TIME_FORMS}", path="$.time") from None


def _scripted(call: PreviewToolCall) -> CallSpec:
    stand_ins = {"ok": None, "error": "(an error)", "refused": "(refused)"}
    end = "result" if call.status == "ok" else call.status
    return CallSpec(tool=call.tool, arguments=call.arguments, **{end: call.result or stand_ins[call.status]})


def _line(message: ReadMessage) -> PreviewLine:
    origin = None
    if (hook := message.hook) is not None:
        tokens = estimate_tokens(message.text)
        origin = PreviewHook(hook.skill, hook.name, hook.timing, hook.persistent, tokens)
    return PreviewLine(role=message.role, text=message.text, hook=origin)
