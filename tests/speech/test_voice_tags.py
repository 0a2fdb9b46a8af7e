"""VoiceTags of server/speech/speakable.py"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.speech.speakable import VoiceTags

TAG = re.compile(r"</?voice>", re.IGNORECASE)


def shown(*deltas: str) -> tuple[str, str | None]:
    """What is shown, and of it what is said."""
    tags = VoiceTags()
    text = "".join(map(tags.feed, deltas)) + tags.flush()
    return text, tags.voiced(text)


@pytest.mark.parametrize(
    ("reply", "text", "said"),
    [
        ("All of it.", "All of it.", None),
        ("<voice>Said.</voice> Shown.", "Said. Shown.", "Said."),
        ("Before. <voice>Said.</voice> Shown.", "Before. Said. Shown.", "Before. Said."),
        ("<voice>A</voice>b<voice>C</voice>d", "AbCd", "AC"),
        ("<VOICE>Said.</Voice> Shown.", "Said. Shown.", "Said."),
        ("<voice>Open to the end.", "Open to the end.", None),
        ("</voice>All of it.", "All of it.", None),
        ("<voice>A</voice>b</voice>c", "Abc", "A"),
        ('<voice name="x">Said.</voice> Shown.', "Said. Shown.", "Said."),
        ("<voice >Said.</voice > Shown.", "Said. Shown.", "Said."),
        ("The <voice of the people> and </voice x=1>.", "The <voice of the people> and </voice x=1>.", None),
        ("<voice x='" + "y" * 200 + "'>", "<voice x='" + "y" * 200 + "'>", None),
        ("A <voice and\na line.", "A <voice and\na line.", None),
        ("a < b and c > d", "a < b and c > d", None),
        ("<voices>x</voices>", "<voices>x</voices>", None),
        ("<voic", "<voic", None),
        ("<<voice>x</voice>y", "<xy", "<x"),
        ("", "", None),
    ],
)
def test_tags_are_never_shown_and_say_what_is_said(reply: str, text: str, said: str | None) -> None:
    assert shown(reply) == (text, said)
    assert shown(*reply) == (text, said)


@pytest.mark.parametrize(
    "reply",
    [
        "In HTML:\n```html\n<voice>hi</voice>\n```\nThat is all.",
        "~~~\n<voice>\n```\n</voice>\n~~~",
        "````\n```\n<voice>\n````",
        "```html <voice>\nx",
        "~~~<voice>\nx",
        "Use the `<voice>` element, or `` `<voice>` ``.",
        "`</voice>` closes it.",
        "``<voice>` and ``",
        '`<voice name="x">`',
        "`<voi",
        "  `<voice>`",
    ],
)
def test_in_code_a_tag_is_text(reply: str) -> None:
    assert shown(reply) == (reply, None)
    assert shown(*reply) == (reply, None)


@pytest.mark.parametrize(
    ("reply", "text", "said"),
    [
        ("`a` <voice>B.</voice> c", "`a` B. c", "`a` B."),
        ("```\nx\n```\n<voice>B.</voice> c", "```\nx\n```\nB. c", "```\nx\n```\nB."),
        ("<voice>```\n</voice>\n```\nB.</voice> c", "```\n</voice>\n```\nB. c", "```\n</voice>\n```\nB."),
        ("An odd ` here.\n<voice>B.</voice> c", "An odd ` here.\nB. c", "An odd ` here.\nB."),
        ("~ <voice>B.</voice> c", "~ B. c", "~ B."),
        ("``` ` ```\n```\n<voice>B.</voice> c", "``` ` ```\n```\nB. c", "``` ` ```\n```\nB."),
    ],
)
def test_behind_code_a_tag_is_one_again(reply: str, text: str, said: str) -> None:
    assert shown(reply) == (text, said)
    assert shown(*reply) == (text, said)


def test_code_that_a_reply_leaves_open_ends_with_it() -> None:
    tags = VoiceTags()
    tags.feed("```\n<voice>")
    tags.flush()

    tags.begin_reply()

    assert tags.feed("<voice>Said.") == "Said."


CODED = ["<voice>", "</voice>", "<voice a=1>", "`", "``", "```", "~~~", "\n", " ", "a. ", "<", "voice", ">"]


@given(st.lists(st.sampled_from(CODED), max_size=30))
def test_nor_does_it_matter_where_there_is_code(pieces: list[str]) -> None:
    reply = "".join(pieces)

    assert shown(reply) == shown(*pieces) == shown(*reply)


@given(st.lists(st.sampled_from(["<voice>", "</voice>", "<", "</", "v", "voice>", "a. ", "é", "<v", ">"]), max_size=30))
def test_how_the_reply_arrives_does_not_matter_and_no_tag_gets_through(pieces: list[str]) -> None:
    reply = "".join(pieces)

    assert shown(reply) == shown(*pieces) == shown(*reply)
    assert shown(reply)[0] == TAG.sub("", reply)


@given(st.lists(st.sampled_from(["<voice>", "</voice>", "one. ", "two "]), max_size=20), st.integers(1, 9))
def test_asking_slice_by_slice_gives_what_asking_at_once_gives(pieces: list[str], size: int) -> None:
    text, said = shown(*pieces)
    tags = VoiceTags()
    assert "".join(map(tags.feed, pieces)) + tags.flush() == text

    slices = [text[at : at + size] for at in range(0, len(text), size)]
    parts = [(tags.voiced(piece), piece) for piece in slices]
    assert "".join(piece if part is None else part for part, piece in parts) == (text if said is None else said)


def test_a_withheld_bracket_is_given_out_as_soon_as_it_is_no_tag() -> None:
    tags = VoiceTags()

    assert tags.feed("<") == ""
    assert tags.feed("v") == ""
    assert tags.feed("x") == "<vx"


def test_a_giant_delta_is_read_as_many_small_ones_are() -> None:
    text = "<" * 3000 + "a<voice>b</voice>c<v" * 2000
    whole, small = VoiceTags(), VoiceTags()

    shown = whole.feed(text) + whole.flush()

    assert shown == "".join(small.feed(character) for character in text) + small.flush()
    assert whole.voiced(shown) == small.voiced(shown) == "<" * 3000 + "a" + "b" * 2000


def test_a_new_reply_of_the_turn_is_said_until_it_holds_a_tag_of_its_own() -> None:
    tags = VoiceTags()
    first = tags.feed("<voice>One moment.</voice> Shown.") + tags.flush()
    assert tags.voiced(first) == "One moment."

    tags.begin_reply()

    answer = tags.feed("The answer.")
    assert tags.voiced(answer) is None
