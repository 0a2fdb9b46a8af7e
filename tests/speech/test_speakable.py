"""server/speech/speakable.py"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.speech.speakable import SpokenText


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Just as it stands.", None),
        (" White space around. ", None),
        ("**Bold** and *thin*.", "Bold and thin."),
        ("***Both*** of them.", "Both of them."),
        ("It is __so__ and ~~not~~.", "It is so and not."),
        ("a * b * c", None),
        ("snake_case_name is one", None),
        ("_snake_ and a_b _c", "snake and a_b _c"),
        ("# Heading", "Heading"),
        ("See [Foo](https://example.org/wiki/Foo_(bar)) there.", "See Foo there."),
        ("[[[[", ""),
        ("![" * 100 + "end", None),
        ("*a " * 60 + "end", " ".join(["a"] * 60) + " end"),
        ("# C# and F", "C# and F"),
        ("### A heading ###", "A heading"),
        ("- one", "one"),
        ("* two", "two"),
        ("- [x] done", "done"),
        ("1. First", None),
        ("> quoted", "quoted"),
        ("> > twice", "twice"),
        ("Call `f(x)` now.", "Call f(x) now."),
        ("See [the page](https://a.example/b?c=d).", "See the page."),
        ('See [it](a.html "Title").', "See it."),
        ("![A cat](cat.png)", "A cat"),
        ("![](cat.png)", ""),
        ("See https://a.example/b.html.", "See ."),
        ("https://a.example", ""),
        ("<https://a.example/x>", ""),
        ("Go to www.a.example now.", "Go to now."),
        ("| a | b |", ""),
        ("|---|---|", ""),
        ("---", ""),
        ("* * *", ""),
        ("```", ""),
        ("```py\nx = 1\n```", ""),
        ("Look:\n```py\nx = 1\n```\nDone.", "Look: Done."),
        ("~~~\nx\n~~~", ""),
        ("Hi 👋 there", "Hi there"),
        ("👍", ""),
        ("👩‍👩‍👧 family", "family"),
        ("Done ✅", "Done"),
        ("...", ""),
        ("   \n ", ""),
        ("", ""),
        ("5 \\* 3", "5 * 3"),
        ("你好，世界。", None),
        ("**你好**。", "你好。"),
        ("「はい。」", None),
        ("Line one\nline two", "Line one line two"),
        ("`a` and `b`", "a and b"),
        ("2 < 3 and 4 > 3", None),
        ("a\x00b. c\x1b[31md.\x7f", "a b. c d."),
        ("One\r\ntwo", "One two"),
        ("\x00\x1b", ""),
        ("It is <b>bold</b><br/>and <span class='x'>red</span>.", "It is bold and red."),
        ("H<sub>2</sub>O", "H2O"),
        ("<speak>Hi<break time='10s'/> &amp; bye</speak>", "Hi & bye"),
        ("Use `<b>` for **bold**.", "Use <b> for bold."),
        ("A list<int> is <none> & &copy of <b", None),
        ("5 &lt; 6", "5 < 6"),
        ("The area is $\\pi r^2$.", "The area is pi r squared."),
        ("$$\nE = mc^2\n$$\nDone.", "E equals m c squared. Done."),
        ("Use `$x$` for \\(x_1\\).", "Use $x$ for x 1."),
        ("```\n$$\n```\nSaid.", "Said."),
        ("> $$\n> x = 1\n> $$", "x equals 1."),
        ("$$\nx\n```\ny\n```\nSaid.", "Said."),
        ("\\$5 or $10", "$5 or $10"),
        ("| $x$ |", ""),
    ],
)
def test_what_is_said_of_a_slice(text: str, spoken: str | None) -> None:
    assert SpokenText().spoken(text) == spoken


def said(*slices: str) -> list[str | None]:
    reader = SpokenText()
    return [reader.spoken(text) for text in slices]


def test_a_code_block_is_silent_over_many_slices() -> None:
    slices = ("Look:", "\n```py", "\nx = 1.", "\nprint('a.')", "\n```", "\nDone.")

    assert said(*slices) == [None, *[""] * 4, None]


def test_a_formula_over_many_slices_is_said_where_it_ends_in_the_turn_s_language() -> None:
    reader = SpokenText("de")
    slices = ("Also:", "\n\n$$\nA =", "\n\\pi r^2.", "\n$$\n\nFertig.", " Und $x$.")

    assert [reader.spoken(text) for text in slices] == [None, "", "", "A gleich pi r Quadrat. Fertig.", "Und x."]


def test_a_longer_fence_is_closed_by_one_as_long() -> None:
    assert said("````", "\n```", "\nx = 1", "\n```", "\n````", "\nDone.") == [*[""] * 5, None]


def test_tildes_do_not_close_what_backticks_opened() -> None:
    assert said("```\n~~~\nx", "\n```", "\nDone.") == ["", "", None]


def test_marks_of_a_line_count_at_its_start_only() -> None:
    assert said("It is 5", " - 3 of them.") == [None, None]
    assert said("One. ", "# is a sign.") == [None, None]


def test_a_slice_that_begins_a_line_is_one_even_without_its_newline() -> None:
    assert said("One.\n", "- two") == [None, "two"]


@given(st.lists(st.text(alphabet="ab*_`~#|-[]()<>!\\ \n.:/hw👍好$^{}=", max_size=40), max_size=6))
def test_no_text_is_too_strange_and_nothing_is_said_without_a_letter(slices: list[str]) -> None:
    for spoken in said(*slices):
        assert spoken is None or spoken == "" or any(map(str.isalnum, spoken))


@pytest.mark.parametrize(
    "text",
    [
        "*" * 600,
        "[" * 600,
        "`" * 600,
        "_a" * 300,
        "<b " * 200,
        "`<b" * 200,
        "&amp" * 150,
        "\x1b[" * 300,
        "<https://" * 60,
        "| " * 300,
        "# " * 300,
        "$x" * 300,
        "$=" * 300,
        "\\(" * 300,
        "\\[a" * 200,
        "$$a" * 200,
        "$" + "\\frac{" * 49 + "$",
        "$" + "{" * 290 + "$",
        "\\(" + "\\sqrt" * 59 + "\\)",
    ],
)
def test_no_text_takes_long(text: str) -> None:
    SpokenText().spoken(text)
