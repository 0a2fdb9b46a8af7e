"""YAML of bounded size, depth and meaning."""

import pytest

from skills_engine.bounded_yaml import MAX_DEPTH, YamlError, path_of, read_yaml


def test_words_are_read_as_yaml_1_2_does() -> None:
    text = "[no, on, 14:05, 2026-11-22, 1_000, 0x1F, true, null, ~, 7, -2, 1.5, 2e3, '7', \"true\"]"

    assert read_yaml(text).value == [
        *("no", "on", "14:05", "2026-11-22", "1_000", "0x1F"),
        *(True, None, None, 7, -2, 1.5, 2000.0, "7", "true"),
    ]


def test_the_line_of_each_place_is_known() -> None:
    document = read_yaml("tests:\n  - name: a\n    user:\n      b\n  - name: |\n      c\n")

    assert document.value == {"tests": [{"name": "a", "user": "b"}, {"name": "c\n"}]}
    assert {path_of(place): line for place, line in document.lines.items()} == {
        "$": 1,
        "$.tests": 1,
        "$.tests[0]": 2,
        "$.tests[0].name": 2,
        "$.tests[0].user": 3,
        "$.tests[1]": 5,
        "$.tests[1].name": 5,
    }


def test_a_value_may_stand_as_deep_as_the_limit() -> None:
    with pytest.raises(YamlError):
        read_yaml("[" * (MAX_DEPTH + 1) + "x" + "]" * (MAX_DEPTH + 1))
    read_yaml("[" * MAX_DEPTH + "x" + "]" * MAX_DEPTH)


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_nothing_is_none(text: str) -> None:
    assert read_yaml(text).value is None


NOT_ALLOWED = "anchors, aliases and tags (& * !) are not allowed; put such a text in quotes"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: &x 2", f"line 2: {NOT_ALLOWED}"),
        ("a: *x", f"line 1: {NOT_ALLOWED}"),
        ("a: !!python/object:os.system x", f"line 1: {NOT_ALLOWED}"),
        ("a: &x [*x]", f"line 1: {NOT_ALLOWED}"),
        ("user: What: this", "line 1: put a value that holds ': ' in quotes"),
        ("a:\n\tb: 1", "line 2: indent with spaces, not with tabs; put a value that begins with @ or ` in quotes"),
        ("a: 1\na: 2", "line 2: `a` occurs here a second time"),
        ("? [a]\n: b", "line 1: a key must be a text"),
        ("a\n---\nb", "line 2: expected one document; remove this line of ---"),
        ("[" * 5000, f"line 1: nested more than {MAX_DEPTH} deep"),
        ("a: \ud800", "it holds half of a surrogate pair"),
        ("a: 'x", "line 1: found unexpected end of stream"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(YamlError) as raised:
        read_yaml(text)

    assert str(raised.value) == problem
