"""The JSON Schema of files of tests says what the loader accepts."""

import json
from pathlib import Path

import jsonschema
import pytest

from skill_tools.authoring.scaffold import TESTS_SCHEMA_FILE, new_skill, schema_text
from skills_engine.bounded_yaml import read_yaml

SCHEMA = json.loads(schema_text("tests"))
SKILLS = Path(__file__).parents[2] / "skills"


def test_the_committed_schema_is_the_one_that_is_made() -> None:
    assert TESTS_SCHEMA_FILE.read_text() == schema_text("tests"), "run: make schemas"


def test_it_takes_the_tests_of_the_skills_that_come_along() -> None:
    files = sorted(SKILLS.glob("*/tests/*.yaml"))

    assert files
    for file in files:
        jsonschema.validate(read_yaml(file.read_text()).value, SCHEMA)


@pytest.mark.parametrize(
    "test", [{"nam": "a"}, {"channel": "phone"}, {"script": [{"call": []}]}, {"ask": {"samples": 0}}]
)
def test_it_refuses_what_the_loader_refuses(test: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"tests": [test]}, SCHEMA)


def test_a_new_skill_points_an_editor_to_it(tmp_path: Path) -> None:
    tests = new_skill("tutor", tmp_path) / "tests" / "hint.yaml"

    [line, *_] = tests.read_text().splitlines()
    name, path = line.split("$schema=")
    assert name == "# yaml-language-server: "
    assert (tests.parent / path).resolve() == TESTS_SCHEMA_FILE
