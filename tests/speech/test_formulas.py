"""server/speech/formulas.py: where formulas are, in lines and over several, and the words for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.speech.formulas import MAX_CHARS, MAX_DISPLAY_CHARS, MAX_WORDS, Formulas, formula_in_words, words_in

ENGLISH = words_in("en")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("x", "x"),
        ("x^2", "x squared"),
        ("x^{3}", "x cubed"),
        ("x²", "x squared"),
        ("2^{10} = 1024", "2 to the 10 equals 1024"),
        ("10^{-3}", "10 to the minus 3"),
        (r"\frac{a}{b}", "a over b"),
        (r"\frac12 \tfrac{1}2", "1 over 2 1 over 2"),
        (r"\dfrac{1}{x+1}", "1 over x plus 1"),
        (r"\sqrt{2}", "the square root of 2"),
        (r"\sqrt 2", "the square root of 2"),
        (r"A = \pi r^2", "A equals pi r squared"),
        ("E=mc^2", "E equals m c squared"),
        (
            r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
            "x equals minus b plus or minus the square root of b squared minus 4 a c over 2 a",
        ),
        (r"a_{n+1} \leq 3.14", "a n plus 1 is at most 3.14"),
        ("x_1", "x 1"),
        ("f(x) = 2x", "f (x) equals 2 x"),
        ("f'(x)", "f prime (x)"),
        (r"f^\prime", "f prime"),
        ("n!", "n factorial"),
        (r"30^\circ", "30 degrees"),
        (r"50\%", "50%"),
        (r"\sin \varphi", "sine phi"),
        (r"\Delta x \to 0", "Delta x goes to 0"),
        (r"v = \text{the distance} / t", "v equals the distance over t"),
        (r"\left( a \times b \right)", "(a times b)"),
        (r"\mathbf{x} \neq \infty", "x is not equal to infinity"),
        (r"1 + 2 + \ldots + n", "1 plus 2 plus and so on plus n"),
        (r"x \in \mathbb{R} \implies x < 1{,}000", "x in R so x is less than 1,000"),
        ("Distance = speed", "Distance equals speed"),
        ("面积 = πr²", "面积 equals π r squared"),
        ("", ""),
    ],
)
def test_a_simple_formula_is_said_as_one_says_it(formula: str, words: str) -> None:
    assert formula_in_words(formula, ENGLISH) == words


@pytest.mark.parametrize(
    "formula",
    [
        r"\int_0^1 x dx",
        r"\sum_{i=1}^n i",
        r"\begin{pmatrix} a \end{pmatrix}",
        r"\sqrt[3]{x}",
        "|x|",
        r"a & b \\ c",
        "x^",
        "x_",
        "^2",
        r"\frac{a}",
        r"\frac{a}{}",
        r"A \cap B",
        "{x",
        "x^}",
        r"\sqrt" * 9 + "x",
        "x" * (MAX_CHARS + 1),
        "+".join("abcdefghijklmnop"),
    ],
)
def test_what_nobody_could_follow_is_one_word(formula: str) -> None:
    assert formula_in_words(formula, ENGLISH) == "formula"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de-AT", ["a durch b gleich x Quadrat", "Wurzel aus 2", "Formel"]),
        ("fr", ["a sur b égale x au carré", "racine carrée de 2", "formule"]),
        ("es", ["a sobre b igual a x al cuadrado", "raíz cuadrada de 2", "fórmula"]),
        ("zh-CN", ["b分之a 等于 x的平方", "根号2", "公式"]),
        ("ja", ["b分のa イコール xの2乗", "ルート2", "数式"]),
        (None, ["a over b equals x squared", "the square root of 2", "formula"]),
    ],
)
def test_it_is_said_in_the_turn_s_language(language: str | None, words: list[str]) -> None:
    formulas = (r"\frac{a}{b} = x^2", r"\sqrt{2}", r"\int x")

    assert [formula_in_words(formula, words_in(language)) for formula in formulas] == words


def test_in_a_language_without_words_only_letters_and_numbers_are_formula_in_words() -> None:
    assert [formula_in_words(formula, words_in("ru")) for formula in ("x", "3.14", r"\pi r", "x^2", "a = b")] == [
        "x",
        "3.14",
        "pi r",
        "формула",
        "формула",
    ]
    assert formula_in_words("x^2", words_in("pl")) == "formula"


@given(st.text(alphabet="ab1{}^_\\ ()[]+-=$é², frac sqrt pi text".replace(" ", "") + " ", max_size=60))
def test_no_formula_is_too_strange(formula: str) -> None:
    assert len(formula_in_words(formula, ENGLISH).split()) <= MAX_WORDS


@given(
    st.lists(st.sampled_from([r"\frac", r"\sqrt", r"\text{a b}", "{", "}", "^", "_", "x", "2", "+", r"\pi", "[", "'"]))
)
def test_no_order_of_its_parts_is_too_strange(tokens: list[str]) -> None:
    assert len(formula_in_words(" ".join(tokens), ENGLISH).split()) <= MAX_WORDS


def read(*lines: str) -> list[str]:
    formulas = Formulas("en")
    return [formulas.replace(line, is_whole=True) for line in lines]


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
    said = [
        formulas.replace(line, is_whole=is_whole) for line, is_whole in (("$$x =", True), ("", False), ("1$$", True))
    ]

    assert said == ["", "", "x equals 1. "]
