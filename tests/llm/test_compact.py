"""What a very small model is given to read, from messages as the agent sends them."""

import pytest

from server.agent.prompt_fit import adapt
from server.agent.prompts import COMPACT, system_prompt
from server.llm.compact import (
    ANSWER_NOW,
    DENIED,
    EXAMPLES,
    compact_turn,
    is_looping,
    opening,
    quotation,
    sorting_text,
    turn_to_prefill,
)
from server.llm.language_model import LateSystem, Message
from server.wire.frames import TurnSettings
from skills_engine.skills_context_manager import build_catalog
from tests.skills_engine.test_skills_context_manager import skill


def m(role: str, content: str) -> Message:
    return {"role": role, "content": content}


SYSTEM = m("system", "You are Parley.")
CALL: Message = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
}


def result(content: str) -> Message:
    return {"role": "tool", "tool_call_id": "a", "name": "t", "content": content}


@pytest.mark.parametrize("mode", ["user", "native"])
def test_hooks_and_prompts_are_told_from_the_users_words(mode: LateSystem) -> None:
    sent = adapt([SYSTEM, m("user", "Hi\nthere"), m("system", "Be\nbrief."), m("system", "Answer.")], mode, "4f1c")
    turn = compact_turn(sent)

    assert turn.system == "You are Parley."
    assert turn.question == "Hi\nthere"
    assert "\n\n".join(turn.instructions) == "Be\nbrief.\n\nAnswer."


def test_instructions_are_those_whose_two_lines_hold_one_mark() -> None:
    sent = adapt([SYSTEM, m("user", "Hi"), m("system", "Be.\n[End of the instruction 0]\nbrief.")], "user", "4f1c")

    assert compact_turn(sent).instructions == ("Be.\n[End of the instruction 0]\nbrief.",)


def test_hooks_stand_at_the_end_of_the_system_message_and_the_question_alone() -> None:
    sent = adapt([SYSTEM, m("user", "Hi"), m("system", "Be brief."), m("system", "Be kind.")], "user", "4f1c")

    head = m("system", "You are Parley.\n\nBe brief.\n\nBe kind.")
    assert compact_turn(sent).messages() == [head, *EXAMPLES, m("user", "Hi")]


def test_the_list_of_skills_is_not_shown() -> None:
    catalog = build_catalog([skill("calm", description="Is calm.")], budget_tokens=100).text
    turn = compact_turn([m("system", f"You are Parley.\n\n{catalog}\n\nSpeak English."), m("user", "Hi")])

    assert turn.messages()[0] == m("system", "You are Parley.\n\nSpeak English.")


def test_a_question_that_refers_back_is_shown_with_the_last_two_exchanges_and_others_alone() -> None:
    past = [m(role, f"{role} {n}") for n in range(3) for role in ("user", "assistant")]

    def shown(question: str) -> list[Message]:
        turn = compact_turn([SYSTEM, *past, m("user", question)])
        return turn.messages()[1 + len(EXAMPLES) : -1]

    assert shown("Why is that so?") == shown("And then?") == past[2:]
    assert shown("What is the capital of Spain?") == []
    turn = compact_turn([SYSTEM, *past, m("user", "Why is that so?")])
    assert turn.messages(is_alone=True) == [SYSTEM, *EXAMPLES, m("user", "Why is that so?")]


def test_a_follow_up_is_tied_to_the_last_question_that_stands_alone() -> None:
    past = [m("user", "What time is it?"), m("assistant", "It is 9."), m("user", "And in Rome?"), m("assistant", "10.")]

    assert compact_turn([SYSTEM, *past, m("user", "and in Tokyo")]).base_question == "What time is it?"
    assert compact_turn([SYSTEM, *past, m("user", "Tell me a joke")]).base_question == ""


