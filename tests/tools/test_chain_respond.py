"""Hooks that answer a call in the place of its tool, and the files that they show."""

from typing import Any

import pytest

from server import config
from server.hooks.layers import TurnHooks
from server.hooks.stages import LlmCall
from server.llm.language_model import ToolCall
from server.media.references import MediaError
from server.media.store import MediaItem, MediaStore
from server.tools.executor import ToolExecutor
from server.tools.registry import ToolRegistry
from server.tools.tool_calls import ToolAnswer, ToolOutcome
from tests.hooks.fakes import FakeHook, Reply, hook, layers_of
from tests.tools.chain_scene import SCHEMA, FakePolicy, call, events, executor_for, observer, tool

RESPOND = {"action": "respond", "result": {"for_llm": "42", "for_user": "forty-two"}}


async def offer(executor_hooks: TurnHooks, name: str) -> None:
    """Let the hooks of a turn bring their tools along."""
    request = LlmCall(model="m", messages=[{"role": "user", "content": "hi"}])
    await executor_hooks.pipeline.before_llm(request, registered=["count", "other"], check=lambda _: None)
    assert executor_hooks.pipeline.injector(name)


def injecting(name: str = "mine") -> Reply:
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}}]
    return lambda p: {"request": {"tools": [*p["tools"], *tools]}}


async def respond(
    *hooks: FakeHook, made: ToolCall, injected: str | None = None, **more: Any
) -> tuple[ToolOutcome, FakePolicy]:
    policy = FakePolicy(more.pop("judge", lambda call: call))
    turn = TurnHooks(layers_of(*hooks, policy=policy, **more))
    if injected:
        await offer(turn, injected)
    registry = ToolRegistry([tool("count"), tool("other")])
    return await ToolExecutor(registry, config.ToolsSettings(), hooks=turn).run(made), policy


async def test_observers_hear_of_an_answer_as_of_a_tool_that_took_no_time() -> None:
    watching = observer("tool_exec_start", "tool_exec_end")
    answering = hook(before_tool=RESPOND)

    await executor_for(layers_of(watching, answering, respond_policy="any")).run(call())

    (start, called), (end, ended) = events(watching)
    assert (start, called) == ("agent.tool.exec_start", {"Tool": "count", "Arguments": {"n": 1}})
    assert (end, ended["Duration"], ended["ForLLMLen"], ended["ForUserLen"]) == ("agent.tool.exec_end", 0, 2, 9)


async def test_a_hook_answers_for_its_own_tool_without_anybody_s_leave() -> None:
    own = hook(before_llm=injecting(), before_tool=RESPOND, after_tool={"result": {"for_llm": "changed"}})
    refuser = hook("refuser", approve_tool={"approved": False})

    outcome, policy = await respond(own, refuser, made=call("no integer", name="mine"), injected="mine")

    assert (outcome.name, outcome.content, outcome.for_user) == ("mine", "42", "forty-two")
    assert (outcome.ending, outcome.is_error) == ("answered", False)
    assert (policy.before_calls, refuser.asked) == ([], [])
    assert [outcome.ending for _, outcome in policy.after_calls] == ["answered"]


@pytest.mark.parametrize("name", ["count", "somebody_s", "unknown"])
async def test_an_answer_for_another_tool_needs_policy_and_approval(name: str) -> None:
    stranger = hook("a stranger", before_tool=RESPOND)
    owner = hook("owner", before_llm=injecting("somebody_s"))
    approver = hook("approver", approve_tool={"approved": True})

    outcome, policy = await respond(stranger, owner, approver, made=call(name=name), injected="somebody_s")
    refused, _ = await respond(
        stranger, owner, hook("refuser", approve_tool={"approved": False}), made=call(name=name), injected="somebody_s"
    )

    assert (outcome.content, outcome.ending) == ("42", "answered")
    assert [judged.name for judged in policy.before_calls] == [name]
    assert approver.params("approve_tool")["tool"] == name
    assert refused.content == "Tool execution denied by approval hook"


