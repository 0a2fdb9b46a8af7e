"""The corpora of the tool policy are whole: they parse, their labels hold, their halves are even."""

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "policy"
CALLS = ("dangerous_calls", "harmless_calls")
RESULTS = ("secrets", "harmless_texts")
LABELS = {"dangerous_calls": "dangerous", "harmless_calls": "harmless", "harmless_texts": "harmless"}
PERMISSIONS = {"dangerous_calls": {"WRITE", "EXTERNAL"}, "harmless_calls": {"READ", "WRITE", "EXTERNAL"}}
LEAST_LINES = 330

each_corpus = pytest.mark.parametrize("corpus", [*CALLS, *RESULTS])


@cache
def lines(corpus: str) -> list[dict[str, Any]]:
    text = (FOLDER / f"{corpus}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def is_shaping(line: dict[str, Any]) -> bool:
    return int(hashlib.sha256(line["id"].encode()).hexdigest()[0], 16) % 2 == 0


def content(line: dict[str, Any]) -> str:
    """What a rule gets to see, in one comparable piece."""
    keys = ("tool", "permission", "arguments", "text", "value")
    return json.dumps({key: line[key] for key in keys if key in line}, sort_keys=True)


def strings(value: object) -> Iterator[str]:
    """Every string of a JSON structure, keys included."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from strings(item)
        case dict():
            for key, item in value.items():
                yield key
                yield from strings(item)


@each_corpus
def test_a_corpus_is_large_enough_to_say_something(corpus: str) -> None:
    assert len(lines(corpus)) >= LEAST_LINES


@each_corpus
def test_the_halves_are_roughly_equal(corpus: str) -> None:
    share = sum(map(is_shaping, lines(corpus))) / len(lines(corpus))

    assert 0.42 <= share <= 0.58


@each_corpus
def test_the_readme_tells_how_many_lines_a_corpus_has(corpus: str) -> None:
    assert f"| `{corpus}.jsonl` | {len(lines(corpus))} |" in (FOLDER / "README.md").read_text("utf-8")


def test_no_id_stands_twice() -> None:
    ids = [line["id"] for corpus in (*CALLS, *RESULTS) for line in lines(corpus)]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("corpora", [CALLS, RESULTS])
def test_no_line_stands_twice_and_none_has_two_labels(corpora: tuple[str, ...]) -> None:
    seen = [content(line) for corpus in corpora for line in lines(corpus)]

    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("corpus", CALLS)
def test_a_call_has_a_tool_a_permission_arguments_and_a_reason(corpus: str) -> None:
    for line in lines(corpus):
        assert set(line) == {"id", "tool", "permission", "arguments", "label", "why"}, line
        assert line["label"] == LABELS[corpus], line
        assert line["permission"] in PERMISSIONS[corpus], line
        assert isinstance(line["arguments"], dict), line
        assert line["tool"], line
        assert line["why"], line


def test_a_harmless_result_has_one_content_and_its_label() -> None:
    for line in lines("harmless_texts"):
        assert set(line) in ({"id", "text", "label"}, {"id", "value", "label"}), line
        assert line["label"] == LABELS["harmless_texts"], line
        assert isinstance(line.get("text", ""), str), line


def test_each_secret_stands_in_its_result() -> None:
    for line in lines("secrets"):
        assert set(line) in ({"id", "text", "secrets", "kind"}, {"id", "value", "secrets", "kind"}), line
        assert isinstance(line.get("text", ""), str), line
        assert line["kind"], line
        assert line["secrets"], line
        held = list(strings(line.get("text", line.get("value"))))
        missing = [secret for secret in line["secrets"] if not any(secret in string for string in held)]
        assert not missing, f"{line['id']}: {missing} is not in its result"


def test_no_harmless_result_holds_a_known_secret() -> None:
    known = {secret for line in lines("secrets") for secret in line["secrets"]}
    told = "\n".join(
        string for line in lines("harmless_texts") for string in strings(line.get("text", line.get("value")))
    )

    assert not [secret for secret in known if secret in told]
