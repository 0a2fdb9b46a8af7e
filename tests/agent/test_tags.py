"""What models write at the head of a reply, read from a stream cut anywhere."""

import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.agent.reply import MAX_HEAD_CHARS, TagReader, ThinkReader


def read(*deltas: str) -> tuple[str, TagReader]:
    reader = TagReader()
    shown = "".join([*map(reader.feed, deltas), reader.end()])
    return shown, reader


def cuts(text: str) -> Iterator[list[str]]:
    """The text in two pieces, cut at every place, and character by character."""
    yield from ([text[:at], text[at:]] for at in range(len(text) + 1))
    yield list(text)


HEADS = [
    # reply, tag, what is shown, whether tools are needed
    ("<need_tool>Let me look.", "need_tool", "Let me look.", True),
    ("<no_tool>Noon.", "no_tool", "Noon.", False),
    ("Noon.", None, "Noon.", False),
    (" \n\t<need_tool> Let me look.", "need_tool", "Let me look.", True),
    ("<NEED_tool>Let me look.", "need_tool", "Let me look.", True),
    ("<need_tool>", "need_tool", "", True),
    ("<need_tool></need_tool>", "need_tool", "", True),
    ("<need_tool> \n </NEED_TOOL>\n", "need_tool", "", True),
    ("<no_tool>", "no_tool", "", True),
    ("<no_tool></no_tool> ", "no_tool", "", True),
    ("", None, "", True),
    (" \n", None, "", True),
    ("<need_tool></need_tool>Let me look.", "need_tool", "Let me look.", True),
    ("<need_tool> </need_tool>\n\nLet me look.", "need_tool", "Let me look.", True),
    ("<need_tool>Let me look.</need_tool>", "need_tool", "Let me look.", True),
    ("<no_tool>Noon.\n</NO_TOOL>\n", "no_tool", "Noon.", False),
    ("```\n<need_tool>\n```", "need_tool", "", True),
    ("```xml\n<need_tool>Let me look.\n```\n", "need_tool", "Let me look.", True),
    ("```\n<no_tool>Noon.</no_tool>\n```", "no_tool", "Noon.", False),
    (" ```text \n\n <no_tool>Noon.", "no_tool", "Noon.", False),
    ("```\r\n<need_tool>Let me look.", "need_tool", "Let me look.", True),
    ("```\n<no_tool>Noon.``</no_tool>", "no_tool", "Noon.``", False),
    ("<no_tool>İİİİ</NO_TOOL>", "no_tool", "İİİİ", False),
    # a tag later on is text
    ("I use <need_tool> now.", None, "I use <need_tool> now.", False),
    ("<need_tool>I use <need_tool> twice.", "need_tool", "I use <need_tool> twice.", True),
    ("<need_tool>Say </need_tool> aloud.", "need_tool", "Say </need_tool> aloud.", True),
    ("<no_tool>A < B, and B </no_tool", "no_tool", "A < B, and B </no_tool", False),
    ("<no_tool>Use ``` for code.", "no_tool", "Use ``` for code.", False),
    ("<no_tool>```\nprint()\n```", "no_tool", "```\nprint()\n```", False),
    # what only looks like a head
    ("<need_tools>Noon.", None, "<need_tools>Noon.", False),
    ("< need_tool>Noon.", None, "< need_tool>Noon.", False),
    ("<need", None, "<need", False),
    ("``", None, "``", False),
    ("```python\nprint()\n```", None, "```python\nprint()\n```", False),
    ("```<need_tool>", None, "```<need_tool>", False),
    ("```a`b\n<need_tool>", None, "```a`b\n<need_tool>", False),
    ("</need_tool>Noon.", None, "</need_tool>Noon.", False),
    ("<need_tool></need_tool></need_tool>Noon.", "need_tool", "</need_tool>Noon.", True),
]


@pytest.mark.parametrize(("reply", "tag", "shown", "needs_tools"), HEADS, ids=range(len(HEADS)))
def test_a_head_is_read_alike_wherever_the_stream_is_cut(
    reply: str, tag: str | None, shown: str, needs_tools: bool
) -> None:
    for deltas in cuts(reply):
        text, reader = read(*deltas)

        assert (text, reader.tag, reader.needs_tools) == (shown, tag, needs_tools), deltas


def test_text_streams_as_soon_as_no_tag_can_come() -> None:
    reader = TagReader()

    assert [reader.feed(c) for c in "<node>"] == ["", "", "", "<nod", "e", ">"]


@pytest.mark.parametrize("start", ["```a`", "````", "```py\nprint", "```a\nb\n<need"])
def test_a_fence_that_no_tag_can_follow_is_shown_at_once(start: str) -> None:
    assert TagReader().feed(start) == start