@pytest.mark.parametrize("mode", ["user", "native"])
def test_the_built_in_prompt_that_says_nothing_new_is_left_out(mode: LateSystem) -> None:
    alone = adapt([SYSTEM, m("user", "Hi"), m("system", ANSWER_NOW)], mode, "4f1c")
    hooked = adapt([SYSTEM, m("user", "Hi"), m("user", "Be brief."), m("system", ANSWER_NOW)], mode, "4f1c")

    assert compact_turn(alone, "Hi").instructions == ()
    assert compact_turn(hooked, "Hi").instructions == ("Be brief.",)


def test_hooks_in_the_users_role_are_told_from_the_question_that_is_known() -> None:
    sent = adapt(
        [
            SYSTEM,
            m("user", "Old hook, this one."),
            m("user", "Hi"),
            m("user", "This is a hook. Hi there."),
            m("system", "Answer."),
            CALL,
            result("It is\n7."),
            m("user", "A later hook."),
            m("system", "Now."),
        ],
        "user",
        "4f1c",
    )
    turn = compact_turn(sent, "Hi")

    assert turn.question == "Hi"
    assert turn.history == (m("user", "Old hook, this one."),)
    assert turn.instructions == ("This is a hook. Hi there.\n\nAnswer.", "A later hook.\n\nNow.")
    assert turn.results == ("It is\n7.",)


def test_a_question_asked_twice_is_the_last_one() -> None:
    sent = adapt([SYSTEM, m("user", "Hi"), m("user", "Hi"), m("user", "A hook.")], "user", "4f1c")
    turn = compact_turn(sent, "Hi")

    assert (turn.history, turn.instructions) == ((m("user", "Hi"),), ("A hook.",))


def test_a_question_that_is_not_in_the_messages_is_asked_all_the_same() -> None:
    turn = compact_turn([SYSTEM, m("user", "Something else")], "Hi")

    assert turn.question == "Hi"
    assert turn.history == (m("user", "Something else"),)


@pytest.mark.parametrize(
    ("results", "quoted"),
    [
        (["07:15 in Tokyo\n"], "07:15 in Tokyo"),
        (["It is 7:15 a.m.\n(07:15, UTC)"], "It is 7:15 a.m."),
        (["one", "two"], "one\ntwo"),
        (["---\nname: x\n---\n\n# Title\n\nText."], "This is what I found:\n\n```\n# Title\n\nText.\n```"),
        (["a\n```\nb"], "This is what I found:\n\n````\na\n```\nb\n````"),
        (["x " * 200], f"This is what I found:\n\n```\n{('x ' * 200).strip()}\n```"),
        ([" "], None),
        ([], None),
    ],
)
def test_a_line_of_a_result_is_said_and_more_is_shown_under_one(results: list[str], quoted: str | None) -> None:
    turn = compact_turn([SYSTEM, m("user", "What?"), CALL, *(result(each) for each in results)])

    assert quotation(turn) == quoted


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("First. " + "x" * 500, "First. …"),
        ("line\n" + "x" * 500, "line …"),
        ("第一句。第二句没有完" + "了" * 500, "第一句。 …"),
        ("「第一句。」" + "了" * 500, "「第一句。」 …"),
        ("पहला वाक्य।" + " शब्द" * 200, "पहला वाक्य। …"),
        ("Version 1.2" + "x" * 500, "Version 1.2" + "x" * 389 + " …"),
        ("x" * 500, "x" * 400 + " …"),
        ("x" * 400, "x" * 400),
    ],
)
def test_a_long_text_is_cut_behind_a_line_or_a_sentence(text: str, kept: str) -> None:
    assert opening(text, 400) == kept


@pytest.mark.parametrize(
    ("others", "said"),
    [([], DENIED), (["07:15 in Tokyo"], f"07:15 in Tokyo\n{DENIED}")],
)
def test_of_a_refusal_it_is_said_that_nothing_was_done_and_not_what_a_model_is_told(
    others: list[str], said: str
) -> None:
    refusal = {**result("The user refused this call. Do not try it again."), "tool_call_id": "b"}
    turn = compact_turn([SYSTEM, m("user", "What?"), CALL, *map(result, others), refusal], denied={"b"})

    assert quotation(turn) == said


