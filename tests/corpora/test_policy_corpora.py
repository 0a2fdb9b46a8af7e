"""The corpora of the tool policy are whole: they parse, their labels hold, no line stands twice in a set.

Messages name ids only: a held-out line that a failure prints is held out no longer.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SETS = ("shaping", "held_out/first", "held_out/second", "third", "ordinary")
PERMISSIONS = {"dangerous_calls": {"WRITE", "EXTERNAL"}, "harmless_calls": {"READ", "WRITE", "EXTERNAL"}}
CORPORA = (*PERMISSIONS, "secrets", "harmless_texts")
FILES = [*product(SETS, CORPORA), *product(("plain",), PERMISSIONS)]
LEAST_TELLING = 8
"""Length of a secret from which on it does not stand in other texts by chance, as 4418 does."""

Line = dict[str, Any]

each_set = pytest.mark.parametrize("folder", SETS)


@cache
def lines(folder: str, corpus: str) -> list[Line]:
    text = (HERE / folder / f"{corpus}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def content(line: Line) -> str:
    """What a rule gets to see, in one comparable piece."""
    keys = ("tool", "permission", "arguments", "text", "value")
    return json.dumps({key: line[key] for key in keys if key in line}, sort_keys=True)


def strings(line: Line) -> Iterator[str]:
    """Every string of a result, keys included."""
    waiting = [line.get("text", line.get("value"))]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case list(items):
                waiting += items
            case dict(fields):
                waiting += [*fields, *fields.values()]


def is_shaping(line_id: str) -> bool:
    return int(hashlib.sha256(line_id.encode()).hexdigest()[0], 16) % 2 == 0


@pytest.mark.parametrize("folder", SETS[:3])
def test_the_hash_of_its_id_says_which_half_a_line_belongs_to(folder: str) -> None:
    ids = [line["id"] for corpus in CORPORA for line in lines(folder, corpus)]

    assert [line_id for line_id in ids if is_shaping(line_id) != (folder == "shaping")] == []


def test_no_id_stands_twice() -> None:
    ids = [line["id"] for folder, corpus in FILES for line in lines(folder, corpus)]

    assert [line_id for line_id, count in Counter(ids).items() if count > 1] == []


@pytest.mark.parametrize(("folder", "corpus"), FILES)
def test_no_line_stands_twice_in_a_set(folder: str, corpus: str) -> None:
    first = {content(line): line["id"] for line in reversed(lines(folder, corpus))}

    assert [line["id"] for line in lines(folder, corpus) if first[content(line)] != line["id"]] == []


@pytest.mark.parametrize(("guarded", "harmless"), [CORPORA[:2], CORPORA[2:]])
def test_no_line_has_two_labels(guarded: str, harmless: str) -> None:
    contents = {content(line) for folder, corpus in FILES if corpus == guarded for line in lines(folder, corpus)}
    others = [line for folder, corpus in FILES if corpus == harmless for line in lines(folder, corpus)]

    assert [line["id"] for line in others if content(line) in contents] == []


@pytest.mark.parametrize(("folder", "corpus"), [file for file in FILES if file[1] in PERMISSIONS])
def test_a_call_has_a_tool_a_permission_arguments_and_a_reason(folder: str, corpus: str) -> None:
    for line in lines(folder, corpus):
        assert set(line) == {"id", "tool", "permission", "arguments", "label", "why"}, line["id"]
        assert line["label"] == corpus.removesuffix("_calls"), line["id"]
        assert line["permission"] in PERMISSIONS[corpus], line["id"]
        assert isinstance(line["arguments"], dict), line["id"]
        assert all([line["tool"], line["why"]]), line["id"]


@each_set
@pytest.mark.parametrize(("corpus", "more"), [("harmless_texts", {"label"}), ("secrets", {"secrets", "kind"})])
def test_a_result_has_one_content_and_its_labels(folder: str, corpus: str, more: set[str]) -> None:
    for line in lines(folder, corpus):
        assert set(line) in ({"id", "text", *more}, {"id", "value", *more}), line["id"]
        assert isinstance(line.get("text", ""), str), line["id"]
        assert all(line[key] for key in more), line["id"]


@each_set
def test_each_secret_stands_in_its_result(folder: str) -> None:
    for line in lines(folder, "secrets"):
        held = list(strings(line))
        assert all(any(secret in text for text in held) for secret in line["secrets"]), line["id"]


@each_set
def test_no_harmless_result_holds_a_known_secret(folder: str) -> None:
    known = {secret for line in lines(folder, "secrets") for secret in line["secrets"] if len(secret) >= LEAST_TELLING}

    for line in lines(folder, "harmless_texts"):
        text = "\n".join(strings(line))
        assert not any(secret in text for secret in known), line["id"]
