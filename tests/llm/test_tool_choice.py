"""The words that choose a tool for a very small model, and the arguments that they offer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm.compact import CompactTurn
from server.llm.language_model import Message
from server.llm.tool_choice import chosen_tool, named_arguments

CATALOG = "Skills:\n- pirate: Talks like one. (pirate/SKILL.md)\n- calm: Is calm. (calm/SKILL.md)"
BUILT_IN = ["read_file", "search_text", "current_time"]
NONE = (
    *("Hello", "Hi there!", "Thanks, that was helpful", "How are you?", "What is the capital of France?", "Bye"),
    *("Tell me a joke", "How do I boil an egg?", "Who wrote Romeo and Juliet?", "Explain photosynthesis", ""),
    *("What's your name?", "Write a short poem about rain", "Why is the sky blue?", "What does a compiler do?"),
    *("I feel sad today", "Recommend a book about history", "What is 7 times 8?", "What time did Rome fall?"),
    *("Search the files for the", "read the first file", "How long does it take to learn piano?"),
)


def turn(question: str, *past: str, system: str = CATALOG) -> CompactTurn:
    history: list[Message] = [{"role": ("user", "assistant")[n % 2], "content": said} for n, said in enumerate(past)]
    return CompactTurn(system=system, history=tuple(history), question=question)


@pytest.mark.parametrize("question", NONE)
def test_ordinary_questions_call_no_tool(question: str) -> None:
    assert chosen_tool(turn(question), BUILT_IN) is None


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("Read the file concise-speech/SKILL.md", "concise-speech/SKILL.md"),
        ("Open notes.md and tell me what it says", "notes.md"),
        ("What is in docs/hooks.md?", "docs/hooks.md"),
        ("Summarise the file todo.txt", "todo.txt"),
        ("Can you open config.yaml", "config.yaml"),
        ("Open the pirate file", "pirate/SKILL.md"),
    ],
)
def test_a_file_is_read_whose_path_the_words_name(question: str, path: str) -> None:
    assert chosen_tool(turn(question), BUILT_IN) == "read_file"
    assert named_arguments("read_file", turn(question), {}) == {"path": path}


@pytest.mark.parametrize(
    ("question", "pattern"),
    [
        ("Search for persistent in the skills", "persistent"),
        ("Search the files for the word time.", "time"),
        ("which files mention milk", "milk"),
        ("Which files mention tool_filter?", "tool_filter"),
        ("Look for the text concise in all skills", "concise"),
        ("grep for TODO", "TODO"),
        ("Where is before_planning used in the skills?", "before_planning"),
        ("Find apple pie in my files", "apple pie"),
        ('Search the files for "the end"', "the end"),
        ("Find the text “two words” now", "two words"),
    ],
)
def test_what_is_searched_for_are_the_questions_own_words(question: str, pattern: str) -> None:
    assert chosen_tool(turn(question), BUILT_IN) == "search_text"
    assert named_arguments("search_text", turn(question), {}) == {"pattern": pattern}


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("What time is it in Tokyo?", {"timezone": "Asia/Tokyo"}),
        ("Tell me the current time in New York", {"timezone": "America/New_York"}),
        ("the time in Buenos Aires, please", {"timezone": "America/Argentina/Buenos_Aires"}),
        ("what time is it in port-au-prince", {"timezone": "America/Port-au-Prince"}),
        ("What time is it in Europe/Berlin now?", {"timezone": "Europe/Berlin"}),
        ("What time is it?", {}),
        ("whats the date today", {}),
        ("Which day of the week is it?", {}),
        ("how late is it", {}),
        ("What time is it in the morning?", {}),
        ("What time is it in Boston?", {"timezone": "Boston"}),  # the tool says that it does not know it
    ],
)
def test_the_time_is_that_of_the_city_that_is_named(question: str, arguments: dict[str, str]) -> None:
    assert chosen_tool(turn(question), BUILT_IN) == "current_time"
    assert named_arguments("current_time", turn(question), {}) == arguments


def test_a_file_is_also_the_one_that_the_reply_before_named() -> None:
    asked = turn("read the first file", "Search for time", "This is what I found:\n\nnotes/a.md:1: time")

    assert chosen_tool(asked, BUILT_IN) == "read_file"
    assert named_arguments("read_file", asked, {}) == {"path": "notes/a.md"}


@pytest.mark.parametrize(
    ("question", "before", "tool"),
    [
        ("And in Rome?", "What time is it?", "current_time"),
        ("and tomorrow", "What day is it?", "current_time"),
        ("And why?", "What time is it?", None),
        ("And milk?", "Which files mention eggs?", "search_text"),
        ("And why?", "Which files mention eggs?", None),
        ("And in Rome?", "What is the capital of Spain?", None),
    ],
)
def test_a_follow_up_uses_the_tool_of_the_question_before_if_it_offers_arguments(
    question: str, before: str, tool: str | None
) -> None:
    assert chosen_tool(turn(question, before, "It is so."), BUILT_IN) == tool


@pytest.mark.parametrize("question", ["Add a note: buy milk", "add_note buy milk", "use note.add for: buy milk"])
def test_a_tool_that_was_added_is_called_by_all_words_of_its_name(question: str) -> None:
    assert chosen_tool(turn(question), [*BUILT_IN, "add_note"]) == "add_note"
    assert chosen_tool(turn("Write a note"), [*BUILT_IN, "add_note", "_"]) is None


@pytest.mark.parametrize(
    ("question", "required", "arguments"),
    [
        ("Add a note: buy milk", ["text"], {"text": "buy milk"}),
        ('Add the note "to do"', ["text"], {"text": "to do"}),
        ("Add a note", ["text"], None),
        ("Add a note", [], {}),
        ("Add a note: buy milk", ["title", "text"], None),
    ],
)
def test_it_gets_the_one_text_that_it_needs_and_is_not_called_for_more(
    question: str, required: list[str], arguments: dict[str, str] | None
) -> None:
    schema = {"properties": {"text": {"type": "string"}, "title": {}}, "required": required}

    assert named_arguments("add_note", turn(question), schema) == arguments


@pytest.mark.parametrize(
    ("question", "kind", "arguments"),
    [
        ("Set volume to 40", "integer", {"level": 40}),
        ("Set the volume to 40%.", "integer", {"level": 40}),
        ("Set volume: -2.5, please", "number", {"level": -2.5}),
        ("Set volume to 2.5", "integer", None),
        ("Set volume to 40 in room 7", "integer", None),
        ("Set volume by 10:30 to forty", "integer", None),
        ("Set volume to 1,000", "number", None),
        ("Set volume to loud", "integer", None),
        ("Set volume to loud", "boolean", None),
        ("Set volume to loud", ["string", "null"], {"level": "loud"}),
    ],
)
def test_a_number_that_it_needs_is_the_only_one_of_the_question(
    question: str, kind: object, arguments: dict[str, object] | None
) -> None:
    schema = {"properties": {"level": {"type": kind}}, "required": ["level"]}

    assert named_arguments("set_volume", turn(question), schema) == arguments


def test_a_number_of_the_tool_s_name_is_no_argument() -> None:
    schema = {"properties": {"count": {"type": "integer"}}, "required": ["count"]}

    assert named_arguments("top_10", turn("Show the top 10"), schema) is None
    assert named_arguments("top_10", turn("Show 3 of the top 10"), schema) == {"count": 3}


@pytest.mark.parametrize("properties", [["level"], {"level": 5}, {"level": {"type": 5}}, None])
def test_a_schema_that_makes_no_sense_stops_nothing(properties: object) -> None:
    schema = {"properties": properties, "required": ["level"]}

    assert named_arguments("set_volume", turn("Set volume to 40"), schema) == {"level": "40"}


@given(st.text(max_size=300), st.text(max_size=80))
def test_whatever_is_asked_a_built_in_tool_that_is_chosen_has_arguments(question: str, before: str) -> None:
    asked = turn(question, before, "So.")
    tool = chosen_tool(asked, BUILT_IN)

    assert tool is None or named_arguments(tool, asked, {}) is not None
