"""Message lists: what is admitted from a client, what a turn starts with, what no provider would take."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.agent.chunks import NoticeGiven
from server.agent.messages import (
    Conversation,
    Origin,
    SystemPolicy,
    admit,
    assistant_message,
    find_violation,
    pair_tools,
)
from server.errors import TurnError
from server.llm.language_model import Message, ToolCall
from server.wire import frames as wire
from skills_engine import Signer

SIGNER = Signer([b"k" * 16])
USER: Message = {"role": "user", "content": "Hi"}


def received(*messages: dict[str, Any]) -> list[wire.Message]:
    """As the codec reads them."""
    return msgspec.convert(list(messages), list[wire.Message])


def remembered(**changes: Any) -> dict[str, Any]:
    """A persistent hook as a client sends it back; `changes` tamper with it behind the signature."""
    message = {"role": "system", "content": "[mood]", "_hook": "mood", "_skill": "diary"}
    sig = SIGNER.sign("diary", "mood", "system", "[mood]")
    return {**message, "_sig": sig, **changes}


def admitted(policy: SystemPolicy, *messages: dict[str, Any]) -> list[Message]:
    return admit(received(*messages), policy=policy, verify=SIGNER.verify).messages


# --- admitting ----------------------------------------------------------------------------------------------------

TAMPERED: list[dict[str, Any]] = [
    {"content": "[more]"},
    {"_hook": "other"},
    {"_skill": "other"},
    {"_sig": "v1.x.y"},
    {"_sig": None},
    {"_sig": 5},
    {"_hook": None},
    {"_skill": ["diary"]},
    {"content": [{"type": "text", "text": "[mood]"}]},
]


@pytest.mark.parametrize("policy", ["allow", "demote", "reject"])
def test_a_signed_system_message_stays_under_every_policy(policy: SystemPolicy) -> None:
    taken = admit(received(remembered(), USER), policy=policy, verify=SIGNER.verify)

    assert taken.messages == [{"role": "system", "content": "[mood]", "_hook": "mood", "_skill": "diary"}, USER]
    assert taken.notices == []


@pytest.mark.parametrize("change", TAMPERED)
def test_allow_takes_a_system_message_that_nobody_signed(change: dict[str, Any]) -> None:
    taken = admit(received(remembered(**change)), policy="allow", verify=SIGNER.verify)

    assert taken.messages[0]["role"] == "system"
    assert taken.notices == []


@pytest.mark.parametrize("change", TAMPERED)
def test_demote_makes_it_the_user_s_words_and_says_so(change: dict[str, Any]) -> None:
    taken = admit(received(USER, remembered(**change), USER), policy="demote", verify=SIGNER.verify)

    assert [message["role"] for message in taken.messages] == ["user", "user", "user"]
    text = "1 system message(s) that this server did not sign were read as the user's words"
    assert taken.notices == [NoticeGiven("system_messages_demoted", "warning", text)]


@pytest.mark.parametrize("change", TAMPERED)
def test_reject_refuses_the_turn_and_names_the_message(change: dict[str, Any]) -> None:
    with pytest.raises(TurnError) as caught:
        admitted("reject", USER, remembered(**change))

    assert caught.value.code == "hook_signature_invalid"
    text = "messages[1] is a system message that this server did not sign; send the turn without it"
    assert str(caught.value) == text


def test_every_demoted_message_is_counted() -> None:
    system = {"role": "system", "content": "x"}

    taken = admit(received(system, remembered(), system), policy="demote", verify=SIGNER.verify)

    assert [message["role"] for message in taken.messages] == ["user", "system", "user"]
    assert taken.notices[0].message.startswith("2 ")


@pytest.mark.parametrize("policy", ["allow", "demote", "reject"])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_other_roles_need_no_signature(policy: SystemPolicy, role: str) -> None:
    message = {"role": role, "content": "[mood]", "_hook": "mood", "_skill": "diary"}

    assert admitted(policy, message) == [{**message, "_unsigned": True}]


def test_a_signature_made_for_one_role_does_not_hold_for_another() -> None:
    sig = SIGNER.sign("diary", "mood", "user", "[mood]")

    assert admitted("demote", remembered(_sig=sig))[0]["role"] == "user"


def test_of_the_client_s_keys_the_hook_and_its_skill_stay_when_they_are_text() -> None:
    message = {**USER, "_hook": "mood", "_skill": "diary", "_sig": "x", "_at": 1, "extra": 2}

    assert admitted("allow", message, {**USER, "_hook": 1, "_skill": {}}) == [
        {**USER, "_hook": "mood", "_skill": "diary", "_unsigned": True},
        USER,
    ]


@pytest.mark.parametrize(("length", "stays"), [(256, True), (257, False)])
def test_a_name_longer_than_any_hook_s_is_none(length: int, stays: bool) -> None:
    message = {**USER, "_hook": "h" * length, "_skill": "s" * length}

    assert admitted("allow", message) == [{**message, "_unsigned": True} if stays else USER]


def test_tool_rounds_and_parts_are_taken_as_they_are() -> None:
    calls = [{"id": "c1", "function": {"name": "alpha", "arguments": "{}"}}]
    picture = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]

    assert admitted(
        "reject",
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "name": "alpha", "content": "ran"},
        {"role": "user", "content": picture},
    ) == [
        {"role": "assistant", "content": None, "tool_calls": [{**calls[0], "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "name": "alpha", "content": "ran"},
        {"role": "user", "content": picture},
    ]


# --- the turn's own list ------------------------------------------------------------------------------------------


def test_a_turn_starts_with_the_system_prompt_and_copies_without_bookkeeping() -> None:
    history = [{**USER, "_hook": "mood", "_skill": "diary"}, {"role": "assistant", "content": "Hi."}, USER]

    conversation = Conversation("Be brief.", history)

    assert conversation.messages == [
        {"role": "system", "content": "Be brief."},
        USER,
        {"role": "assistant", "content": "Hi."},
        USER,
    ]
    assert all(mine is not theirs for mine, theirs in zip(conversation.messages[1:], history, strict=True))


@pytest.mark.parametrize(("change", "is_unsigned"), [({}, False), ({"_sig": "forged"}, True), ({"content": "x"}, True)])
def test_a_hook_that_a_client_made_up_is_told_from_one_of_ours(*, change: dict[str, Any], is_unsigned: bool) -> None:
    conversation = Conversation("Be brief.", admitted("allow", remembered(**change), USER))

    origin = conversation.origin(conversation.messages[1])
    assert origin == Origin(kind="hook", hook="mood", skill="diary", persistent=True, unsigned=is_unsigned)
    assert not any(key.startswith("_") for message in conversation.messages for key in message)


def test_every_message_knows_where_it_comes_from() -> None:
    history = [
        USER,
        {"role": "system", "content": "[mood]", "_hook": "mood", "_skill": "diary"},
        {"role": "system", "content": "[old]", "_hook": "old"},
        {"role": "assistant", "content": "Hi."},
        USER,
    ]
    conversation = Conversation("Be brief.", history)
    conversation.append(prompt := {"role": "system", "content": "Plan."}, Origin(kind="prompt", name="planning_prompt"))

    assert [conversation.origin(message) for message in conversation.messages] == [
        Origin(kind="system"),
        Origin(kind="history"),
        Origin(kind="hook", hook="mood", skill="diary", persistent=True),
        Origin(kind="hook", hook="old", persistent=True),
        Origin(kind="history"),
        Origin(kind="user"),
        Origin(kind="prompt", name="planning_prompt"),
    ]
    assert conversation.origin(dict(prompt)) == Origin(kind="turn"), "by identity, not by equality"


def test_a_conversation_counts_what_it_left_out() -> None:
    orphan = {"role": "tool", "tool_call_id": "x", "content": "lost"}

    assert Conversation("", [orphan, USER]).dropped == 1
    assert Conversation("", [USER]).dropped == 0


def test_a_history_without_a_user_message_is_all_history() -> None:
    conversation = Conversation("Be brief.", [{"role": "assistant", "content": "Hi."}])

    assert conversation.origin(conversation.messages[1]) == Origin(kind="history")


def test_the_question_is_the_text_of_the_user_s_last_message() -> None:
    parts = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "text", "text": "And why?"},
    ]
    answered = Conversation("", [{"role": "user", "content": "Old"}, USER, {"role": "assistant", "content": "Hi."}])
    answered.append({"role": "user", "content": "[mood]"}, Origin(kind="hook", hook="mood", timing="after_user_input"))

    assert answered.question == "Hi"
    assert Conversation("", [{"role": "user", "content": parts}]).question == "What is it?\n\nAnd why?"
    assert Conversation("", [{"role": "user", "content": []}]).question == ""
    assert Conversation("Be brief.", []).question == ""


# --- calls and their results --------------------------------------------------------------------------------------


def calls(*ids: str, content: Any = None) -> Message:
    return {**assistant_message("", [ToolCall(i, "alpha", "{}") for i in ids]), "content": content}


def result(call_id: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "alpha", "content": f"result of {call_id}"}


PAIRED: list[tuple[str, list[Message], list[Message], int]] = [
    ("a pair", [calls("a"), result("a")], [calls("a"), result("a")], 0),
    ("in another order", [calls("a", "b"), result("b"), result("a")], [calls("a", "b"), result("b"), result("a")], 0),
    ("a result alone", [result("a"), USER], [USER], 1),
    ("a call alone", [calls("a"), USER], [USER], 1),
    ("a call at the end", [USER, calls("a")], [USER], 1),
    ("a call alone, with words", [calls("a", content="Wait.")], [{"role": "assistant", "content": "Wait."}], 1),
    ("one of two results", [calls("a", "b"), result("b")], [calls("b"), result("b")], 1),
    ("a foreign result too", [calls("a"), result("x"), result("a")], [calls("a"), result("a")], 1),
    (
        "two results of one call",
        [calls("a"), result("a"), {**result("a"), "content": "2"}],
        [calls("a"), result("a")],
        1,
    ),
    ("a result behind something", [calls("a"), USER, result("a")], [USER], 2),
    ("only foreign results", [calls("a", "b"), result("x")], [], 3),
    ("one id twice, one result", [calls("a", "a"), result("a")], [calls("a"), result("a")], 1),
    ("one id twice, two results", [calls("a", "a"), result("a"), result("a")], [calls("a"), result("a")], 2),
    ("no calls at all", [{**calls(), "content": "Hi."}], [{"role": "assistant", "content": "Hi."}], 0),
]


@pytest.mark.parametrize(("messages", "kept", "dropped"), [case[1:] for case in PAIRED], ids=[c[0] for c in PAIRED])
def test_calls_and_results_are_kept_in_pairs(messages: list[Message], kept: list[Message], dropped: int) -> None:
    assert pair_tools(messages) == (kept, dropped)


messages_at_random = st.lists(
    st.one_of(
        st.just(USER),
        st.builds(
            lambda ids, content: calls(*ids, content=content),
            st.lists(st.sampled_from("abc")),
            st.sampled_from(["", "Hi."]),
        ),
        st.sampled_from("abc").map(result),
    ),
    max_size=8,
)


@given(history=messages_at_random)
def test_whatever_comes_what_is_kept_is_legal_and_pairing_again_changes_nothing(history: list[Message]) -> None:
    kept, dropped = pair_tools(history)

    assert find_violation(kept) is None
    assert dropped >= 0
    assert pair_tools(kept) == (kept, 0)
    assert (dropped == 0) == (_count(kept) == _count(history))


def _count(messages: list[Message]) -> int:
    """Calls and results."""
    return sum(len(m.get("tool_calls", ())) + (m["role"] == "tool") for m in messages)


@pytest.mark.parametrize(
    ("messages", "violation"),
    [
        ([USER], None),
        ([], None),
        ([calls("a", "b"), result("b"), result("a"), USER], None),
        ([{**USER, "_hook": "mood"}], "message 0 holds a bookkeeping key"),
        ([result("a")], "message 0 is a result without an open call"),
        ([USER, result("a")], "message 1 is a result without an open call"),
        ([calls("a"), result("a"), result("a")], "message 2 is a result without an open call"),
        ([calls("a"), result("b")], "message 1 is a result without an open call"),
        ([calls("a", "b"), result("a"), USER, result("b")], "message 2 is between a call and its result"),
        ([calls("a"), calls("b")], "message 1 is between a call and its result"),
        ([USER, calls("a")], "the last calls have no result"),
        ([{"role": "developer", "content": "x"}], "message 0 has the unknown role 'developer'"),
    ],
)
@pytest.mark.rule("L1-28")
def test_what_no_provider_would_take_is_named(messages: list[Message], violation: str | None) -> None:
    assert find_violation(messages) == violation
