"""Expressions that are tried only where their own words stand find what they find when all are tried."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.policy.danger.anchored import Anchored

SHAPES = (
    r"\b(?:unlink|rmdir)Sync\s*\(|\brimraf\b|\bdel(?:Sync)?\s*\(\[",
    r"['\"]un|ink['\"]|[()|\]]x\(|(?:\(|\)){2}",
    r"(?:method|type)\s*:\s*['\"](?:DELETE|delete)['\"]",
    r"(?<![.\w>$])empty\s*[(\s]|(?<=drop )tables?|(?=fork)\w+|(?!nothing)some(?:thing)?",
    r"(?:ab){2,3}c?|x*y+z{0,2}|(?>held)|to{1,9}+p",
    r"\$(?:out|merge)\b|\.(?:send|pay)\w*!",
    r"(?i:\bselect\s+\[)|k[iI]ll",
    r"(?:send|)to(?:all|)\b|\bgo(?:ne|od)!|(?<!x)aa?b",
    r"\d{3,}|^[ \t]*$",
)
FOLDING = (
    r"\b(?:kündig|löschen|sistırma|kiss)\b|satın al",
    r"(?:прошу (?:прекратить|отказать)|объём)|辞职|退会",
    r"ends in(?: it)?|(?:a|b)c",
)
SETS = {
    "minding case": [re.compile(shape, re.MULTILINE) for shape in SHAPES],
    "ignoring case": [re.compile(shape, re.IGNORECASE) for shape in (*FOLDING, *SHAPES)],
    "both": [*map(re.compile, SHAPES), *(re.compile(shape, re.IGNORECASE) for shape in FOLDING)],
}
ANCHORED = {name: Anchored((shape, at) for at, shape in enumerate(shapes)) for name, shapes in SETS.items()}


@pytest.mark.parametrize("name", SETS)
@given(data=st.data())
def test_the_first_that_fits_is_the_first_of_all(name: str, data: st.DataObject) -> None:
    fitting = st.from_regex(data.draw(st.sampled_from(SETS[name])))
    text = data.draw(st.one_of(fitting, st.builds(str.__add__, fitting, fitting), st.text()))

    found = ANCHORED[name].first(text)

    assert found == next((at for at, shape in enumerate(SETS[name]) if shape.search(text)), None)


@pytest.mark.parametrize(
    "word", ["kiss", "satın", "köln", "ördög", "воспъд", "straße", "ÅNGSTRÖM", "σίσυφος", "θυρίδα", "stück"]
)
def test_whatever_counts_as_the_same_letter_is_found(word: str) -> None:
    shape = re.compile(word, re.IGNORECASE)
    found = Anchored([(shape, "found")])
    letters = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x20000))))
    alike = {at: re.findall(letter, letters, re.IGNORECASE) for at, letter in enumerate(word)}

    written = [word[:at] + other + word[at + 1 :] for at, others in alike.items() for other in others]

    assert len(written) >= 2 * len(word)
    assert [text for text in written if found.first(f"a {text} b") is None] == []


def test_only_those_whose_words_stand_there_are_held() -> None:
    shapes = Anchored([(re.compile(r"\bremove\s*\(|\bwipe\("), 1), (re.compile(r"\bpay\("), 2), (re.compile(r"\d"), 3)])

    assert list(shapes.held("wipe it, and remove it")) == [1, 3]
    assert list(shapes.held("PAY")) == [3]


@pytest.mark.parametrize("text", ["pay pay(", "prepay(pay(", "ppay(; pay(", "paypay( or\npay("])
def test_what_fits_behind_what_only_looks_alike_is_found(text: str) -> None:
    shapes = Anchored([(re.compile(r"\bpay\("), "pays")])

    assert shapes.first(text) == "pays"
    assert shapes.first(text[:-1]) is None


def test_what_fits_nowhere_tells_nothing() -> None:
    shapes = Anchored([(re.compile(r"\bpay\(", re.IGNORECASE), "pays")])

    assert shapes.first("pay") is None
    assert shapes.first("\ud800 Pay(") == "pays"
    assert shapes.first("") is None