async def test_an_answer_for_a_registered_tool_has_to_fit_its_schema() -> None:
    outcome, _ = await respond(hook(before_tool=RESPOND), made=call("five"))

    assert outcome.content.startswith("the arguments do not fit count")


async def test_a_call_that_was_renamed_before_it_was_answered_is_judged_as_the_model_made_it() -> None:
    renamer = hook("a", priority=1, before_tool={"call": {"tool": "mine", "arguments": {"n": 7}}})
    own = hook("b", priority=2, before_llm=injecting(), before_tool=RESPOND)
    approver = hook("c", approve_tool={"approved": True})

    outcome, policy = await respond(renamer, own, approver, made=call(1), injected="mine")

    assert approver.params("approve_tool")["tool"] == "count"
    assert policy.before_calls[0].arguments == {"n": 1}
    assert (outcome.name, outcome.arguments) == ("count", None)


async def test_with_respond_policy_any_a_hook_may_answer_for_every_tool() -> None:
    refuser = hook("refuser", approve_tool={"approved": False})

    outcome, policy = await respond(hook(before_tool=RESPOND), refuser, made=call("x"), respond_policy="any")

    assert outcome.content == "42"
    assert policy.before_calls == []


async def test_a_tool_whose_hook_gives_no_result_says_whose_it_is() -> None:
    own = hook("weather", before_llm=injecting())

    outcome, _ = await respond(own, made=call(name="mine"), injected="mine")

    assert outcome.content == "mine did not run: the hook weather, which provides it, gave no result"


async def test_what_is_silent_is_not_shown_to_the_user() -> None:
    result = {"for_llm": "42", "for_user": "x", "silent": True, "response_handled": True}
    outcome, _ = await respond(hook(before_tool={"action": "respond", "result": result}), made=call())

    assert (outcome.for_user, outcome.is_handled) == ("", True)


# --- media


class FakeStore(MediaStore):
    def __init__(self) -> None: ...

    async def register(self, reference: str, *, user_id: str, session_id: str, name: str | None = None) -> MediaItem:
        if not reference.startswith("data:"):
            raise MediaError(f"{reference} is nowhere")
        assert (user_id, session_id) == ("ann", "s1")
        return MediaItem(ref="media://1", url="/media/1", content_type="image/png", name="a.png", size=3)

    async def open_image(self, ref: str) -> tuple[str, bytes]:
        raise MediaError("not asked for here")


def showing(*media: str, is_handled: bool = False) -> FakeHook:
    result = {"for_llm": "Drawn.", "media": list(media), "response_handled": is_handled}
    return hook(before_tool={"action": "respond", "result": result})


async def test_files_of_a_result_are_registered_and_named_to_the_model() -> None:
    outcome, _ = await respond(showing("data:image/png;base64,AA"), made=call(), media=FakeStore())

    assert [item.ref for item in outcome.media] == ["media://1"]
    assert outcome.content == "Drawn.\n[file: a.png, image/png, media://1]"


async def test_a_file_that_cannot_be_shown_is_told_and_the_rest_stands() -> None:
    outcome, _ = await respond(showing("/etc/passwd", "data:x"), made=call(), media=FakeStore())

    assert len(outcome.media) == 1
    assert "(attachment not available: /etc/passwd is nowhere)" in outcome.content
    assert not outcome.is_error


async def test_what_could_not_be_delivered_is_not_handled() -> None:
    outcome, _ = await respond(showing("/etc/passwd", is_handled=True), made=call(), media=FakeStore())

    assert outcome.content == "failed to deliver attachment: /etc/passwd is nowhere"
    assert (outcome.is_error, outcome.is_handled) == (True, False)


async def test_a_tool_s_own_files_go_the_same_way() -> None:
    async def draw(arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer(for_llm="Drawn.", media=("data:x",))

    outcome = await executor_for(layers_of(media=FakeStore()), tool("count", draw)).run(call())

    assert [item.name for item in outcome.media] == ["a.png"]
