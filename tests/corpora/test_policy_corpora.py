"""The sets of corpora for the tool policy are whole: they parse, their labels hold, their halves are even."""

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CALLS = ("dangerous_calls", "harmless_calls")
RESULTS = ("secrets", "harmless_texts")
SETS = {"policy": (*CALLS, *RESULTS), "policy_two": (*CALLS, *RESULTS), "policy_three": (*CALLS, *RESULTS)}
HALVED = ("policy", "policy_two")
LABELS = {"dangerous_calls": "dangerous", "harmless_calls": "harmless", "harmless_texts": "harmless"}
PERMISSIONS = {"dangerous_calls": {"WRITE", "EXTERNAL"}, "harmless_calls": {"READ", "WRITE", "EXTERNAL"}}
LEAST_LINES = 330
LEAST_TELLING = 8
"""Shorter secrets, such as 4418, stand in other texts by chance."""

ALL = [(folder, corpus) for folder, corpora in SETS.items() for corpus in corpora]

each_corpus = pytest.mark.parametrize(("folder", "corpus"), ALL)


@cache
def lines(folder: str, corpus: str) -> list[dict[str, Any]]:
    text = (HERE / folder / f"{corpus}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def is_shaping(line: dict[str, Any]) -> bool:
    return int(hashlib.sha256(line["id"].encode()).hexdigest()[0], 16) % 2 == 0


def content(line: dict[str, Any]) -> str:
    """What a rule gets to see, in one comparable piece."""
    keys = ("tool", "permission", "arguments", "text", "value")
    return json.dumps({key: line[key] for key in keys if key in line}, sort_keys=True)


def each(*corpora: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("folder", "corpus"), [pair for pair in ALL if pair[1] in corpora])


def lines_of(*corpora: str) -> Iterator[dict[str, Any]]:
    """Of every set."""
    for folder, corpus in ALL:
        if corpus in corpora:
            yield from lines(folder, corpus)


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
def test_a_corpus_is_large_enough_to_say_something(folder: str, corpus: str) -> None:
    assert len(lines(folder, corpus)) >= LEAST_LINES


@pytest.mark.parametrize("corpus", [*CALLS, *RESULTS])
@pytest.mark.parametrize("folder", HALVED)
def test_the_halves_are_roughly_equal(folder: str, corpus: str) -> None:
    share = sum(map(is_shaping, lines(folder, corpus))) / len(lines(folder, corpus))

    assert 0.42 <= share <= 0.58


@each_corpus
def test_the_readme_tells_how_many_lines_a_corpus_has(folder: str, corpus: str) -> None:
    readme = (HERE / folder / "README.md").read_text("utf-8")

    assert f"| `{corpus}.jsonl` | {len(lines(folder, corpus))} |" in readme


def test_no_id_stands_twice() -> None:
    ids = [line["id"] for line in lines_of(*CALLS, *RESULTS)]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("folder", SETS)
@pytest.mark.parametrize("corpora", [CALLS, RESULTS])
def test_no_line_stands_twice_in_a_set(folder: str, corpora: tuple[str, ...]) -> None:
    seen = [content(line) for corpus in corpora if corpus in SETS[folder] for line in lines(folder, corpus)]

    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("corpora", [CALLS, RESULTS])
def test_no_line_has_two_labels(corpora: tuple[str, str]) -> None:
    guarded, harmless = ({content(line) for line in lines_of(corpus)} for corpus in corpora)

    assert not guarded & harmless


@each(*CALLS)
def test_a_call_has_a_tool_a_permission_arguments_and_a_reason(folder: str, corpus: str) -> None:
    for line in lines(folder, corpus):
        assert set(line) == {"id", "tool", "permission", "arguments", "label", "why"}, line
        assert line["label"] == LABELS[corpus], line
        assert line["permission"] in PERMISSIONS[corpus], line
        assert isinstance(line["arguments"], dict), line
        assert line["tool"], line
        assert line["why"], line


@each("harmless_texts")
def test_a_harmless_result_has_one_content_and_its_label(folder: str, corpus: str) -> None:
    for line in lines(folder, corpus):
        assert set(line) in ({"id", "text", "label"}, {"id", "value", "label"}), line
        assert line["label"] == LABELS["harmless_texts"], line
        assert isinstance(line.get("text", ""), str), line


@each("secrets")
def test_each_secret_stands_in_its_result(folder: str, corpus: str) -> None:
    for line in lines(folder, corpus):
        assert set(line) in ({"id", "text", "secrets", "kind"}, {"id", "value", "secrets", "kind"}), line
        assert isinstance(line.get("text", ""), str), line
        assert line["kind"], line
        assert line["secrets"], line
        held = list(strings(line.get("text", line.get("value"))))
        missing = [secret for secret in line["secrets"] if not any(secret in string for string in held)]
        assert not missing, f"{line['id']}: {missing} is not in its result"


@each("secrets")
def test_no_harmless_result_holds_a_known_secret(folder: str, corpus: str) -> None:
    secrets = {secret for line in lines(folder, corpus) for secret in line["secrets"]}
    known = {secret for secret in secrets if len(secret) >= LEAST_TELLING}
    told = "\n".join(
        string for line in lines(folder, "harmless_texts") for string in strings(line.get("text", line.get("value")))
    )

    assert not [secret for secret in known if secret in told]
