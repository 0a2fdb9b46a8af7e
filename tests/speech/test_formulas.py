"""server/speech/formulas.py: where formulas are, in lines and over several."""

import pytest

from server.speech.formulas import MAX_DISPLAY_CHARS, Formulas


def read(*lines: str) -> list[str]:
    formulas = Formulas("en")
    return [formulas.of(line, is_whole=True) for line in lines]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("The area is $\\pi r^2$.", "The area is pi r squared."),
        ("The area is \\(\\pi r^2\\).", "The area is pi r squared."),
        ("So $$x = 1$$ holds.", "So x equals 1 holds."),
        ("\\[ x = 1 \\]", "x equals 1 "),
        ("$x$, $y$ and $x_1$", "x, y and x 1"),
        ("$f$ of $2$", "f of 2"),
        ("the $n$th term", "the nth term"),
        ("**$x$**", "**x**"),
        ("设$x$为$y$的倍数。", "设x为y的倍数。"),
    ],
)
def test_a_formula_in_a_line_is_said_in_its_place(line: str, words: str) -> None:
    assert [" ".join(read(line)[0].split())] == [" ".join(words.split())]


@pytest.mark.parametrize(
    "line",
    [
        "It costs $5 and $10.",
        "From $5-$10, or US$5 to C$ prices.",
        "about $20 (some $25)",
        "$HOME/bin:$PATH and $AAPL or $MSFT.",
        "$5 is what $x gets",
        "Set $PATH=$HOME/bin or $A=$B",
        "Between $1,000 and A$2,000$",
        "\\$5 and \\$6",
        "`$x^2$` and `\\(x\\)` and ``$$x$$``",
        "It costs $$ or $$$.",
        "- Bistro: $$",
        "\\(see below\\)",
        "a $ b $ c",
        "$",
        "\\(",
    ],
)
def test_money_names_code_and_brackets_are_no_formulas(line: str) -> None:
    assert read(line) == [line]


@pytest.mark.parametrize(("opener", "closer"), [("$$", "$$"), ("\\[", "\\]"), ("  $$", "$$")])
def test_a_display_formula_over_lines_is_said_where_it_ends(opener: str, closer: str) -> None:
    said = read("Here:", opener, "x = ", "y^2.", f"{closer} Done.", "$x$")

    assert [line.strip() for line in said] == ["Here:", "", "", "", "x equals y squared.  Done.", "x"]


def test_one_that_begins_beside_its_mark_is_one_too() -> None:
    assert read("$$x =", "1$$") == ["", "x equals 1. "]
    assert read("As follows: \\[", "x", "\\]") == ["As follows: ", "", "x. "]


def test_an_empty_line_ends_a_formula_that_does_not_end() -> None:
    assert read("$$", "x = 1", "", "All is said again.") == ["", "", "", "All is said again."]
    assert read("$$", "", "x = 1", "$$")[-1] == "x equals 1. "


def test_a_formula_without_end_ends_at_a_limit() -> None:
    lines = read("$$", *["x = 1"] * (MAX_DISPLAY_CHARS // 5))

    assert (lines[1], lines[-1]) == ("", "x = 1")


def test_an_empty_rest_of_a_line_is_no_empty_line() -> None:
    formulas = Formulas(None)
    said = [formulas.of(line, is_whole=is_whole) for line, is_whole in (("$$x =", True), ("", False), ("1$$", True))]

    assert said == ["", "", "x equals 1. "]
