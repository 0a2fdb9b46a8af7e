"""Which structures make something secret by their shape, and which texts they hold."""

from typing import Any

import pytest

from server.policy.redaction.shapes import DEEPEST, Shapes, Survey, secret_columns

R = "8vKq2LrXw9TbN4mZc7Yp3HsJd6FgA1eU"


def nested(depth: int, leaf: Any) -> Any:
    return leaf if not depth else [nested(depth - 1, leaf)]


def test_objects_with_the_same_keys_have_one_shape() -> None:
    shapes = Shapes()

    assert shapes.of({"id": 1, "note": "a"}) is shapes.of({"id": 2, "note": "b"})
    assert shapes.of({"id": 1}) is not shapes.of({"no": 1})


@pytest.mark.parametrize(
    "value",
    [
        {"rows": {"password": 1}},
        {"name": "x", "value": "y"},
        {"ParameterKey": "x", "ParameterValue": "y"},
        {"kty": "RSA", "d": "x"},
        {"ssid": "home", "key": "x"},
        {"access": "x", "refresh": "y"},
        {"kind": "Secret", "data": {}},
        {"columns": ["a"], "rows": [["b"]]},
        [["login", "password"], ["anna", "x"]],
        ["--token", R],
        ["password", "Tundra-4417"],
        nested(DEEPEST + 1, 1),
        nested(DEEPEST + 1, {}),
    ],
)
def test_names_pairs_tables_and_depth_are_telling(value: Any) -> None:
    assert Survey(value, Shapes()).is_telling


@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "mail": "anna@example.org", "tags": ["a", "b"]},
        {"name": "anna", "title": "Dr."},
        {3: "x", None: "y"},
        ["token", "refreshed"],
        [["login", "mail"], ["anna", "x"]],
        nested(DEEPEST, 1),
        nested(DEEPEST + 1, "text"),
    ],
)
def test_a_shape_without_such_names_tells_nothing(value: Any) -> None:
    assert not Survey(value, Shapes()).is_telling


def test_texts_are_values_long_keys_and_whole_commands() -> None:
    value = {"run": ["mysql", "-uroot"], "a_key_that_is_long": ("x", {"k": 1, "l": "y"})}

    assert Survey(value, Shapes()).texts == ["a_key_that_is_long", "mysql -uroot", "mysql", "-uroot", "x", "y"]


def test_columns_of_a_table_are_secret_by_their_titles() -> None:
    assert secret_columns(["login", "password", "pin"]) == {1, 2}
    assert secret_columns(["password", 1]) == set()
    assert secret_columns("password") == set()
