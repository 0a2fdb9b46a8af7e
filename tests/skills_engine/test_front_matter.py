"""The head of a SKILL.md: what it is cut into, and what is made of a broken one."""

import pytest

from skills_engine.front_matter import MAX_BYTES, FrontMatter, split_front_matter

BROKEN = ("its front matter is not YAML (line 2: put a value that holds ': ' in quotes): read line by line",)


def test_head_and_body_are_cut_at_lines_of_dashes() -> None:
    assert split_front_matter("---\na: b --- c\n---\nOne\n---\n\nTwo\n") == FrontMatter(
        {"a": "b --- c"}, "One\n---\n\nTwo\n"
    )


def test_without_a_head_all_is_body() -> None:
    assert split_front_matter("One\n\nTwo") == FrontMatter(
        None, "One\n\nTwo", ("has no front matter: expected --- as its first line",)
    )
    assert split_front_matter("---\na: b") == FrontMatter(
        None, "---\na: b", (), "its front matter is not closed: expected a second line ---"
    )


def test_a_heading_behind_the_closing_dashes_belongs_to_the_body() -> None:
    glued = "has a heading on the line --- that closes its front matter: expected a line break"

    assert split_front_matter("---\na: b\n---# One\n\nTwo\n") == FrontMatter({"a": "b"}, "# One\n\nTwo\n", (glued,))
    assert split_front_matter("---\na: b\n---# c\n---\nOne").body == "One"
    assert split_front_matter("---\na: b\n---- #\n").fatal is not None


@pytest.mark.parametrize("text", ["", "\n", " \n\t"])
def test_a_blank_text_has_no_head(text: str) -> None:
    assert split_front_matter(text) == FrontMatter(None, text, ("has no front matter: expected --- as its first line",))


def test_blank_lines_and_another_defect_are_both_said() -> None:
    found = split_front_matter("\n\n---\na: b: c\n---\nOne")

    assert found == FrontMatter({"a": "b: c"}, "One", ("has blank lines before its front matter", *BROKEN))


def test_the_limit_counts_bytes() -> None:
    def head(count: int) -> FrontMatter:
        return split_front_matter(f"---\na: {'ä' * count}b\n---\n")

    most = (MAX_BYTES - 4) // 2
    assert head(most).fields == {"a": "ä" * most + "b"}
    assert head(most + 1) == FrontMatter(None, "", ("its front matter is larger than 64 KiB: not read",))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x", "x"),
        ("  x  ", "x"),
        ("|\n  x\n\ty", "x y"),
        (">\n  x\n\n  y", "x y"),
        ("|-\n  x", "x"),
        (">-\n  x", "x"),
        ("|+\n  x", "x"),
        (">+\n  x", "x"),
        ("||\n  x", "|| x"),
        ("\n  x", "x"),
        ("'x'", "x"),
        ('"x"', "x"),
        ("''", ""),
        ("'", "'"),
        ("'x\"", "'x\""),
        ("XxX", "XxX"),
        ("'x' y", "'x' y"),
        ("x\n  y: z", "x y: z"),
        ("x\ny", "x"),
    ],
)
def test_a_broken_head_is_read_line_by_line(text: str, value: str) -> None:
    found = split_front_matter(f"---\nbad: a: b\nkey: {text}\n---\n")

    assert found == FrontMatter({"bad": "a: b", "key": value}, "", BROKEN)


def test_of_a_key_given_twice_the_last_counts_as_in_yaml() -> None:
    assert split_front_matter("---\na: 1\na: 2\n---\n").fields == {"a": "2"}
    assert split_front_matter("---\na: 1\nb: c: d\na: 2\n  3\n---\n").fields == {"a": "2 3", "b": "c: d"}


def test_what_stands_before_the_first_key_is_left_out() -> None:
    assert split_front_matter("---\n  lost\n- a: b: c\nkey:value\nb : c\n---\n").fields == {"b": "c"}


@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("a: b\n--- c", {"a": "b"}, "expected one document"),
        ("a: b\n? [c]\n: d", {"a": "b"}, "a key must be a text"),
        ("- a", None, "expected lines of `key: value`"),
    ],
)
def test_what_is_no_table_of_texts_is_named(text: str, fields: dict[str, str] | None, reason: str) -> None:
    defect = f"its front matter is not YAML ({reason}): read line by line"

    assert split_front_matter(f"---\n{text}\n---\n") == FrontMatter(fields, "", (defect,))
