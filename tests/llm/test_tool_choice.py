"""Prompts and schemas for a very small model's decisions about tools."""

import socket
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm import tool_choice
from server.llm.language_model import ToolSpec

READ = ToolSpec(
    name="read_file",
    description="Read a text file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
SEARCH = ToolSpec(
    name="search_text",
    description="Search files.",
    parameters={
        "type": "object",
        "properties": {"pattern": {"type": "string", "minLength": 2}, "path": {"type": "string"}},
        "required": ["pattern"],
        "additionalProperties": False,
    },
)
TIME = ToolSpec(
    name="current_time",
    description="The time.",
    parameters={"type": "object", "properties": {"timezone": {"type": "string"}}, "additionalProperties": False},
)
CATALOG = "Skills:\n- pirate: Talks like one. (pirate/SKILL.md)\n- calm: Is calm. (calm/SKILL.md)"


def offered(tool: ToolSpec, question: str, context: str = "") -> Any:
    return tool_choice.argument_schema(tool, question, context)["properties"]


def test_only_offered_tools_are_named_in_the_prompt_and_the_grammar() -> None:
    prompt = tool_choice.choice_prompt("Hello", {"current_time": ""})

    assert tool_choice.choice_grammar({"current_time": ""}) == 'root ::= " none" | " current_time"'
    assert "read_file" not in prompt
    assert prompt.endswith("Tool: current_time\n\nRequest: Thank you\nTool: none\n\nRequest: Hello\nTool:")


def test_a_tool_that_nobody_knows_is_shown_by_its_own_description() -> None:
    prompt = tool_choice.choice_prompt("Hi", {"add_note": "Write a note for later. It may be long."})

    assert prompt.startswith("Request: Write a note for later\nTool: add_note\n\n")


def test_without_a_description_its_name_must_do() -> None:
    assert "Request: add note\n" in tool_choice.choice_prompt("Hi", {"add_note": ""})


def test_only_the_end_of_a_long_question_is_read() -> None:
    asked = tool_choice.choice_prompt("word " * 1000 + "end?", {}).rpartition("Request: ")[2]

    assert len(asked.removesuffix("\nTool:").split()) == tool_choice.MAX_QUESTION_WORDS


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("Read the file concise-speech/SKILL.md", ["concise-speech/SKILL.md"]),
        ("What is in notes.md?", ["notes.md"]),
        ("Compare a/b.txt with c/d.txt.", ["a/b.txt", "c/d.txt"]),
        ("Open the pirate skill", ["pirate/SKILL.md"]),
        ("How do I boil an egg?", []),
    ],
)
def test_a_path_is_one_that_the_words_name(question: str, paths: list[str]) -> None:
    assert tool_choice.is_possible("read_file", question, CATALOG) is bool(paths)
    if paths:
        assert offered(READ, question, CATALOG) == {"path": {"enum": paths}}


@pytest.mark.parametrize(
    ("question", "zone"),
    [
        ("What time is it in Tokyo?", "Asia/Tokyo"),
        ("and in new york", "America/New_York"),
        ("the time in Buenos Aires, please", "America/Argentina/Buenos_Aires"),
        ("What time is it?", None),
    ],
)
def test_a_zone_is_the_one_of_a_city_that_is_named(question: str, zone: str | None) -> None:
    arguments = tool_choice.only_arguments(tool_choice.argument_schema(TIME, question, ""))

    assert arguments == ({} if zone is None else {"timezone": zone})


def test_other_words_are_copied_from_the_question_within_the_tools_limits() -> None:
    choices = offered(SEARCH, "Search a loud hook, x")["pattern"]["enum"]

    assert {"hook", "loud hook", "loud hook x"} <= {*choices}
    assert "x" not in choices  # shorter than the schema's minLength
    assert "path" not in offered(SEARCH, "Search a loud hook, x")


@pytest.mark.parametrize(
    "question", ["Search the files for the word time.", "which files mention time", "Find time in all the skills"]
)
def test_words_of_the_request_are_not_searched_for(question: str) -> None:
    assert tool_choice.only_arguments(tool_choice.argument_schema(SEARCH, question, "")) == {"pattern": "time"}
    assert tool_choice.is_possible("search_text", question, "")
    assert not tool_choice.is_possible("search_text", "Search the files for the", "")


@pytest.mark.parametrize(
    ("question", "tool"),
    [
        ("whats the date today", "current_time"),
        ("What time is it in Rome?", "current_time"),
        ("What time did Rome fall?", None),
        ("Search the skills for weather", "search_text"),
        ("read notes.md", "read_file"),
        ("What's the weather like?", tool_choice.UNKNOWABLE),
        ("Why is the sky blue?", None),
    ],
)
def test_plain_words_choose_a_built_in_tool_and_none_where_another_could_answer(
    question: str, tool: str | None
) -> None:
    built_in = ["current_time", "read_file", "search_text"]

    assert tool_choice.certain_choice(question, built_in) == tool
    if tool == tool_choice.UNKNOWABLE:
        assert tool_choice.certain_choice(question, [*built_in, "get_weather"]) is None
    assert tool_choice.certain_choice(question, []) in (None, tool_choice.UNKNOWABLE)


