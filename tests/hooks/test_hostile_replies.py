"""Whatever a hook sends back, it is read, or the reply is unusable; nothing else happens, and nothing illegal is sent."""

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from server.agent.messages import find_violation
from server.hooks.hook_params import stage_params
from server.hooks.replies import read_reply
from server.hooks.reply_objects import ReplyUnusable
from server.hooks.stages import STAGES, ApproverVerdict, LlmAnswer, LlmCall, Stage, StageContext, ToolRan
from server.tools.tool_calls import ToolInvocation
from tests.hooks.fakes import FACTS, hook, pipeline_of
from tests.hooks.test_replies import VALUES
from tests.model.profile import examples

KEYS = (
    "action reason request response call result approved allow decision args model messages tools options role content "
    "tool_calls id function name arguments description parameters media tool for_llm for_user silent is_error async "
    "artifact_tags response_handled hook_result type text image_url url Action FOR_LLM _x"
).split()
WORDS = (
    "continue modify respond deny_tool abort_turn hard_abort redact system user assistant tool text image_url".split()
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip
replies = st.dictionaries(st.sampled_from(KEYS), json_values, max_size=5)


@examples(1500)
@given(stage=st.sampled_from(STAGES), reply=replies)
@example(stage="before_llm", reply={"request": {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}})
@example(stage="after_llm", reply={"response": {"tool_calls": [{"function": {"arguments": None}}]}})
def test_a_reply_is_read_or_unusable(stage: Stage, reply: dict[str, Any]) -> None:
    try:
        reading = read_reply(stage, reply, VALUES[stage])
    except ReplyUnusable:
        return

    if isinstance(reading.result, LlmCall | LlmAnswer | ToolInvocation | ToolRan):
        msgspec.json.encode(
            stage_params(stage, reading.result, StageContext(facts=FACTS))
        )  # the next hook can be asked
    if isinstance(reading.result, ApproverVerdict):
        assert reading.result.approved is (reply.get("approved") is True)


@examples(600)
@given(messages=st.lists(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=5), max_size=4))
async def test_no_list_of_messages_gets_through_that_no_provider_would_take(messages: list[Any]) -> None:
    pipeline = pipeline_of(hook(before_llm={"request": {"messages": messages}}))
    call = VALUES["before_llm"]
    assert isinstance(call, LlmCall)

    result = await pipeline.before_llm(call, registered=(), check=find_violation)

    assert result.messages
    assert find_violation(result.messages) is None
    assert all(key.isalpha() or "_" in key[1:] for message in result.messages for key in message)
