"""Compares what a turn did with what the rules foresee."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from server.agent.chunks import LLMChunk
from server.llm.language_model import Message, ModelRequest
from tests.model.rules import Call, Hook, Line, Turn, is_capped
from tests.model.scenarios import TOOLS, is_ours

_WIRE_KEYS = {"role", "content", "name", "tool_calls", "tool_call_id"}


def assert_requests(requests: Sequence[ModelRequest], calls: Sequence[Call], turn: Turn) -> None:
    """Each request reads what its call must; a turn that was stopped has fewer of them."""
    for number, (request, call) in enumerate(zip(requests, calls, strict=False)):
        assert request.purpose == call.purpose
        _assert_tools(request, call)
        _assert_legal(request.messages)
        _assert_reads(request, call)
        _assert_host_prompt(requests, number, turn)


def _assert_tools(request: ModelRequest, call: Call) -> None:
    has_tools = call.purpose in ("round", "last")
    assert sorted(tool.name for tool in request.tools) == (sorted(TOOLS) if has_tools else [])
    assert request.tool_choice == ("none" if call.purpose == "last" else "auto")


def _assert_reads(request: ModelRequest, call: Call) -> None:
    read = [_as_line(m) for m in request.messages if _is_foreseeable(m)]
    foreseen = [_without_ids(line) for line in call.reads]
    for place, line in enumerate(foreseen[: len(read)]):
        if line.content is None:  # the host found the words
            read[place] = replace(read[place], content=None)
    assert read == foreseen, f"what the {call.purpose} call reads"


def _assert_host_prompt(requests: Sequence[ModelRequest], number: int, turn: Turn) -> None:
    """L1-14, L1-25: one step prompt, behind everything else; none where there is no loop."""
    messages = requests[number].messages
    first = next(at for at, message in enumerate(messages) if is_ours(message["content"]))
    assert all(message["role"] == "system" for message in messages[:first])
    behind = [at for at in range(first, len(messages)) if not _is_foreseeable(messages[at])]
    if requests[number].purpose == "direct":
        assert behind == []
        return
    assert behind == [len(messages) - 1]
    assert messages[-1]["role"] == "system"
    if requests[number].purpose != "planning" and _is_first_round(requests, number):
        assert turn.plan in messages[-1]["content"] or not turn.planning, "first_step_prompt quotes what was said"


def _is_first_round(requests: Sequence[ModelRequest], number: int) -> bool:
    return all(request.purpose == "planning" for request in requests[:number])


def _assert_legal(messages: Sequence[Message]) -> None:
    """L1-16 and L1-28: no bookkeeping, and results stand right behind their calls."""
    open_calls: list[str] = []
    for message in messages:
        assert set(message) <= _WIRE_KEYS
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert open_calls == []
        open_calls = [call["id"] for call in message.get("tool_calls", [])]
    assert open_calls == []


def _is_foreseeable(message: Message) -> bool:
    return is_ours(message["content"]) or message["role"] == "tool" or bool(message.get("tool_calls"))


def _as_line(message: Message) -> Line:
    return Line(message["role"], message["content"] or "", ("",) * len(message.get("tool_calls") or ()))


def _without_ids(line: Line) -> Line:
    """The host may give calls ids of its own, where a model uses one twice; `_assert_legal` sees that they pair."""
    return replace(line, calls=("",) * len(line.calls) if line.role == "assistant" else ())


@dataclass
class _Scene:
    """What was yielded from one call of the model to the next, the hooks in front of that one included."""

    text: str = ""
    uses: dict[str, str] = field(default_factory=dict)
    """The names of the tools, by the id of the call."""
    results: list[tuple[str, bool]] = field(default_factory=list)
    """Name and whether it is an error."""
    hooks: list[tuple[str, ...]] = field(default_factory=list)


def assert_chunks(chunks: Sequence[LLMChunk], calls: Sequence[Call], turn: Turn) -> None:
    """The user was given every reply, tool call and persistent hook, each in its place (L1-29)."""
    scenes = _scenes(chunks)
    assert len(scenes) == len(calls) + 1
    for number, scene in enumerate(scenes):
        call = calls[number - 1] if number else None
        assert scene.text.strip() == (call.reply.text if call else "")
        runs = call.runs if call else ()
        assert sorted(scene.uses.values()) == sorted(use.name for use in runs)
        assert sorted(scene.results) == sorted((use.name, use.result is None) for use in runs)
        assert scene.hooks == [_hook(h) for h in (calls[number].hooks_before if number < len(calls) else ())]
    notices = [chunk.notice for chunk in chunks if chunk.notice]
    assert len(notices) == is_capped(turn) + (calls[-1].purpose == "last"), notices


def yielded(calls: Sequence[Call]) -> list[Hook]:
    return [hook for call in calls for hook in call.hooks_before]


def _hook(hook: Hook) -> tuple[str, ...]:
    return hook.skill, hook.name, hook.timing, hook.role, hook.content


def _scenes(chunks: Sequence[LLMChunk]) -> list[_Scene]:
    scenes = [_Scene()]
    for before, chunk in zip([None, *chunks], chunks, strict=False):
        scene = scenes[-1]
        if chunk.model_request:
            if before is None or not before.model_request:  # a retry may say so again
                scenes.append(_Scene())
        elif chunk.text is not None:
            assert chunk.text != ""
            assert not scene.uses, "text of the reply comes before its calls"
            assert not scene.hooks
            scene.text += chunk.text
        elif chunk.tool_call:
            assert not scene.hooks
            assert all(chunk.tool_call.id not in earlier.uses for earlier in scenes), "an id is used once in a turn"
            scene.uses[chunk.tool_call.id] = chunk.tool_call.name
        elif chunk.tool_result:
            assert chunk.tool_result.name == scene.uses.get(chunk.tool_result.id)
            assert not scene.hooks, "hooks come behind the whole batch"
            scene.results.append((chunk.tool_result.name, chunk.tool_result.is_error))
        elif chunk.hook is not None:
            scene.hooks.append(tuple(chunk.hook[key] for key in ("skill", "name", "timing", "role", "content")))
    return scenes
