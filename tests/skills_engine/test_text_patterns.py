"""Texts of whole words, expressions linear in time, globs and languages (L1-43)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_engine.conditions.condition import MAX_INJECTION_WORK, SearchLimitError, SearchWork
from skills_engine.conditions.text_patterns import (
    MAX_TEXT_BYTES,
    MAX_WORK,
    Globs,
    Pattern,
    PatternError,
    Patterns,
    SearchedText,
    is_in_range,
)
from tests.model.profile import examples

pytestmark = pytest.mark.rule("L1-43", "L1-54")


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        ("refund", "I want a refund.", True),
        ("refund", "REFUND", True),
        ("refund", "refunds", False),
        ("refund", "prerefund", False),
        ("refund", "refund_id", False),
        ("refund", "refund2", False),
        ("refund", "refunds, or a refund", True),
        ("Straße", "die STRASSE", True),
        ("caf\u00e9", "cafe\u0301!", True),
        ("①", "1", True),
        ("money back", "money\n  back", True),
        ("money\nback", "money\nback", True),
        ("/help", "say /help", True),
        ("/help", "say help", False),
        ("c++", "I write c++.", True),
        ("c++", "c++11", True),
        ("c++", "Objective-c++", True),
        ("don't", "I don’t know", True),
        ("e-mail", "e‑mail", True),
        ("“yes”", '"Yes"', True),
        ("email", "e\u00admail", True),
        ("cafe", "Café", True),
        ("café", "cafe", False),
        ("еще", "Ещё раз", True),
        ("мои", "мой", False),
        ("refund*", "refunds", True),
        ("refund*", "refund2", False),
        ("refund*", "prerefund", False),
        ("退*", "退款", True),
        ("re*d", "red", False),
        ("हिन्दी", "हिन्दीं", False),
        ("退款", "我要退款吗", True),
        ("コーヒー", "コーヒーを", True),
        ("กาแฟ", "อยากกาแฟครับ", True),
        ("환불", "환불해", True),
        ("AI", "AIは何", False),
        ("日本AI", "日本AIと", False),
        ("日本AI", "大日本AI", True),
        ("/ref.nd/", "prerefunds", True),
        ("/ref.nd/", "REFUND", False),
        ("/ref.nd/i", "REFUND", True),
        ("/^a b$/", "a b", True),
        ("/^b$/", "a\nb", False),
        ("/(?m)^b$/", "a\nb", True),
        ("/a/b/", "a/b", True),
        ("//", "//", True),
        ("//", "x", False),
        ("/a/x", "a", False),
        (r"/\d{3}/", "call 123", True),
        ("/é/", "e\u0301", False),
    ],
)
def test_a_pattern_is_found_or_not(pattern: str, text: str, is_found: bool) -> None:
    assert Patterns([pattern]).are_found_in(SearchedText(text)) is is_found


def test_one_pattern_of_a_list_is_enough() -> None:
    patterns = Patterns(["refund", "/mon.y/", "/back/i"])

    assert patterns.are_found_in(SearchedText("my money"))
    assert patterns.are_found_in(SearchedText("BACK"))
    assert not patterns.are_found_in(SearchedText("nothing of it"))


@pytest.mark.parametrize("pattern", ["/(?=a)/", "/(?<!a)b/", r"/(a)\1/", "/[a/", "/a{5000}/"])
def test_an_expression_that_is_not_linear_in_time_is_an_error_when_it_is_read(pattern: str) -> None:
    with pytest.raises(PatternError, match="no expression that can be searched in linear time"):
        Patterns([pattern])


@pytest.mark.parametrize("pattern", ["/(.?){1000}z/", "/(?:[a-h ]{0,30}){30}z/", "/(中|文){0,300}/"])
def test_an_expression_that_would_search_a_long_text_for_seconds_is_an_error(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"too large an expression: \d+ steps of at most 2000"):
        Patterns([pattern])


def test_what_a_class_of_letters_stands_for_does_not_make_an_expression_large() -> None:
    assert Patterns([r"/\pL+[^\pL]+\pL+[^\pL]+\pL/"]).are_found_in(SearchedText("été à Paris"))


def test_the_error_holds_what_it_has_room_for_and_is_printed_nowhere_else(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError) as short:
        Patterns(["/[a/"])
    with pytest.raises(PatternError) as long:
        Patterns([f"/[{'a' * 5000}/"])

    assert str(short.value).startswith('"/[a/" is no expression')
    assert str(short.value).endswith("(RE2): missing ]: [a")
    assert len(str(long.value)) < 300
    assert capfd.readouterr().err == ""


def test_characters_may_be_written_as_their_numbers() -> None:
    assert Patterns([r"/^[\x{4e00}-\x{9fff}]+$/"]).are_found_in(SearchedText("退款"))
    with pytest.raises(PatternError, match=r"4e00.*is too large an expression"):
        Patterns([r"/(\x{4e00}.?){900}/"])


def test_an_expression_may_have_2000_steps() -> None:
    Patterns([f"/{'a' * 1996}/"])
    with pytest.raises(PatternError, match=r"2001 steps of at most 2000; write smaller repetitions$"):
        Patterns([f"/{'a' * 1997}/"])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"/[\w.+-]{1,64}@[\w-]{1,255}\.[a-z]{2,}/", "Write to ann@example.org"), ("/x{1000}/", "x" * 1000)],
)
def test_an_ordinary_expression_is_not_too_large(pattern: str, text: str) -> None:
    assert Patterns([pattern]).are_found_in(SearchedText(text))


def test_groups_do_not_add_to_the_size_of_an_expression() -> None:
    assert Patterns([f"/{'(a)' * 800}/"]).are_found_in(SearchedText("a" * 800))


@pytest.mark.parametrize("pattern", ["\ud800", "a\udfffb", "/\ud800/"])
def test_a_pattern_with_half_of_a_surrogate_pair_is_an_error(pattern: str) -> None:
    with pytest.raises(PatternError, match="holds half of a surrogate pair"):
        Patterns(["a", pattern])


def test_an_expression_that_makes_others_backtrack_takes_no_time() -> None:
    assert not Patterns(["/(a*)*(a*)*b/"]).are_found_in(SearchedText("a" * MAX_TEXT_BYTES))


@pytest.mark.parametrize("pattern", ["end", "/end/"])
def test_the_first_64_kib_of_a_text_are_looked_at(pattern: str) -> None:
    room = " " * (MAX_TEXT_BYTES - 3)

    assert Patterns([pattern]).are_found_in(SearchedText(room + "end"))
    assert not Patterns([pattern]).are_found_in(SearchedText(room + " end"))
    assert not Patterns([pattern]).are_found_in(SearchedText("é" + room + "end"))


@pytest.mark.parametrize(
    ("pattern", "words", "match"),
    [
        ("/.{0,300}urgent.{0,300}asap/i", "urgent ", "asap"),
        ("/(?:.{1,300}a.{1,300}b)+#/", "ab ", "#"),
    ],
)
def test_an_expression_that_takes_long_at_each_byte_looks_at_few_of_them(pattern: str, words: str, match: str) -> None:
    patterns, work = Patterns([pattern]), SearchWork()
    [expression] = patterns.each
    room = words * MAX_TEXT_BYTES

    assert not work.finds(patterns, SearchedText(room))
    assert MAX_WORK - expression.steps < MAX_INJECTION_WORK - work.left <= MAX_WORK
    assert patterns.are_found_in(SearchedText(room[: MAX_WORK // expression.steps - len(match)] + match))
    assert not patterns.are_found_in(SearchedText(room[: MAX_WORK // expression.steps - len(match) + 1] + match))


def test_a_text_is_cut_between_two_characters() -> None:
    x, e = (f"/{one}$|{'a' * length}/" for one, length in (("x", 1994), ("é", 1993)))
    assert [Patterns([one]).each[0].steps for one in (x, e)] == [2000, 2000]

    assert Patterns([x]).are_found_in(SearchedText(f"{'x'.rjust(1999)}é"))
    assert Patterns([e]).are_found_in(SearchedText(f"{'é'.rjust(1999)}é"))
    assert Patterns(["/x$/"]).are_found_in(SearchedText(f"{'x'.rjust(MAX_TEXT_BYTES - 1)}é"))


def test_an_expression_is_counted_once_in_each_text_whether_it_is_found_or_not() -> None:
    a, b = Patterns(["word", "/a/"]), Patterns(["/b/", "/a/"])
    first, second = a.each[1], b.each[0]
    text, other = SearchedText("a" * 10), SearchedText("a" * 20)
    work = SearchWork(first.steps * 30 + second.steps * 10)

    assert [work.finds(a, text), work.finds(a, text), work.finds(b, text), work.finds(a, other)] == [True] * 4
    assert work.left == 0


def test_after_the_first_search_that_would_be_too_much_no_expression_is_searched() -> None:
    text, work = SearchedText("a word"), SearchWork(MAX_WORK)
    large, small = Patterns([f"/{'b' * 1996}/"]), Patterns(["word", "/a/"])
    work.finds(Patterns(["/a/"]), text)

    with pytest.raises(SearchLimitError):
        work.finds(large, SearchedText("a" * MAX_TEXT_BYTES))
    with pytest.raises(SearchLimitError):
        work.finds(Patterns(["/a/"]), text)
    assert work.finds(small, text), "texts are not counted"


def test_a_pattern_is_searched_once_in_a_text() -> None:
    searches: list[bytes] = []

    class Compiled:
        def search(self, text: bytes) -> None:
            searches.append(text)

    pattern, text = Pattern("/a/", Compiled(), steps=1), SearchedText("b")

    assert [text.has(pattern), text.has(pattern)] == [False, False]
    assert searches == [b"b"]


def test_of_combining_characters_in_a_row_thirty_count() -> None:
    marks = "\u0315\u0300" * 15

    assert Patterns([f"a{marks}b"]).are_found_in(SearchedText(f"a{marks}{marks * 1000}b"))
    assert not Patterns([f"a{marks[1:]}b"]).are_found_in(SearchedText(f"a{marks}b"))


def test_half_of_a_surrogate_pair_harms_nothing() -> None:
    assert Patterns(["refund", "/x/"]).are_found_in(SearchedText("\ud800 refund \udfff"))


@pytest.mark.parametrize(
    ("glob", "name", "does_fit"),
    [
        ("shop__*", "shop__refund", True),
        ("shop__*", "Shop__refund", False),
        ("shop", "shop__refund", False),
        ("s?op", "shop", True),
        ("[st]op", "top", True),
        ("[!st]op", "top", False),
        ("a[1]", "a[1]", True),
        ("a.b", "axb", False),
        ("*", "anything\n", True),
    ],
)
def test_a_glob_fits_the_whole_name(glob: str, name: str, does_fit: bool) -> None:
    assert Globs(["other", glob]).fit(name) is does_fit


def test_no_glob_fits_nothing() -> None:
    assert not Globs([]).fit("")


@pytest.mark.parametrize(
    ("tag", "language_range", "is_in"),
    [
        ("de-CH", "de", True),
        ("de", "DE", True),
        ("de", "de-CH", False),
        ("den", "de", False),
        ("fr", "*", True),
        ("de-Latn-CH", "de-CH", False),
    ],
)
def test_a_language_is_in_a_range(tag: str, language_range: str, is_in: bool) -> None:
    assert is_in_range(tag, language_range) is is_in


FRAGMENTS = (
    "refund",
    "Order",
    "ab",
    "k",
    "[a-z]+",
    "[]x]",
    r"\d",
    r"\bpay",
    "|",
    "|",
    "(a|b)",
    "(?i)",
    "x?",
    "no{0,2}",
    "abc*",
    "s+",
    ".",
    r"\x41bc",
    r"\QABC\E",
    r"\pL",
    r"\.",
    "-",
    " ",
    "(?:long)?",
    "e",
    "[[:alpha:]]",
    "{",
    "^",
    "$",
)
SAID = (
    "refund",
    "ORDER",
    "ſK",
    "abc",
    "long",
    "a",
    "b",
    " ",
    "Abc",
    "\u0301",
    "é",
    "1",
    "pay",
    "no",
    "x",
    ".",
    "-",
    "ﬀ",
    "ß",
    "{",
)


@examples(20_000)
@given(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join),
    st.sampled_from(["", "i"]),
    st.lists(st.sampled_from(SAID), max_size=8).map("".join),
)
def test_a_text_that_lacks_all_runs_of_a_list_holds_none_of_its_patterns(inner: str, flag: str, said: str) -> None:
    try:
        expression = Patterns([f"/{inner}/{flag}"])
    except PatternError:
        return
    word = Patterns([inner]) if inner.strip() else expression
    for patterns in (expression, word):
        text = SearchedText(said)
        is_out = patterns.grams is not None and any(text.lacks(patterns.grams) for _ in range(8))
        assert not (is_out and patterns.are_found_in(text))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/colou?r/", "color"),
        ("/ab{0,2}cde?/", "acd"),
        ("/xyz|abc/", "abc"),
        (r"/\x41bc/", "Abc"),
        (r"/\QABC\E/", "ABC"),
        ("/(long)? way/", " way"),
        ("/KELVIN/i", "\u212aelvin"),
        ("/cafe/", "cafe\u0301"),
        ("cafe", "cafe\u0301"),
        ("[abc]*", "[abc]*"),
    ],
)
def test_a_text_never_lacks_what_it_holds(pattern: str, text: str) -> None:
    patterns, searched = Patterns([pattern]), SearchedText(text)

    assert patterns.are_found_in(searched)
    assert patterns.grams is None or not any(searched.lacks(patterns.grams) for _ in range(8))