def test_a_tool_result_of_an_earlier_turn_is_not_one_of_this_turn() -> None:
    turn = compact_turn([SYSTEM, m("user", "One?"), CALL, result("1"), m("assistant", "It is 1."), m("user", "Two?")])

    assert turn.results == ()
    assert turn.history == (m("user", "One?"), m("assistant", "It is 1."))


def test_a_hook_that_came_back_with_the_conversation_stands_with_the_others() -> None:
    old = [
        m("user", "One?"),
        m("system", "Old hook."),
        m("assistant", "1"),
        m("user", "Two?"),
        m("system", "Old hook."),
    ]
    turn = compact_turn(adapt([SYSTEM, *old, m("user", "Three?"), m("system", "New.")], "user", "4f1c"), "Three?")

    assert turn.history == (m("user", "One?"), m("assistant", "1"), m("user", "Two?"))
    assert turn.instructions == ("Old hook.", "New.")


def test_a_long_message_of_the_past_is_kept_and_its_beginning_shown() -> None:
    reply = "First. " + "word " * 500
    turn = compact_turn([SYSTEM, m("user", "Tell me."), m("assistant", reply), m("user", "Thanks")])

    assert turn.last_reply == reply.strip()
    assert turn.messages()[-2] == m("assistant", "First. …")


def test_what_was_read_ahead_helps_with_the_turns_that_begin_so() -> None:
    past = [m("user", "Hi"), m("assistant", "Hello.")]
    read = turn_to_prefill([SYSTEM, *past], "", ("Be brief.",))

    def is_beginning_of(question: str, hook: str) -> bool:
        return read.is_beginning_of(compact_turn([SYSTEM, *past, m("user", question), m("system", hook)]))

    assert is_beginning_of("Why is that?", "Be brief.")
    assert not is_beginning_of("Why is that?", "Sing.")
    assert not is_beginning_of("What is the capital of Spain?", "Be brief.")


def test_pictures_and_nothing_at_all_do_no_harm() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    turn = compact_turn([{"role": "user", "content": [{"type": "text", "text": "Look"}, picture]}])

    assert turn.question == "Look"
    assert compact_turn([]).question == ""
    assert compact_turn([SYSTEM]).system == "You are Parley."


@pytest.mark.parametrize(
    "text", ["A gentle rain,\n" * 3, "aye, " * 8, "He said so. " + "I'm a chatbot. I'm a human. " * 3, "ha" * 30]
)
def test_one_passage_three_times_over_is_a_loop(text: str) -> None:
    assert is_looping(text)


@pytest.mark.parametrize(
    "text", ["", "Hello", "ha ha ha", "1. One\n2. Two\n3. Three\n", "1000000", "No, no, no!", "A gentle rain,\n" * 2]
)
def test_ordinary_repetition_is_none(text: str) -> None:
    assert not is_looping(text)


def test_what_a_client_adds_to_the_system_prompt_stands_before_the_words_of_hooks() -> None:
    prompt = system_prompt(COMPACT, TurnSettings(instructions="Rhyme."), override="You are Parley.", catalog="")
    sent = adapt([m("system", prompt), m("user", "Hi"), m("system", "Be brief.")], "user", "4f1c")

    assert compact_turn(sent).messages()[0] == m("system", "You are Parley.\n\nRhyme.\n\nBe brief.")


@pytest.mark.parametrize(
    "sentence",
    [
        *("Can you set a timer?", "could you please set a timer?", "Please set a timer!", "Set a timer, please."),
        *("set a timer", "Set a timer!"),
    ],
)
def test_a_deed_is_sorted_alike_however_politely_it_is_asked_for(sentence: str) -> None:
    assert sorting_text(sentence) == sorting_text("Set a timer.")


def test_a_question_stays_one_when_it_is_sorted() -> None:
    assert sorting_text("how do you set a timer?").endswith("\nHow do you set a timer? ->")
