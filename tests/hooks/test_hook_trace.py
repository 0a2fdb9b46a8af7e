"""What the inspector is shown of a change."""

import json
from dataclasses import replace
from typing import Any

from server.hooks.hook_trace import MAX_ITEMS, MAX_VALUE_CHARS, changes, trimmed
from server.hooks.stages import Abort, ApproverVerdict, Deny, LlmAnswer, LlmCall, Respond, ToolRan
from server.llm.language_model import ToolCall, ToolSpec
from server.tools.tool_calls import ToolAnswer, ToolInvocation

FIRST: dict[str, Any] = {"role": "system", "content": "Be kind."}
LAST: dict[str, Any] = {"role": "user", "content": "hi"}
ECHO = ToolSpec(name="echo", description="", parameters={})
CALL = LlmCall(model="m", messages=[FIRST, LAST], tools=[ECHO], options={"seed": 1})


def test_only_keys_that_differ_are_told() -> None:
    assert changes(CALL, replace(CALL, model="n")) == {"model": {"before": "m", "after": "n"}}
    assert changes(CALL, replace(CALL, options={})) == {"options": {"before": {"seed": 1}, "after": {}}}
    assert changes(CALL, None) == {}


def test_messages_are_told_by_their_place() -> None:
    new = {"role": "user", "content": "new"}

    inserted = changes(CALL, replace(CALL, messages=[FIRST, new, LAST]))["messages"]
    rewritten = changes(CALL, replace(CALL, messages=[FIRST, new]))["messages"]
    removed = changes(CALL, replace(CALL, messages=[LAST]))["messages"]

    assert inserted == [{"index": 1, "after": new}]
    assert rewritten == [{"index": 1, "after": new, "before": LAST}]
    assert removed == [{"index": 0, "before": FIRST}]


def test_tools_are_told_as_added_removed_and_changed() -> None:
    mine = ToolSpec(name="mine", description="", parameters={})

    found = changes(CALL, replace(CALL, tools=[replace(ECHO, description="louder"), mine]))["tools"]
    removed = changes(CALL, replace(CALL, tools=[]))["tools"]

    assert [tool["function"]["name"] for tool in found["added"]] == ["mine"]
    assert [tool["function"]["description"] for tool in found["changed"]] == ["louder"]
    assert removed == {"added": [], "removed": ["echo"], "changed": []}


def test_calls_results_and_decisions_are_told() -> None:
    answer = LlmAnswer(model="m", content="a", tool_calls=(ToolCall("c", "echo", "{}"),))
    ran = ToolRan(name="echo", arguments={}, answer=ToolAnswer(for_llm="a"))

    assert changes(answer, replace(answer, tool_calls=()))["tool_calls"]["after"] == []
    assert changes(ran, replace(ran, answer=ToolAnswer(for_llm="b")))["answer"]["after"]["for_llm"] == "b"
    ask = ToolInvocation(name="echo", arguments={})
    assert changes(ask, Respond(answer=ToolAnswer(for_llm="42"))) == {"result": {"after": "42"}}
    for decision in (Deny(reason="no"), Abort(reason="no"), ApproverVerdict(approved=False, reason="no")):
        assert changes(ask, decision) == {"reason": {"after": "no"}}


def test_what_is_long_is_cut_and_what_is_many_left_out() -> None:
    many = [{"role": "user", "content": "x" * 10_000} for _ in range(100)]
    tools = [ToolSpec(name=f"t{n}", description="y" * 10_000, parameters={}) for n in range(100)]

    shown = trimmed(changes(CALL, LlmCall(model="m", messages=many, tools=tools)))

    assert len(shown["messages"]) == MAX_ITEMS
    assert len(shown["tools"]["added"]) == MAX_ITEMS
    assert shown["messages"][0]["after"].endswith(" characters)")
    assert len(shown["messages"][0]["after"]) < MAX_VALUE_CHARS + 40
    assert len(json.dumps(shown)) < 200_000
