"""What is left out of a conversation that is too long, and what never is."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from server.agent.messages import Conversation, Origin, find_violation
from server.agent.prompt_fit import estimate_tokens, estimate_tools, fit, has_image
from server.llm.language_model import Message, ToolSpec


def message(role: str, content: str, **keys: Any) -> Message:
    return {"role": role, "content": content, **keys}


def copy_of(name: str, role: str = "system", skill: str = "diary") -> Message:
    return message(role, f"[{name}]", _hook=name, _skill=skill)


def long_conversation() -> Conversation:
    """Three turns of history, copies of hooks between them, and a turn that has begun."""
    conversation = Conversation(
        "Be brief.",
        [
            message("system", "allowed"),
            message("user", "q1"),
            copy_of("mood"),
            message("assistant", "", tool_calls=[{"id": "c", "function": {"name": "alpha", "arguments": "{}"}}]),
            message("tool", "ran", tool_call_id="c"),
            message("assistant", "a1"),
            message("user", "q2"),
            copy_of("mood"),
            copy_of("note", role="user"),
            message("assistant", "a2"),
            message("user", "q3"),
            message("assistant", "a3"),
            copy_of("mood"),
            message("user", "now"),
        ],
    )
    mood = Origin(kind="hook", hook="mood", skill="diary", timing="after_user_input", persistent=True)
    conversation.append(message("system", "[mood]"), mood)
    conversation.append(message("assistant", "this turn"), Origin(kind="turn"))
    return conversation


def left_out(conversation: Conversation, budget_tokens: int) -> list[str]:
    return [m["content"] for m in fit(conversation, budget_tokens=budget_tokens).left_out]


def size(conversation: Conversation) -> int:
    return sum(estimate_tokens(m) for m in conversation.messages)


def test_what_fits_is_left_alone() -> None:
    conversation = long_conversation()

    fitted = fit(conversation, budget_tokens=size(conversation))

    assert fitted.messages == conversation.messages
    assert fitted.messages is not conversation.messages
    assert (fitted.left_out, fitted.fits) == ([], True)


def test_whole_oldest_turns_go_first_and_only_as_many_as_must() -> None:
    conversation = long_conversation()
    first = ["q1", "", "ran", "a1"]
    of_first = sum(estimate_tokens(m) for m in conversation.messages if m["content"] in first)

    assert left_out(conversation, size(conversation) - 1) == first
    assert left_out(conversation, size(conversation) - of_first) == first
    assert left_out(conversation, size(conversation) - of_first - 1) == [*first, "q2", "a2"]


def test_older_copies_of_a_hook_go_after_all_turns_of_the_history_and_the_newest_stays() -> None:
    conversation = long_conversation()

    fitted = fit(conversation, budget_tokens=1)

    assert [m["content"] for m in fitted.left_out] == [
        *("q1", "", "ran", "a1"),
        *("q2", "a2"),
        *("q3", "a3"),
        *("[mood]", "[mood]", "[mood]"),
    ]
    assert [m["content"] for m in fitted.messages] == ["Be brief.", "allowed", "[note]", "now", "[mood]", "this turn"]
    assert fitted.messages[4] is conversation.messages[-2], "the copy of this turn is the newest"
    assert not fitted.fits


def test_what_remains_must_fit_to_the_token() -> None:
    conversation = long_conversation()
    rest = sum(estimate_tokens(m) for m in fit(conversation, budget_tokens=1).messages)

    assert fit(conversation, budget_tokens=rest).fits
    assert not fit(conversation, budget_tokens=rest - 1).fits


def test_what_stands_behind_the_last_user_message_stays() -> None:
    conversation = Conversation("", [message("user", "q1"), message("user", "now"), message("assistant", "begun")])

    assert left_out(conversation, 1) == ["q1"]


def test_copies_go_oldest_first_and_only_as_many_as_must() -> None:
    conversation = long_conversation()
    rest = sum(estimate_tokens(m) for m in fit(conversation, budget_tokens=1).messages)

    fitted = fit(conversation, budget_tokens=rest + estimate_tokens(copy_of("mood")))

    assert [m["content"] for m in fitted.left_out][-2:] == ["[mood]", "[mood]"]
    assert [m["content"] for m in fitted.left_out].count("[mood]") == 2
    assert fitted.left_out[-1] is conversation.messages[8]
    assert fitted.fits


def test_hooks_of_one_name_in_two_skills_are_not_copies() -> None:
    conversation = Conversation("", [copy_of("mood", skill="a"), copy_of("mood", skill="b"), message("user", "now")])

    assert left_out(conversation, 1) == []


def test_a_hook_of_this_turn_that_is_not_persistent_is_no_copy() -> None:
    conversation = Conversation("", [copy_of("mood"), message("user", "now")])
    conversation.append(message("system", "[mood]"), Origin(kind="hook", hook="mood", skill="diary", timing="t"))

    assert left_out(conversation, 1) == []


def test_copies_within_this_turn_stay() -> None:
    conversation = Conversation("", [message("user", "now")])
    for _ in range(3):
        origin = Origin(kind="hook", hook="mood", skill="diary", timing="before_each_agent", persistent=True)
        conversation.append(message("system", "[mood]"), origin)

    assert left_out(conversation, 1) == []


def test_an_answer_before_the_first_question_is_a_turn_of_its_own() -> None:
    conversation = Conversation("", [message("assistant", "a0"), message("user", "q1"), message("user", "now")])

    assert left_out(conversation, size(conversation) - 1) == ["a0"]
    assert left_out(conversation, 1) == ["a0", "q1"]


def test_a_system_message_of_the_history_goes_with_its_turn() -> None:
    conversation = Conversation("", [message("user", "q1"), message("system", "s1"), message("user", "now")])

    assert left_out(conversation, size(conversation) - 1) == ["q1", "s1"]


kinds = st.sampled_from(["user", "assistant", "system", "hook", "tools"])


@given(
    kinds=st.lists(st.tuples(kinds, st.integers(0, 60)), max_size=12),
    turn=st.lists(st.tuples(st.sampled_from(["turn", "hook"]), st.integers(0, 60)), max_size=4),
    budget_tokens=st.integers(0, 400),
)
def test_whatever_is_left_out_the_rest_is_legal_in_order_and_no_smaller_than_it_must_be(
    kinds: list[tuple[str, int]], turn: list[tuple[str, int]], budget_tokens: int
) -> None:
    conversation = _built(kinds, turn)

    fitted = fit(conversation, budget_tokens=budget_tokens)

    gone = {id(m) for m in fitted.left_out}
    assert fitted.messages == [m for m in conversation.messages if id(m) not in gone]
    assert find_violation(fitted.messages) is None
    assert fitted.fits == (sum(estimate_tokens(m) for m in fitted.messages) <= budget_tokens)
    protected = {"system", "user", "turn", "prompt"}
    assert not [m for m in fitted.left_out if conversation.origin(m).kind in protected]
    if fitted.left_out:
        assert size(conversation) > budget_tokens
    if not fitted.fits:
        assert fitted.left_out == fit(conversation, budget_tokens=-1).left_out, "all that may go has gone"


def _built(kinds: list[tuple[str, int]], turn: list[tuple[str, int]]) -> Conversation:
    history: list[Message] = []
    for number, (kind, length) in enumerate(kinds):
        if kind == "hook":
            history.append(copy_of(f"h{length % 2}"))
        elif kind == "tools":
            call = {"id": str(number), "function": {"name": "alpha", "arguments": "x" * length}}
            history += [message("assistant", "", tool_calls=[call]), message("tool", "", tool_call_id=str(number))]
        else:
            history.append(message(kind, "x" * length))
    conversation = Conversation("Be brief.", [*history, message("user", "now")])
    for kind, length in turn:
        origin = Origin(kind="hook", hook=f"h{length % 2}", skill="diary", timing="t", persistent=True)
        conversation.append(message("system", "x" * length), origin if kind == "hook" else Origin(kind="turn"))
    return conversation


def test_the_estimate_counts_bytes_pictures_and_calls() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    call = {"id": "c", "function": {"name": "alpha", "arguments": '{"a":1}'}}

    assert estimate_tokens(message("user", "")) == 7
    assert estimate_tokens(message("user", "x" * 300)) == 107
    assert estimate_tokens(message("user", "语" * 100)) == 107
    assert estimate_tokens(message("user", "\ud800")) == 8
    assert estimate_tokens({"role": "assistant", "content": None}) == 6
    assert estimate_tokens({"role": "user", "content": [{"type": "text", "text": "x" * 30}, picture]}) == 6 + 11 + 1200
    assert estimate_tokens({"role": "assistant", "content": "", "tool_calls": [call, call]}) == 7 + 2 * (6 + 5)


def test_the_estimate_of_tools_counts_description_and_schema() -> None:
    spec = ToolSpec(name="alpha", description="d" * 30, parameters={})

    assert estimate_tools([]) == 0
    assert estimate_tools([spec, spec]) == 2 * (30 + 11)


def test_a_part_that_is_no_text_is_a_picture() -> None:
    text, picture = {"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:,"}}

    assert has_image({"role": "user", "content": [text, picture]})
    assert not has_image({"role": "user", "content": [text]})
    assert not has_image(message("user", "Look:"))