@pytest.mark.parametrize("start", ["``", "```xml", "```\n", "```\n \n", "```xml\n<no_"])
def test_a_fence_that_a_tag_may_follow_is_withheld(start: str) -> None:
    assert TagReader().feed(start) == ""


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (("<need_", "tool>", "Let", " me", " look"), ["", "", "Let", " me", " look"]),
        (("<no_tool>", "a <", "b </no_", "tool>", " c"), ["", "a", " <b", "", " </no_tool> c"]),
    ],
)
def test_text_behind_a_tag_streams_at_once_but_for_what_may_be_the_closing_tag(
    pieces: tuple[str, ...], shown: list[str]
) -> None:
    reader = TagReader()

    assert [reader.feed(piece) for piece in pieces] == shown


@pytest.mark.parametrize("blanks", [0, MAX_HEAD_CHARS - 11, MAX_HEAD_CHARS - 10, MAX_HEAD_CHARS])
def test_at_most_64_characters_are_withheld_to_find_the_tag(blanks: int) -> None:
    reply = " " * blanks + "<need_tool>Let me look."
    fits = blanks + len("<need_tool>") <= 64

    for deltas in cuts(reply):
        shown, reader = read(*deltas)

        assert reader.tag == ("need_tool" if fits else None), deltas
        assert shown == ("Let me look." if fits else reply)


def test_what_was_withheld_is_shown_at_the_64th_character() -> None:
    reader = TagReader()

    assert reader.feed("```" + "x" * 60) == ""
    assert reader.feed("y") == "```" + "x" * 60 + "y"


heads = st.lists(
    st.sampled_from(
        ["<need_tool>", "<no_tool>", "</need_tool>", "</no_tool>", "```", "\n", " ", "<", "need", "A", "`", ">"]
    ),
    max_size=8,
)


@given(pieces=heads, sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_any_reply_is_read_alike_however_it_is_cut(pieces: list[str], sizes: list[int]) -> None:
    reply = "".join(pieces)
    whole, reader = read(reply)

    text, cut = read(*_in_pieces(reply, sizes))

    assert (text, cut.tag, cut.needs_tools) == (whole, reader.tag, reader.needs_tools)


@given(pieces=heads)
def test_a_reply_without_a_tag_is_shown_to_the_letter(pieces: list[str]) -> None:
    reply = "".join(pieces)

    shown, reader = read(reply)

    if reader.tag is None and reply.strip():
        assert shown == reply
    else:
        assert shown in reply


def _in_pieces(text: str, sizes: Sequence[int]) -> list[str]:
    deltas: list[str] = []
    at = 0
    for size in itertools.cycle(sizes):
        if at >= len(text):
            return deltas
        deltas.append(text[at : at + size])
        at += size
    return deltas


# --- <think> ------------------------------------------------------------------------------------------------------


def think(*deltas: str) -> tuple[str, str]:
    reader = ThinkReader()
    read = [*map(reader.feed, deltas), reader.end()]
    return "".join(reasoning for reasoning, _ in read), "".join(text for _, text in read)


THOUGHTS = [
    # reply, reasoning, text
    ("Noon.", "", "Noon."),
    ("<think>Hm.</think>Noon.", "Hm.", "Noon."),
    (" \n<think>\nHm.\n</think>\n\nNoon.\n", "\nHm.\n", "Noon.\n"),
    ("<think></think>Noon.", "", "Noon."),
    ("<think>a < b </thin</think>Noon.", "a < b </thin", "Noon."),
    ("<think>Hm.", "Hm.", ""),
    ("<think>Hm.</thi", "Hm.</thi", ""),
    ("<think>Hm.</think> ", "Hm.", ""),
    ("<think", "", "<think"),
    (" <thin air", "", " <thin air"),
    ("I <think>so</think>.", "", "I <think>so</think>."),
    ("<think>A</think>B<think>C</think>", "A", "B<think>C</think>"),
    ("", "", ""),
    ("  ", "", "  "),
]


@pytest.mark.parametrize(("reply", "reasoning", "text"), THOUGHTS, ids=range(len(THOUGHTS)))
def test_a_think_block_is_told_apart_wherever_the_stream_is_cut(reply: str, reasoning: str, text: str) -> None:
    for deltas in cuts(reply):
        assert think(*deltas) == (reasoning, text), deltas


def test_reasoning_streams_but_for_what_may_be_its_end() -> None:
    reader = ThinkReader()

    fed = [reader.feed(d) for d in ("<think>", "Hm", ", a <", " b </th", "ink>", "\n", "Noon")]
    assert fed == [("", ""), ("Hm", ""), (", a ", ""), ("< b ", ""), ("", ""), ("", ""), ("", "Noon")]


@given(
    pieces=st.lists(st.sampled_from(["<think>", "</think>", "<", "/", "think", ">", " ", "\n", "A"]), max_size=8),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_any_thought_is_told_apart_alike_however_it_is_cut(pieces: list[str], sizes: list[int]) -> None:
    reply = "".join(pieces)

    assert think(*_in_pieces(reply, sizes)) == think(reply)
