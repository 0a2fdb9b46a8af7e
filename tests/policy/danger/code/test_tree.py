"""A tree's nodes come in the order of ast.walk."""

import ast
from pathlib import Path

import pytest

from server.policy.danger.code import python, tree
from server.policy.danger.code.tree import nodes_of


@pytest.mark.parametrize("module", [python, tree])
def test_the_nodes_are_those_of_a_walk(module: object) -> None:
    parsed = ast.parse(Path(str(getattr(module, "__file__", ""))).read_text("utf-8"))

    assert nodes_of(parsed) == list(ast.walk(parsed))