def test_what_cannot_be_known_is_said_and_so_is_a_place_without_a_zone() -> None:
    assert "no tool" in (tool_choice.refusal(tool_choice.UNKNOWABLE, "Will it rain?") or "")
    assert tool_choice.refusal("current_time", "What time is it in Boston?") == (
        "I don't know the time zone of Boston. Name a large city near it."
    )
    for known in ("What time is it in Tokyo?", "What time is it?", "What time is it in the morning?"):
        assert tool_choice.refusal("current_time", known) is None


def test_a_file_is_also_the_one_that_the_reply_before_named() -> None:
    before = "This is what I found:\n\nnotes/a.md:1: time"

    assert offered(READ, "read the first file")["path"] == {"type": "string"}
    assert tool_choice.is_possible("read_file", "read the first file", "", before)
    schema = tool_choice.argument_schema(READ, "read the first file", "", before)
    assert tool_choice.only_arguments(schema) == {"path": "notes/a.md"}


@pytest.mark.parametrize(("question", "is_one"), [("And in Rome?", True), ("and tomorrow", True), ("And why?", False)])
def test_a_follow_up_asks_for_the_time_only_with_a_place_or_a_day(question: str, is_one: bool) -> None:
    assert tool_choice.is_possible("current_time", question, "", is_follow_up=True) is is_one


@pytest.mark.parametrize("question", ['Search for "two words"', "Search for “two words” now", "find `two words`"])
def test_what_stands_in_quotation_marks_is_what_is_meant(question: str) -> None:
    schema = tool_choice.argument_schema(SEARCH, question, "")

    assert tool_choice.only_arguments(schema) == {"pattern": "two words"}


def test_what_cannot_be_copied_is_left_to_the_tools_own_schema() -> None:
    tool = ToolSpec(
        name="set",
        description="",
        parameters={
            "type": "object",
            "properties": {"level": {"type": "integer"}, "mode": {"enum": ["a", "b"]}},
            "required": ["level", "mode"],
        },
    )

    assert offered(tool, "set it to a") == {"level": {"type": "integer"}, "mode": {"enum": ["a", "b"]}}
    assert tool_choice.only_arguments(tool_choice.argument_schema(tool, "x", "")) is None


def test_what_a_foreign_schema_refers_to_goes_along() -> None:
    parameters = {
        "type": "object",
        "properties": {"level": {"$ref": "#/$defs/level"}},
        "required": ["level"],
        "$defs": {"level": {"type": "integer"}},
    }
    tool = ToolSpec(name="set", description="", parameters=parameters)

    assert tool_choice.argument_schema(tool, "set it", "")["$defs"] == {"level": {"type": "integer"}}
    assert tool_choice.is_valid(tool, {"level": 3})


@pytest.mark.parametrize("reference", ["#/$defs/nowhere", "http://example.invalid/x", "#"])
def test_a_reference_that_leads_nowhere_or_round_fits_nothing_and_harms_nobody(reference: str) -> None:
    tool = ToolSpec(name="set", description="", parameters={"type": "object", "$ref": reference})

    assert not tool_choice.is_valid(tool, {"level": 3})


def test_only_arguments_that_fit_the_tools_schema_are_valid() -> None:
    assert tool_choice.is_valid(READ, {"path": "a"})
    assert not tool_choice.is_valid(READ, {})
    assert not tool_choice.is_valid(READ, None)
    assert not tool_choice.is_valid(ToolSpec(name="x", description="", parameters={"type": 7}), {})


@given(st.text(max_size=300), st.sampled_from([READ, SEARCH, TIME]))
def test_whatever_is_asked_the_narrowed_schema_is_one_and_its_only_arguments_fit(question: str, tool: ToolSpec) -> None:
    schema = tool_choice.argument_schema(tool, question, CATALOG)
    jsonschema.Draft202012Validator.check_schema(dict(schema))
    arguments = tool_choice.only_arguments(schema)

    assert arguments is None or tool_choice.is_valid(tool, arguments)


def test_what_a_schema_refers_to_elsewhere_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/schema.json"
        tool = ToolSpec(name="a", description="", parameters={"properties": {"path": {"$ref": url}}})

        assert not tool_choice.is_valid(tool, {"path": "x"})

        with pytest.raises(BlockingIOError):
            elsewhere.accept()
